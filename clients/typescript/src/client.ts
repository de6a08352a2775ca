import { SalienceError } from "./errors.js";
import { fields, type Named } from "./fields.js";
import { Listing } from "./listing.js";
import { inBothNames, type ScoredMemory, scored, type SearchAnswer, type WireAnswer } from "./names.js";
import {
  type CallOptions,
  callOptions,
  type ChangeOptions,
  type PastOptions,
  type Request,
  type Settings,
  Transport,
  type WriteOptions,
} from "./transport.js";
import type { Answer, Body, Query, Schemas } from "./types.js";

export type NewMemory = Body<"/v1/memories">;
export type Filters = Schemas["Filters"];
export type ContextRequest = Body<"/v1/context">;
export type SearchRequest = Body<"/v1/search">;
export type MemoryRecord = Schemas["MemoryRecord"];
/** What an erasure erased, and how that was checked. */
export type ErasureReceipt = Schemas["ErasureReceipt"];
/** How many memories were erased, and the ids of those that hold again, as what had replaced them is gone. */
export interface Erased {
  deleted: number;
  restored: string[];
}
export type NamesQuery = Omit<Query<"/v1/tags">, "filters"> & { filters?: Filters | null };
export type NameCount = Schemas["NameCount"];
export type AccessKey = Schemas["AccessKey"];
export type NewKey = Schemas["NewKey"];
export type Page = Schemas["Page"];
/** The fields of a request beside one that stands before them. */
export type Further<Request extends object, Field extends keyof Request> = Named<Omit<Request, Field>>;
type Candidates = Body<"/v1/candidates">;
type Items = Body<"/v1/memories/batch">["items"];
type Messages = Body<"/v1/chats">["messages"];

/** The settings of a client; `profile` ranks what names none, by default that of the server. */
export interface SalienceSettings extends Settings {
  profile?: SearchRequest["profile"];
}

/**
 * A client of a salience server: the methods of the library, over HTTP.
 *
 * Requests and answers have the fields of the library by their names. A method throws a `SalienceError`
 * that names the field, the problem and the remedy. Nothing is sent before a method is called, and
 * nothing has to be closed.
 */
export class Salience {
  readonly #settings: SalienceSettings;
  readonly #transport: Transport;

  /** Takes the settings, or the address of the server alone. */
  constructor(settings: SalienceSettings | string | URL = {}) {
    const given = typeof settings === "string" || settings instanceof URL ? { baseUrl: settings } : settings;
    this.#transport = new Transport(given);
    this.#settings = this.#transport.settings;
  }

  /** The same client for another namespace. */
  forNamespace(namespace: string): Salience {
    return new Salience({ ...this.#settings, namespace });
  }

  /** Memories by the names `create`, `get`, `list`, `update` and `delete`. */
  readonly memories = {
    create: (memory: Named<NewMemory>, options?: WriteOptions) => this.add(memory, options),
    get: async (id: string, options?: CallOptions): Promise<ScoredMemory | null> => {
      const memory = await this.get(id, options);
      return memory && scored(memory);
    },
    list: (query: Named<Body<"/v1/memories/list">> = {}, options?: CallOptions): Listing<ScoredMemory, Page> =>
      this.#list(query, options, (page) => page.memories.map(scored)),
    update: async (
      id: string,
      changes: Named<Body<"/v1/memories/{id}", "patch">>,
      options?: ChangeOptions,
    ): Promise<ScoredMemory> => scored(await this.update(id, changes, options)),
    delete: (id: string, options?: ChangeOptions) => this.delete(id, options),
  };

  /** Judgements of memories: useful, confirmed, not_useful, outdated or incorrect; promote, demote or reinforce. */
  readonly feedback = {
    create: async (judgement: Named<Body<"/v1/feedback">>, options: ChangeOptions = {}): Promise<ScoredMemory> =>
      scored(await this.#write<MemoryRecord>("/v1/feedback", { ...fields(judgement), ...version(options) }, options)),
  };

  /** Keys of the server: those that may do nothing beyond the key of this client. */
  readonly keys = {
    list: async (options?: CallOptions): Promise<AccessKey[]> =>
      (await this.#ask<Answer<"/v1/keys", "get">>("/v1/keys", {}, options)).keys,
    /** Makes a key; its text is in the answer, and nowhere else. */
    create: (key: Named<Body<"/v1/keys">>, options?: CallOptions): Promise<NewKey> =>
      this.#once<NewKey>("/v1/keys", key, options),
    /** Gives a key another secret. */
    rotate: (
      id: string,
      change: Named<Body<"/v1/keys/{key_id}/rotate">> = {},
      options?: CallOptions,
    ): Promise<NewKey> => this.#once<NewKey>(["keys", id, "rotate"], change, options),
    /** Ends a key for good. */
    revoke: (id: string, options?: CallOptions): Promise<AccessKey> =>
      this.#read(["keys", id, "revoke"], undefined, options),
  };

  /** What looks behind memories: what a search ranks, their links, zones and vitality. */
  readonly inspect = {
    /** All that a search ranked, in columns: the parts of each score, the routes and the stages. */
    candidates: (
      query: string | Named<Candidates>,
      rest?: Further<Candidates, "query"> & CallOptions,
    ): Promise<Answer<"/v1/candidates">> => this.#ranked("/v1/candidates", query, rest),
    /** The ranks of the same memories under several profiles. */
    compare: (query: Named<Body<"/v1/compare">>, options?: CallOptions): Promise<Answer<"/v1/compare">> =>
      this.#read("/v1/compare", query, options),
    /** The memories that links lead to from one, the nearest first. */
    graph: (query: Named<Query<"/v1/graph">>, options?: CallOptions): Promise<Answer<"/v1/graph", "get">> =>
      this.#ask("/v1/graph", query, options),
    /** The memories by how alive they are: active, stale, fading or dormant. */
    zones: (query: Named<Body<"/v1/zones">> = {}, options?: CallOptions): Promise<Answer<"/v1/zones">> =>
      this.#read("/v1/zones", query, options),
    /** The shares of the zones over time. */
    zoneShares: (query: Named<Body<"/v1/zones/shares">> = {}, options?: CallOptions): Promise<Answer<"/v1/zones/shares">> =>
      this.#read("/v1/zones/shares", query, options),
    /** The vitality of a memory over time, and when it changes its zone. */
    vitality: (
      id: string,
      query: Named<Query<"/v1/memories/{id}/vitality">> = {},
      options?: CallOptions,
    ): Promise<Answer<"/v1/memories/{id}/vitality", "get">> =>
      this.#ask(["memories", id, "vitality"], query, options),
    /** The recorded searches, where a search log is kept. */
    searches: (query: Named<Query<"/v1/searches">> = {}, options?: CallOptions): Promise<Answer<"/v1/searches", "get">> =>
      this.#ask("/v1/searches", query, options),
  };

  /** Questions with the memories that answer them, and how well profiles answer them. */
  readonly labels = {
    /** The questions that are kept with their answers. */
    questions: (options?: CallOptions): Promise<Answer<"/v1/questions", "get">> =>
      this.#ask("/v1/questions", {}, options),
    /** Keeps a question with the memories that answer it, and those that do not. */
    add: (question: Named<Body<"/v1/questions">>, options?: WriteOptions): Promise<Answer<"/v1/questions">> =>
      this.#write("/v1/questions", question, options),
    /** Drops a question that is kept; false if there is none. */
    delete: async (id: string, options: CallOptions = {}): Promise<boolean> => {
      const dropped = this.#transport.json({ method: "DELETE", path: ["questions", id], repeatable: "always" }, options);
      return (await orNull(dropped.then(() => true))) !== null;
    },
    /** Recall, MRR and nDCG of profiles on the questions that are kept, each with its interval. */
    score: (query: Named<Body<"/v1/questions/score">> = {}, options?: CallOptions): Promise<Answer<"/v1/questions/score">> =>
      this.#read("/v1/questions/score", query, options),
  };

  /** What keeps memories in order. */
  readonly upkeep = {
    /** Archives memories that have faded; a preview unless `apply`. */
    prune: (rules: Named<Body<"/v1/prune">> = {}, options?: WriteOptions): Promise<Answer<"/v1/prune">> =>
      this.#write("/v1/prune", rules, options),
    /** Makes one memory of several that belong together; a preview unless `apply`. */
    consolidate: (rules: Named<Body<"/v1/consolidate">> = {}, options?: WriteOptions): Promise<Answer<"/v1/consolidate">> =>
      this.#write("/v1/consolidate", rules, options),
    /** Does the upkeep that is due; a preview unless `apply`. */
    maintain: (rules: Named<Body<"/v1/maintain">> = {}, options?: WriteOptions): Promise<Answer<"/v1/maintain">> =>
      this.#write("/v1/maintain", rules, options),
    /** Looks for duplicates, junk and orphans, and mends those that `mend` names. */
    audit: (rules: Named<Body<"/v1/audit">> = {}, options?: WriteOptions): Promise<Answer<"/v1/audit">> =>
      this.#write("/v1/audit", rules, options),
    /** Lets all memories fade by the time that has passed. */
    decay: (options?: WriteOptions): Promise<void> =>
      this.#write("/v1/decay", undefined, options),
    /** Compares every memory with the log of what happened to it. */
    verify: (rules: Named<Body<"/v1/verify">> = {}, options?: WriteOptions): Promise<Answer<"/v1/verify">> =>
      this.#write("/v1/verify", rules, options),
    /** Waits until all that was counted meanwhile is written. */
    flush: (options?: WriteOptions): Promise<void> =>
      this.#write("/v1/flush", undefined, options),
  };

  // Writing

  /** Remembers a text or the messages of a chat: an object of its fields, or the content and then the others. */
  add(memory: Named<NewMemory>, options?: WriteOptions): Promise<Answer<"/v1/memories">>;
  add(
    content: NewMemory["content"],
    rest?: Further<NewMemory, "content"> & WriteOptions,
  ): Promise<Answer<"/v1/memories">>;
  async add(given: unknown, rest?: object): Promise<Answer<"/v1/memories">> {
    const [body, options] = parted("content", given, rest);
    return this.#write("/v1/memories", body, options);
  }

  /** Remembers many items: texts, or objects with the fields of a memory. */
  addMany(
    batch: Items | Named<Body<"/v1/memories/batch">>,
    options?: WriteOptions,
  ): Promise<Answer<"/v1/memories/batch">> {
    return this.#write("/v1/memories/batch", Array.isArray(batch) ? { items: batch } : batch, options);
  }

  /** Remembers a chat as questions with their answers. */
  addChat(chat: Messages | Named<Body<"/v1/chats">>, options?: WriteOptions): Promise<Answer<"/v1/chats">> {
    return this.#write("/v1/chats", Array.isArray(chat) ? { messages: chat } : chat, options);
  }

  /** Changes fields of a memory; those that are left out stay as they are. */
  async update(
    id: string,
    changes: Named<Body<"/v1/memories/{id}", "patch">>,
    options: ChangeOptions = {},
  ): Promise<MemoryRecord> {
    return this.#transport.json(
      { method: "PATCH", path: ["memories", id], body: changes, headers: change(options), repeatable: "always" },
      options,
    );
  }

  /** Erases a memory; null if there is none. */
  async delete(id: string, options: ChangeOptions = {}): Promise<Erased | null> {
    const erased = this.#transport.json<Erased | undefined>(
      { method: "DELETE", path: ["memories", id], headers: change(options), repeatable: "always" },
      options,
    );
    return orNull(erased.then((told) => told ?? { deleted: 1, restored: [] }));
  }

  /** Erases the memories of some ids; gives how many there were. */
  async deleteMany(ids: readonly string[], options?: WriteOptions): Promise<Erased> {
    const { deleted, restored } = await this.#erase({ ids: [...ids] }, options);
    return { deleted, restored };
  }

  /**
   * Erases the memories that pass a filter, or with `null` all of the namespace; gives the receipt, with what was
   * erased and how that was checked.
   */
  async deleteAll(filters: Filters | null, options?: WriteOptions): Promise<ErasureReceipt> {
    const answer = await this.#erase(filters === null ? { all: true } : { filters }, options);
    return answer.receipt!; // only an erasure by ids has none
  }

  /** Erases all memories of a user, with what names the user elsewhere; gives the receipt. */
  deleteUser(userId: string, options?: WriteOptions): Promise<ErasureReceipt> {
    return this.#write("/v1/users/delete", { user_id: userId }, options);
  }

  // Reading

  /** The memory of an id, null if there is none. */
  async get(id: string, options?: PastOptions): Promise<MemoryRecord | null> {
    return orNull(this.#ask<MemoryRecord>(["memories", id], { as_of: callOptions<PastOptions>(options).asOf }, options));
  }

  /** The memories of some ids, in their order, null for those that are not there. */
  async getMany(ids: readonly string[], options?: PastOptions): Promise<Answer<"/v1/memories/get">["memories"]> {
    const body = { ids, as_of: callOptions<PastOptions>(options).asOf };
    const answer = await this.#read<Answer<"/v1/memories/get">>("/v1/memories/get", body, options);
    return answer.memories;
  }

  /** The memories that pass a filter: `await` gives the first page, `for await` all of them. */
  getAll(query: Named<Body<"/v1/memories/list">> = {}, options?: CallOptions): Listing<MemoryRecord, Page> {
    return this.#list(query, options, (page) => page.memories);
  }

  /** The number of memories that pass a filter. */
  async count(query: Named<Body<"/v1/memories/count">> = {}, options?: CallOptions): Promise<number> {
    return (await this.#read<Answer<"/v1/memories/count">>("/v1/memories/count", query, options)).count;
  }

  /** What happened to a memory, oldest first: `await` gives the first page, `for await` all events. */
  history(
    id: string,
    query: Named<Query<"/v1/memories/{id}/history">> = {},
    options?: CallOptions,
  ): Listing<Schemas["Event"], Schemas["History"]> {
    return new Listing<Schemas["Event"], Schemas["History"]>(
      (cursor) => this.#ask(["memories", id, "history"], { ...fields(query), ...(cursor && { cursor }) }, options),
      (page) => page.events,
    );
  }

  /**
   * The memories that a query calls for, best first: `hits`, by their other name `results`. The query is an object, or a
   * text before what else is asked.
   */
  search(query: Named<SearchRequest>, options?: CallOptions): Promise<SearchAnswer>;
  search(query: string, rest?: Further<SearchRequest, "query"> & CallOptions): Promise<SearchAnswer>;
  async search(given: unknown, rest?: object): Promise<SearchAnswer> {
    return inBothNames(await this.#ranked<WireAnswer>("/v1/search", given, rest));
  }

  /** A text for a model to read, of at most so many tokens. */
  getContext(query: Named<ContextRequest>, options?: CallOptions): Promise<Answer<"/v1/context">>;
  getContext(query: string, rest?: Further<ContextRequest, "query"> & CallOptions): Promise<Answer<"/v1/context">>;
  getContext(given: unknown, rest?: object): Promise<Answer<"/v1/context">> {
    return this.#ranked("/v1/context", given, rest);
  }

  /** The reasons for the rank of one memory, returned or not. */
  explain(
    query: Named<Body<"/v1/explain"> & { id: string }>,
    options?: CallOptions,
  ): Promise<Schemas["ExplainReport"]> {
    return this.#ranked("/v1/explain", query, options);
  }

  /** The reasons for the ranks of several memories in one ranking. */
  async explainMany(
    query: Named<Body<"/v1/explain"> & { ids: string[] }>,
    options?: CallOptions,
  ): Promise<Schemas["ExplainReport"][]> {
    return (await this.#ranked<{ reports: Schemas["ExplainReport"][] }>("/v1/explain", query, options)).reports;
  }

  // Judging and linking

  /** Draws a link from one memory to another. */
  link(link: Named<Body<"/v1/links">>, options?: WriteOptions): Promise<Answer<"/v1/links">> {
    return this.#write("/v1/links", link, options);
  }

  /** The links of a memory, or all of the namespace; with `pending`, those that lead to no memory yet. */
  async links(
    query: string | Named<Query<"/v1/links">> = {},
    options?: PastOptions,
  ): Promise<Answer<"/v1/links", "get">["links"]> {
    const asked = typeof query === "string" ? { id: query } : fields(query);
    const past = { as_of: callOptions<PastOptions>(options).asOf };
    return (await this.#ask<Answer<"/v1/links", "get">>("/v1/links", { ...past, ...asked }, options)).links;
  }

  /** Says that a new memory takes the place of an old one. */
  supersede(pair: Named<Body<"/v1/supersede">>, options?: WriteOptions): Promise<void> {
    return this.#write("/v1/supersede", pair, options);
  }

  /** Keeps a memory from being archived automatically. */
  async pin(id: string, options: ChangeOptions = {}): Promise<MemoryRecord> {
    return this.#write(["memories", id, "pin"], version(options), options);
  }

  /** Lets a memory be archived again. */
  async unpin(id: string, options: ChangeOptions = {}): Promise<MemoryRecord> {
    return this.#write(["memories", id, "unpin"], version(options), options);
  }

  /** Counts a use of memories. */
  touch(use: Named<Body<"/v1/touch">>, options?: WriteOptions): Promise<void> {
    return this.#write("/v1/touch", use, options);
  }

  // Upkeep

  /** Moves memories to the archive; gives the name of the run, null if nothing was moved. */
  async archive(ids: readonly string[], options?: WriteOptions): Promise<string | null> {
    return (await this.#write<Answer<"/v1/archive">>("/v1/archive", { ids }, options)).run;
  }

  /** Brings memories back from the archive. */
  async unarchive(ids: readonly string[], options?: WriteOptions): Promise<Answer<"/v1/unarchive">["restored"]> {
    return (await this.#write<Answer<"/v1/unarchive">>("/v1/unarchive", { ids }, options)).restored;
  }

  /** Takes back what a run has done. */
  undo(run: string, options?: WriteOptions): Promise<Answer<"/v1/undo">> {
    return this.#write("/v1/undo", { run }, options);
  }

  /** Takes back what a writer has done; a preview unless `apply`. */
  undoActor(query: Named<Body<"/v1/undo/actor">>, options?: WriteOptions): Promise<Answer<"/v1/undo/actor">> {
    return this.#write("/v1/undo/actor", query, options);
  }

  // The whole

  /** Numbers of the namespace. */
  stats(query: Named<Query<"/v1/stats">> = {}, options?: CallOptions): Promise<Answer<"/v1/stats", "get">> {
    return this.#ask("/v1/stats", query, options);
  }

  /** The tags of the namespace with their numbers, read page by page. */
  tags(query: Named<NamesQuery> = {}, options?: CallOptions): Listing<NameCount, Schemas["NamePage"]> {
    return this.#names("/v1/tags", query, options);
  }

  /** What is known about a user, by topic; what holds of it. */
  about(query: Named<Body<"/v1/about">> = {}, options?: CallOptions): Promise<Answer<"/v1/about">> {
    return this.#read("/v1/about", query, options);
  }

  /** The entities of the namespace with their numbers, read page by page. */
  entities(query: Named<NamesQuery> = {}, options?: CallOptions): Listing<NameCount, Schemas["NamePage"]> {
    return this.#names("/v1/entities", query, options);
  }

  /** What has happened in the namespace after a cursor, oldest first, read page by page. */
  events(
    query: Named<Query<"/v1/events">> = {},
    options?: CallOptions,
  ): Listing<Schemas["Event"], Schemas["EventPage"]> {
    return new Listing<Schemas["Event"], Schemas["EventPage"]>(
      (after) => this.#ask("/v1/events", { ...fields(query), ...(after && { after }) }, options),
      (page) => page.events,
    );
  }

  /** The profiles that rank. */
  profiles(options?: CallOptions): Promise<Answer<"/v1/profiles", "get">> {
    return this.#ask("/v1/profiles", {}, options);
  }

  /** One profile: its formula, and itself as JSON. */
  profile(name: string, options?: CallOptions): Promise<Answer<"/v1/profiles/{name}", "get">> {
    return this.#ask(["profiles", name], {}, options);
  }

  /** Everything of the namespace, as lines of JSON. */
  export(query: Named<Query<"/v1/export">> = {}, options?: CallOptions): AsyncGenerator<string, void, undefined> {
    return this.#transport.lines({ method: "GET", path: "/v1/export", query, repeatable: "always" }, options);
  }

  /** Writes the lines of an export into this namespace, which has to be empty. */
  async load(
    lines: Blob | string | Iterable<string> | AsyncIterable<string>,
    query: Named<Query<"/v1/load", "post">> = {},
    options?: CallOptions,
  ): Promise<Answer<"/v1/load">> {
    const body = await ndjson(lines);
    return this.#transport.json({ method: "POST", path: "/v1/load", query, body, repeatable: "refused" }, options);
  }

  /** What the key of this client may do, and where. */
  key(options?: CallOptions): Promise<Answer<"/v1/key", "get">> {
    return this.#ask("/v1/key", {}, options);
  }

  /** The version of the server. */
  version(options?: CallOptions): Promise<Answer<"/v1/version", "get">> {
    return this.#ask("/v1/version", {}, options);
  }

  /** Asks a query, which may be a text alone, by the profile of this client. */
  async #ranked<Value>(path: Request["path"], given: unknown, rest?: object): Promise<Value> {
    const { profile } = this.#settings;
    const [query, options] = parted("query", given, rest);
    return this.#read(path, { ...(profile !== undefined && { profile }), ...fields(query, "the query") }, options);
  }

  #list<Item>(
    query: Named<Body<"/v1/memories/list">>,
    options: CallOptions | undefined,
    items: (page: Page) => Item[],
  ): Listing<Item, Page> {
    return new Listing<Item, Page>(
      (cursor) => this.#read("/v1/memories/list", { ...fields(query), ...(cursor && { cursor }) }, options),
      items,
    );
  }

  #erase(body: Body<"/v1/memories/delete">, options?: WriteOptions): Promise<Answer<"/v1/memories/delete">> {
    return this.#write("/v1/memories/delete", body, options);
  }

  #names(path: string, query: Named<NamesQuery>, options?: CallOptions): Listing<NameCount, Schemas["NamePage"]> {
    return new Listing<NameCount, Schemas["NamePage"]>(
      (cursor) => this.#ask(path, { ...fields(query), ...(cursor && { cursor }) }, options),
      (page) => page.names,
    );
  }

  #ask<Value>(path: Request["path"], query: Request["query"] & object, options?: CallOptions): Promise<Value> {
    return this.#transport.json({ method: "GET", path, query, repeatable: "always" }, options);
  }

  #read<Value>(path: Request["path"], body: unknown, options?: CallOptions): Promise<Value> {
    return this.#transport.json({ method: "POST", path, body, repeatable: "always" }, options);
  }

  /** A request that is not sent again once a server may have got it. */
  #once<Value>(path: Request["path"], body: unknown, options?: CallOptions): Promise<Value> {
    return this.#transport.json({ method: "POST", path, body, repeatable: "refused" }, options);
  }

  async #write<Value>(path: Request["path"], body: unknown, options: WriteOptions = {}): Promise<Value> {
    const headers = idempotency(options);
    return this.#transport.json({ method: "POST", path, body, headers, repeatable: "always" }, options);
  }
}

const CALL = new Set(["signal", "timeout", "namespace", "headers", "idempotencyKey", "idempotency_key"]);

/** A request and the options of its call, of an object and these, or of a text or list before both. */
function parted(field: string, given: unknown, rest: object = {}): [request: unknown, options: CallOptions] {
  if (typeof given !== "string" && !Array.isArray(given)) return [given, rest];
  const entries = Object.entries(fields(rest, "what follows"));
  const options = entries.filter(([name]) => CALL.has(name));
  const request = entries.filter(([name]) => !CALL.has(name));
  return [{ [field]: given, ...Object.fromEntries(request) }, Object.fromEntries(options)];
}

function change(given: ChangeOptions): Record<string, string> {
  const { ifVersion, ...options } = callOptions<ChangeOptions>(given);
  return { ...(ifVersion !== undefined && { "if-match": `"${ifVersion}"` }), ...idempotency(options) };
}

function version(options: ChangeOptions): { if_version?: number } {
  const { ifVersion } = callOptions<ChangeOptions>(options);
  return ifVersion === undefined ? {} : { if_version: ifVersion };
}

/** A header by which the server knows a repetition; made of what insecure pages have, too. */
function idempotency(options: WriteOptions): Record<string, string> {
  const { idempotencyKey } = callOptions<WriteOptions>(options);
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const random = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { "idempotency-key": idempotencyKey ?? random };
}

/** The answer, null for a memory that is not there. */
async function orNull<Value>(answer: Promise<Value>): Promise<Value | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SalienceError && error.code === "NotFound") return null;
    throw error;
  }
}

async function ndjson(lines: Blob | string | Iterable<string> | AsyncIterable<string>): Promise<Blob> {
  const type = "application/x-ndjson";
  if (typeof lines === "string" || lines instanceof Blob) return new Blob([lines], { type });
  const parts: string[] = [];
  for await (const line of lines) parts.push(line.endsWith("\n") ? line : `${line}\n`);
  return new Blob(parts, { type });
}

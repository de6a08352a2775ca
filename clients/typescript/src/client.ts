import { SalienceError } from "./errors.js";
import { Listing } from "./listing.js";
import { inBothNames, type ScoredMemory, scored, type SearchAnswer, type WireAnswer } from "./names.js";
import {
  type CallOptions,
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
export type NamesQuery = Omit<Query<"/v1/tags">, "filters"> & { filters?: Filters | null };
export type NameCount = Schemas["NameCount"];
export type AccessKey = Schemas["AccessKey"];
export type NewKey = Schemas["NewKey"];
export type Page = Schemas["Page"];

/** The profile on whose scale a threshold is a share of 1. */
const SHARES = "six_factor";

/**
 * The settings of a client; `profile` ranks the searches and contexts that name none. Without it, searches are ranked by
 * `six_factor`, on whose scale a threshold is a share of 1, and contexts by the profile of the server.
 */
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

  constructor(settings: SalienceSettings = {}) {
    this.#settings = settings;
    this.#transport = new Transport(settings);
  }

  /** The profile of contexts and of what a model searches: null for that of the server. */
  get profileOfContexts(): Exclude<SearchRequest["profile"], undefined> {
    return this.#settings.profile ?? null;
  }

  /** The same client for another namespace. */
  within(namespace: string): Salience {
    return new Salience({ ...this.#settings, namespace });
  }

  /** Memories by the names `create`, `get`, `list`, `update` and `delete`. */
  readonly memories = {
    create: (memory: NewMemory, options?: WriteOptions) => this.add(memory, options),
    get: async (id: string, options?: CallOptions): Promise<ScoredMemory | null> => {
      const memory = await this.get(id, options);
      return memory && scored(memory);
    },
    list: (query: Body<"/v1/memories/list"> = {}, options?: CallOptions): Listing<ScoredMemory, Page> =>
      this.#list(query, options, (page) => page.memories.map(scored)),
    update: async (
      id: string,
      changes: Body<"/v1/memories/{id}", "patch">,
      options?: ChangeOptions,
    ): Promise<ScoredMemory> => scored(await this.update(id, changes, options)),
    delete: (id: string, options?: ChangeOptions) => this.delete(id, options),
  };

  /** Judgements of memories: useful, not_useful, outdated or incorrect. */
  readonly feedback = {
    create: async (judgement: Body<"/v1/feedback">, options: ChangeOptions = {}): Promise<ScoredMemory> =>
      scored(await this.#write<MemoryRecord>("/v1/feedback", { ...judgement, ...version(options) }, options)),
  };

  /** Keys of the server: those that may do nothing beyond the key of this client. */
  readonly keys = {
    list: async (options?: CallOptions): Promise<AccessKey[]> =>
      (await this.#ask<Answer<"/v1/keys", "get">>("/v1/keys", {}, options)).keys,
    /** Makes a key; its text is in the answer, and nowhere else. */
    create: (key: Body<"/v1/keys">, options?: CallOptions): Promise<NewKey> =>
      this.#once<NewKey>("/v1/keys", key, options),
    /** Gives a key another secret. */
    rotate: (
      id: string,
      change: Body<"/v1/keys/{key_id}/rotate"> = {},
      options?: CallOptions,
    ): Promise<NewKey> => this.#once<NewKey>(["keys", id, "rotate"], change, options),
    /** Ends a key for good. */
    revoke: (id: string, options?: CallOptions): Promise<AccessKey> =>
      this.#read(["keys", id, "revoke"], undefined, options),
  };

  // Writing

  /** Remembers a text, or the messages of a chat, with its fields. */
  add(memory: string | NewMemory, options?: WriteOptions): Promise<Answer<"/v1/memories">> {
    return this.#write("/v1/memories", typeof memory === "string" ? { content: memory } : memory, options);
  }

  /** Remembers many items: texts, or objects with the fields of a memory. */
  addMany(batch: Body<"/v1/memories/batch">, options?: WriteOptions): Promise<Answer<"/v1/memories/batch">> {
    return this.#write("/v1/memories/batch", batch, options);
  }

  /** Remembers a chat as questions with their answers. */
  addChat(chat: Body<"/v1/chats">, options?: WriteOptions): Promise<Answer<"/v1/chats">> {
    return this.#write("/v1/chats", chat, options);
  }

  /** Changes fields of a memory; those that are left out stay as they are. */
  update(
    id: string,
    changes: Body<"/v1/memories/{id}", "patch">,
    options: ChangeOptions = {},
  ): Promise<MemoryRecord> {
    return this.#transport.json(
      { method: "PATCH", path: ["memories", id], body: changes, headers: change(options), repeatable: "always" },
      options,
    );
  }

  /** Erases a memory; false if there is none. */
  async delete(id: string, options: ChangeOptions = {}): Promise<boolean> {
    const erased = this.#transport.json(
      { method: "DELETE", path: ["memories", id], headers: change(options), repeatable: "always" },
      options,
    );
    return (await orNull(erased.then(() => true))) !== null;
  }

  /** Erases the memories of some ids; gives how many there were. */
  async deleteMany(ids: readonly string[], options?: WriteOptions): Promise<number> {
    return (await this.#erase({ ids: [...ids] }, options)).deleted;
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
  forgetUser(userId: string, options?: WriteOptions): Promise<ErasureReceipt> {
    return this.#write("/v1/memories/forget", { user_id: userId }, options);
  }

  // Reading

  /** The memory of an id, null if there is none. */
  get(id: string, options?: PastOptions): Promise<MemoryRecord | null> {
    return orNull(this.#ask<MemoryRecord>(["memories", id], { as_of: options?.asOf }, options));
  }

  /** The memories of some ids, in their order, null for those that are not there. */
  async getMany(ids: readonly string[], options?: PastOptions): Promise<Answer<"/v1/memories/get">["memories"]> {
    const body = { ids, as_of: options?.asOf };
    const answer = await this.#read<Answer<"/v1/memories/get">>("/v1/memories/get", body, options);
    return answer.memories;
  }

  /** The memories that pass a filter: `await` gives the first page, `for await` all of them. */
  getAll(query: Body<"/v1/memories/list"> = {}, options?: CallOptions): Listing<MemoryRecord, Page> {
    return this.#list(query, options, (page) => page.memories);
  }

  /** The number of memories that pass a filter. */
  async count(query: Body<"/v1/memories/count"> = {}, options?: CallOptions): Promise<number> {
    return (await this.#read<Answer<"/v1/memories/count">>("/v1/memories/count", query, options)).count;
  }

  /** What happened to a memory, oldest first: `await` gives the first page, `for await` all events. */
  history(
    id: string,
    query: Query<"/v1/memories/{id}/history"> = {},
    options?: CallOptions,
  ): Listing<Schemas["Event"], Schemas["History"]> {
    return new Listing<Schemas["Event"], Schemas["History"]>(
      (cursor) => this.#ask(["memories", id, "history"], { ...query, ...(cursor && { cursor }) }, options),
      (page) => page.events,
    );
  }

  /** The memories that a query calls for, best first: `hits`, by their other name `results`. */
  async search(query: SearchRequest, options?: CallOptions): Promise<SearchAnswer> {
    return inBothNames(await this.#read<WireAnswer>("/v1/search", this.#ranked(query, SHARES), options));
  }

  /** A text for a model to read, of at most so many tokens. */
  getContext(query: ContextRequest, options?: CallOptions): Promise<Answer<"/v1/context">> {
    return this.#read("/v1/context", this.#ranked(query), options);
  }

  /** The reasons for the rank of one memory, returned or not. */
  explain(query: Body<"/v1/explain"> & { id: string }, options?: CallOptions): Promise<Schemas["ExplainReport"]> {
    return this.#read("/v1/explain", this.#ranked(query, SHARES), options) as Promise<Schemas["ExplainReport"]>;
  }

  /** The ranks of the same memories under several profiles. */
  compare(query: Body<"/v1/compare">, options?: CallOptions): Promise<Answer<"/v1/compare">> {
    return this.#read("/v1/compare", query, options);
  }

  /** The reasons for the ranks of several memories in one ranking. */
  async explainMany(query: Body<"/v1/explain"> & { ids: string[] }, options?: CallOptions): Promise<Schemas["ExplainReport"][]> {
    const answer = await this.#read<{ reports: Schemas["ExplainReport"][] }>("/v1/explain", this.#ranked(query, SHARES), options);
    return answer.reports;
  }

  /** All that a search ranked, in columns: the parts of each score, the routes and the stages. */
  candidates(query: Body<"/v1/candidates">, options?: CallOptions): Promise<Answer<"/v1/candidates">> {
    return this.#read("/v1/candidates", query, options);
  }

  /** The questions that are kept with their answers. */
  questions(options?: CallOptions): Promise<Answer<"/v1/questions", "get">> {
    return this.#ask("/v1/questions", {}, options);
  }

  /** Keeps a question with the memories that answer it, and those that do not. */
  addQuestion(question: Body<"/v1/questions">, options?: WriteOptions): Promise<Answer<"/v1/questions">> {
    return this.#write("/v1/questions", question, options);
  }

  /** Drops a question that is kept; false if there is none. */
  async deleteQuestion(id: string, options: CallOptions = {}): Promise<boolean> {
    const dropped = this.#transport.json({ method: "DELETE", path: ["questions", id], repeatable: "always" }, options);
    return (await orNull(dropped.then(() => true))) !== null;
  }

  /** Recall, MRR and nDCG of profiles on the questions that are kept, each with its interval. */
  scoreQuestions(query: Body<"/v1/questions/score"> = {}, options?: CallOptions): Promise<Answer<"/v1/questions/score">> {
    return this.#read("/v1/questions/score", query, options);
  }

  /** The recorded searches, where a search log is kept. */
  searches(query: Query<"/v1/searches"> = {}, options?: CallOptions): Promise<Answer<"/v1/searches", "get">> {
    return this.#ask("/v1/searches", query, options);
  }

  // Judging and linking

  /** Draws a link from one memory to another. */
  link(link: Body<"/v1/links">, options?: WriteOptions): Promise<Answer<"/v1/links">> {
    return this.#write("/v1/links", link, options);
  }

  /** The links of a memory, or all of the namespace. */
  async links(id?: string, options?: PastOptions): Promise<Answer<"/v1/links", "get">["links"]> {
    const query = { id, as_of: options?.asOf };
    return (await this.#ask<Answer<"/v1/links", "get">>("/v1/links", query, options)).links;
  }

  /** The memories that links lead to from one, the nearest first. */
  graph(query: Query<"/v1/graph">, options?: CallOptions): Promise<Answer<"/v1/graph", "get">> {
    return this.#ask("/v1/graph", query, options);
  }

  /** The links that lead to no memory yet. */
  async pendingLinks(options?: CallOptions): Promise<Answer<"/v1/links/pending", "get">["links"]> {
    return (await this.#ask<Answer<"/v1/links/pending", "get">>("/v1/links/pending", {}, options)).links;
  }

  /** Says that a new memory takes the place of an old one. */
  supersede(pair: Body<"/v1/supersede">, options?: WriteOptions): Promise<void> {
    return this.#write("/v1/supersede", pair, options);
  }

  /** Says that two memories contradict each other. */
  contradict(pair: Body<"/v1/contradict">, options?: WriteOptions): Promise<void> {
    return this.#write("/v1/contradict", pair, options);
  }

  /** Raises the value of a memory. */
  promote(id: string, options: ChangeOptions = {}): Promise<MemoryRecord> {
    return this.#write(["memories", id, "promote"], version(options), options);
  }

  /** Lowers the value of a memory. */
  demote(id: string, options: ChangeOptions = {}): Promise<MemoryRecord> {
    return this.#write(["memories", id, "demote"], version(options), options);
  }

  /** Strengthens a memory. */
  reinforce(id: string, options: ChangeOptions = {}): Promise<MemoryRecord> {
    return this.#write(["memories", id, "reinforce"], version(options), options);
  }

  /** Keeps a memory from being archived automatically. */
  pin(id: string, options: ChangeOptions = {}): Promise<MemoryRecord> {
    return this.#write(["memories", id, "pin"], version(options), options);
  }

  /** Lets a memory be archived again. */
  unpin(id: string, options: ChangeOptions = {}): Promise<MemoryRecord> {
    return this.#write(["memories", id, "unpin"], version(options), options);
  }

  /** Counts a use of memories. */
  touch(use: Body<"/v1/touch">, options?: WriteOptions): Promise<void> {
    return this.#write("/v1/touch", use, options);
  }

  // Upkeep

  /** Lets all memories fade by the time that has passed. */
  decayAll(options?: WriteOptions): Promise<void> {
    return this.#write("/v1/decay", undefined, options);
  }

  /** The memories by how alive they are: active, stale, fading or dormant. */
  zones(query: Body<"/v1/zones"> = {}, options?: CallOptions): Promise<Answer<"/v1/zones">> {
    return this.#read("/v1/zones", query, options);
  }

  /** The shares of the zones over time. */
  zoneShares(query: Body<"/v1/zones/shares"> = {}, options?: CallOptions): Promise<Answer<"/v1/zones/shares">> {
    return this.#read("/v1/zones/shares", query, options);
  }

  /** The vitality of a memory over time, and when it changes its zone. */
  vitality(
    id: string,
    query: Query<"/v1/memories/{id}/vitality"> = {},
    options?: CallOptions,
  ): Promise<Answer<"/v1/memories/{id}/vitality", "get">> {
    return this.#ask(["memories", id, "vitality"], query, options);
  }

  /** Moves memories to the archive; gives the name of the run, null if nothing was moved. */
  async archive(ids: readonly string[], options?: WriteOptions): Promise<string | null> {
    return (await this.#write<Answer<"/v1/archive">>("/v1/archive", { ids }, options)).run;
  }

  /** Brings memories back from the archive. */
  async restore(ids: readonly string[], options?: WriteOptions): Promise<Answer<"/v1/restore">["restored"]> {
    return (await this.#write<Answer<"/v1/restore">>("/v1/restore", { ids }, options)).restored;
  }

  /** Archives memories that have faded; a preview unless `apply`. */
  prune(rules: Body<"/v1/prune"> = {}, options?: WriteOptions): Promise<Answer<"/v1/prune">> {
    return this.#write("/v1/prune", rules, options);
  }

  /** Makes one memory of several that belong together; a preview unless `apply`. */
  consolidate(rules: Body<"/v1/consolidate"> = {}, options?: WriteOptions): Promise<Answer<"/v1/consolidate">> {
    return this.#write("/v1/consolidate", rules, options);
  }

  /** Does the upkeep that is due; a preview unless `apply`. */
  maintain(rules: Body<"/v1/maintain"> = {}, options?: WriteOptions): Promise<Answer<"/v1/maintain">> {
    return this.#write("/v1/maintain", rules, options);
  }

  /** Takes back what a run has done. */
  undo(run: string, options?: WriteOptions): Promise<Answer<"/v1/undo">> {
    return this.#write("/v1/undo", { run }, options);
  }

  /** Takes back what a writer has done; a preview unless `apply`. */
  undoWriter(query: Body<"/v1/undo/writer">, options?: WriteOptions): Promise<Answer<"/v1/undo/writer">> {
    return this.#write("/v1/undo/writer", query, options);
  }

  /** Looks for duplicates, junk and orphans, and mends those that `mend` names. */
  audit(rules: Body<"/v1/audit"> = {}, options?: WriteOptions): Promise<Answer<"/v1/audit">> {
    return this.#write("/v1/audit", rules, options);
  }

  /** Compares every memory with the log of what happened to it. */
  verify(rules: Body<"/v1/verify"> = {}, options?: WriteOptions): Promise<Answer<"/v1/verify">> {
    return this.#write("/v1/verify", rules, options);
  }

  // The whole

  /** Numbers of the namespace. */
  stats(query: Query<"/v1/stats"> = {}, options?: CallOptions): Promise<Answer<"/v1/stats", "get">> {
    return this.#ask("/v1/stats", query, options);
  }

  /** The tags of the namespace with their numbers, read page by page. */
  tags(query: NamesQuery = {}, options?: CallOptions): Listing<NameCount, Schemas["NamePage"]> {
    return this.#names("/v1/tags", query, options);
  }

  /** What a user told of himself, by topic; what holds of it. */
  about(query: Body<"/v1/about"> = {}, options?: CallOptions): Promise<Answer<"/v1/about">> {
    return this.#read("/v1/about", query, options);
  }

  /** The entities of the namespace with their numbers, read page by page. */
  entities(query: NamesQuery = {}, options?: CallOptions): Listing<NameCount, Schemas["NamePage"]> {
    return this.#names("/v1/entities", query, options);
  }

  /** What has happened in the namespace after a cursor, oldest first, read page by page. */
  events(
    query: Query<"/v1/events"> = {},
    options?: CallOptions,
  ): Listing<Schemas["Event"], Schemas["EventPage"]> {
    return new Listing<Schemas["Event"], Schemas["EventPage"]>(
      (after) => this.#ask("/v1/events", { ...query, ...(after && { after }) }, options),
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
  export(query: Query<"/v1/export"> = {}, options?: CallOptions): AsyncGenerator<string, void, undefined> {
    return this.#transport.lines({ method: "GET", path: "/v1/export", query, repeatable: "always" }, options);
  }

  /** Writes the lines of an export into this namespace, which has to be empty. */
  async import(
    lines: Blob | string | Iterable<string> | AsyncIterable<string>,
    query: Query<"/v1/import", "post"> = {},
    options?: CallOptions,
  ): Promise<Answer<"/v1/import">> {
    const body = await ndjson(lines);
    return this.#transport.json({ method: "POST", path: "/v1/import", query, body, repeatable: "refused" }, options);
  }

  /** Waits until all that was counted meanwhile is written. */
  flush(options?: WriteOptions): Promise<void> {
    return this.#write("/v1/flush", undefined, options);
  }

  /** What the key of this client may do, and where. */
  key(options?: CallOptions): Promise<Answer<"/v1/key", "get">> {
    return this.#ask("/v1/key", {}, options);
  }

  /** The version of the server. */
  version(options?: CallOptions): Promise<Answer<"/v1/version", "get">> {
    return this.#ask("/v1/version", {}, options);
  }

  #ranked<Query extends { profile?: unknown }>(query: Query, otherwise?: string): Query {
    const profile = this.#settings.profile === undefined ? otherwise : this.#settings.profile;
    return profile === undefined ? query : { profile, ...query };
  }

  #list<Item>(
    query: Body<"/v1/memories/list">,
    options: CallOptions | undefined,
    items: (page: Page) => Item[],
  ): Listing<Item, Page> {
    return new Listing<Item, Page>(
      (cursor) => this.#read("/v1/memories/list", { ...query, ...(cursor && { cursor }) }, options),
      items,
    );
  }

  #erase(body: Body<"/v1/memories/delete">, options?: WriteOptions): Promise<Answer<"/v1/memories/delete">> {
    return this.#write("/v1/memories/delete", body, options);
  }

  #names(path: string, query: NamesQuery, options?: CallOptions): Listing<NameCount, Schemas["NamePage"]> {
    return new Listing<NameCount, Schemas["NamePage"]>(
      (cursor) => this.#ask(path, { ...query, ...(cursor && { cursor }) }, options),
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

  #write<Value>(path: Request["path"], body: unknown, options: WriteOptions = {}): Promise<Value> {
    const headers = idempotency(options);
    return this.#transport.json({ method: "POST", path, body, headers, repeatable: "always" }, options);
  }
}

function change({ ifVersion, ...options }: ChangeOptions): Record<string, string> {
  return { ...(ifVersion !== undefined && { "if-match": `"${ifVersion}"` }), ...idempotency(options) };
}

function version({ ifVersion }: ChangeOptions): { if_version?: number } {
  return ifVersion === undefined ? {} : { if_version: ifVersion };
}

/** A header by which the server knows a repetition; made of what insecure pages have, too. */
function idempotency({ idempotencyKey }: WriteOptions): Record<string, string> {
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

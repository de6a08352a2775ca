/** Every method against the running server. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { type NameCount, Salience, SalienceError, VersionConflict } from "salience";

import { baseUrl, connect } from "./server.js";

const asked = new Set<string>();

/** A client whose requests are kept. */
function watched(): Salience {
  return connect({
    fetch: (url, init) => {
      asked.add(`${init?.method} ${new URL(url as string).pathname}`);
      return fetch(url, init);
    },
  });
}

async function gathered<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test("memories are added, read, changed and erased", async () => {
  const client = watched();
  const one = await client.add("Ana moved to Lisbon.");
  assert.deepEqual(one.items.map(({ outcome }) => outcome), ["ADDED"]);
  const many = await client.addMany({ items: ["Ben has a cello.", { content: "Eve likes tea.", id: "eve/tea 1" }] });
  assert.equal(many.ids.length, 2);
  const chat = await client.addChat({
    messages: [
      { role: "user", content: "Who wrote Dune?" },
      { role: "assistant", content: "Frank Herbert." },
    ],
    session_id: "books",
  });
  assert.equal(chat.ids.length, 1);

  assert.equal((await client.get("eve/tea 1"))?.content, "Eve likes tea.");
  assert.equal(await client.get("nobody"), null);
  const some = await client.getMany([one.id!, "nobody"]);
  assert.deepEqual(some.map((memory) => memory?.content ?? null), ["Ana moved to Lisbon.", null]);
  assert.equal(await client.count(), 4);
  assert.equal(await client.count({ filters: { session_id: "books" } }), 1);

  const page = await client.getAll({ limit: 3, order: "oldest" });
  assert.deepEqual([page.memories.length, page.total], [3, 4]);
  const all = await gathered(client.getAll({ limit: 1 }));
  assert.equal(new Set(all.map(({ id }) => id)).size, 4);

  const changed = await client.update("eve/tea 1", { content: "Eve likes coffee." }, { ifVersion: 1 });
  assert.equal(changed.version, 2);
  const conflict = await client.update("eve/tea 1", { content: "?" }, { ifVersion: 1 }).catch((error) => error);
  assert.ok(conflict instanceof VersionConflict);
  assert.deepEqual(conflict.record?.content, "Eve likes coffee.");
  const { versions } = await client.history("eve/tea 1");
  assert.deepEqual(versions.map(({ record }) => record.content), ["Eve likes tea.", "Eve likes coffee."]);

  assert.deepEqual(await client.delete("eve/tea 1", { ifVersion: 2 }), { deleted: 1, restored: [] });
  assert.equal(await client.delete("eve/tea 1"), null);
  assert.deepEqual(await client.deleteMany([one.id!, "nobody"]), { deleted: 1, restored: [] });
  const receipt = await client.deleteAll({ session_id: "books" });
  assert.deepEqual([receipt.memories, receipt.erased.memories, receipt.remaining.memories], [1, 1, 0]);
  await client.add({ content: "Ana likes tea.", user_id: "ana" });
  assert.deepEqual(
    await client.deleteUser("ana").then(({ memories, user_id }) => [memories, user_id]),
    [1, "ana"],
  );
  assert.equal((await client.deleteAll(null)).memories, 1);
  assert.equal(await client.count(), 0);
});

test("an erasure names what holds again", async () => {
  const client = watched();
  for (const erase of [
    (id: string) => client.delete(id),
    (id: string) => client.deleteMany([id]),
    (id: string) => client.deleteAll({ id }),
  ]) {
    await client.add({ id: "old", content: "The port is 6001.", kind: "fact" });
    await client.add({ id: "new", content: "The port is 6002.", kind: "fact", supersedes: "old" });
    assert.deepEqual((await erase("new"))?.restored, ["old"]);
    await client.deleteAll(null);
  }
});

test("a namespace of any script is one of its own", async () => {
  const client = watched();
  const names = ["zoë/100%25", "zoë/100%", "動物園"].map((name) => `${crypto.randomUUID()}/${name}`);
  for (const name of names) await client.forNamespace(name).add({ id: "here", content: "Here I am." });
  for (const name of names) assert.equal((await client.get("here", { namespace: name }))?.namespace, name);
});

test("a write with the same key is done once", async () => {
  const client = watched();
  const first = await client.add("Ana moved.", { idempotencyKey: "once" });
  const second = await client.add("Ana moved.", { idempotencyKey: "once" });
  assert.equal(second.id, first.id);
  assert.equal(await client.count(), 1);
});

test("memories are recalled and explained", async () => {
  const client = watched();
  const { id } = await client.add({ content: "Ana is allergic to nuts.", tags: ["health"] });
  await client.add("Ben plays the cello in an orchestra.");
  const found = await client.search({ query: "What is Ana allergic to?", limit: 1, explain: true });
  assert.deepEqual(found.hits.map((hit) => hit.id), [id]);
  assert.equal(found.hits[0]?.combined_score, found.hits[0]?.score);
  assert.ok(found.hits[0]?.explanation);
  assert.equal(found.results, found.hits);

  const context = await client.getContext({ query: "What is Ana allergic to?", max_tokens: 120, format: "markdown" });
  assert.match(context.text, /\n\n## Memories\n\n- \d{4}-\d\d-\d\d: Ana is allergic to nuts\./);
  assert.equal(context.provenance[0]?.id, id);

  const report = await client.explain({ query: "What is Ana allergic to?", id: id! });
  assert.equal(report.id, id);
  const compared = await client.inspect.compare({ query: "cello", profiles: ["balanced", "six_factor"] });
  assert.equal(Object.keys(compared.profiles).length, 2);

  const refused = await client.search({ query: "x", limit: 0 }).catch((error) => error);
  assert.ok(refused instanceof SalienceError);
  assert.deepEqual([refused.status, refused.code, refused.errors[0]?.field], [422, "InvalidInput", "limit"]);
  assert.ok(refused.requestId);
});

test("a field of another name is refused by its type, and by the server", async () => {
  const client = watched();
  const codes = await Promise.all(
    [
      // @ts-expect-error: it is filters
      client.search({ query: "x", filter: { kind: "note" } }),
      // @ts-expect-error: it is importance
      client.add({ content: "x", weight: 1 }),
      // @ts-expect-error: there are three tiers
      client.update("x", { tier: "eternal" }),
      // @ts-expect-error: a number is compared with numbers
      client.count({ filters: { importance: { gte: "high" } } }),
    ].map((call: Promise<unknown>) => call.catch((error: unknown) => error instanceof SalienceError && error.code)),
  );
  assert.deepEqual(codes, ["InvalidInput", "InvalidInput", "InvalidInput", "InvalidInput"]);
});

test("memories are judged, linked and superseded", async () => {
  const client = watched();
  await client.addMany({
    items: ["Ana rents a flat in Lisbon.", "Ana bought a house in Porto.", "Ana has a garden."].map((content, i) => ({
      id: `m${i}`,
      content,
    })),
  });
  await client.feedback.create({ id: "m0", kind: "useful" });
  assert.ok(((await client.feedback.create({ id: "m0", kind: "promote" })).memory_score ?? 0) > 0.5);
  const late = await client.feedback.create({ id: "m0", kind: "demote" }, { ifVersion: 1 }).catch((error) => error);
  assert.ok(late instanceof VersionConflict);
  assert.ok(await client.feedback.create({ id: "m0", kind: "demote" }, { ifVersion: late.record?.version ?? 0 }));
  assert.ok(await client.feedback.create({ id: "m0", kind: "reinforce" }));
  const pinned = await client.pin("m0");
  assert.ok(pinned.pinned);
  assert.equal((await client.unpin("m0", { ifVersion: pinned.version })).pinned, 0);
  await client.touch({ ids: ["m0", "m1"], use: "read" });
  await client.upkeep.flush();
  assert.equal((await client.get("m1"))?.access_count, 1);

  await client.link({ source: "m1", target: "m2", type: "supports" });
  await client.link({ source: "m2", target: "the fence" }).catch(() => null);
  assert.deepEqual((await client.links("m2")).map(({ source, type }) => [source, type]), [["m1", "supports"]]);
  assert.ok(Array.isArray(await client.links({ pending: true })));
  await client.supersede({ old: "m0", new: "m1" });
  assert.equal((await client.get("m0"))?.status, "superseded");
  await client.link({ source: "m1", target: "m2", type: "contradicts" });
  assert.ok((await client.links()).some(({ type }) => type === "contradicts"));
  assert.deepEqual(await client.links("m2", { asOf: "2020-01-01" }), []);
  assert.equal(await client.get("m2", { asOf: "2020-01-01" }), null);
  assert.deepEqual(await client.getMany(["m2"], { asOf: "2020-01-01" }), [null]);
  await client.upkeep.decay();
});

test("memories are kept in order", async () => {
  const client = watched();
  await client.addMany({ items: [{ id: "m0", content: "Ana rents a flat." }, { id: "m1", content: "Ben has a dog." }] });
  assert.ok(await client.inspect.zones());
  assert.equal((await client.about({ user: "Ana" })).total, 0);
  assert.ok(await client.inspect.zoneShares());
  const run = await client.archive(["m0"]);
  assert.ok(run);
  assert.equal(await client.archive(["m0"]), null);
  assert.deepEqual(await client.unarchive(["m0"]), { m0: "active" });
  assert.ok(await client.archive(["m1"]));
  await client.undo(run).catch((error) => assert.ok(error instanceof SalienceError));
  assert.equal((await client.upkeep.prune()).run, null);
  assert.ok(await client.upkeep.consolidate());
  assert.ok(await client.upkeep.maintain());
  assert.ok(await client.upkeep.audit());
  assert.ok(await client.upkeep.verify());
});

test("tags, entities and events are listed page by page", async () => {
  const client = watched();
  await client.add({ content: "Ana Costa met Ben Smith.", tags: ["people", "travel"], id: "a" });
  await client.add({ content: "Ana Costa has a dog.", tags: ["people"], id: "b" });
  const counted = async (names: AsyncIterable<NameCount>) =>
    (await gathered(names)).map(({ name, memories }) => [name, memories]);
  assert.deepEqual(await counted(client.tags({ limit: 1 })), [["people", 2], ["travel", 1]]);
  assert.deepEqual(await counted(client.tags({ filters: { id: "b" } })), [["people", 1]]);
  assert.deepEqual(await counted(client.entities({ prefix: "ana" })), [["Ana Costa", 2]]);
  const { cursor } = await client.events();
  await client.add({ content: "Eve has a cat.", id: "c" });
  const events = await gathered(client.events({ limit: 1 }));
  assert.deepEqual(events.map(({ type, id }) => [type, id]), ["a", "b", "c"].map((id) => ["write", id]));
  assert.deepEqual((await gathered(client.events({ after: cursor }))).map(({ id }) => id), ["c"]);
});

test("a server tells of its profiles, its figures and the key", async () => {
  const client = watched();
  await client.add("Ana has a dog.");
  assert.equal((await client.stats())["memories"], 1);
  const { profiles } = await client.profiles();
  assert.ok(profiles.some(({ name }) => name === "six_factor"));
  assert.match((await client.profile("six_factor")).formula, /similarity/);
  assert.ok((await client.key()).scopes.includes("memories:read"));
  assert.match((await client.version()).version, /^\d+\./);
});

test("a key makes, rotates and ends others", async () => {
  const client = watched();
  const { key, text } = await client.keys.create({ namespaces: ["library"], scopes: ["memories:read"], name: "web" });
  const own = await new Salience({ baseUrl, apiKey: text }).key();
  assert.deepEqual([own.key, own.namespace, own.scopes], [key.id, "library", ["memories:read"]]);
  assert.notEqual((await client.keys.rotate(key.id, { overlap_seconds: 60 })).text, text);
  assert.ok((await client.keys.list()).some(({ id, former_until }) => id === key.id && former_until));
  assert.ok((await client.keys.revoke(key.id)).revoked_at);
});

test("everything is exported, and imported elsewhere", async () => {
  const client = watched();
  await client.addMany({ items: [{ id: "a", content: "Ana" }, { id: "b", content: "Ben" }] });
  const lines = await gathered(client.export());
  const copy = client.forNamespace(`${crypto.randomUUID()}`);
  assert.equal((await copy.load(lines)).memories, 2);
  assert.deepEqual((await copy.getMany(["a", "b"])).map((memory) => memory?.content), ["Ana", "Ben"]);
  const damaged = await client.forNamespace(crypto.randomUUID()).load("{").catch((error) => error);
  assert.ok(damaged instanceof SalienceError);
});

test("what a search ranked, the neighbourhood and the life of a memory are told", async () => {
  const client = watched();
  await client.addMany({ items: [{ id: "cello", content: "Ana has a cello." }, { id: "flute", content: "Ben has a flute." }] });
  await client.link({ source: "cello", target: "flute", type: "supports" });
  const query = "Who has a cello?";
  const table = await client.inspect.candidates({ query, limit: 5 });
  assert.equal(table.rows[0]?.id, "cello");
  const reports = await client.explainMany({ query, ids: ["cello", "flute"] });
  assert.deepEqual(reports.map(({ id }) => id), ["cello", "flute"]);
  const { nodes, edges } = await client.inspect.graph({ around: "cello", depth: 1 });
  assert.deepEqual([nodes.map(({ id }) => id), edges.length], [["cello", "flute"], 1]);
  assert.equal((await client.inspect.vitality("cello", { points: 3 })).points.length, 3);
  assert.deepEqual((await client.inspect.searches({ limit: 1 })).searches, []);
  assert.deepEqual((await client.undoActor({ actor: "nobody" })).run ?? null, null);
});

test("labelled questions are kept, measured and dropped", async () => {
  const client = watched();
  await client.add({ id: "cello", content: "Ana has a cello." });
  const { id } = await client.labels.add({ query: "Who has a cello?", relevant: ["cello"] });
  assert.deepEqual((await client.labels.questions()).questions.map((each) => each.id), [id]);
  const { scores } = await client.labels.score({ profiles: ["balanced"] });
  assert.equal(scores[0]?.measures.MRR?.mean, 1);
  assert.equal(await client.labels.delete(id), true);
  assert.equal(await client.labels.delete(id), false);
});

test("every operation of the document has a method", async () => {
  const response = await fetch(`${baseUrl}/openapi.json`);
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, { security?: unknown[] }>> };
  const served = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { security }]) => security?.length !== 0) // health and the like are not for clients
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
  const templates = served.map((name) => [name, new RegExp(`^${name.replace(/\{\w+\}/g, "[^/]+")}$`)] as const);
  const missing = templates.filter(([, form]) => ![...asked].some((call) => form.test(call)));
  const other = ["GET /v1/memories", "GET /v1/zones"]; // their POST is asked
  assert.ok(served.length > 40);
  assert.deepEqual(missing.map(([name]) => name).filter((name) => !other.includes(name)), []);
});

/** Requests as they may be written: by position, in either case, checked at run time, from CommonJS. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { Salience } from "salience";

import { answer, failure, scripted } from "./scripted.js";
import { baseUrl, connect } from "./server.js";

test("a search is ranked as at every other door, unless a field of another name is given", async () => {
  const client = connect();
  await client.add({ content: "Ana moved to Lisbon.", tier: "long" });
  const query = "Where does Ana live?";
  const searches = [client.search(query), client.search({ query }), client.search({ query, threshold: null })];
  for (const { profile, search_type } of await Promise.all(searches)) {
    assert.deepEqual([profile, search_type], ["balanced", "hybrid"]);
  }
  const { hits } = await client.search(query);
  assert.equal((await client.explain({ query, id: hits[0]!.id })).profile, "balanced");
  for (const more of [{ threshold: 0.1 }, { tier: "long" }] as const) {
    assert.equal((await client.search(query, more)).profile, "six_factor");
    assert.equal((await client.search(query, { ...more, profile: "balanced" })).profile, "balanced");
  }
  assert.equal((await connect({ profile: "composite" }).search(query)).profile, "composite");
});

test("what is asked or kept may stand before its fields, and those in either case", async () => {
  const client = connect();
  const { id } = await client.add("Ana is allergic to nuts.", { sessionId: "s", user_id: "ana", idempotencyKey: "k" });
  assert.equal((await client.add("Ana is allergic to nuts.", { sessionId: "s", user_id: "ana", idempotencyKey: "k" })).id, id);
  const turns = [{ role: "user", content: "Ben has a cello.", createdAt: "2026-05-01" }];
  await client.add(turns as never, { sessionId: "chat" });
  await client.addMany(["Eve likes tea.", { content: "Eve has a cat.", userId: "eve" }] as never);
  const { memories } = await client.getAll({ order: "oldest" });
  assert.deepEqual(
    memories.map(({ content, session_id, user_id }) => [content, session_id, user_id]),
    [
      ["Ben has a cello.", "chat", null],
      ["Ana is allergic to nuts.", "s", "ana"],
      ["Eve likes tea.", null, null],
      ["Eve has a cat.", null, "eve"],
    ],
  );
  const found = await client.search("nuts", { limit: 1, options: { min_score: 0 }, filters: { user_id: "ana" }, timeout: 9_000 });
  assert.deepEqual(found.hits.map((hit) => hit.id), [id]);
  const context = await client.getContext("What may Ana not eat?", { maxTokens: 150, options: { references: false } });
  assert.match(context.text, /allergic to nuts/);
  assert.equal(context.max_tokens, 150);
  assert.deepEqual(await client.search({ query: "nuts", asOf: "2020-01-01" }).then(({ hits }) => hits), []);
  assert.equal(await client.get(id!, { as_of: "2020-01-01" } as never), null);
});

test("metadata and filters keep the names that they have", async () => {
  await using server = await scripted(answer(200, {}));
  const client = new Salience({ base_url: server.url } as never);
  const sent = { content: "x", metadata: { fooBar: { bazQux: 1 } }, userId: "ana" };
  await client.add(sent);
  assert.deepEqual(JSON.parse(server.asked[0]!.body), { content: "x", metadata: sent.metadata, user_id: "ana" });
});

test("what is not an object of fields is refused before it is sent, and a promise is told from one", async () => {
  const client = new Salience(baseUrl);
  const wrong: [unknown, RegExp][] = [
    [5, /the query is a number; give an object/],
    [null, /the query is null/],
    [undefined, /the query is undefined/],
    [new Map([["query", "x"]]), /the query is a Map/],
    [Promise.resolve("x"), /a promise, which has to be awaited/],
    [{ query: "x", maxTokens: 1, max_tokens: 2 }, /maxTokens is another name of max_tokens/],
  ];
  for (const [query, message] of wrong) {
    const given = query as never;
    for (const asked of [client.search(given), client.getContext(given), client.explain(given)]) {
      const error = await failure(asked);
      assert.equal(error.code, "InvalidInput");
      assert.match(error.message, message);
    }
  }
  assert.match((await failure(client.add(7 as never))).message, /is a number/);
  const misspelt = await failure(client.search({ query: "x" }, { namspace: "a" } as never));
  assert.match(misspelt.message, /namspace is none of the options of the call; use signal, timeout, namespace/);
  assert.match((await failure(client.get("x", { asof: "2020" } as never))).message, /asof is none of the options/);
  assert.throws(() => new Salience({ url: "x" } as never), /url is none of the settings; use baseUrl, apiKey/);
});

test("it is loaded by require as well", async () => {
  const require = createRequire(import.meta.url);
  const { Salience: Required } = require("salience") as typeof import("salience");
  assert.deepEqual(Object.keys(require("salience/ai") as object).sort(), ["memoryTools", "salienceMemory"]);
  assert.match(require.resolve("salience"), /cjs/);
  await using server = await scripted(answer(200, { count: 3 }));
  assert.equal(await new Required({ baseUrl: server.url }).count(), 3);
});

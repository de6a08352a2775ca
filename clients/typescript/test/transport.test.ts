import assert from "node:assert/strict";
import { test } from "node:test";

import { type Body, Salience, VersionConflict } from "salience";

import { answer, failure, hangUp, scripted, silence } from "./scripted.js";

const record = { id: "a", content: "Ana", version: 3 };
const problem = (code: string, more: object = {}) => ({ title: "No", detail: "no", code, errors: [], ...more });

test("a request carries the key and the namespace in headers, and never in its address", async () => {
  await using server = await scripted(answer(200, record));
  const client = new Salience({ baseUrl: `${server.url}/v1/`, apiKey: "sal_secret", namespace: "ana" });
  await client.get("a b/ü");
  await client.forNamespace("ben").get("x");
  await client.get("x", { namespace: "é/ve%", headers: { traceparent: "00-1-2-01" } });
  const [first, second, third] = server.asked;
  assert.equal(first?.url, "/v1/memories/a%20b%2F%C3%BC");
  assert.equal(first.headers.authorization, "Bearer sal_secret");
  assert.equal(first.headers["salience-namespace"], "ana");
  assert.equal(second?.headers["salience-namespace"], "ben");
  assert.equal(third?.headers["salience-namespace"], "%C3%A9%2Fve%25");
  assert.equal(third.headers.traceparent, "00-1-2-01");
});

test("a write that found no answer is sent again with the same idempotency key", async () => {
  await using server = await scripted(hangUp, answer(502, "<html>"), answer(201, { id: "a", items: [] }));
  const client = new Salience({ baseUrl: server.url });
  assert.equal((await client.add("Ana moved.")).id, "a");
  const keys = server.asked.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  assert.match(String(keys[0]), /^[0-9a-f]{32}$/);
  await client.add("Ben moved.");
  assert.notEqual(server.asked.at(-1)?.headers["idempotency-key"], keys[0]);
  await client.add("Eve moved.", { idempotencyKey: "mine" });
  assert.equal(server.asked.at(-1)?.headers["idempotency-key"], "mine");
});

test("a write whose first request is still running is asked for again, unless its answer is lost", async () => {
  const running = answer(409, problem("RequestInProgress"), { "retry-after": "0" });
  await using server = await scripted(hangUp, running, answer(201, { id: "a", items: [] }));
  assert.equal((await new Salience({ baseUrl: server.url }).add("Ana moved.")).id, "a");
  await using lost = await scripted(hangUp, answer(409, problem("RequestInProgress")));
  assert.equal((await failure(new Salience({ baseUrl: lost.url }).add("Ana moved."))).code, "RequestInProgress");
  assert.equal(lost.asked.length, 2);
});

test("a change whose answer is lost is sent again with its key of repetition", async () => {
  await using lost = await scripted(hangUp, answer(200, record));
  assert.equal((await new Salience({ baseUrl: lost.url }).update("a", { content: "Ben" })).version, 3);
  const keys = lost.asked.map(({ headers }) => headers["idempotency-key"]);
  assert.match(String(keys[0]), /^[0-9a-f]{32}$/);
  assert.equal(keys[1], keys[0]);
});

test("a request without a key of repetition is sent again only when nothing was done", async () => {
  const asked = { namespaces: ["ana"], scopes: ["memories:read"] } satisfies Body<"/v1/keys">;
  const made = { text: "sal_1", key: { id: "1" } };
  await using lost = await scripted(hangUp, answer(201, made));
  const unreachable = await failure(new Salience({ baseUrl: lost.url }).keys.create(asked));
  assert.equal(unreachable.code, "Unreachable");
  assert.equal(lost.asked.length, 1);

  await using busy = await scripted(
    answer(429, problem("RateLimited"), { "retry-after": "0" }),
    answer(503, problem("Busy"), { "retry-after": "0" }),
    answer(201, made),
  );
  assert.equal((await new Salience({ baseUrl: busy.url }).keys.create(asked)).text, "sal_1");

  await using slow = await scripted(answer(503, problem("TimeLimit"), { "retry-after": "0" }), answer(201, made));
  const late = await failure(new Salience({ baseUrl: slow.url }).keys.create(asked));
  assert.deepEqual([late.code, slow.asked.length], ["TimeLimit", 1]); // it may have been done

  await using broken = await scripted(answer(503, problem("StoreError")), answer(201, made));
  const refused = await failure(new Salience({ baseUrl: broken.url }).keys.create(asked));
  assert.deepEqual([refused.status, refused.code, broken.asked.length], [503, "StoreError", 1]);
});

test("a busy server is waited for as long as it says, unless that is too long", async () => {
  const soon = new Date(Date.now() + 1000).toUTCString();
  await using dated = await scripted(answer(503, problem("Busy"), { "retry-after": soon }), answer(200, record));
  assert.ok(await new Salience({ baseUrl: dated.url }).get("a"));

  await using long = await scripted(answer(429, problem("RateLimited"), { "retry-after": "3600" }));
  const error = await failure(new Salience({ baseUrl: long.url }).get("a"));
  assert.deepEqual([error.status, error.retryAfter, long.asked.length], [429, 3600, 1]);
});

test("a request is sent again at most maxRetries times", async () => {
  await using server = await scripted(answer(503, problem("Busy"), { "retry-after": "0" }));
  await failure(new Salience({ baseUrl: server.url, maxRetries: 4 }).get("a"));
  assert.equal(server.asked.length, 5);
  await failure(new Salience({ baseUrl: server.url, maxRetries: 0 }).get("a"));
  assert.equal(server.asked.length, 6);
});

test("an error names the field, the problem, the remedy and the request", async () => {
  const errors = [{ pointer: "#/limit", field: "limit", problem: "is 0", remedy: "give 1 to 1000" }];
  await using server = await scripted(answer(422, problem("InvalidInput", { errors, instance: "req-1" })));
  const error = await failure(new Salience({ baseUrl: server.url }).search({ query: "x", limit: 0 }));
  assert.equal(error.message, "no\nlimit: is 0; give 1 to 1000");
  assert.deepEqual([error.name, error.status, error.code], ["SalienceError", 422, "InvalidInput"]);
  assert.deepEqual(error.errors, errors);
  assert.equal(error.requestId, "req-1");
  assert.equal(server.asked.length, 1);
});

test("a conflict of versions carries the memory as it is", async () => {
  await using server = await scripted(answer(412, problem("VersionConflict", { record })));
  const client = new Salience({ baseUrl: server.url });
  const error = await failure(client.update("a", { content: "Ben" }, { ifVersion: 2 }));
  assert.ok(error instanceof VersionConflict);
  assert.deepEqual(error.record, record);
  assert.equal(server.asked[0]?.headers["if-match"], '"2"');
});

test("what is not there is null, and an address without a server of ours is an error", async () => {
  await using server = await scripted(answer(404, problem("NotFound")));
  const client = new Salience({ baseUrl: server.url });
  assert.equal(await client.get("a"), null);
  assert.equal(await client.delete("a"), null);

  await using other = await scripted(answer(404, "<html>"));
  const foreign = await failure(new Salience({ baseUrl: other.url }).get("a"));
  assert.deepEqual([foreign.code, foreign.message], ["HTTP404", "404 <html>"]);

  await using page = await scripted(answer(200, "<html>"));
  const html = await failure(new Salience({ baseUrl: page.url }).get("a"));
  assert.equal(html.code, "NotSalience");
});

test("a key is not carried to another address", async () => {
  await using elsewhere = await scripted(answer(200, record));
  await using server = await scripted(answer(307, "", { location: `${elsewhere.url}/v1/memories/a` }));
  const error = await failure(new Salience({ baseUrl: server.url, apiKey: "sal_secret" }).get("a"));
  assert.equal(error.code, "Redirected");
  assert.equal(elsewhere.asked.length, 0);
});

test("a key that cannot be one is refused, and not shown", () => {
  for (const apiKey of ["", "sal_secret\n", "sal_sécret"]) {
    assert.throws(() => new Salience({ apiKey }), (error: Error) => !error.message.includes("sal_"));
  }
});

test("an address that cannot be one is refused at once", () => {
  for (const baseUrl of ["ftp://x", "http://user:secret@x", "http://x/?key=sal_1", "nowhere"]) {
    assert.throws(() => new Salience({ baseUrl }), TypeError, baseUrl);
  }
});

test("an answer that takes longer than the timeout is given up", async () => {
  await using server = await scripted(silence);
  const client = new Salience({ baseUrl: server.url, timeout: 500, maxRetries: 1 });
  const error = await failure(client.get("a"));
  assert.equal(error.code, "Timeout");
  assert.equal(server.asked.length, 2);
  const once = await failure(client.keys.rotate("a"));
  assert.equal(once.code, "Timeout");
  assert.equal(server.asked.length, 3);
});

test("a caller gives up while it waits for an answer, and while it waits to ask again", async () => {
  const reason = new Error("enough");
  await using server = await scripted(silence);
  const client = new Salience({ baseUrl: server.url });
  const controller = new AbortController();
  const waiting = client.get("a", { signal: controller.signal });
  controller.abort(reason);
  await assert.rejects(waiting, (error) => error === reason);
  await assert.rejects(client.get("a", { signal: AbortSignal.abort(reason) }), (error) => error === reason);

  const pausing = new AbortController();
  await using busy = await scripted((response) => {
    answer(429, problem("RateLimited"), { "retry-after": "20" })(response, server.asked[0]!);
    setTimeout(() => pausing.abort(reason), 50);
  });
  const asking = new Salience({ baseUrl: busy.url }).get("a", { signal: pausing.signal });
  await assert.rejects(asking, (error) => error === reason);
});

test("a listing asks for pages as they are needed", async () => {
  const page = (ids: string[], cursor: string | null) =>
    answer(200, { memories: ids.map((id) => ({ id })), total: 3, cursor, order: "oldest" });
  await using server = await scripted(page(["a", "b"], "c1"), page(["c"], null));
  const listing = new Salience({ baseUrl: server.url }).memories.list({ limit: 2, order: "oldest" });
  assert.equal(server.asked.length, 0);
  const ids: string[] = [];
  for await (const { id } of listing) {
    ids.push(id);
    assert.equal(server.asked.length, ids.length < 3 ? 1 : 2);
  }
  assert.deepEqual(ids, ["a", "b", "c"]);
  assert.deepEqual(
    server.asked.map(({ body }) => JSON.parse(body) as unknown),
    [
      { limit: 2, order: "oldest" },
      { limit: 2, order: "oldest", cursor: "c1" },
    ],
  );
});

test("an export comes line by line, whole characters however the pieces are cut", async () => {
  const bytes = Buffer.from('{"a":"ü🙂"}\n{"b":2}\nlast');
  await using server = await scripted((response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    const send = (at: number): void => {
      if (at === bytes.length) return void response.end();
      response.write(bytes.subarray(at, at + 1), () => setImmediate(send, at + 1));
    };
    send(0);
  });
  const lines: string[] = [];
  for await (const line of new Salience({ baseUrl: server.url }).export()) lines.push(line);
  assert.deepEqual(lines, ['{"a":"ü🙂"}', '{"b":2}', "last"]);
});

test("an export that breaks off is an error, not a short export", async () => {
  await using cut = await scripted((response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.write('{"a":1}\n{"b"', () => response.destroy());
  });
  const lines: string[] = [];
  const reading = (async () => {
    for await (const line of new Salience({ baseUrl: cut.url }).export()) lines.push(line);
  })();
  assert.equal((await failure(reading)).code, "Unreachable");
  assert.deepEqual(lines, ['{"a":1}']);

  await using stuck = await scripted((response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.write('{"a":1}\n');
  });
  const waiting = (async () => {
    for await (const line of new Salience({ baseUrl: stuck.url, timeout: 50 }).export()) lines.push(line);
  })();
  assert.equal((await failure(waiting)).code, "Timeout");
});

test("a reader of an export who leaves early ends the answer", async () => {
  let closed: () => void = () => {};
  const left = new Promise<void>((resolve) => (closed = resolve));
  await using server = await scripted((response) => {
    response.on("close", closed);
    response.write('{"a":1}\n');
  });
  for await (const line of new Salience({ baseUrl: server.url }).export()) {
    assert.equal(line, '{"a":1}');
    break;
  }
  await left;
});

test("an import sends lines of any source", async () => {
  await using server = await scripted(answer(200, { memories: 2 }));
  const client = new Salience({ baseUrl: server.url });
  const sources = [
    "1\n2\n",
    new Blob(["1\n2\n"]),
    ["1", "2\n"],
    (async function* () {
      yield* ["1", "2"];
    })(),
  ];
  for (const source of sources) {
    await client.load(source);
    const asked = server.asked.at(-1);
    assert.equal(asked?.headers["content-type"], "application/x-ndjson");
    assert.equal(asked.body, "1\n2\n");
  }
});

test("a name that an address cannot hold is refused before it goes astray", async () => {
  const client = new Salience();
  for (const id of ["", ".", "..", "\ud800"]) {
    const error = await failure(client.get(id));
    assert.deepEqual([error.code, error.errors[0]?.field], ["InvalidInput", "id"]);
  }
  const metadata = { number: 1n as unknown as number }; // types refuse it, JavaScript does not
  await assert.rejects(client.add({ content: "x", metadata }), TypeError);
});

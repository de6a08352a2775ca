import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { Salience, SalienceError } from "salience";

import { baseUrl, connect, readerKey } from "./server.js";

async function refusal(promise: Promise<unknown>): Promise<(number | string)[]> {
  const error: unknown = await promise.catch((error: unknown) => error);
  assert.ok(error instanceof SalienceError, String(error));
  assert.doesNotMatch(inspect(error), new RegExp(readerKey));
  return [error.status, error.code];
}

test("a key opens its own namespace, and does what it may", async () => {
  await connect({ namespace: "library" }).add({ id: "dune", content: "Dune is by Frank Herbert.", on_conflict: "replace" });
  const reader = new Salience({ baseUrl, apiKey: readerKey });
  assert.equal((await reader.get("dune"))?.namespace, "library");
  assert.deepEqual(await refusal(reader.add("Dune is by nobody.")), [403, "ScopeMissing"]);
  assert.deepEqual(await refusal(reader.keys.list()), [403, "ScopeMissing"]);
  assert.deepEqual(await refusal(reader.delete("dune")), [403, "ScopeMissing"]);
  assert.deepEqual(await refusal(reader.forNamespace("elsewhere").count()), [404, "NotFound"]);
  assert.equal(await reader.forNamespace("elsewhere").get("dune"), null);
});

test("no key, and a wrong one, open nothing", async () => {
  const wrong = readerKey.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  assert.deepEqual(await refusal(new Salience({ baseUrl, apiKey: wrong }).count()), [401, "KeyRequired"]);
  assert.deepEqual(await refusal(new Salience({ baseUrl }).count()), [401, "KeyRequired"]);
});

test("a client that is printed does not show its key", () => {
  const client = new Salience({ baseUrl, apiKey: readerKey });
  assert.doesNotMatch(inspect(client, { depth: 9, showHidden: true }), new RegExp(readerKey));
  assert.doesNotMatch(JSON.stringify(client), new RegExp(readerKey));
});

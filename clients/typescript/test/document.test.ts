/** The calls of the ranking's own document, unchanged but for the construction of the client. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { connect } from "./server.js";

test("memories are created and updated by importance", async () => {
  const client = connect();
  const created = await client.memories.create({
    content: "The user runs the firm and wants short answers",
    tier: "long",
    content_type: "fact",
    importance_score: 0.95,
    metadata: { category: "user-profile" },
  });
  assert.ok(created.id);
  assert.equal((await client.memories.get(created.id))?.importance_score, 0.95);
  const updated = await client.memories.update(created.id, {
    importance_score: 0.8, // Boost after positive feedback
  });
  assert.deepEqual([updated.importance_score, updated.relevance_score], [0.8, 0.5]);
  const memory = await client.memories.get(created.id);
  assert.equal(memory?.importance, 0.8);
  assert.deepEqual([memory.tier, memory.content_type], ["long", "fact"]);
  assert.deepEqual(memory.metadata, { category: "user-profile" });
});

test("feedback moves the relevance of a memory", async () => {
  const client = connect();
  const { id } = await client.memories.create({ content: "User prefers dark mode", id: "memory-id" });
  assert.equal(id, "memory-id");
  const before = await client.memories.get("memory-id");
  const useful = await client.feedback.create({
    memory_id: "memory-id",
    type: "useful",
    context: "It answered the question",
  });
  assert.ok((useful.relevance_score ?? 0) > (before?.relevance_score ?? 0.5));
  const outdated = await client.feedback.create({
    memory_id: "memory-id",
    type: "not_useful",
    context: "It no longer holds",
  });
  assert.ok((outdated.relevance_score ?? 1) < (useful.relevance_score ?? 0));
});

test("searches answer in results with their scores, above the threshold", async () => {
  const client = connect();
  const fact = { tier: "long", memory_nature: "semantic", importance_score: 0.9 } as const;
  await client.memories.create({ content: "How do users sign in? By a token in a header.", ...fact });
  await client.memories.create({ content: "The user is currently working on the login page.", tier: "short" });
  await client.memories.create({ content: "User preferences: tea, and no meetings on Friday." });

  const recent = await client.search({
    query: "What does the user work on now?",
    tier: "short",
    limit: 5,
  });
  assert.deepEqual(recent.results.map(({ tier }) => tier), ["short"]);

  const precise = await client.search({
    query: "How do users sign in?",
    tier: "long",
    memory_nature: "semantic",
    threshold: 0.5,
  });
  const [first] = precise.results;
  assert.equal(precise.results.length, 1);
  assert.match(first?.content ?? "", /sign in/);
  assert.ok(first && first.similarity !== null && first.similarity > 0.4 && first.similarity <= 1);
  assert.ok(first.combined_score >= 0.5 && first.combined_score <= 1);
  assert.equal(first.relevance_score, 0.5);
  assert.equal(precise.search_type, "semantic");
  assert.equal(precise.threshold, 0.5);

  const none = await client.search({ query: "User preferences", threshold: 0.99, limit: 10 });
  assert.deepEqual(none.results, []);
  const broad = await client.search({ query: "Anything about the user", threshold: 0.1, limit: 50 });
  assert.equal(broad.results.length, 3);

  const query = "User preferences";
  const results = await client.search({ query, limit: 10 });
  const scores = results.results.map((r) => r.combined_score);
  assert.equal(scores.length, 3);
  assert.ok(scores.every((score) => score >= 0));
  assert.deepEqual(scores, [...scores].sort((one, other) => other - one));
});

test("a context keeps to its tokens", async () => {
  const client = connect();
  await client.memories.create({ content: "The user wants the newest articles first on the homepage." });
  const context = await client.getContext({
    query: "Greet this user on the first page",
    max_tokens: 3000,
  });
  assert.match(context.text, /newest articles/);
  assert.ok(context.tokens <= 3000);
});

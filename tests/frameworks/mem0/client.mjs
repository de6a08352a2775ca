// Every method of the published client, unmodified; prints what each answers as one JSON object.
// Usage: node client.mjs MODULE HOST KEY
const [module, host, apiKey] = process.argv.slice(2);
const { MemoryClient } = await import(module);
const client = new MemoryClient({ apiKey, host });
const answers = {};
const refusal = (error) => ({ name: error.name, message: error.message });

await client.ping();
const ids = { userId: "ana", agentId: "guide" };
answers.add = await client.add(
  [
    { role: "user", content: "I live in Lisbon." },
    { role: "assistant", content: "A lovely city." },
  ],
  { ...ids, metadata: { topic_name: "home", rank: 2 }, infer: false, expirationDate: "2999-12-31" },
);
await client.add([{ role: "user", content: "I play the cello." }], {
  userId: "ben", runId: "r1", infer: false,
});
const [first, second] = answers.add.results;
const ofAna = { user_id: "ana" };
answers.search = await client.search("Where do I live?", { filters: ofAna, topK: 5, threshold: 0 });
answers.filtered = await client.search("Lisbon", {
  filters: { AND: [ofAna, { metadata: { topic_name: "home" } }, { NOT: [{ role: "assistant" }] }] },
});
answers.anybody = await client.search("cello", { filters: { user_id: "*" }, threshold: 0 });
answers.getAll = await client.getAll({ filters: ofAna, page: 1, pageSize: 1 });
answers.get = await client.get(first.id);
answers.update = await client.update(first.id, { text: "I live in Porto.", metadata: { rank: 3 } });
answers.history = await client.history(first.id);
answers.users = await client.users();
answers.feedback = await client.feedback({ memoryId: first.id, feedback: "POSITIVE" });
answers.batchUpdate = await client.batchUpdate([{ memoryId: second.id, text: "A fine city." }]);
const named = await client.createMemoryExport({ schema: { type: "object" }, filters: ofAna });
answers.export = await client.getMemoryExport({ memoryExportId: named.id });
answers.batchDelete = await client.batchDelete([second.id]);
answers.delete = await client.delete(first.id);
answers.missing = await client.get(first.id).catch(refusal);
answers.unscoped = await client.getAll().catch(refusal);
answers.deleteAll = await client.deleteAll({ userId: "ben" });
await client.add("Something else.", { userId: "ana", infer: false });
answers.deleteUsers = await client.deleteUsers();
answers.left = await client.getAll({ filters: { OR: [{ user_id: "*" }, { run_id: "*" }] } });
console.log(JSON.stringify(answers));

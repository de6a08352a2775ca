// Calls a method of the client for each line of JSON, and prints what it answers.
// Usage: node typescript.mjs MODULE
import { createInterface } from "node:readline";

const { Salience } = await import(process.argv[2]);
for await (const line of createInterface({ input: process.stdin })) {
  const { settings, method, arguments: given } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await new Salience(settings)[method](...given)) ?? null };
  } catch (error) {
    answer = { error: { status: error.status ?? 0, message: `${error.code}: ${error.message}` } };
  }
  console.log(JSON.stringify(answer));
}

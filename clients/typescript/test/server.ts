/** The running server that the tests use; each test has a namespace of its own. */
import { Salience, type SalienceSettings } from "salience";

/** The address of the server, a key for everything, and one that may only read the namespace "library". */
export const [baseUrl, key, readerKey] = ["URL", "KEY", "READER_KEY"].map((name) => {
  const value = process.env[`SALIENCE_TEST_${name}`];
  if (value === undefined) throw new Error(`SALIENCE_TEST_${name}: is not set; see docs/typescript.md`);
  return value;
}) as [string, string, string];

export function connect(settings: SalienceSettings = {}): Salience {
  return new Salience({ baseUrl, apiKey: key, namespace: `test-${crypto.randomUUID()}`, ...settings });
}

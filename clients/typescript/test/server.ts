/** The running server that the tests use; each test has a namespace of its own. */
import { Salience, type SalienceSettings } from "salience";

const baseUrl = process.env["SALIENCE_TEST_URL"];
if (baseUrl === undefined) {
  throw new Error("SALIENCE_TEST_URL: is not set; give the address of a running `salience serve`");
}

export function connect(settings: SalienceSettings = {}): Salience {
  return new Salience({ baseUrl: baseUrl!, namespace: `test-${crypto.randomUUID()}`, ...settings });
}

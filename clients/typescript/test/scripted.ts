/** A server that answers by a script, and keeps what it was asked. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { SalienceError } from "salience";

export interface Asked {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export type Step = (response: ServerResponse, asked: Asked) => void;

export interface Scripted extends AsyncDisposable {
  url: string;
  asked: Asked[];
}

/** The last step answers all further requests. */
export async function scripted(...steps: Step[]): Promise<Scripted> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const step = steps[Math.min(asked.length, steps.length - 1)];
      asked.push({ method, url, headers, body });
      step?.(response, asked.at(-1)!);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function answer(status: number, body?: unknown, headers: Record<string, string> = {}): Step {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
  };
}

export const hangUp: Step = (response) => response.destroy();
export const silence: Step = () => {};

/** The error of a call that is refused. */
export async function failure(promise: Promise<unknown>): Promise<SalienceError> {
  const error = await promise.then(
    () => assert.fail("nothing was thrown"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof SalienceError, String(error));
  return error;
}

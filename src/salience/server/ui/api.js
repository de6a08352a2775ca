// Requests to the server that this page comes from. The key stays in this module's memory.
let key = "";

export const useKey = (text) => {
  key = text;
};

/** A refusal of the server, or no answer from it. */
export class Refusal extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The JSON of an answer. */
export async function ask(method, path, options) {
  const answer = await sent(method, path, options);
  return answer.status === 204 ? null : answer.json();
}

/** An answer whose body is still to be read. */
export async function sent(method, path, { body, namespace, signal, accept } = {}) {
  const headers = accept ? { Accept: accept } : {};
  if (key) headers.Authorization = `Bearer ${key}`;
  if (namespace) headers["Salience-Namespace"] = encodeURIComponent(namespace);
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(`../v1${path}`, {
    method,
    headers,
    signal,
    body: body && JSON.stringify(body),
    credentials: "omit",
    cache: "no-store",
  });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Refusal(answer.status, problem.detail || `${answer.status} ${answer.statusText}`);
}

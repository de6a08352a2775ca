// Requests to the server that this page comes from. The key stays in this module's memory.
import { html, useEffect, useState } from "./html.js";
import { Text } from "./text.js";
import { words } from "./words.js";

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

// Answers to questions: one is given only under the question that asked for it

/** The answer to a POST of a body, or its refusal; neither while it is on its way. */
export function useAnswer(path, body, namespace, again = 0, method = "POST") {
  const question = body && JSON.stringify([method, path, body, namespace, again]);
  const [given, setGiven] = useState({});
  useEffect(() => {
    if (!question) return undefined;
    const gone = new AbortController();
    const put = (answer) => gone.signal.aborted || setGiven({ question, ...answer });
    ask(method, path, { body: method === "GET" ? null : body, namespace, signal: gone.signal }).then(
      (answer) => put({ answer }),
      (problem) => put({ refusal: problem.message, status: problem.status }),
    );
    return () => gone.abort();
  }, [question]);
  return given.question === question ? given : {};
}

/** The answer to a GET, or its refusal; nothing is asked without a path. */
export const useGet = (path, namespace, again) => useAnswer(path, path && {}, namespace, again, "GET");

export const Refused = ({ of }) => html`<p role="alert">${words.failed}<${Text} of=${of}/></p>`;

/** The place of an answer that is on its way or refused. */
export const Pending = ({ refusal }) => (refusal
  ? html`<${Refused} of=${refusal}/>` : html`<p role="status">${words.waiting}</p>`);

// Answers to questions: one is given only under the question that asked for it.
import { html, useEffect, useState } from "./html.js";
import { ask } from "./api.js";
import { Text } from "./text.js";
import { words } from "./words.js";

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

/** The place of an answer that is on its way or refused. */
export const Pending = ({ refusal }) => (refusal
  ? html`<p role="alert">${words.failed}<${Text} of=${refusal}/></p>` : html`<p role="status">${words.waiting}</p>`);

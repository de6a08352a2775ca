// The same as the page shows, by curl, Python and the command line.
import { html } from "./html.js";
import { searched } from "./state.js";
import { visible } from "./text.js";
import { words } from "./words.js";

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const python = (value) => JSON.stringify(value).replace(/\b(null|true|false)\b(?=(?:[^"]*"[^"]*")*[^"]*$)/g,
  (word) => ({ null: "None", true: "True", false: "False" })[word]);

export function Same({ state }) {
  const body = searched(state);
  if (state.view === "whatif" && Object.keys(state.weights).length) body.weights = state.weights;
  const isOne = state.view === "trace" && state.memory;
  if (isOne) body.id = state.memory;
  const path = isOne ? "explain" : "candidates";
  const header = headerOf(state);
  const { query, id, ...options } = body;
  const given = Object.entries(options).map(([name, value]) => `, ${name}=${python(value)}`).join("");
  const flags = [
    state.profile && `--profile ${quoted(state.profile)}`,
    state.namespace && `--namespace ${quoted(state.namespace)}`,
    state.asOf && `--as-of ${quoted(state.asOf)}`,
    Object.keys(state.filters).length && `--filter ${quoted(JSON.stringify(state.filters))}`,
    ...Object.entries(body.weights || {}).map(([name, weight]) => `--weight ${quoted(`${name}=${weight}`)}`),
  ].filter(Boolean);
  const lines = [
    `curl ${location.origin}/v1/${path}${header} --json ${quoted(JSON.stringify(body))}`,
    `memory.${path}(${[query, ...(isOne ? [id] : [])].map((text) => JSON.stringify(text)).join(", ")}${given})`,
    `salience ${isOne ? "explain" : "search"} ${[quoted(query), ...(isOne ? [quoted(id)] : []), ...flags, ...(isOne ? [] : ["--no-touch"])].join(" ")}`,
  ];
  return html`<${Lines} of=${lines}/>`;
}

const headerOf = (state) => (state.namespace ? ` -H ${quoted(`Salience-Namespace: ${encodeURIComponent(state.namespace)}`)}` : "");
const Lines = ({ of }) => html`<details class="same"><summary>${words.same}</summary><pre tabindex="0">${of.map(visible).join("\n\n")}</pre></details>`;

/** The same for a view that asks several things: each as verb, path, body, Python and command. */
export function SameOf({ state, requests }) {
  const flag = state.namespace ? ` --namespace ${quoted(state.namespace)}` : "";
  return html`<${Lines} of=${requests.flatMap(([verb, path, body, call, command]) => [
    `curl ${quoted(`${location.origin}/v1${path}`)}${headerOf(state)}${verb === "POST" ? ` --json ${quoted(JSON.stringify(body))}` : ""}`,
    `memory.${call}`, ...(command ? [`salience${flag} ${command}`] : [])])}/>`;
}

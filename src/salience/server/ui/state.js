// What the page shows, as the fragment of its address: so a question is a link. Never the key.
import { html } from "./html.js";
import { visible } from "./text.js";
import { words } from "./words.js";

export const TOKENS = 500; // of a context, where none are asked for
export const EMPTY = {
  view: "search", q: "", profile: "", namespace: "", asOf: "", memory: "", against: "", tokens: "", other: "",
  open: "", act: "", why: {}, filters: {}, weights: {},
};

const parsed = (text) => {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
};

export function read(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...EMPTY };
  for (const name of Object.keys(EMPTY)) {
    const text = given.get(name);
    if (text !== null) state[name] = typeof EMPTY[name] === "object" ? parsed(text) : text;
  }
  if (!Object.hasOwn(words.views, state.view)) state.view = EMPTY.view;
  return state;
}

export function write(state) {
  const given = new URLSearchParams();
  for (const [name, empty] of Object.entries(EMPTY)) {
    const text = typeof empty === "object" ? JSON.stringify(state[name]) : state[name];
    if (text && text !== "{}" && text !== empty) given.set(name, text);
  }
  return `#${given}`;
}

/** The arguments of the search that a state asks for, as the API names them. */
export function searched(state) {
  const body = { query: state.q };
  if (state.profile) body.profile = state.profile;
  if (state.asOf) body.as_of = state.asOf;
  if (Object.keys(state.filters).length) body.filters = state.filters;
  return body;
}

// The same as the page shows, by curl, Python and the command line

export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
/** An argument by its name, as Python writes it. */
export const named = ([name, value]) => `${name}=${python(value)}`;
export const python = (value) => JSON.stringify(value).replace(/\b(null|true|false)\b(?=(?:[^"]*"[^"]*")*[^"]*$)/g,
  (word) => ({ null: "None", true: "True", false: "False" })[word]);

/** A command with flags, each with its value, and what stands by its place. */
export const command = (name, flags, ...places) => [name, ...flags.map(([flag, value]) => (value === undefined ? flag : `${flag} ${quoted(value)}`)),
  ...(places.some((text) => text.startsWith("-")) ? ["--"] : []), ...places.map(quoted)].join(" ");

/** Path, method, command, its arguments by place, the other arguments, and flags, of a view. */
function asked(state) {
  const { query, ...options } = searched(state);
  if (state.view === "time") {
    delete options.profile;
    return ["memories/list", "get_all", "list", {}, options, []];
  }
  if (state.view === "context") {
    const most = Number(state.tokens) || TOKENS;
    return ["context", "get_context", "context", { query }, { ...options, max_tokens: most, touch: false, options: { trace: true } },
      ["--max-tokens", String(most), "--no-touch", "--option", "trace=true"]];
  }
  if (state.view === "trace" && state.memory) {
    if (state.against) options.against = state.against;
    return ["explain", "explain", "explain", { query, id: state.memory }, options, state.against ? ["--against", quoted(state.against)] : []];
  }
  if (state.view === "ab" && state.other) options.profile = state.other; // the side that is compared
  const isChanged = (state.view === "whatif" || (state.view === "ab" && !state.other)) && Object.keys(state.weights).length > 0;
  return ["candidates", "inspect.candidates", "search", { query }, isChanged ? { ...options, options: { weights: state.weights } } : options, ["--no-touch"]];
}

export function Same({ state }) {
  const [path, method, command, given, options, more] = asked(state);
  const header = headerOf(state);
  const flags = [
    options.profile && `--profile ${quoted(options.profile)}`,
    state.namespace && `--namespace ${quoted(state.namespace)}`,
    state.asOf && `--as-of ${quoted(state.asOf)}`,
    options.filters && `--filter ${quoted(JSON.stringify(state.filters))}`,
    options.options?.weights && `--option ${quoted(`weights=${JSON.stringify(state.weights)}`)}`,
  ].filter(Boolean);
  const places = Object.values(given);
  const lines = [
    `curl ${location.origin}/v1/${path}${header} --json ${quoted(JSON.stringify({ ...given, ...options }))}`,
    `memory.${method}(${[...places.map((text) => JSON.stringify(text)), ...Object.entries(options).map(named)].join(", ")})`,
    `salience ${[command, ...places.map(quoted), ...flags, ...more].join(" ")}`,
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

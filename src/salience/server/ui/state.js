// What the page shows, as the fragment of its address: so a question is a link. Never the key.
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

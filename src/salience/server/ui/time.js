// The view Time: the store as it was.
import { html, useEffect, useState } from "./html.js";
import { Pending, useAnswer, useGet } from "./answers.js";
import { Same } from "./same.js";
import { beginning, day, Text } from "./text.js";
import { later } from "./later.js";
import { words } from "./words.js";

const DAY_MS = 86_400_000;
const PAGE = 25;

const dayAt = (ms) => new Date(ms).toISOString().slice(0, 10);
const inPath = (id) => encodeURIComponent(id);

export function View({ state, go }) {
  const { answer, refusal } = useGet("/events?limit=1", state.namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  if (!answer.events.length) return html`<p>${words.nothing}</p>`;
  return html`<section><h2>${later.store}</h2><${Slider} since=${Date.parse(answer.events[0].at)} state=${state} go=${go}/>
      <${Then} state=${state} go=${go}/></section><${Same} state=${state}/>`;
}

/** A day of the store; the last place is the present. */
function Slider({ since, state, go }) {
  const begin = Date.parse(dayAt(since));
  const [today] = useState(() => Date.now());
  const last = Math.max(1, Math.ceil((today - begin) / DAY_MS));
  const placed = () => Math.round((Date.parse(state.asOf) - begin) / DAY_MS) || last;
  const [place, setPlace] = useState(placed);
  useEffect(() => setPlace(placed()), [state.asOf]);
  const at = (value) => (value >= last ? "" : dayAt(begin + value * DAY_MS));
  const asOf = at(place);
  return html`<p class="time"><label for="then">${asOf ? later.then(asOf) : later.present}</label>
    <input id="then" type="range" min="1" max=${last} step="1" value=${place} aria-valuetext=${asOf || later.now}
      onInput=${(event) => setPlace(Number(event.target.value))} onChange=${(event) => go({ asOf: at(Number(event.target.value)) })}/></p>`;
}

function Then({ state, go }) {
  const [limit, setLimit] = useState(PAGE);
  const body = { limit };
  if (state.asOf) body.as_of = state.asOf;
  if (Object.keys(state.filters).length) body.filters = state.filters;
  const { answer, refusal } = useAnswer("/memories/list", body, state.namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  return html`<p class="soft">${later.listed(answer.memories.length, answer.total)}</p>
    <ul class="then" data-as-of=${state.asOf}>${answer.memories.map((memory) => html`<li key=${memory.id} data-id=${memory.id} data-status=${memory.status}>
      <span class="soft">${day(memory.created_at)}</span> <${Row} memory=${memory} go=${go}/>
      ${memory.status === "superseded" && html`<${Successor} memory=${memory} state=${state} go=${go}/>`}</li>`)}</ul>
    ${answer.cursor && html`<button onClick=${() => setLimit(limit + PAGE)}>${later.more}</button>`}`;
}

function Row({ memory, go }) {
  const text = html`<${Text} of=${beginning(memory.content, 140)}/>`;
  return html`<button class="plain" onClick=${() => go({ open: memory.id })}>
    ${memory.status === "superseded" ? html`<s>${text}</s> <span class="soft">(${later.superseded})</span>` : text}</button>`;
}

/** What took the place of a memory, where a link says so. */
function Successor({ memory, state, go }) {
  const past = state.asOf ? `&as_of=${state.asOf}` : "";
  const { answer } = useGet(`/links?id=${inPath(memory.id)}${past}`, state.namespace);
  const source = answer?.links.find((link) => link.type === "supersedes" && link.target === memory.id)?.source;
  const body = source && { ids: [source], ...(state.asOf && { as_of: state.asOf }) };
  const [newer] = useAnswer("/memories/get", body, state.namespace).answer?.memories || [];
  return newer && html`<p class="successor"><span class="soft">${later.replacedBy}</span> <${Row} memory=${newer} go=${go}/></p>`;
}

// The view Time: the store as it was, and the life of one memory.
import { html, useEffect, useMemo, useState } from "./html.js";
import { Pending, useAnswer, useGet } from "./answers.js";
import { Same } from "./same.js";
import { beginning, clock, day, figure, Text, visible } from "./text.js";
import { later } from "./later.js";
import { words } from "./words.js";

const DAY_MS = 86_400_000;
const PAGE = 25;
const EVENTS = 1000;
const AHEAD_DAYS = 365;
const POINTS = 200;
const [WIDTH, HEIGHT] = [1000, 200];
const ZONES = ["active", "stale", "fading", "dormant"];
const BOUNDS = [0, 0.1, 0.3, 0.6, 1];

const dayAt = (ms) => new Date(ms).toISOString().slice(0, 10);
const inPath = (id) => encodeURIComponent(id);

export function View({ state, go }) {
  const { answer, refusal } = useGet("/events?limit=1", state.namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  if (!answer.events.length) return html`<p>${words.nothing}</p>`;
  return html`<div class="halves"><section><h2>${later.store}</h2><${Slider} since=${Date.parse(answer.events[0].at)} state=${state} go=${go}/>
      <${Then} state=${state} go=${go}/></section>
    <section><h2>${later.life}</h2><${Chooser} state=${state} go=${go}/>
      ${state.memory && html`<${Life} key=${state.memory} state=${state}/>`}</section></div><${Same} state=${state}/>`;
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
  return html`<button class="plain" onClick=${() => go({ memory: memory.id })}>
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

function Chooser({ state, go }) {
  const [id, setId] = useState(state.memory);
  useEffect(() => setId(state.memory), [state.memory]);
  const send = (event) => {
    event.preventDefault();
    go({ memory: id.trim() });
  };
  return html`<form class="inline" onSubmit=${send}><label>${later.lifeHint}
    <input name="memory" value=${id} onInput=${(event) => setId(event.target.value)}/></label><button>${later.show}</button></form>`;
}

function Life({ state }) {
  const [limit, setLimit] = useState(EVENTS);
  const { answer, refusal } = useGet(`/memories/${inPath(state.memory)}/history?limit=${limit}`, state.namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  const versions = new Map(answer.versions.map((version, place) => [version.since, place]));
  return html`${!answer.cursor && html`<blockquote><${Text} of=${answer.versions.at(-1).record.content}/></blockquote>`}
    <${Vitality} state=${state}/>
    <div class="scroll" tabindex="0"><table class="life"><thead><tr><th>${later.when}</th><th>${later.what}</th><th>${later.who}</th>
      <th>${later.details}</th></tr></thead><tbody>
      ${answer.events.map((event) => html`<tr key=${event.seq}><td class="n">${clock(event.at, 16)}</td>
        <td>${later.happened[event.type] || event.type}</td><td><${Text} of=${event.actor || event.session || ""}/></td>
        <td><${Details} event=${event} answer=${answer} place=${versions.get(event.at)}/></td></tr>`)}</tbody></table></div>
    ${answer.cursor && html`<button onClick=${() => setLimit(limit + EVENTS)}>${later.more}</button>`}`;
}

/** The difference that an edit made to the text, else what an event set. */
function Details({ event, answer, place }) {
  const { set = {}, was = {}, feedback, link, target, weight } = event.payload;
  if (event.type === "link") return html`<${Text} of=${`${weight === null ? later.noLonger : ""}${link} ${target}`}/>`;
  if (feedback) return html`<${Text} of=${feedback}/>`;
  const one = place > 0 && "content" in was && html`<${Changed} from=${answer.versions[place - 1].record.content}
    to=${answer.versions[place].record.content}/>`;
  const fields = Object.keys(event.type === "write" ? {} : set).map((name) => `${name}: ${JSON.stringify(was[name] ?? null)} → ${JSON.stringify(set[name])}`);
  return html`${one}${fields.length > 0 && html`<p><${Text} of=${fields.join(", ")}/></p>`}`;
}

function Vitality({ state }) {
  const until = useMemo(() => dayAt(Date.now() + AHEAD_DAYS * DAY_MS), []);
  const { answer, refusal } = useGet(`/memories/${inPath(state.memory)}/vitality?points=${POINTS}&until=${until}`, state.namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  const last = answer.points.findLast((point) => point.at <= answer.now) || answer.points[0];
  const gone = answer.archived_at;
  const sentence = `${later.alive(figure(last.vitality), last.zone)} ${!gone ? later.neverArchived
    : gone < answer.now ? later.archivedAt(day(gone)) : later.wouldBeArchived(day(gone))}`;
  return html`<h3>${later.vitality}</h3><p class="sentence">${sentence}</p>
    <${Curve} answer=${answer} sentence=${visible(sentence)}/><p class="soft">${later.ifUnused}</p>
    <details><summary>${later.crossings} (${answer.crossings.length})</summary><table><thead><tr><th>${later.when}</th><th>${later.zone}</th></tr></thead>
      <tbody>${answer.crossings.map((each) => html`<tr key=${each.at}><td>${clock(each.at, 16)}</td>
        <td>${each.zone}</td></tr>`)}</tbody></table></details>`;
}

/** Vitality over time with its zones; dashed from the present on. */
function Curve({ answer, sentence }) {
  const [first, last, now] = [answer.points[0].at, answer.points.at(-1).at, answer.now].map(Date.parse);
  const x = (time) => ((time - first) / (last - first || 1)) * WIDTH;
  const known = answer.points.filter((point) => point.vitality !== null);
  const line = (points) => points.map((point) => `${x(Date.parse(point.at))},${(1 - point.vitality) * HEIGHT}`).join(" ");
  const turn = known.findIndex((point) => Date.parse(point.at) > now);
  const split = turn < 0 ? known.length : turn;
  return html`<div class="plot" role="img" aria-label=${sentence}><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
      ${BOUNDS.map((bound) => html`<path class="grid" key=${bound} d=${`M0 ${(1 - bound) * HEIGHT}H${WIDTH}`}/>`)}
      <path class="grid now" d=${`M${x(now)} 0V${HEIGHT}`}/><polyline points=${line(known.slice(0, split + 1))}/>
      <polyline class="future" points=${line(known.slice(Math.max(0, split)))}/></svg>
    <div class="bands">${ZONES.map((zone) => html`<span key=${zone}>${zone}</span>`)}</div>
    <p class="axis soft"><span>${dayAt(first)}</span><span>${dayAt(last)}</span></p></div>`;
}

// The words by which two texts differ

const MOST = 400; // words of a text that are compared

/** The pieces of two texts in order: kept, removed or added. */
export function pieces(from, to) {
  const [old, fresh] = [from, to].map((text) => text.split(/(?<=\s)/u));
  if (old.length > MOST || fresh.length > MOST) return [["del", from], ["ins", to]];
  const same = old.map(() => new Uint16Array(fresh.length + 1));
  same.push(new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      same[i][j] = old[i] === fresh[j] ? same[i + 1][j + 1] + 1 : Math.max(same[i + 1][j], same[i][j + 1]);
    }
  }
  const found = [];
  const add = (kind, word) => (found.at(-1)?.[0] === kind ? (found.at(-1)[1] += word) : found.push([kind, word]));
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      add("", old[i]);
      i += 1;
      j += 1;
    } else if (j === fresh.length || (i < old.length && same[i + 1][j] >= same[i][j + 1])) {
      add("del", old[i]);
      i += 1;
    } else {
      add("ins", fresh[j]);
      j += 1;
    }
  }
  return found;
}

const Changed = ({ from, to }) => html`<p class="diff">${pieces(from, to).map(([kind, text], place) => {
  const shown = html`<${Text} of=${text}/>`;
  return kind === "del" ? html`<del key=${place}>${shown}</del>` : kind === "ins" ? html`<ins key=${place}>${shown}</ins>` : shown;
})}</p>`;

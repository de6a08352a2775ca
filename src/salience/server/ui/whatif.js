// The view What if: other weights, computed here where that can be, and then by the server.
import { html, useEffect, useState } from "./html.js";
import { ask } from "./api.js";
import { useAnswer } from "./answers.js";
import { later } from "./later.js";
import { computable, groupOf, movedWith, reordered, weightOf } from "./scores.js";
import { searched } from "./state.js";
import { beginning, figure, Text } from "./text.js";
import { words } from "./words.js";

const PAUSE_MS = 150;

export function View({ table, state, go }) {
  const [weights, setWeights] = useState(state.weights);
  const text = JSON.stringify(weights);
  useEffect(() => setWeights(state.weights), [JSON.stringify(state.weights)]);
  useEffect(() => {
    const later = setTimeout(() => text !== JSON.stringify(state.weights) && go({ weights }, true), PAUSE_MS);
    return () => clearTimeout(later);
  }, [text]);
  const isChanged = Object.keys(weights).length > 0;
  const settled = text === JSON.stringify(state.weights);
  const body = isChanged && settled ? { ...searched(state), weights } : null;
  const { answer, refusal } = useAnswer("/candidates", body, state.namespace);
  const set = (part, value) => {
    const { [part.name]: _, ...others } = weights;
    setWeights(value === part.weight ? others : { ...others, [part.name]: value });
  };
  return html`<div class="halves">
    <section><h2>${words.weight}</h2><${Sliders} table=${table} weights=${weights} set=${set}/>
      <p><button disabled=${!isChanged} onClick=${() => setWeights({})}>${words.reset}</button></p>
      <${Profile} table=${table} state=${state} weights=${weights} setWeights=${setWeights}/></section>
    <section><h2>${words.orderNow}</h2>
      ${refusal && html`<p role="alert">${words.failed}<${Text} of=${refusal}/></p>`}
      <${Order} table=${table} weights=${weights} answer=${isChanged ? answer : table}/></section></div>`;
}

/** The weights saved as a profile in a file, and those of such a file. */
function Profile({ table, state, weights, setWeights }) {
  const [problem, setProblem] = useState("");
  const tried = (task) => (event) => task(event).then(() => setProblem(""), ({ message }) => setProblem(message));
  const save = async () => {
    const path = `/profiles/${encodeURIComponent(table.profile)}?weights=${encodeURIComponent(JSON.stringify(weights))}`;
    const { profile } = await ask("GET", path);
    const name = `${table.profile}-mine`;
    const href = URL.createObjectURL(new Blob([JSON.stringify({ ...profile, name }, null, 2)], { type: "application/json" }));
    Object.assign(document.createElement("a"), { href, download: `${name}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(href), PAUSE_MS);
  };
  const open = async (event) => {
    const profile = JSON.parse(await event.target.files[0].text());
    const { parts } = await ask("POST", "/candidates", { body: { ...searched(state), profile, limit: 1 }, namespace: state.namespace });
    const own = new Map(table.parts.map((part) => [part.name, part.weight]));
    setWeights(Object.fromEntries(parts.filter(({ name, weight }) => weight !== null && own.has(name) && own.get(name) !== weight)
      .map(({ name, weight }) => [name, weight])));
  };
  return html`<p class="inline"><button disabled=${!Object.keys(weights).length} onClick=${tried(save)}>${later.saveProfile}</button>
      <label>${later.openProfile} <input type="file" accept=".json" onChange=${tried(open)}/></label></p>
    ${problem && html`<p role="alert">${words.failed}<${Text} of=${problem}/></p>`}`;
}

function Sliders({ table, weights, set }) {
  const settable = table.parts.filter((part) => part.weight !== null && !part.factor);
  const used = settable.filter((part) => part.values !== null);
  const unused = settable.filter((part) => part.values === null);
  const slider = (part) => {
    const value = weightOf(part, weights);
    const reach = Math.max(1, 3 * Math.abs(part.weight));
    const change = (event) => set(part, Number(event.target.value));
    return html`<div class="slider" key=${part.name}><label for=${`w-${part.name}`}><${Text} of=${part.title}/>
        <span class="soft"> <${Text} of=${part.doc}/></span></label>
      <input id=${`w-${part.name}`} type="range" min=${-reach} max=${reach} step="any" value=${value} onInput=${change}/>
      <output class=${Object.hasOwn(weights, part.name) ? "n changed" : "n"} for=${`w-${part.name}`}>${figure(value)}</output></div>`;
  };
  const named = [...new Set(used.map(groupOf))];
  return html`${named.map((group) => html`<fieldset key=${group}><legend><${Text} of=${group}/></legend>
      ${used.filter((part) => groupOf(part) === group).map(slider)}</fieldset>`)}
    ${unused.length > 0 && html`<details><summary>${words.unused(unused.length)}</summary>${unused.map(slider)}</details>`}`;
}

function Order({ table, weights, answer }) {
  const local = computable(table) ? reordered(table, weights) : null;
  const ranked = answer ? answer.rows.filter((row) => row.score !== null || row.left === null).map((row) => ({ row, score: row.score })) : local;
  const count = table.hits;
  const old = new Map(table.rows.map((row, place) => [row.id, place]));
  const isChanged = Object.keys(weights).length > 0;
  let note = isChanged ? (answer ? words.server : local ? `${words.here}, ${words.asking}` : words.asking) : "";
  let away = [];
  if (isChanged && answer && local) {
    const places = new Map(local.map(({ row }, place) => [row.id, place]));
    away = ranked.slice(0, count).filter(({ row }, place) => places.get(row.id) !== place);
    const moving = movedWith(table, weights).map((part) => part.title);
    note += `. ${away.length ? words.differs(away.length, moving.join(", ")) : words.agrees}`;
  } else if (isChanged && !local) {
    note += `. ${words.notHere}`;
  }
  if (!ranked) return html`<p role="status">${words.asking}</p>`;
  const first = ranked.slice(0, count);
  const names = new Set(first.map(({ row }) => row.id));
  const fallen = table.rows.filter((row) => row.left === null && !names.has(row.id));
  return html`<p role="status" data-source=${answer ? "server" : "here"}>${note}</p>
    <ol class="order">${first.map(({ row, score }, place) => {
      const from = old.get(row.id);
      const moved = from === undefined || from >= count ? words.newcomer : words.moved(from - place);
      return html`<li key=${row.id} data-id=${row.id}><span class="n">${figure(score)}</span> <${Text} of=${beginning(row.text, 120)}/>
        ${isChanged && html` <span class="soft">${moved}</span>`}</li>`;
    })}</ol>
    ${fallen.length > 0 && html`<h3>${words.fallen} ${count}</h3><ul>${fallen.map((row) => html`<li key=${row.id}><${Text} of=${beginning(row.text, 120)}/></li>`)}</ul>`}`;
}

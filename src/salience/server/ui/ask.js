// The views of a question beside Search: Trace, What if, A/B, Context and Label.
import { html, isTyping, useEffect, useMemo, useRef, useState } from "./html.js";
import { ask, Pending, Refused, useAnswer, useGet } from "./api.js";
import { computable, contributions, groupOf, groupSums, movedWith, Range, reordered, weightOf } from "./scores.js";
import { later } from "./later.js";
import { Same, SameOf, searched, TOKENS, write } from "./state.js";
import { beginning, figure, percent, signed, Text, visible } from "./text.js";
import { words } from "./words.js";

// Trace and why not: who entered and left each stage, and what became of one memory

const MOST = 12; // rows of a table
const LADDER = 20; // rows of the ranks that are shown at once

export function Trace({ table, state, go, scopes }) {
  return html`<div class="halves"><div>${state.memory && html`<section><h2>${later.chosen}</h2><${Verdict} table=${table} state=${state} go=${go} scopes=${scopes}/></section>`}
      <section><h2>${later.stages}</h2><${Stages} table=${table}/></section></div>
    <section><h2>${later.ladder}</h2><${Chooser} table=${table} state=${state} go=${go}/><${Ladder} table=${table} state=${state} go=${go}/></section></div>`;
}

const Stages = ({ table }) => html`<div class="scroll" tabindex="0"><table><thead><tr><th>${later.stage}</th><th class="n">${later.entered}</th>
    <th class="n">${later.left}</th><th>${later.by}</th><th class="n">${later.lastOn}</th></tr></thead><tbody>
  ${table.stages.map((stage, place) => html`<tr key=${place}><th scope="row" title=${visible(stage.label)}><${Text} of=${plain(table, stage)}/></th>
    <td class="n">${place ? stage.entered : ""}</td><td class="n">${stage.left}</td>
    <td><${Text} of=${stage.by || ""}/></td><td class="n">${stage.last === null ? "" : figure(stage.last)}</td></tr>`)}
  </tbody></table></div>`;

/** A stage in plain words; its label where there are none. */
function plain(table, { kind, label }) {
  if (kind === "retrieve") return later.foundBy(Object.keys(table.routes).map(words.routeOf).join(", "));
  const into = kind === "score" && label.match(/\((.+)\)/);
  return into ? `${later.stageOf.score}: ${into[1]}` : later.stageOf[kind] || label;
}

/** The name of a part as the cards have it. */
const titled = (table, name) => table.parts.find((part) => part.name === name)?.title || name;

function Ladder({ table, state, go }) {
  const [count, setCount] = useState(LADDER);
  const routes = Object.entries(table.routes);
  const shown = table.rows.filter((row, place) => place < count || row.id === state.memory);
  return html`<div class="scroll" tabindex="0"><table class="ladder"><thead><tr><th class="n">${later.final}</th>
      ${routes.map(([name]) => html`<th class="n" key=${name}><${Text} of=${words.routeOf(name)}/></th>`)}
      <th>${later.memory}</th><th>${later.left}</th></tr></thead><tbody>
    ${shown.map((row) => html`<tr key=${`${row.namespace} ${row.id}`} class=${row.id === state.memory ? "chosen" : ""}>
      <td class="n">${table.rows.indexOf(row) + 1}</td>
      ${routes.map(([name, route]) => html`<td class="n" key=${name}>${route.rank[table.rows.indexOf(row)] ?? "–"}</td>`)}
      <td><button class="plain" onClick=${() => go({ memory: row.id })}><${Text} of=${beginning(row.text, 90)}/></button></td>
      <td class="soft">${row.left === null ? later.yes : html`<${Text} of=${later.out(plain(table, table.stages[row.left]))}/>`}</td></tr>`)}
  </tbody></table></div>
  ${count < table.rows.length && html`<button onClick=${() => setCount(table.rows.length)}>${later.others(table.rows.length - count)}</button>`}`;
}

function Chooser({ table, state, go }) {
  const [id, setId] = useState(state.memory);
  const [against, setAgainst] = useState(state.against);
  useEffect(() => setId(state.memory), [state.memory]);
  useEffect(() => setAgainst(state.against), [state.against]);
  const send = (event) => {
    event.preventDefault();
    go({ memory: id.trim(), against: against.trim() });
  };
  return html`<form class="inline" onSubmit=${send}><label>${later.memoryHint}
    <input name="memory" list="ids" value=${id} onInput=${(event) => setId(event.target.value)}/></label>
    <label>${later.against} <input name="against" list="ids" value=${against} onInput=${(event) => setAgainst(event.target.value)}/></label>
    <datalist id="ids">${table.rows.slice(0, 200).map((row) => html`<option key=${row.id} value=${row.id}>${visible(beginning(row.text, 60))}</option>`)}</datalist>
    <button>${later.explainIt}</button></form>`;
}

function Verdict({ table, state, go, scopes }) {
  const body = { ...searched(state), id: state.memory };
  if (state.against && state.against !== state.memory) body.against = state.against;
  const { answer, refusal } = useAnswer("/explain", body, state.namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  const why = answer.why_not;
  const other = answer.against;
  const parts = other ? other.parts.slice(0, MOST) : why?.parts || [];
  const turning = answer.weights?.filter(({ needed }) => needed !== null);
  return html`<blockquote><${Text} of=${answer.content}/></blockquote>
    <p class="verdict" data-verdict=${answer.found ? "in" : "out"}><${Text} of=${answer.verdict}/></p>
    ${!other && html`<${Remedies} answer=${answer} state=${state} go=${go} scopes=${scopes}/>`}
    ${other && html`<p class="against">${(other.before ? later.before : later.behind)(visible(other.id), other.gap === null ? "" : figure(Math.abs(other.gap)))}</p>`}
    ${!other && why?.gap != null && why.rival && html`<p>${later.gap(figure(why.gap), visible(why.rival))}</p>`}
    ${why?.unmet.length > 0 && html`<table><caption>${later.unmet}</caption><thead><tr><th>${later.asked}</th><th>${later.has}</th></tr></thead><tbody>
      ${why.unmet.map((one, place) => html`<tr key=${place}><td><${Text} of=${one.condition}/></td>
        <td><${Text} of=${Object.entries(one.values).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")}/></td></tr>`)}</tbody></table>`}
    ${parts.length > 0 && html`<table><caption>${later.besideRival}</caption><thead><tr><th>${words.part}</th><th class="n">${later.own}</th>
      <th class="n">${later.rival}</th><th class="n">${later.costs}</th></tr></thead><tbody>
      ${parts.map((part) => html`<tr key=${part.name}><th scope="row"><${Text} of=${titled(table, part.name)}/></th><td class="n">${figure(part.own)}</td>
        <td class="n">${figure(part.rival)}</td><td class="n">${figure(part.behind)}</td></tr>`)}</tbody></table>`}
    ${changes(table, answer, true)}
    ${turning?.length === 0 && html`<p>${later.turnsNone}</p>`}
    ${turning?.length > 0 && html`<table class="turning"><caption>${later.turning}</caption><thead><tr><th>${later.weight}</th><th class="n">${later.asItIs}</th>
      <th class="n">${later.needed}</th><th>${later.withIt}</th><td></td></tr></thead><tbody>
      ${turning.slice(0, MOST).map((weight) => html`<tr key=${weight.name}><th scope="row"><${Text} of=${titled(table, weight.name)}/></th><td class="n">${figure(weight.value)}</td>
        <td class="n">${figure(weight.needed)}</td><td>${later.hit(weight.rank)}</td>
        <td><a href=${write({ ...state, view: "whatif", weights: { ...state.weights, [weight.name]: weight.needed } })}>${later.tryWeight}<span class="hidden"> <${Text} of=${weight.name}/></span></a></td></tr>`)}</tbody></table>`}`;
}

/** The values of single parts that would turn the outcome; those that no candidate has are folded. */
function changes(table, answer, isPossible) {
  const shown = (answer.changes || []).filter((change) => change.possible === isPossible).slice(0, MOST);
  const rows = shown.length > 0 && html`<table>${isPossible && html`<caption>${later.ranges}</caption>`}<thead><tr><th>${words.part}</th><th class="n">${later.asItIs}</th>
    <th class="n">${later.needed}</th><th class="wide">${later.among}</th></tr></thead><tbody>
    ${shown.map((change) => html`<tr key=${change.part}><th scope="row"><${Text} of=${titled(table, change.part)}/></th>
      <td class="n">${figure(change.value)}</td><td class="n">${figure(change.needed)}</td><td class="wide"><${Range} change=${change}/></td></tr>`)}</tbody></table>`;
  return isPossible ? html`${rows}${changes(table, answer, false)}` : rows && html`<details><summary>${later.impossible(shown.length)}</summary>${rows}</details>`;
}

/** What helps a memory that was expected: its status, a filter, its text, or a label. */
function Remedies({ answer, state, go, scopes }) {
  const [label, setLabel] = useState(null);
  const [refusal, setRefusal] = useState("");
  const { status } = answer.record;
  const given = answer.why_not?.unmet.length > 0 && Object.keys(state.filters).length > 0;
  const act = (name, text) => html`<button onClick=${() => go({ open: answer.id, act: name })}>${text}</button>`;
  const sent = (request, next) => request.then((told) => { setLabel(next(told)); setRefusal(""); }, (problem) => setRefusal(problem.message));
  const keep = () => sent(ask("POST", "/questions", { namespace: state.namespace, body: { query: state.q, relevant: [answer.id], ...(Object.keys(state.filters).length && { filters: state.filters }) } }), ({ id }) => id);
  const drop = () => sent(ask("DELETE", `/questions/${encodeURIComponent(label)}`, { namespace: state.namespace }), () => null);
  return html`<p class="inline remedies"><strong>${later.remedies}</strong>${status === "archived" && act("restore", later.bringBack)}
      ${!["active", "archived"].includes(status) && act("revive", later.holdAgain)}${given && html`<button onClick=${() => go({ filters: {} })}>${later.withoutFilters}</button>`}
      ${!answer.found && status === "active" && act("correct", later.rightText)}
      ${label === null ? scopes.includes("memories:write") && html`<button onClick=${keep}>${later.isAnswer}</button>`
        : html`<span role="status">${later.labelled} <code>salience tune</code></span><button onClick=${drop}>${words.undo}</button>`}
      <button onClick=${() => go({ open: answer.id })}>${words.more}</button></p>
    ${refusal && html`<${Refused} of=${refusal}/>`}`;
}

const STATUSES = ["active", "superseded", "contradicted", "archived", "consolidated", "completed", "deleted"];
const EXPECTED = 8; // memories that are offered

/** A memory that was expected among the hits: found by its words under any status, then why it is not there and what helps. */
export function Expected({ table, state, go, scopes }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const { answer, refusal } = useAnswer("/search", asked && { query: asked, limit: EXPECTED, touch: false, filters: { status: { in: STATUSES } } }, state.namespace);
  const named = useAnswer("/memories/get", asked && { ids: [asked] }, state.namespace).answer?.memories[0];
  const found = [...new Map([...(named ? [named] : []), ...(answer?.hits || [])].map((each) => [each.id, each])).values()];
  const place = (id) => table.rows.findIndex((row) => row.id === id && row.left === null) + 1;
  const send = (event) => {
    event.preventDefault();
    setAsked(text.trim());
    go({ memory: "" }, true);
  };
  return html`<form class="inline" role="search" aria-label=${words.expected} onSubmit=${send}><label>${later.expectedHint}
      <input name="expected" value=${text} onInput=${(event) => setText(event.target.value)}/></label><button>${later.find}</button></form>
    ${asked && !answer && html`<${Pending} refusal=${refusal}/>`}${answer && !found.length && html`<p>${later.foundNone}</p>`}
    ${!state.memory && found.length > 0 && html`<ul class="plainly">${found.map(({ id, content, status }) => html`<li key=${id} data-id=${id}>
      <button class="plain" onClick=${() => go({ memory: id }, true)}><${Text} of=${beginning(content, 140)}/></button>
      <span class="soft"> ${place(id) ? later.hit(place(id)) : status === "active" ? "" : status}</span></li>`)}</ul>`}
    ${state.memory && found.length > 0 && html`<p><button onClick=${() => go({ memory: "" }, true)}>${later.another}</button></p>`}
    ${state.memory && html`<${Verdict} key=${state.memory} table=${table} state=${{ ...state, against: "" }} go=${go} scopes=${scopes}/>`}`;
}

// What if: other weights, computed here where that can be, and then by the server

const PAUSE_MS = 150;

export function WhatIf({ table, state, go }) {
  const [weights, setWeights] = useState(state.weights);
  const text = JSON.stringify(weights);
  useEffect(() => setWeights(state.weights), [JSON.stringify(state.weights)]);
  useEffect(() => {
    const later = setTimeout(() => text !== JSON.stringify(state.weights) && go({ weights }, true), PAUSE_MS);
    return () => clearTimeout(later);
  }, [text]);
  const isChanged = Object.keys(weights).length > 0;
  const settled = text === JSON.stringify(state.weights);
  const body = isChanged && settled ? { ...searched(state), options: { weights } } : null;
  const { answer, refusal } = useAnswer("/candidates", body, state.namespace);
  const set = (part, value) => {
    const { [part.name]: _, ...others } = weights;
    setWeights(value === part.weight ? others : { ...others, [part.name]: value });
  };
  return html`<div class="halves whatif">
    <section><h2>${later.weight}</h2><${Sliders} table=${table} weights=${weights} set=${set}/>
      <p><button disabled=${!isChanged} onClick=${() => setWeights({})}>${later.reset}</button></p>
      <${Profile} table=${table} state=${state} weights=${weights} setWeights=${setWeights}/></section>
    <section tabindex="0" aria-label=${later.orderNow}><h2>${later.orderNow}</h2>
      ${refusal && html`<${Refused} of=${refusal}/>`}
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
    ${problem && html`<${Refused} of=${problem}/>`}`;
}

const reachOf = (part) => Math.max(1, 3 * Math.abs(part.weight));

/** True if the slider of a part can change the first ones, or if only the server knows. */
function canTurn(table, part) {
  if (part.values === null) return false;
  if (!computable(table) || table.parts.some((each) => each.values && each.moves_with.includes(part.name))) return true;
  const first = (weights) => reordered(table, weights).slice(0, table.hits).map(({ row }) => row.id).join("\n");
  return [-reachOf(part), reachOf(part)].some((weight) => first({ [part.name]: weight }) !== first({}));
}

function Sliders({ table, weights, set }) {
  const settable = table.parts.filter((part) => part.weight !== null && !part.factor);
  const turns = useMemo(() => new Set(settable.filter((part) => canTurn(table, part)).map(({ name }) => name)), [table]);
  const used = settable.filter((part) => turns.has(part.name) || Object.hasOwn(weights, part.name));
  const unused = settable.filter((part) => !used.includes(part));
  const slider = (part) => {
    const value = weightOf(part, weights);
    const reach = reachOf(part);
    const change = (event) => set(part, Number(event.target.value));
    return html`<div class="slider" key=${part.name}><label for=${`w-${part.name}`}><${Text} of=${part.title}/>
        <span class="soft"> <${Text} of=${part.doc}/></span></label>
      <input id=${`w-${part.name}`} type="range" min=${-reach} max=${reach} step="any" value=${value} onInput=${change}/>
      <output class=${Object.hasOwn(weights, part.name) ? "n changed" : "n"} for=${`w-${part.name}`}>${figure(value)}</output></div>`;
  };
  const named = [...new Set(used.map(groupOf))];
  return html`${named.map((group) => html`<fieldset key=${group}><legend><${Text} of=${group}/></legend>
      ${used.filter((part) => groupOf(part) === group).map(slider)}</fieldset>`)}
    ${unused.length > 0 && html`<details><summary>${later.unused(unused.length)}</summary>${unused.map(slider)}</details>`}`;
}

function Order({ table, weights, answer }) {
  const local = computable(table) ? reordered(table, weights) : null;
  const ranked = answer ? answer.rows.filter((row) => row.score !== null || row.left === null).map((row) => ({ row, score: row.score })) : local;
  const count = table.hits;
  const old = new Map(table.rows.map((row, place) => [row.id, place]));
  const isChanged = Object.keys(weights).length > 0;
  let note = isChanged ? (answer ? later.server : local ? `${later.here}, ${later.asking}` : later.asking) : "";
  let away = [];
  if (isChanged && answer && local) {
    const places = new Map(local.map(({ row }, place) => [row.id, place]));
    away = ranked.slice(0, count).filter(({ row }, place) => places.get(row.id) !== place);
    const moving = movedWith(table, weights).map((part) => part.title);
    note += `. ${away.length ? later.differs(away.length, moving.join(", ")) : later.agrees}`;
  } else if (isChanged && !local) {
    note += `. ${later.notHere}`;
  }
  if (!ranked) return html`<p role="status">${later.asking}</p>`;
  const first = ranked.slice(0, count);
  const names = new Set(first.map(({ row }) => row.id));
  const fallen = table.rows.filter((row) => row.left === null && !names.has(row.id));
  return html`<p role="status" class="note" data-source=${answer ? "server" : "here"}>${note}</p>
    <ol class="order" tabindex="0">${first.map(({ row, score }, place) => {
      const from = old.get(row.id);
      const moved = from === undefined || from >= count ? later.newcomer : later.moved(from - place);
      return html`<li key=${row.id} data-id=${row.id}><span class="n">${figure(score)}</span> ${isChanged && html`<span class="soft">${moved}</span> `}<${Text} of=${beginning(row.text, 120)}/></li>`;
    })}</ol>
    ${fallen.length > 0 && html`<div class="fallen"><h3>${later.fallen} ${count}</h3><ul>${fallen.map((row) => html`<li key=${row.id}><${Text} of=${beginning(row.text, 120)}/></li>`)}</ul></div>`}`;
}

// A/B: two profiles, or a profile and changed weights, side by side

const STEP = 10; // the height of a row in the drawing
const MEASURE = "nDCG@10"; // by which questions are compared at first

const hitsOf = (table) => table.rows.filter((row) => row.left === null);
const keyOf = (row) => `${row.namespace} ${row.id}`;

/** The weights without the part that tells the hits apart the most. */
function withoutFirst(table) {
  const sums = hitsOf(table).map((row) => contributions(table, table.rows.indexOf(row)).parts);
  const spread = (place) => Math.max(...sums.map((parts) => parts[place].adds)) - Math.min(...sums.map((parts) => parts[place].adds));
  const parts = (sums[0] || []).map(({ part }, place) => ({ part, gap: spread(place) })).filter(({ part }) => part.weight !== null);
  const [most] = parts.sort((a, b) => b.gap - a.gap);
  return most ? { [most.part.name]: 0 } : {};
}

export function Sided({ table, state, go, profiles }) {
  const isChanged = Object.keys(state.weights).length > 0;
  useEffect(() => state.other || isChanged || go({ weights: withoutFirst(table) }, true), []);
  const body = state.other ? { ...searched(state), profile: state.other }
    : isChanged ? { ...searched(state), options: { weights: state.weights } } : null;
  const { answer, refusal } = useAnswer("/candidates", body, state.namespace);
  return html`<p><label>${later.otherSide} <select value=${state.other} onChange=${(event) => go({ other: event.target.value })}>
      <option value="">${isChanged ? `${later.ownWeights} (${beginning(Object.entries(state.weights).map(([name, weight]) => `${titled(table, name)} ${+weight.toFixed(2)}`).join(", "), 60)})` : ""}</option>
      ${profiles.filter((name) => name !== table.profile).map((name) => html`<option key=${name} value=${name}>${visible(name)}</option>`)}</select></label></p>
    ${body && !answer && html`<${Pending} refusal=${refusal}/>`}
    ${answer && html`<${Sides} sides=${[table, answer]} names=${[table.profile, state.other || later.ownWeights]} go=${go}/>
      <${Questions} key=${JSON.stringify(body)} table=${table} state=${state}/>`}`;
}

/** Both sides over all labelled questions, asked by a button. */
function Questions({ table, state }) {
  const [isAsked, setIsAsked] = useState(false);
  const kept = useGet("/questions", state.namespace);
  const weighted = useGet(!state.other && `/profiles/${encodeURIComponent(table.profile)}?weights=${encodeURIComponent(JSON.stringify(state.weights))}`);
  const other = state.other || weighted.answer?.profile;
  const scored = useAnswer("/questions/score", isAsked && other ? { profiles: [table.profile, other] } : null, state.namespace);
  const questions = kept.answer?.questions.filter((each) => each.relevant.length);
  const refusal = kept.refusal || weighted.refusal || scored.refusal;
  return html`<section><h2>${later.allQuestions}</h2>
    ${(!questions || refusal) && html`<${Pending} refusal=${refusal}/>`}
    ${questions?.length === 0 && html`<p>${later.noLabels}</p>`}
    ${questions?.length > 0 && !isAsked && html`<p><button onClick=${() => setIsAsked(true)}>${later.askAll(questions.length)}</button></p>`}
    ${questions?.length > 0 && isAsked && !scored.answer && !refusal && html`<${Pending}/>`}
    ${questions && scored.answer && html`<${Gains} questions=${questions} sides=${scored.answer.scores}/>`}</section>`;
}

/** What the second of two profiles gains and loses, question by question, the largest gain first. */
function Gains({ questions, sides }) {
  const [own, others] = sides;
  const [measure, setMeasure] = useState(MEASURE);
  const rows = questions.filter(({ id }) => own.by_question[id] && others.by_question[id]).map((each) => {
    const [a, b] = [own, others].map((side) => side.by_question[each.id][measure]);
    return { ...each, a, b, gain: b - a };
  }).sort((one, two) => two.gain - one.gain);
  const count = (test) => rows.filter(({ gain }) => test(gain)).length;
  return html`<p class="chance">${later.gains(count((gain) => gain > 0), count((gain) => gain < 0), count((gain) => gain === 0))}</p>
    <p>${["A", "B"].map((name, place) => {
      const { mean, low, high } = sides[place].measures[measure];
      return later.meanOf(name, ...[mean, low, high].map((value) => value.toFixed(3)));
    }).join("; ")}. ${later.fewProve}</p>
    <p><label>${later.byMeasure} <select value=${measure} onChange=${(event) => setMeasure(event.target.value)}>
      ${Object.keys(own.measures).map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label></p>
    <div class="scroll" tabindex="0"><table class="gains"><thead><tr><th>${later.question}</th><th class="n">A</th><th class="n">B</th><th class="n">${later.gain}</th></tr></thead><tbody>
      ${rows.map(({ id, query, a, b, gain }) => html`<tr key=${id} data-id=${id}><td><${Text} of=${query}/></td><td class="n">${a.toFixed(3)}</td>
        <td class="n">${b.toFixed(3)}</td><td class="n">${gain === 0 ? later.moved(0) : `${gain > 0 ? "↑" : "↓"} ${signed(gain)}`}</td></tr>`)}</tbody></table></div>`;
}

function Sides({ sides, names, go }) {
  const [left, right] = sides.map(hitsOf);
  const places = sides.map((side) => new Map(side.rows.map((row, place) => [keyOf(row), place])));
  const lines = left.map((row, from) => [from, right.findIndex((other) => keyOf(other) === keyOf(row))]).filter(([, to]) => to >= 0);
  const count = Math.max(left.length, right.length, 1);
  const middle = (place) => (place + 0.5) * STEP;
  return html`<p class="chance">${later.shared(lines.length, left.length, right.length)}</p>
    <div class="sides"><${Side} table=${sides[0]} name=${names[0]}/>
      <svg class="links" aria-hidden="true" viewBox=${`0 0 100 ${count * STEP}`} preserveAspectRatio="none">
        ${lines.map(([from, to]) => html`<path key=${from} class=${from === to ? "" : "crossing"} d=${`M0 ${middle(from)}L100 ${middle(to)}`}/>`)}</svg>
      <${Side} table=${sides[1]} name=${names[1]} old=${places[0]}/></div>
    <h2>${later.lifts}</h2><div class="scroll" tabindex="0"><table class="moves"><thead><tr><th>${later.memory}</th><th class="n">A</th><th class="n">B</th>
      <th>${later.liftedBy}</th></tr></thead><tbody>${[...new Map([...left, ...right].map((row) => [keyOf(row), row])).values()].map((row) => {
        const [from, to] = places.map((own) => own.get(keyOf(row)));
        return html`<tr key=${keyOf(row)} data-id=${row.id}><td><button class="plain" onClick=${() => go({ open: row.id })}><${Text} of=${beginning(row.text, 90)}/></button></td><td class="n">${from === undefined ? "–" : from + 1}</td>
          <td class="n">${to === undefined ? "–" : to + 1}</td><td><${Text} of=${lifted(sides, from, to)}/></td></tr>`;
      })}</tbody></table></div>`;
}

/** One list; `old` has the places in the other. */
function Side({ table, name, old }) {
  return html`<section><h2><${Text} of=${name}/> <span class="soft">${table.probability === null ? "" : percent(table.probability)}</span></h2>
    <ol class="side">${hitsOf(table).map((row, place) => {
      const before = old?.get(keyOf(row));
      return html`<li key=${keyOf(row)} data-id=${row.id}><p><b class="rank">${place + 1}</b> <${Text} of=${beginning(row.text, 110)}/></p>
        <span class="soft">${old && `${before === undefined ? later.newcomer : later.moved(before - place)}: `}<${Text} of=${largest([...groupSums(table, place)])}/></span></li>`;
    })}</ol></section>`;
}

/** The two that count most, as words. */
const largest = (sums) => sums.filter(([, sum]) => sum !== 0).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]))
  .slice(0, 2).map(([name, sum]) => `${name} ${signed(sum)}`).join(", ") || words.none;

/** What a memory gains by other weights, part by part; scores of other profiles have another scale, so each side tells its own. */
function lifted(sides, from, to) {
  const at = [from, to];
  if (at.includes(undefined)) return later.onOneSide;
  if (sides[0].profile !== sides[1].profile) {
    return sides.map((side, which) => `${"AB"[which]}: ${largest([...groupSums(side, at[which])])}`).join("; ");
  }
  const [own, others] = sides.map((side, which) => contributions(side, at[which]).parts);
  return largest(own.map(({ part, adds }, place) => [part.title, others[place].adds - adds]));
}

// Context: the text as a model gets it, what it costs, and what found no room

const WIDTH = 1000;
const FIRST = 20; // memories of a list that are shown at once

export function Context({ state, go }) {
  const most = Number(state.tokens) || TOKENS;
  const body = state.q.trim() ? { ...searched(state), max_tokens: most, touch: false, options: { trace: true } } : null;
  const { answer, refusal } = useAnswer("/context", body, state.namespace);
  if (!body) return html`<p class="empty">${later.askFirst}</p>`;
  return html`<${Budget} most=${most} go=${go}/>
    ${!answer && html`<${Pending} refusal=${refusal}/>`}
    ${answer && html`<${Spent} answer=${answer}/>
      <div class="halves"><section><h2>${later.modelText}</h2>${answer.text
        ? html`<pre class="context" tabindex="0"><${Text} of=${answer.text}/></pre>` : html`<p>${later.emptyText}</p>`}</section>
      <div><${Considered} title=${later.inText} all=${answer.considered.filter(isIn)} go=${go}/>
      <${Considered} title=${later.notInText} all=${answer.considered.filter((each) => !isIn(each))} go=${go}/></div></div>`}
    <${Same} state=${state}/>`;
}

const isIn = ({ outcome }) => outcome === "in" || outcome === "shortened";

function Budget({ most, go }) {
  const [value, setValue] = useState(String(most));
  useEffect(() => setValue(String(most)), [most]);
  const send = (event) => {
    event.preventDefault();
    go({ tokens: String(Math.max(1, Math.round(Number(value)) || TOKENS)) });
  };
  return html`<form class="inline" onSubmit=${send}><label>${later.tokens} <input class="short" type="number" min="1" step="1"
    value=${value} onInput=${(event) => setValue(event.target.value)}/></label><button>${later.use}</button></form>`;
}

/** The tokens by section: a bar to the scale of the budget, and a table. */
function Spent({ answer }) {
  const scale = WIDTH / answer.max_tokens;
  let end = 0;
  const boxes = answer.sections.map((section, place) => {
    const box = html`<rect class=${`g${place % 8}`} x=${end} y="0" width=${section.tokens * scale} height="12"/>`;
    end += section.tokens * scale;
    return box;
  });
  const sentence = answer.sections.map(({ name, tokens }) => `${name} ${tokens}`).join(", ");
  return html`<p class="chance">${later.spent(answer.tokens, answer.max_tokens)}</p>
    <svg class="bar" role="img" aria-label=${`${sentence}, ${later.free} ${answer.max_tokens - answer.tokens}`}
      viewBox="0 0 ${WIDTH} 12" preserveAspectRatio="none"><rect class="range" width=${WIDTH} height="12"/>${boxes}</svg>
    <div class="scroll" tabindex="0"><table><thead><tr><th>${later.section}</th><th class="n">${later.cost}</th><th class="n">${later.allowed}</th>
      <th class="n">${later.memories}</th><th class="n">${later.outcomes["no room"]}</th></tr></thead><tbody>
      ${answer.sections.map((section, place) => html`<tr key=${section.name}><th scope="row"><svg class="key" aria-hidden="true" viewBox="0 0 12 12">
        <rect class=${`g${place % 8}`} width="12" height="12"/></svg><${Text} of=${section.name}/></th><td class="n">${section.tokens}</td>
        <td class="n">${section.allowed}</td><td class="n">${section.ids.length}</td><td class="n">${section.without_room}</td></tr>`)}
    </tbody></table></div>`;
}

function Considered({ title, all, go }) {
  const [shown, setShown] = useState(FIRST);
  if (!all.length) return null;
  return html`<section><h2>${title}</h2><div class="scroll" tabindex="0"><table class="considered"><thead><tr><th>${later.memory}</th>
      <th>${later.section}</th><th class="n">${later.cost}</th><th class="n">${words.score}</th><th>${later.outcome}</th></tr></thead><tbody>
    ${all.slice(0, shown).map((each) => html`<tr key=${`${each.section} ${each.namespace} ${each.id}`} data-id=${each.id} data-outcome=${each.outcome}>
      <td><button class="plain" onClick=${() => go({ view: "trace", memory: each.id })}><${Text} of=${beginning(each.text, 100)}/></button></td>
      <td><${Text} of=${each.section}/></td><td class="n">${each.tokens}</td><td class="n">${figure(each.score)}</td>
      <td>${later.outcomes[each.outcome]}</td></tr>`)}</tbody></table></div>
    ${shown < all.length && html`<button onClick=${() => setShown(all.length)}>${later.others(all.length - shown)}</button>`}</section>`;
}

// Label: recorded searches that may have no answer, and the labels that were given

const BELOW = 0.5;
const SHOWN = 10;
const REQUESTS = [
  ["GET", `/searches?below=${BELOW}`, null, `inspect.searches(below=${BELOW})`, ""],
  ["GET", "/questions", null, "labels.questions()", ""],
  ["POST", "/questions/score", { profiles: ["balanced"] }, 'labels.score(["balanced"])', ""],
];

export function Label({ state, scopes, go }) {
  const [again, setAgain] = useState(0);
  const kept = useAnswer("/questions", {}, state.namespace, again, "GET");
  const searches = useAnswer(`/searches?below=${BELOW}`, {}, state.namespace, 0, "GET");
  const refusal = kept.refusal || searches.refusal;
  const questions = useRef([]);
  if (kept.answer) questions.current = kept.answer.questions; // the last known while new ones are read
  if (refusal) return html`<${Refused} of=${refusal}/>`;
  if (!searches.answer || (!kept.answer && !again)) return html`<p role="status">${words.waiting}</p>`;
  const own = state.q.trim() && { query: state.q, filters: Object.keys(state.filters).length ? state.filters : null };
  const seen = new Set();
  const queue = [...(own ? [own] : []), ...searches.answer.searches].filter((each) => !seen.has(each.query) && seen.add(each.query));
  return html`<${Labels} key=${state.q} queue=${queue} questions=${questions.current} state=${state} mayWrite=${scopes.includes("memories:write")}
      isKept=${searches.answer.is_kept} reread=${() => setAgain(again + 1)}/>
    <${SameOf} state=${state} requests=${REQUESTS}/>`;
}

const blank = (search) => ({ id: null, query: search.query, relevant: [], not_relevant: [], at: null, filters: search.filters || null });

function Labels({ queue, questions, state, mayWrite, isKept, reread }) {
  const [chosen, setChosen] = useState(0);
  const [at, setAt] = useState(0);
  const [undo, setUndo] = useState([]);
  const [refusal, setRefusal] = useState("");
  const busy = useRef(null); // the questions that a change began from: one at a time, so that the next one knows of it
  const failed = (problem) => { busy.current = null; setRefusal(problem.message); };
  const items = [...queue.map((search) => questions.find((each) => each.query === search.query) || blank(search)),
    ...questions.filter((each) => !queue.some((search) => search.query === each.query))];
  const item = items[Math.min(chosen, items.length - 1)];
  const found = useAnswer("/search", item ? { query: item.query, limit: SHOWN, touch: false, ...(item.filters ? { filters: item.filters } : {}) } : null, state.namespace);
  const hits = found.answer?.hits || [];
  const others = item ? [...item.relevant, ...item.not_relevant].filter((id) => !hits.some((hit) => hit.id === id)) : [];
  const rows = [...hits.map((hit) => ({ id: hit.id, text: hit.content })), ...(found.answer ? others.map((id) => ({ id, text: null })) : [])];
  /** Keep a question as it shall be, or drop it; what it was goes on the list for undo. */
  const keep = (next, isUndo = false) => {
    if (busy.current === questions) return;
    busy.current = questions;
    const was = next.id ? questions.find((each) => each.id === next.id) : null;
    const isEmpty = isUndo && next.dropped;
    const request = isEmpty ? ask("DELETE", `/questions/${encodeURIComponent(next.id)}`, { namespace: state.namespace })
      : ask("POST", "/questions", { namespace: state.namespace, body: Object.fromEntries(Object.entries({ ...next, dropped: undefined }).filter(([, value]) => value !== null && value !== undefined)) });
    request.then((answer) => {
      if (!isUndo) setUndo((others) => [...others, was || { ...next, id: answer.id, dropped: true }]);
      setRefusal("");
      reread();
    }, failed);
  };
  const mark = (id, kind) => {
    const without = (ids) => ids.filter((each) => each !== id);
    const next = { ...item, relevant: without(item.relevant), not_relevant: without(item.not_relevant) };
    if (kind && !item[kind].includes(id)) next[kind] = [...next[kind], id];
    keep(next);
  };
  const none = () => keep({ ...item, relevant: [], not_relevant: hits.map((hit) => hit.id) });
  const back = () => {
    if (!undo.length || busy.current === questions) return;
    keep(undo[undo.length - 1], true);
    setUndo((others) => others.slice(0, -1));
  };
  const drop = () => {
    if (busy.current === questions) return;
    busy.current = questions;
    ask("DELETE", `/questions/${encodeURIComponent(item.id)}`, { namespace: state.namespace }).then(() => {
      setUndo((others) => [...others, item]);
      reread();
    }, failed);
  };
  useEffect(() => document.querySelector(".labels .chosen")?.scrollIntoView({ block: "nearest" }), [at]);
  const act = useRef(null);
  act.current = (event) => {
    if (isTyping(event) || !item) return;
    const row = rows[at];
    if (event.key === "j") setAt(Math.min(rows.length - 1, at + 1));
    else if (event.key === "k") setAt(Math.max(0, at - 1));
    else if (!mayWrite) return;
    else if (event.key === "1" && row) mark(row.id, "relevant");
    else if (event.key === "2" && row) mark(row.id, "not_relevant");
    else if (event.key === "0" && found.answer) none();
    else if (event.key === "u") back();
  };
  useEffect(() => {
    const pressed = (event) => act.current(event);
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  const choose = (place) => {
    setChosen(place);
    setAt(0);
  };
  const stateOf = (each) => (each.id === null ? later.unlabelled : each.relevant.length ? later.right(each.relevant.length) : later.noneIs);
  return html`${!isKept && html`<p class="soft">${later.noLog}</p>`}${!mayWrite && html`<p class="soft">${later.mayNotLabel}</p>`}
    ${refusal && html`<${Refused} of=${refusal}/>`}
    ${!item ? html`<p class="empty">${later.noQueue}</p>` : html`<div class="halves"><section><h2>${later.queue}</h2><ol class="queue">${items.map((each, place) => html`<li key=${place}>
      <button class="plain" aria-current=${each === item ? "true" : undefined} onClick=${() => choose(place)}><${Text} of=${beginning(each.query, 80)}/></button> <span class="soft">${stateOf(each)}</span></li>`)}</ol></section>
    <section><h2><${Text} of=${item.query}/></h2><p class="soft">${later.keys}</p>
      ${!found.answer && html`<p role="status">${found.refusal || words.waiting}</p>`}
      ${found.answer && html`<p class="soft">${found.answer.probability === null ? "" : words.chance(percent(found.answer.probability))}</p>`}
      <ol class="labels">${rows.map((row, place) => html`<li key=${row.id} class=${place === at ? "row chosen" : "row"} aria-current=${place === at ? "true" : undefined} data-id=${row.id}>
        <p>${row.text === null ? html`<${Text} of=${row.id}/> <span class="soft">${later.notFound}</span>` : html`<${Text} of=${beginning(row.text, 280)}/>`}</p>
        ${["relevant", "not_relevant"].map((kind) => html`<button key=${kind} disabled=${!mayWrite} aria-pressed=${item[kind].includes(row.id)} onClick=${() => { setAt(place); mark(row.id, kind); }}>${later[kind]}</button> `)}</li>`)}</ol>
      <p><button disabled=${!mayWrite || !found.answer} onClick=${none}>${later.none}</button> <button disabled=${!undo.length} onClick=${back}>${later.undoLabel}</button>
        ${item.id !== null && html` <button disabled=${!mayWrite} onClick=${drop}>${later.dropLabel}</button>`}</p></section></div>
    <${Scores} state=${state} count=${questions.filter((each) => each.relevant.length).length}/>`}`;
}

/** How well a profile answers the labelled questions, asked by a button. */
function Scores({ state, count }) {
  const [asked, setAsked] = useState(0);
  const profiles = [state.profile || "balanced"];
  const { answer, refusal } = useAnswer("/questions/score", asked ? { profiles } : null, state.namespace, asked);
  if (!count) return null;
  return html`<section><h2>${later.scores}</h2><p><button onClick=${() => setAsked(asked + 1)}>${later.measure(count)}</button></p>
    ${asked > 0 && !answer && !refusal && html`<p role="status">${words.waiting}</p>`}${refusal && html`<${Refused} of=${refusal}/>`}
    ${answer && html`<p class="soft">${later.fewProve}</p><table class="scores"><thead><tr><th>${later.measureName}</th><th class="n">${later.mean}</th><th class="n">${later.interval}</th></tr></thead><tbody>
      ${answer.scores.flatMap((score) => Object.entries(score.measures).map(([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td class="n">${value.mean.toFixed(3)}</td><td class="n">${value.low.toFixed(3)} – ${value.high.toFixed(3)}</td></tr>`))}</tbody></table>`}</section>`;
}

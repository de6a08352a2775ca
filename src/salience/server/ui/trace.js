// The view Trace and why not: who entered and left each stage, and what became of one memory.
import { html, useEffect, useState } from "./html.js";
import { Pending, useAnswer } from "./answers.js";
import { Range } from "./draw.js";
import { later } from "./later.js";
import { searched } from "./state.js";
import { beginning, figure, Text, visible } from "./text.js";
import { words } from "./words.js";

const MOST = 12; // rows of a table

export function View({ table, state, go }) {
  return html`<section><h2>${words.stages}</h2><${Stages} table=${table}/></section>
    <section><h2>${words.chosen}</h2><${Chooser} table=${table} state=${state} go=${go}/>
      ${state.memory && html`<${Verdict} state=${state}/>`}</section>
    <section><h2>${words.ladder}</h2><${Ladder} table=${table} state=${state} go=${go}/></section>`;
}

const Stages = ({ table }) => html`<div class="scroll" tabindex="0"><table><thead><tr><th>${words.stage}</th><th class="n">${words.entered}</th>
    <th class="n">${words.left}</th><th>${words.by}</th><th class="n">${words.lastOn}</th></tr></thead><tbody>
  ${table.stages.map((stage, place) => html`<tr key=${place}><th scope="row"><${Text} of=${stage.label}/></th>
    <td class="n">${place ? stage.entered : ""}</td><td class="n">${stage.left}</td>
    <td><${Text} of=${stage.by || ""}/></td><td class="n">${stage.last === null ? "" : figure(stage.last)}</td></tr>`)}
  </tbody></table></div>`;

function Ladder({ table, state, go }) {
  const routes = Object.entries(table.routes);
  return html`<div class="scroll" tabindex="0"><table class="ladder"><thead><tr><th class="n">${words.final}</th>
      ${routes.map(([name]) => html`<th class="n" key=${name}><${Text} of=${name}/></th>`)}
      <th>${words.memory}</th><th>${words.left}</th></tr></thead><tbody>
    ${table.rows.map((row, place) => html`<tr key=${`${row.namespace} ${row.id}`} class=${row.id === state.memory ? "chosen" : ""}>
      <td class="n">${place + 1}</td>
      ${routes.map(([name, route]) => html`<td class="n" key=${name}>${route.rank[place] ?? "–"}</td>`)}
      <td><button class="plain" onClick=${() => go({ memory: row.id })}><${Text} of=${beginning(row.text, 90)}/></button></td>
      <td class="soft">${row.left === null ? words.yes : html`<${Text} of=${table.stages[row.left].kind}/>`}</td></tr>`)}
  </tbody></table></div>`;
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
  return html`<form class="inline" onSubmit=${send}><label>${words.memoryHint}
    <input name="memory" list="ids" value=${id} onInput=${(event) => setId(event.target.value)}/></label>
    <label>${later.against} <input name="against" list="ids" value=${against} onInput=${(event) => setAgainst(event.target.value)}/></label>
    <datalist id="ids">${table.rows.slice(0, 200).map((row) => html`<option key=${row.id} value=${row.id}>${visible(beginning(row.text, 60))}</option>`)}</datalist>
    <button>${words.explainIt}</button></form>`;
}

function Verdict({ state }) {
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
    ${other && html`<p class="against">${(other.before ? later.before : later.behind)(visible(other.id), other.gap === null ? "" : figure(Math.abs(other.gap)))}</p>`}
    ${!other && why?.gap != null && why.rival && html`<p>${words.gap(figure(why.gap), visible(why.rival))}</p>`}
    ${why?.unmet.length > 0 && html`<table><caption>${words.unmet}</caption><thead><tr><th>${words.asked}</th><th>${words.has}</th></tr></thead><tbody>
      ${why.unmet.map((one, place) => html`<tr key=${place}><td><${Text} of=${one.condition}/></td>
        <td><${Text} of=${Object.entries(one.values).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")}/></td></tr>`)}</tbody></table>`}
    ${parts.length > 0 && html`<table><caption>${words.besideRival}</caption><thead><tr><th>${words.part}</th><th class="n">${words.own}</th>
      <th class="n">${words.rival}</th><th class="n">${words.costs}</th></tr></thead><tbody>
      ${parts.map((part) => html`<tr key=${part.name}><th scope="row"><${Text} of=${part.name}/></th><td class="n">${figure(part.own)}</td>
        <td class="n">${figure(part.rival)}</td><td class="n">${figure(part.behind)}</td></tr>`)}</tbody></table>`}
    ${answer.changes?.length > 0 && html`<table><caption>${words.ranges}</caption><thead><tr><th>${words.part}</th><th class="n">${words.asItIs}</th>
      <th class="n">${words.needed}</th><th class="wide">${words.among}</th></tr></thead><tbody>
      ${answer.changes.slice(0, MOST).map((change) => html`<tr key=${change.part}><th scope="row"><${Text} of=${change.part}/></th>
        <td class="n">${figure(change.value)}</td><td class="n">${figure(change.needed)}</td>
        <td class="wide"><${Range} change=${change}/>${!change.possible && html` <span class="soft">${words.impossible}</span>`}</td></tr>`)}</tbody></table>`}
    ${turning?.length === 0 && html`<p>${later.turnsNone}</p>`}
    ${turning?.length > 0 && html`<table class="turning"><caption>${later.turning}</caption><thead><tr><th>${words.weight}</th><th class="n">${words.asItIs}</th>
      <th class="n">${words.needed}</th><th>${later.withIt}</th></tr></thead><tbody>
      ${turning.slice(0, MOST).map((weight) => html`<tr key=${weight.name}><th scope="row"><${Text} of=${weight.name}/></th><td class="n">${figure(weight.value)}</td>
        <td class="n">${figure(weight.needed)}</td><td>${later.hit(weight.rank)}</td></tr>`)}</tbody></table>`}`;
}

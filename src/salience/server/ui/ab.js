// The view A/B: two profiles, or a profile and changed weights, side by side.
import { html } from "./html.js";
import { Pending, useAnswer } from "./answers.js";
import { groupSums } from "./draw.js";
import { later } from "./later.js";
import { contributions } from "./scores.js";
import { searched } from "./state.js";
import { beginning, percent, signed, Text, visible } from "./text.js";
import { words } from "./words.js";

const STEP = 10; // the height of a row in the drawing

const hitsOf = (table) => table.rows.filter((row) => row.left === null);
const keyOf = (row) => `${row.namespace} ${row.id}`;

export function View({ table, state, go, profiles }) {
  const isChanged = Object.keys(state.weights).length > 0;
  const body = state.other ? { ...searched(state), profile: state.other }
    : isChanged ? { ...searched(state), weights: state.weights } : null;
  const { answer, refusal } = useAnswer("/candidates", body, state.namespace);
  return html`<p><label>${later.otherSide} <select value=${state.other} onChange=${(event) => go({ other: event.target.value })}>
      <option value="">${isChanged ? later.ownWeights : ""}</option>
      ${profiles.filter((name) => name !== table.profile).map((name) => html`<option key=${name} value=${name}>${visible(name)}</option>`)}</select></label></p>
    ${!body && html`<p>${later.chooseSide}</p>`}
    ${body && !answer && html`<${Pending} refusal=${refusal}/>`}
    ${answer && html`<${Sides} sides=${[table, answer]} names=${[table.profile, state.other || later.ownWeights]}/>`}`;
}

function Sides({ sides, names }) {
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
    <h2>${later.lifts}</h2><div class="scroll" tabindex="0"><table class="moves"><thead><tr><th>${words.memory}</th><th class="n">A</th><th class="n">B</th>
      <th>${later.liftedBy}</th></tr></thead><tbody>${[...new Map([...left, ...right].map((row) => [keyOf(row), row])).values()].map((row) => {
        const [from, to] = places.map((own) => own.get(keyOf(row)));
        return html`<tr key=${keyOf(row)} data-id=${row.id}><td><${Text} of=${beginning(row.text, 90)}/></td><td class="n">${from === undefined ? "–" : from + 1}</td>
          <td class="n">${to === undefined ? "–" : to + 1}</td><td><${Text} of=${lifted(sides, from, to)}/></td></tr>`;
      })}</tbody></table></div>`;
}

/** One list; `old` has the places in the other. */
function Side({ table, name, old }) {
  return html`<section><h2><${Text} of=${name}/> <span class="soft">${table.probability === null ? "" : percent(table.probability)}</span></h2>
    <ol class="side">${hitsOf(table).map((row, place) => {
      const before = old?.get(keyOf(row));
      return html`<li key=${keyOf(row)} data-id=${row.id}><p><b class="rank">${place + 1}</b> <${Text} of=${beginning(row.text, 110)}/></p>
        <span class="soft">${old && `${before === undefined ? words.newcomer : words.moved(before - place)}: `}<${Text} of=${largest([...groupSums(table, place)])}/></span></li>`;
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

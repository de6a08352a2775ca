// The view A/B: two profiles, or a profile and changed weights, side by side.
import { html, useState } from "./html.js";
import { Pending, useAnswer, useGet } from "./answers.js";
import { groupSums } from "./draw.js";
import { later } from "./later.js";
import { contributions } from "./scores.js";
import { searched } from "./state.js";
import { beginning, percent, signed, Text, visible } from "./text.js";
import { words } from "./words.js";

const STEP = 10; // the height of a row in the drawing
const MEASURE = "nDCG@10"; // by which questions are compared at first

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
        <td class="n">${b.toFixed(3)}</td><td class="n">${gain === 0 ? words.moved(0) : `${gain > 0 ? "↑" : "↓"} ${signed(gain)}`}</td></tr>`)}</tbody></table></div>`;
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
    <h2>${later.lifts}</h2><div class="scroll" tabindex="0"><table class="moves"><thead><tr><th>${words.memory}</th><th class="n">A</th><th class="n">B</th>
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

// Scores from the columns of an answer, added in the order of the profile: the same to the bit; and their drawings.
import { html, useState } from "./html.js";
import { figure, Text } from "./text.js";
import { words } from "./words.js";

// Scores from the columns of an answer, added in the order of the profile: the same to the bit.
const at = (part, row) => (part.values === null ? 0 : part.values[row]);

/** A part's weight: the changed one, else its own. A part may have any name. */
export const weightOf = (part, weights) =>
  (Object.hasOwn(weights, part.name) ? weights[part.name] : part.weight);

/** What each part adds to the score of a row, and the factors that multiply the sum. */
export function contributions(table, row, weights = {}) {
  const parts = [];
  const factors = [];
  for (const part of table.parts) {
    const value = at(part, row);
    const weight = weightOf(part, weights);
    if (part.factor) factors.push({ part, value });
    else parts.push({ part, weight, value, adds: part.weight === null ? value : weight * value });
  }
  return { parts, factors };
}

export function total({ parts, factors }) {
  let sum = null;
  for (const { adds } of parts) sum = sum === null ? adds : sum + adds;
  for (const { value } of factors) sum = sum === null ? value : sum * value;
  return sum;
}

/** True if another order follows from other weights alone. */
export function computable(table) {
  const scored = table.stages.findLastIndex((stage) => stage.kind === "score");
  const after = table.stages.slice(scored + 1);
  return table.additive && after.length === 1 && after[0].kind === "cut";
}

const before = (one, other) => {
  const [a, b] = [[...one].map((c) => c.codePointAt(0)), [...other].map((c) => c.codePointAt(0))];
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
};

/** The places of the rows, best first, with other weights. */
export function reordered(table, weights) {
  const scores = table.rows.map((_, row) => total(contributions(table, row, weights)));
  return table.rows
    .map((row, place) => place)
    .filter((place) => table.rows[place].score !== null)
    .sort((a, b) => scores[b] - scores[a] || before(table.rows[a].id, table.rows[b].id))
    .map((place) => ({ row: table.rows[place], score: scores[place] }));
}

/** The parts whose values other weights change. */
export const movedWith = (table, weights) =>
  table.parts.filter((part) => part.values && part.moves_with.some((name) => Object.hasOwn(weights, name)));

/** What sets two rows apart, the largest difference first. */
export function differences(table, one, other) {
  const [own, theirs] = [contributions(table, one), contributions(table, other)];
  return own.parts
    .map(({ part, adds }, place) => ({ part, gap: adds - theirs.parts[place].adds }))
    .filter(({ gap }) => gap !== 0)
    .sort((a, b) => Math.abs(b.gap) - Math.abs(a.gap));
}

/** The groups of a profile in their order, each with the number of its colour. */
export function groups(table) {
  const names = [...new Set(table.parts.filter((part) => !part.factor).map(groupOf))];
  return new Map(names.map((name, place) => [name, place % 8]));
}

export const groupOf = (part) => part.group || part.title;

// Drawings: bars as SVG, so that no style is inline. Each has a sentence; a table stands beside it

const WIDTH = 1000;

/** The hatching of what takes away, once in the page. */
export const Patterns = () => html`
  <svg class="patterns" aria-hidden="true" width="0" height="0">
    <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">
      <path d="M0 6L6 0M-1 1L1 -1M5 7L7 5" class="hatch" />
    </pattern>
  </svg>`;

/** What each group adds to a row, in their order. */
export function groupSums(table, row) {
  const sums = new Map([...groups(table).keys()].map((name) => [name, 0]));
  for (const { part, adds } of contributions(table, row).parts) {
    const name = groupOf(part);
    sums.set(name, sums.get(name) + adds);
  }
  return sums;
}

/** One bar: the groups that add more than all rows share, one after the other, and over their end those that take away. */
export function StackedBar({ table, row, most, base }) {
  const colours = groups(table);
  const sums = [...groupSums(table, row)].filter(([, sum]) => sum !== 0);
  const scale = (value) => (most > 0 ? (value / most) * WIDTH : 0);
  let end = 0;
  const boxes = sums.filter(([, sum]) => sum > 0).map(([name, sum]) => {
    const more = sum - base.get(name);
    const box = html`<rect class=${`g${colours.get(name)}`} x=${scale(end)} y="0"
      width=${scale(more)} height="12"/>`;
    end += more;
    return box;
  });
  for (const [, sum] of sums.filter(([, each]) => each < 0)) {
    end += sum;
    boxes.push(html`<rect class="less" x=${scale(Math.max(end, 0))} y="0"
      width=${scale(Math.min(-sum, end - sum))} height="12" fill="url(#hatch)"/>`);
  }
  const sentence = sums.map(([name, sum]) => `${name} ${figure(sum)}`).join(", ");
  return html`<svg class="bar" role="img" aria-label=${sentence || words.none}
    viewBox="0 0 ${WIDTH} 12" preserveAspectRatio="none">${boxes}</svg>`;
}

/** The most that the positive groups of any row add up to, beyond what all share. */
export const tallest = (table, rows, base) =>
  Math.max(0, ...rows.map((row) =>
    [...groupSums(table, row)].filter(([, sum]) => sum > 0).reduce((all, [name, sum]) => all + sum - base.get(name), 0)));

/** A step of a waterfall: from one sum to the next, on a scale from `low` to `high`. */
export function StepBar({ from, to, low, high, colour }) {
  const scale = (value) => ((value - low) / (high - low || 1)) * WIDTH;
  const [start, end] = [Math.min(from, to), Math.max(from, to)];
  const isLess = to < from;
  return html`<svg class="bar step" aria-hidden="true" viewBox="0 0 ${WIDTH} 12"
    preserveAspectRatio="none">
    <rect class=${isLess ? "less" : `g${colour}`} fill=${isLess ? "url(#hatch)" : undefined}
      x=${scale(start)} y="1" width=${Math.max(2, scale(end) - scale(start))} height="10"/>
    <rect class="zero" x=${scale(0)} y="0" width="1" height="12"/>
  </svg>`;
}

/** The range that candidates have of a part, with its value and the value needed. */
export function Range({ change }) {
  const low = Math.min(change.low, change.value, change.needed);
  const width = Math.max(change.high, change.value, change.needed) - low || 1;
  const x = (value) => ((value - low) / width) * (WIDTH - 12);
  return html`<svg class="bar" aria-hidden="true" viewBox="0 0 ${WIDTH} 12"
    preserveAspectRatio="none">
    <rect class="range" x=${x(change.low)} y="4" width=${x(change.high) - x(change.low) || 2}
      height="4"/>
    <rect class="own" x=${x(change.value)} y="0" width="8" height="12"/>
    <rect class="aim" x=${x(change.needed)} y="0" width="8" height="12"/>
  </svg>`;
}

// The score of a row as a waterfall: each part with what it adds, and the score that it comes to

export function Waterfall({ table, row }) {
  const [inOrder, setInOrder] = useState(false);
  const own = contributions(table, row);
  const score = total(own);
  const given = table.rows[row].score;
  const shown = own.parts.filter(({ adds }) => adds !== 0);
  if (!inOrder) shown.sort((a, b) => Math.abs(b.adds) - Math.abs(a.adds));
  const ends = [];
  for (const { adds } of shown) ends.push((ends.at(-1) ?? 0) + adds);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const zeros = own.parts.filter(({ adds }) => adds === 0);
  const colours = groups(table);
  return html`
    <label class="switch"><input type="checkbox" checked=${inOrder}
      onChange=${(event) => setInOrder(event.target.checked)}/> ${words.order}</label>
    <table class="waterfall" data-sum=${String(score)} data-score=${String(given)}>
      <thead><tr><th>${words.part}</th><th class="n">${words.computed}</th>
        <th class="n">${words.adds}</th><td class="wide"></td></tr></thead>
      <tbody>
        ${shown.map(({ part, weight, value, adds }, place) => html`<tr key=${part.name}>
          <th scope="row"><${Text} of=${part.title}/> <span class="soft"><${Text} of=${part.doc}/></span></th>
          <td class="n">${weight === null ? "" : `${figure(weight)} × `}${figure(value)}</td>
          <td class="n">${figure(adds)}${adds < 0 && html` <span class="soft">${words.takesAway}</span>`}</td>
          <td class="wide"><${StepBar} from=${ends[place - 1] ?? 0} to=${ends[place]} low=${low}
            high=${high} colour=${colours.get(groupOf(part))}/></td></tr>`)}
        ${own.factors.length > 0 && own.parts.length > 0 && html`<tr><th scope="row">${words.sum}</th>
          <td></td><td class="n">${figure(total({ parts: own.parts, factors: [] }))}</td><td class="wide"></td></tr>`}
        ${own.factors.map(({ part, value }) => html`<tr key=${part.name}>
          <th scope="row">${words.factor} <${Text} of=${part.title}/> <span class="soft"><${Text} of=${part.doc}/></span></th>
          <td class="n">× ${figure(value)}</td><td></td><td class="wide"></td></tr>`)}
      </tbody>
      <tfoot><tr><th scope="row">${words.score} <span class="soft">${score === given ? words.exact : words.inexact + given}</span></th>
        <td></td><td class="n">${figure(score)}</td><td class="wide"></td></tr></tfoot>
    </table>
    ${zeros.length > 0 && html`<details class="zeros"><summary>${words.zeros(zeros.length)}</summary>
      <p>${zeros.map(({ part }) => html`<span class="chip"><${Text} of=${part.title}/></span> `)}</p></details>`}`;
}

/** A tree of the API, as a list within lists. */
export function Tree({ node }) {
  return html`<ul class="tree"><li>
    <span class="n">${figure(node.value)}</span> <${Text} of=${node.label}/>
    ${node.doc && html` <span class="soft"><${Text} of=${node.doc}/></span>`}
    ${node.note && html` <span class="soft">(<${Text} of=${node.note}/>)</span>`}
    ${node.children && html`<details><summary>= <${Text} of=${node.how || "…"}/></summary>
      ${node.children.map((child, place) => html`<${Tree} key=${place} node=${child}/>`)}</details>`}
  </li></ul>`;
}

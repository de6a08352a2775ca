// Drawings: bars as SVG, so that no style is inline. Each has a sentence; a table stands beside it.
import { html } from "./html.js";
import { contributions, groupOf, groups } from "./scores.js";
import { figure } from "./text.js";
import { words } from "./words.js";

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

/** One bar: the groups that add, one after the other, and over their end those that take away. */
export function StackedBar({ table, row, most }) {
  const colours = groups(table);
  const sums = [...groupSums(table, row)].filter(([, sum]) => sum !== 0);
  const scale = (value) => (most > 0 ? (value / most) * WIDTH : 0);
  let end = 0;
  const boxes = sums.filter(([, sum]) => sum > 0).map(([name, sum]) => {
    const box = html`<rect class=${`g${colours.get(name)}`} x=${scale(end)} y="0"
      width=${scale(sum)} height="12"/>`;
    end += sum;
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

/** The most that the positive groups of any row add up to. */
export const tallest = (table, rows) =>
  Math.max(0, ...rows.map((row) =>
    [...groupSums(table, row).values()].filter((sum) => sum > 0).reduce((a, b) => a + b, 0)));

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

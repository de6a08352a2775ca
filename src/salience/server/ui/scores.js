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

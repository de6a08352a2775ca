// The score of a row as a waterfall: each part with what it adds, and the score that it comes to.
import { html, useState } from "./html.js";
import { StepBar } from "./draw.js";
import { contributions, groupOf, groups, total } from "./scores.js";
import { figure, Text } from "./text.js";
import { words } from "./words.js";

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

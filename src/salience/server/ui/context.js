// The view Context: the text as a model gets it, what it costs, and what found no room.
import { html, useEffect, useState } from "./html.js";
import { Pending, useAnswer } from "./answers.js";
import { Same } from "./same.js";
import { searched, TOKENS } from "./state.js";
import { beginning, figure, Text } from "./text.js";
import { later } from "./later.js";
import { words } from "./words.js";

const WIDTH = 1000;
const FIRST = 20; // memories of a list that are shown at once

export function View({ state, go }) {
  const most = Number(state.tokens) || TOKENS;
  const body = state.q.trim() ? { ...searched(state), max_tokens: most, touch: false, trace: true } : null;
  const { answer, refusal } = useAnswer("/context", body, state.namespace);
  if (!body) return html`<p>${later.askFirst}</p>`;
  return html`<${Budget} most=${most} go=${go}/>
    ${!answer && html`<${Pending} refusal=${refusal}/>`}
    ${answer && html`<${Spent} answer=${answer}/>
      <section><h2>${later.modelText}</h2>${answer.text
        ? html`<pre class="context" tabindex="0"><${Text} of=${answer.text}/></pre>` : html`<p>${later.emptyText}</p>`}</section>
      <${Considered} title=${later.inText} all=${answer.considered.filter(isIn)} go=${go}/>
      <${Considered} title=${later.notInText} all=${answer.considered.filter((each) => !isIn(each))} go=${go}/>`}
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
  return html`<section><h2>${title}</h2><div class="scroll" tabindex="0"><table class="considered"><thead><tr><th>${words.memory}</th>
      <th>${later.section}</th><th class="n">${later.cost}</th><th class="n">${words.score}</th><th>${later.outcome}</th></tr></thead><tbody>
    ${all.slice(0, shown).map((each) => html`<tr key=${`${each.section} ${each.namespace} ${each.id}`} data-id=${each.id} data-outcome=${each.outcome}>
      <td><button class="plain" onClick=${() => go({ view: "trace", memory: each.id })}><${Text} of=${beginning(each.text, 100)}/></button></td>
      <td><${Text} of=${each.section}/></td><td class="n">${each.tokens}</td><td class="n">${figure(each.score)}</td>
      <td>${later.outcomes[each.outcome]}</td></tr>`)}</tbody></table></div>
    ${shown < all.length && html`<button onClick=${() => setShown(all.length)}>${later.others(all.length - shown)}</button>`}</section>`;
}

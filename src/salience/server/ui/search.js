// The view Search: the hits as cards, and why each stands where it does.
import { html, useEffect, useState } from "./html.js";
import { contributions, differences, groups, groupSums, StackedBar, tallest, Tree, Waterfall } from "./scores.js";
import { Pending, useAnswer } from "./api.js";
import { searched, write } from "./state.js";
import { beginning, day, figure, percent, signed, Text, visible } from "./text.js";
import { words } from "./words.js";

// Where the meaning begins with a condition on the query, the name says more.
const reason = (part) => (part.doc && !part.doc.includes(": ") ? part.doc.split(",")[0] : `“${part.title}”`);

/** By what a row differs from the mean of the other hits, the largest difference first. */
function apart(table, row, hits) {
  const others = hits.filter((place) => place !== row).map((place) => contributions(table, place).parts);
  const own = contributions(table, row).parts;
  return own.map(({ part, adds }, place) => ({ part, gap: adds - others.reduce((sum, parts) => sum + parts[place].adds, 0) / (others.length || 1) }))
    .sort((a, b) => b.gap - a.gap);
}

/** Why a row stands where it does, in one sentence: what sets it apart, and what puts it before the next one. */
export function sentence(table, row) {
  const hits = table.rows.map((_, place) => place).filter((place) => table.rows[place].left === null);
  const why = apart(table, row, hits).filter(({ gap }) => gap >= 0.005).slice(0, 2).map(({ part, gap }) => `${reason(part)} ${signed(gap)}`);
  const next = row + 1 < table.rows.length && table.rows[row + 1].score !== null ? row + 1 : null;
  let rest = words.last;
  if (next !== null) {
    const gap = table.rows[row].score - table.rows[next].score;
    const [most] = differences(table, row, next).filter((each) => each.gap > 0);
    rest = gap > 0 ? words.ahead(signed(gap).slice(1), next + 1, most?.part.title) : words.tie(next + 1);
  }
  return `${words.because(row + 1)}${why.length ? `${hits.length > 1 ? words.apart : ""}${why.join(", ")}` : words.nothingMore}. ${rest}`;
}

export function Search({ table, state, go, scopes }) {
  const hits = table.rows.filter((row) => row.left === null);
  const present = hits.map((_, place) => groupSums(table, place));
  const colours = groups(table);
  // What every hit has at least of a group tells none from another: the bars leave it out.
  const base = new Map([...colours.keys()].map((name) => [name, hits.length > 1 ? Math.max(0, Math.min(...present.map((sums) => sums.get(name)))) : 0]));
  const common = [...base].filter(([, sum]) => sum > 0);
  const most = tallest(table, hits.map((_, place) => place), base);
  const shown = [...colours].filter(([name]) => present.some((sums) => sums.get(name) !== base.get(name)));
  return html`
    <p class="chance">${table.probability === null ? words.noChance : words.chance(percent(table.probability))}
      <span class="soft">${words.found(hits.length, table.of)}</span></p>
    <${Missing} table=${table} state=${state} go=${go} scopes=${scopes}/>
    ${hits.length === 0 && html`<p>${words.nothing}</p>`}
    <ul class="legend">${shown.map(([name, colour]) => html`<li key=${name}>
      <svg class="key" aria-hidden="true" viewBox="0 0 12 12"><rect class=${`g${colour}`} width="12" height="12"/></svg>
      <${Text} of=${name}/></li>`)}${common.length > 0 && html`<li class="soft">${words.allShare(signed(common.reduce((sum, [, each]) => sum + each, 0)))} <${Text} of=${common.map(([name, sum]) => `${name} ${signed(sum)}`).join(", ")}/></li>`}</ul>
    <ol class="cards">${hits.map((row, place) => html`<${Card} key=${`${row.namespace} ${row.id}`}
      table=${table} row=${row} place=${place} most=${most} base=${base} state=${state} go=${go}/>`)}</ol>`;
}

/** The way to a memory that was expected: its module is loaded when it is asked for. */
function Missing(given) {
  const [Expected, setExpected] = useState(null);
  const load = () => import("./ask.js").then((module) => setExpected(() => module.Expected));
  useEffect(() => given.state.memory && load(), []);
  return html`<details class="expected" open=${Boolean(given.state.memory)} onToggle=${(event) => event.target.open && load()}><summary>${words.expected}</summary>
    ${Expected && html`<${Expected} ...${given}/>`}</details>`;
}

function Card({ table, row, place, most, base, state, go }) {
  const open = Object.hasOwn(state.why, row.id);
  const toggle = () => go(({ why: { [row.id]: was, ...others } }) => ({ why: was ? others : { ...others, [row.id]: 1 } }), true);
  return html`<li class="card" tabindex="0" data-id=${row.id}
      onKeyDown=${(event) => event.key === "Enter" && event.target === event.currentTarget && toggle()}>
    <div class="head"><b class="rank">${place + 1}</b>
      <div><p class="text">${row.title && html`<strong><${Text} of=${row.title}/></strong> `}<${Text} of=${row.text}/>${row.is_cut && " …"}</p>
      ${(open || place === 0) && html`<p class="sentence"><${Text} of=${sentence(table, place)}/></p>`}
      <p class="facts"><${Facts} row=${row} state=${state} go=${go}/></p></div></div>
    <div><${StackedBar} table=${table} row=${place} most=${most} base=${base}/>
    <p class="facts">${Object.entries(table.routes).map(([name, route]) => html`<span key=${name} class="soft">
        ${route.rank[place] === null ? words.noRoute(name) : words.route(name, route.rank[place])}</span>`)}
      <span>${words.score} ${figure(row.score)}</span>
      ${row.probability !== null && html`<span>${words.chanceOfThis(percent(row.probability))}</span>`}
      ${row.may_be_replaced_by.length > 0 && html`<span class="newer">${words.mayBeReplacedBy(row.may_be_replaced_by.map(visible).join(", "))}</span>`}
      <span class="ends"><button class="more" onClick=${() => go({ open: row.id })}>${words.more}<span class="hidden"> ${visible(row.id)}</span></button>
      <button class="why" aria-expanded=${open} onClick=${toggle}>${open ? words.hide : words.open}
        <span class="hidden"> ${visible(row.id)}</span></button></span></p></div>
    ${open && html`<div class="opened"><${Waterfall} table=${table} row=${place}/>
      <${Before} table=${table} row=${place} state=${state}/>
      <${Odds} id=${row.id} state=${state} has=${row.probability !== null}/>
      <p><a href=${write({ ...state, view: "trace", memory: row.id, against: "" })}>${words.toTrace}</a>
        ${row.paths.some(({ source }) => source !== null) && html` · <a href=${write({ ...state, view: "around", memory: row.id })}>${words.toHops}</a>`}</p></div>`}
  </li>`;
}

/** What is known of a memory; a click on it filters. */
function Facts({ row, state, go }) {
  const only = (name, condition) => go({ filters: { ...state.filters, [name]: condition } });
  const button = (name, value, condition, label = value) => value && html`<button class="chip"
    title=${words.filterBy(name, visible(value))} onClick=${() => only(name, condition)}><${Text} of=${label}/></button> `;
  const date = day(row.created_at);
  return html`${button("kind", row.kind, row.kind)}${button("speaker", row.speaker, row.speaker)}
    ${button("created_at", date, { gte: `${date}T00:00:00Z`, lte: `${date}T23:59:59.999999Z` })}
    ${row.tags.map((tag) => button("tags", tag, { contains: tag }, `#${tag}`))}`;
}

/** What sets a row apart from any other. */
function Before({ table, row, state }) {
  const scored = table.rows.map((_, place) => place).filter((place) => place !== row && table.rows[place].score !== null);
  const [chosen, setChosen] = useState("");
  const other = chosen === "" ? null : Number(chosen);
  const gap = other === null ? 0 : table.rows[row].score - table.rows[other].score;
  const title = gap >= 0 ? words.before : words.behind;
  return html`<p><label>${words.beforeTitle} <select value=${chosen} onChange=${(event) => setChosen(event.target.value)}>
      <option value=""></option>
      ${scored.map((place) => html`<option key=${place} value=${String(place)}>${place + 1}: ${visible(beginning(table.rows[place].text, 60))}</option>`)}
    </select></label></p>
    ${other !== null && html`<table><caption>${title(row + 1, other + 1, figure(Math.abs(gap)))}</caption><tbody>
      ${differences(table, row, other).map(({ part, gap: each }) => html`<tr key=${part.name}>
        <th scope="row"><${Text} of=${part.title}/></th><td class="n">${signed(each)}</td></tr>`)}</tbody></table>
      <p><a href=${write({ ...state, view: "trace", memory: table.rows[row].id, against: table.rows[other].id })}>${words.toTurn}</a></p>`}`;
}

/** The tree of a probability, asked when it is opened. */
function Odds({ id, state, has }) {
  const [open, setOpen] = useState(false);
  if (!has) return null;
  return html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>${words.odds}</summary>
    ${open && html`<${OddsTree} id=${id} state=${state}/>`}</details>`;
}

function OddsTree({ id, state }) {
  const { answer, refusal } = useAnswer("/explain", { ...searched(state), id }, state.namespace);
  return answer ? html`<${Tree} node=${answer.probability}/>` : html`<${Pending} refusal=${refusal}/>`;
}

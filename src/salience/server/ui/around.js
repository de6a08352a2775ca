// The view Around: what links lead to from one memory, drawn in rings, and the same as a table.
import { html, useEffect, useState } from "./html.js";
import { Pending, useAnswer } from "./answers.js";
import { later } from "./later.js";
import { named, SameOf } from "./same.js";
import { searched } from "./state.js";
import { beginning, figure, Text, visible } from "./text.js";
import { words } from "./words.js";

const [WIDTH, HEIGHT] = [1000, 560];
const NAMED = 24; // nodes whose names fit into the drawing
const DEPTHS = [1, 2, 3];
const MOST_BACK = 3; // hops that are followed back
const ENTITY = "entity"; // the kind of a node that is an entity, and the type of an edge to it
const TYPES = ["mentions", "supports", "contradicts", "depends_on", "same_as", "supersedes", "consolidates"];

export function View({ state, go }) {
  const [depth, setDepth] = useState(1);
  const [hasEntities, setHasEntities] = useState(false);
  const [types, setTypes] = useState([]);
  const [id, setId] = useState(state.memory);
  useEffect(() => setId(state.memory), [state.memory]);
  const path = `/graph?${new URLSearchParams([["around", state.memory], ["depth", depth], ["entities", hasEntities],
    ...(types.length ? [["types", JSON.stringify(types)]] : []), ...(state.asOf ? [["as_of", state.asOf]] : [])])}`;
  const { answer, refusal } = useAnswer(path, state.memory ? {} : null, state.namespace, 0, "GET");
  const { query, ...options } = searched(state);
  const question = state.memory && query.trim() ? { query, ...options } : null;
  const ranked = useAnswer("/candidates", question, state.namespace);
  const hops = ranked.answer ? hopsTo(state.memory, new Map(ranked.answer.rows.map((row) => [row.id, row]))) : [];
  const send = (event) => {
    event.preventDefault();
    go({ memory: id.trim() });
  };
  const call = (method, first, given) => `${method}(${[JSON.stringify(first), ...Object.entries(given).map(named)].join(", ")})`;
  const around = { depth, ...(types.length && { types }), ...(hasEntities && { entities: true }), ...(state.asOf && { as_of: state.asOf }) };
  return html`<form class="inline" onSubmit=${send}><label>${later.aroundId} <input name="around" value=${id} onInput=${(event) => setId(event.target.value)}/></label><button>${later.show}</button>
      <label>${later.depth} <select value=${String(depth)} onChange=${(event) => setDepth(Number(event.target.value))}>${DEPTHS.map((each) => html`<option key=${each} value=${String(each)}>${each}</option>`)}</select></label>
      <label><input type="checkbox" checked=${hasEntities} onChange=${(event) => setHasEntities(event.target.checked)}/> ${later.withEntities}</label></form>
    <fieldset class="inline types"><legend>${later.onlyTypes}</legend>${TYPES.map((type) => html`<label key=${type}><input type="checkbox" checked=${types.includes(type)}
      onChange=${(event) => setTypes(TYPES.filter((each) => (each === type ? event.target.checked : types.includes(each))))}/> ${type}</label>`)}</fieldset>
    ${!state.memory && html`<p>${later.aroundHint}</p>`}
    ${state.memory && !answer && html`<${Pending} refusal=${refusal}/>`}
    ${answer && html`<${Drawing} graph=${answer} hops=${hops} go=${go}/><${Nodes} graph=${answer} go=${go}/><${Edges} graph=${answer}/>`}
    ${answer && question && html`<section><h2>${later.spread}</h2>${ranked.answer ? html`<${Hops} hops=${hops} table=${ranked.answer} id=${state.memory} go=${go}/>`
      : html`<${Pending} refusal=${ranked.refusal}/>`}</section>`}
    <${SameOf} state=${state} requests=${[["GET", path, null, call("inspect.graph", state.memory, around), ""],
      ...(question ? [["POST", "/candidates", question, call("inspect.candidates", query, options), ""]] : [])]}/>`;
}

/** What gave a memory its activation, each before what gave to the giver, once: `back` links away. */
function hopsTo(id, rows, back = 0, told = new Set()) {
  told.add(id);
  return (rows.get(id)?.paths || []).flatMap((path) => [{ ...path, back, text: rows.get(path.source)?.text ?? path.source },
    ...(path.source && back < MOST_BACK && !told.has(path.source) ? hopsTo(path.source, rows, back + 1, told) : [])]);
}

/** Each hop with what it gives; those into the memory itself add up to its activation. */
function Hops({ hops, table, id, go }) {
  if (!hops.length) {
    const spreads = table.rows.some((row) => row.paths.length);
    const isRanked = table.rows.some((row) => row.id === id);
    return html`<p>${!spreads ? later.noSpread(visible(table.profile)) : isRanked ? later.noGift : later.notRanked(table.rows.length)}</p>`;
  }
  return html`<div class="scroll" tabindex="0"><table class="hops"><caption>${later.spreadSays}</caption>
    <thead><tr><th>${later.from}</th><th>${later.link}</th><th class="n">${later.gives}</th></tr></thead><tbody>
    ${hops.map(({ source, type, given, back, text }, place) => html`<tr key=${place} class=${back ? "soft" : ""} data-back=${back}>
      <th scope="row">${"↳ ".repeat(back)}${source === null ? (back ? later.itsMatch : later.ownMatch)
        : html`<button class="plain" onClick=${() => go({ open: source })}><${Text} of=${beginning(text, 90)}/></button>`}</th>
      <td>${type}</td><td class="n">${figure(given)}</td></tr>`)}</tbody>
    <tfoot><tr><th scope="row">${later.activation}</th><td></td><td class="n">${figure(hops.filter(({ back }) => !back).reduce((sum, { given }) => sum + given, 0))}</td></tr></tfoot></table></div>`;
}

/** The place of each node: on the ring of its steps, in the order of the answer, so always the same. */
function places(nodes) {
  const found = new Map();
  const most = Math.max(1, ...nodes.map((node) => node.steps));
  for (let steps = 0; steps <= most; steps += 1) {
    const ring = nodes.filter((node) => node.steps === steps);
    ring.forEach((node, place) => {
      const angle = (2 * Math.PI * place) / ring.length - Math.PI / 4 + steps / 3;
      const [x, y] = [0.42 * WIDTH * Math.cos(angle), 0.42 * HEIGHT * Math.sin(angle)];
      found.set(`${node.kind} ${node.id}`, [WIDTH / 2 + (x * steps) / most, HEIGHT / 2 + (y * steps) / most]);
    });
  }
  return found;
}

const OPPOSING = new Set(["contradicts", "supersedes"]);

function Drawing({ graph, hops, go }) {
  const at = places(graph.nodes);
  const memories = new Map(graph.nodes.filter((node) => node.kind !== ENTITY).map((node) => [node.id, node]));
  const point = (id, kind = memories.get(id).kind) => at.get(`${kind} ${id}`);
  const givenBy = ({ source, target, type }) => hops.filter((hop) => hop.type === type
    && (hop.source === source ? hop.target === target : hop.source === target && hop.target === source)).reduce((sum, hop) => sum + hop.given, 0);
  const lines = graph.edges.map((edge) => {
    const [[x1, y1], [x2, y2]] = [point(edge.source), edge.type === ENTITY ? point(edge.target, ENTITY) : point(edge.target)];
    const given = givenBy(edge);
    return html`<g key=${`${edge.source} ${edge.target} ${edge.type}`}><line class=${`edge ${edge.type === ENTITY ? "names" : OPPOSING.has(edge.type) ? "opposed" : ""}`} x1=${x1} y1=${y1} x2=${x2} y2=${y2}/>
      ${given > 0 && html`<text class="gift" x=${(x1 + x2) / 2} y=${(y1 + y2) / 2} text-anchor="middle">+${figure(given)}</text>`}</g>`;
  });
  const marks = graph.nodes.map((node) => {
    const [x, y] = at.get(`${node.kind} ${node.id}`);
    const colour = node.kind === ENTITY ? "g3" : `g${node.steps === 0 ? 1 : 0}`;
    const mark = node.kind === ENTITY || node.bridge ? html`<rect class=${colour} x=${x - 9} y=${y - 9} width="18" height="18"/>` : html`<circle class=${colour} cx=${x} cy=${y} r="9"/>`;
    return html`<g key=${`${node.kind} ${node.id}`} class="node" onClick=${() => node.kind !== ENTITY && go({ open: node.id })}><title>${visible(node.title)}</title>${mark}
      ${graph.nodes.length <= NAMED && html`<text x=${x} y=${y + 30} text-anchor="middle">${visible(beginning(node.title, 24))}</text>`}</g>`;
  });
  return html`<svg class="graph" role="img" aria-label=${later.graphSays(graph.nodes.length, graph.edges.length)} viewBox="0 0 ${WIDTH} ${HEIGHT}">${lines}${marks}</svg>
    <p class="soft">${later.graphKey}</p>`;
}

const Nodes = ({ graph, go }) => html`<div class="scroll" tabindex="0"><table class="nodes"><caption>${later.graphSays(graph.nodes.length, graph.edges.length)}</caption>
  <thead><tr><th class="n">${later.steps}</th><th>${words.memory}</th><th>${later.kind}</th><th>${later.zone}</th><th class="n">${later.degree}</th><th class="n">${later.leftOut}</th></tr></thead><tbody>
  ${graph.nodes.map((node) => html`<tr key=${`${node.kind} ${node.id}`} data-id=${node.id}><td class="n">${node.steps}</td>
    <td>${node.kind === ENTITY ? html`<${Text} of=${node.title}/>` : html`<button class="plain" onClick=${() => go({ open: node.id })}><${Text} of=${node.title}/></button>`}</td>
    <td><${Text} of=${node.kind}/></td><td>${node.zone || ""}${node.bridge ? `, ${later.bridge}` : ""}</td><td class="n">${node.degree}</td><td class="n">${node.left_out || ""}</td></tr>`)}</tbody></table></div>`;

const Edges = ({ graph }) => graph.edges.length > 0 && html`<details><summary>${later.links}</summary><div class="scroll" tabindex="0"><table class="edges"><tbody>
  ${graph.edges.map((edge) => html`<tr key=${`${edge.source} ${edge.target} ${edge.type}`}><td><${Text} of=${edge.source}/></td><th scope="row">${edge.type}</th><td><${Text} of=${edge.target}/></td></tr>`)}</tbody></table></div></details>`;

// The view Around: what links lead to from one memory, drawn in rings, and the same as a table.
import { html, useEffect, useState } from "./html.js";
import { Pending, useAnswer } from "./answers.js";
import { later } from "./later.js";
import { SameOf } from "./same.js";
import { beginning, Text, visible } from "./text.js";
import { words } from "./words.js";

const [WIDTH, HEIGHT] = [1000, 560];
const NAMED = 24; // nodes whose names fit into the drawing
const DEPTHS = [1, 2, 3];
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
  const send = (event) => {
    event.preventDefault();
    go({ memory: id.trim() });
  };
  const call = `graph(${JSON.stringify(state.memory)}, depth=${depth}${types.length ? `, types=${JSON.stringify(types)}` : ""}${hasEntities ? ", entities=True" : ""}${state.asOf ? `, as_of=${JSON.stringify(state.asOf)}` : ""})`;
  return html`<form class="inline" onSubmit=${send}><label>${later.aroundId} <input name="around" value=${id} onInput=${(event) => setId(event.target.value)}/></label><button>${later.show}</button>
      <label>${later.depth} <select value=${String(depth)} onChange=${(event) => setDepth(Number(event.target.value))}>${DEPTHS.map((each) => html`<option key=${each} value=${String(each)}>${each}</option>`)}</select></label>
      <label><input type="checkbox" checked=${hasEntities} onChange=${(event) => setHasEntities(event.target.checked)}/> ${later.withEntities}</label></form>
    <fieldset class="inline types"><legend>${later.onlyTypes}</legend>${TYPES.map((type) => html`<label key=${type}><input type="checkbox" checked=${types.includes(type)}
      onChange=${(event) => setTypes(TYPES.filter((each) => (each === type ? event.target.checked : types.includes(each))))}/> ${type}</label>`)}</fieldset>
    ${!state.memory && html`<p>${later.aroundHint}</p>`}
    ${state.memory && !answer && html`<${Pending} refusal=${refusal}/>`}
    ${answer && html`<${Drawing} graph=${answer} go=${go}/><${Nodes} graph=${answer} go=${go}/><${Edges} graph=${answer}/>`}
    <${SameOf} state=${state} requests=${[["GET", path, null, call, ""]]}/>`;
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

function Drawing({ graph, go }) {
  const at = places(graph.nodes);
  const memories = new Map(graph.nodes.filter((node) => node.kind !== ENTITY).map((node) => [node.id, node]));
  const point = (id, kind = memories.get(id).kind) => at.get(`${kind} ${id}`);
  const lines = graph.edges.map((edge) => {
    const [[x1, y1], [x2, y2]] = [point(edge.source), edge.type === ENTITY ? point(edge.target, ENTITY) : point(edge.target)];
    return html`<line key=${`${edge.source} ${edge.target} ${edge.type}`} class=${`edge ${edge.type === ENTITY ? "names" : OPPOSING.has(edge.type) ? "opposed" : ""}`} x1=${x1} y1=${y1} x2=${x2} y2=${y2}/>`;
  });
  const marks = graph.nodes.map((node) => {
    const [x, y] = at.get(`${node.kind} ${node.id}`);
    const colour = node.kind === ENTITY ? "g3" : `g${node.steps === 0 ? 1 : 0}`;
    const mark = node.kind === ENTITY || node.bridge ? html`<rect class=${colour} x=${x - 9} y=${y - 9} width="18" height="18"/>` : html`<circle class=${colour} cx=${x} cy=${y} r="9"/>`;
    return html`<g key=${`${node.kind} ${node.id}`} class="node" onClick=${() => node.kind !== ENTITY && go({ memory: node.id })}><title>${visible(node.title)}</title>${mark}
      ${graph.nodes.length <= NAMED && html`<text x=${x} y=${y + 30} text-anchor="middle">${visible(beginning(node.title, 24))}</text>`}</g>`;
  });
  return html`<svg class="graph" role="img" aria-label=${later.graphSays(graph.nodes.length, graph.edges.length)} viewBox="0 0 ${WIDTH} ${HEIGHT}">${lines}${marks}</svg>
    <p class="soft">${later.graphKey}</p>`;
}

const Nodes = ({ graph, go }) => html`<div class="scroll" tabindex="0"><table class="nodes"><caption>${later.graphSays(graph.nodes.length, graph.edges.length)}</caption>
  <thead><tr><th class="n">${later.steps}</th><th>${words.memory}</th><th>${later.kind}</th><th>${later.zone}</th><th class="n">${later.degree}</th><th class="n">${later.leftOut}</th></tr></thead><tbody>
  ${graph.nodes.map((node) => html`<tr key=${`${node.kind} ${node.id}`} data-id=${node.id}><td class="n">${node.steps}</td>
    <td>${node.kind === ENTITY ? html`<${Text} of=${node.title}/>` : html`<button class="plain" onClick=${() => go({ memory: node.id })}><${Text} of=${node.title}/></button>`}</td>
    <td><${Text} of=${node.kind}/></td><td>${node.zone || ""}${node.bridge ? `, ${later.bridge}` : ""}</td><td class="n">${node.degree}</td><td class="n">${node.left_out || ""}</td></tr>`)}</tbody></table></div>`;

const Edges = ({ graph }) => graph.edges.length > 0 && html`<details><summary>${later.links}</summary><div class="scroll" tabindex="0"><table class="edges"><tbody>
  ${graph.edges.map((edge) => html`<tr key=${`${edge.source} ${edge.target} ${edge.type}`}><td><${Text} of=${edge.source}/></td><th scope="row">${edge.type}</th><td><${Text} of=${edge.target}/></td></tr>`)}</tbody></table></div></details>`;

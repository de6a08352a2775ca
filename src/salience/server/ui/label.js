// The view Label: recorded searches that may have no answer, and the labels that were given.
import { html, isTyping, useEffect, useRef, useState } from "./html.js";
import { ask } from "./api.js";
import { useAnswer } from "./answers.js";
import { later } from "./later.js";
import { SameOf } from "./same.js";
import { beginning, percent, Text } from "./text.js";
import { words } from "./words.js";

const BELOW = 0.5;
const SHOWN = 10;
const REQUESTS = [
  ["GET", `/searches?below=${BELOW}`, null, `inspect.searches(below=${BELOW})`, ""],
  ["GET", "/questions", null, "labels.questions()", ""],
  ["POST", "/questions/score", { profiles: ["balanced"] }, 'labels.score(["balanced"])', ""],
];

export function View({ state, scopes, go }) {
  const [again, setAgain] = useState(0);
  const kept = useAnswer("/questions", {}, state.namespace, again, "GET");
  const searches = useAnswer(`/searches?below=${BELOW}`, {}, state.namespace, 0, "GET");
  const refusal = kept.refusal || searches.refusal;
  const questions = useRef([]);
  if (kept.answer) questions.current = kept.answer.questions; // the last known while new ones are read
  if (refusal) return html`<p role="alert">${words.failed}<${Text} of=${refusal}/></p>`;
  if (!searches.answer || (!kept.answer && !again)) return html`<p role="status">${words.waiting}</p>`;
  const own = state.q.trim() && { query: state.q, filters: Object.keys(state.filters).length ? state.filters : null };
  const seen = new Set();
  const queue = [...(own ? [own] : []), ...searches.answer.searches].filter((each) => !seen.has(each.query) && seen.add(each.query));
  return html`<${Labels} key=${state.q} queue=${queue} questions=${questions.current} state=${state} mayWrite=${scopes.includes("memories:write")}
      isKept=${searches.answer.is_kept} reread=${() => setAgain(again + 1)}/>
    <${SameOf} state=${state} requests=${REQUESTS}/>`;
}

const blank = (search) => ({ id: null, query: search.query, relevant: [], not_relevant: [], at: null, filters: search.filters || null });

function Labels({ queue, questions, state, mayWrite, isKept, reread }) {
  const [chosen, setChosen] = useState(0);
  const [at, setAt] = useState(0);
  const [undo, setUndo] = useState([]);
  const [refusal, setRefusal] = useState("");
  const busy = useRef(null); // the questions that a change began from: one at a time, so that the next one knows of it
  const failed = (problem) => { busy.current = null; setRefusal(problem.message); };
  const items = [...queue.map((search) => questions.find((each) => each.query === search.query) || blank(search)),
    ...questions.filter((each) => !queue.some((search) => search.query === each.query))];
  const item = items[Math.min(chosen, items.length - 1)];
  const found = useAnswer("/search", item ? { query: item.query, limit: SHOWN, touch: false, ...(item.filters ? { filters: item.filters } : {}) } : null, state.namespace);
  const hits = found.answer?.hits || [];
  const others = item ? [...item.relevant, ...item.not_relevant].filter((id) => !hits.some((hit) => hit.id === id)) : [];
  const rows = [...hits.map((hit) => ({ id: hit.id, text: hit.content })), ...(found.answer ? others.map((id) => ({ id, text: null })) : [])];
  /** Keep a question as it shall be, or drop it; what it was goes on the list for undo. */
  const keep = (next, isUndo = false) => {
    if (busy.current === questions) return;
    busy.current = questions;
    const was = next.id ? questions.find((each) => each.id === next.id) : null;
    const isEmpty = isUndo && next.dropped;
    const request = isEmpty ? ask("DELETE", `/questions/${encodeURIComponent(next.id)}`, { namespace: state.namespace })
      : ask("POST", "/questions", { namespace: state.namespace, body: Object.fromEntries(Object.entries({ ...next, dropped: undefined }).filter(([, value]) => value !== null && value !== undefined)) });
    request.then((answer) => {
      if (!isUndo) setUndo((others) => [...others, was || { ...next, id: answer.id, dropped: true }]);
      setRefusal("");
      reread();
    }, failed);
  };
  const mark = (id, kind) => {
    const without = (ids) => ids.filter((each) => each !== id);
    const next = { ...item, relevant: without(item.relevant), not_relevant: without(item.not_relevant) };
    if (kind && !item[kind].includes(id)) next[kind] = [...next[kind], id];
    keep(next);
  };
  const none = () => keep({ ...item, relevant: [], not_relevant: hits.map((hit) => hit.id) });
  const back = () => {
    if (!undo.length || busy.current === questions) return;
    keep(undo[undo.length - 1], true);
    setUndo((others) => others.slice(0, -1));
  };
  const drop = () => {
    if (busy.current === questions) return;
    busy.current = questions;
    ask("DELETE", `/questions/${encodeURIComponent(item.id)}`, { namespace: state.namespace }).then(() => {
      setUndo((others) => [...others, item]);
      reread();
    }, failed);
  };
  useEffect(() => document.querySelector(".labels .chosen")?.scrollIntoView({ block: "nearest" }), [at]);
  const act = useRef(null);
  act.current = (event) => {
    if (isTyping(event) || !item) return;
    const row = rows[at];
    if (event.key === "j") setAt(Math.min(rows.length - 1, at + 1));
    else if (event.key === "k") setAt(Math.max(0, at - 1));
    else if (!mayWrite) return;
    else if (event.key === "1" && row) mark(row.id, "relevant");
    else if (event.key === "2" && row) mark(row.id, "not_relevant");
    else if (event.key === "0" && found.answer) none();
    else if (event.key === "u") back();
  };
  useEffect(() => {
    const pressed = (event) => act.current(event);
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  const choose = (place) => {
    setChosen(place);
    setAt(0);
  };
  const stateOf = (each) => (each.id === null ? later.unlabelled : each.relevant.length ? later.right(each.relevant.length) : later.noneIs);
  return html`${!isKept && html`<p class="soft">${later.noLog}</p>`}${!mayWrite && html`<p class="soft">${later.mayNotLabel}</p>`}
    ${refusal && html`<p role="alert">${words.failed}<${Text} of=${refusal}/></p>`}
    ${!item ? html`<p>${later.noQueue}</p>` : html`<div class="halves"><section><h2>${later.queue}</h2><ol class="queue">${items.map((each, place) => html`<li key=${place}>
      <button class="plain" aria-current=${each === item ? "true" : undefined} onClick=${() => choose(place)}><${Text} of=${beginning(each.query, 80)}/></button> <span class="soft">${stateOf(each)}</span></li>`)}</ol></section>
    <section><h2><${Text} of=${item.query}/></h2><p class="soft">${later.keys}</p>
      ${!found.answer && html`<p role="status">${found.refusal || words.waiting}</p>`}
      ${found.answer && html`<p class="soft">${found.answer.probability === null ? "" : words.chance(percent(found.answer.probability))}</p>`}
      <ol class="labels">${rows.map((row, place) => html`<li key=${row.id} class=${place === at ? "row chosen" : "row"} aria-current=${place === at ? "true" : undefined} data-id=${row.id}>
        <p>${row.text === null ? html`<${Text} of=${row.id}/> <span class="soft">${later.notFound}</span>` : html`<${Text} of=${beginning(row.text, 280)}/>`}</p>
        ${["relevant", "not_relevant"].map((kind) => html`<button key=${kind} disabled=${!mayWrite} aria-pressed=${item[kind].includes(row.id)} onClick=${() => { setAt(place); mark(row.id, kind); }}>${later[kind]}</button> `)}</li>`)}</ol>
      <p><button disabled=${!mayWrite || !found.answer} onClick=${none}>${later.none}</button> <button disabled=${!undo.length} onClick=${back}>${later.undoLabel}</button>
        ${item.id !== null && html` <button disabled=${!mayWrite} onClick=${drop}>${later.dropLabel}</button>`}</p></section></div>
    <${Scores} state=${state} count=${questions.filter((each) => each.relevant.length).length}/>`}`;
}

/** How well a profile answers the labelled questions, asked by a button. */
function Scores({ state, count }) {
  const [asked, setAsked] = useState(0);
  const profiles = [state.profile || "balanced"];
  const { answer, refusal } = useAnswer("/questions/score", asked ? { profiles } : null, state.namespace, asked);
  if (!count) return null;
  return html`<section><h2>${later.scores}</h2><p><button onClick=${() => setAsked(asked + 1)}>${later.measure(count)}</button></p>
    ${asked > 0 && !answer && !refusal && html`<p role="status">${words.waiting}</p>`}${refusal && html`<p role="alert">${words.failed}<${Text} of=${refusal}/></p>`}
    ${answer && html`<p class="soft">${later.fewProve}</p><table class="scores"><thead><tr><th>${later.measureName}</th><th class="n">${later.mean}</th><th class="n">${later.interval}</th></tr></thead><tbody>
      ${answer.scores.flatMap((score) => Object.entries(score.measures).map(([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td class="n">${value.mean.toFixed(3)}</td><td class="n">${value.low.toFixed(3)} – ${value.high.toFixed(3)}</td></tr>`))}</tbody></table>`}</section>`;
}

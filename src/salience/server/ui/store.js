// The views of the store: Time, Health and Around; and what there is where there is no question.
import { html, useEffect, useRef, useState } from "./html.js";
import { ask, Pending, Refused, sent, useAnswer, useGet } from "./api.js";
import { later } from "./later.js";
import { named, Same, SameOf, searched, write } from "./state.js";
import { beginning, clock, day, figure, percent, Text, visible } from "./text.js";
import { words } from "./words.js";

// Time: the store as it was

const DAY_MS = 86_400_000;
const PAGE = 25;

const dayAt = (ms) => new Date(ms).toISOString().slice(0, 10);
const inPath = (id) => encodeURIComponent(id);

export function Time({ state, go }) {
  const { answer, refusal } = useGet("/events?limit=1", state.namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  if (!answer.events.length) return html`<p>${words.nothing}</p>`;
  return html`<section><h2>${later.store}</h2><${Slider} since=${Date.parse(answer.events[0].at)} state=${state} go=${go}/>
      <${Then} state=${state} go=${go}/></section><${Same} state=${state}/>`;
}

/** A day of the store; the last place is the present. */
function Slider({ since, state, go }) {
  const begin = Date.parse(dayAt(since));
  const [today] = useState(() => Date.now());
  const last = Math.max(1, Math.ceil((today - begin) / DAY_MS));
  const placed = () => Math.round((Date.parse(state.asOf) - begin) / DAY_MS) || last;
  const [place, setPlace] = useState(placed);
  useEffect(() => setPlace(placed()), [state.asOf]);
  const at = (value) => (value >= last ? "" : dayAt(begin + value * DAY_MS));
  const asOf = at(place);
  return html`<p class="time"><label for="then">${asOf ? later.then(asOf) : later.present}</label>
    <input id="then" type="range" min="1" max=${last} step="1" value=${place} aria-valuetext=${asOf || later.now}
      onInput=${(event) => setPlace(Number(event.target.value))} onChange=${(event) => go({ asOf: at(Number(event.target.value)) })}/></p>`;
}

function Then({ state, go }) {
  const [limit, setLimit] = useState(PAGE);
  const body = { limit };
  if (state.asOf) body.as_of = state.asOf;
  if (Object.keys(state.filters).length) body.filters = state.filters;
  const { answer, refusal } = useAnswer("/memories/list", body, state.namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  return html`<p class="soft">${later.listed(answer.memories.length, answer.total)}</p>
    <ul class="then" data-as-of=${state.asOf}>${answer.memories.map((memory) => html`<li key=${memory.id} data-id=${memory.id} data-status=${memory.status}>
      <span class="soft">${day(memory.created_at)}</span> <${Row} memory=${memory} go=${go}/>
      ${memory.status === "superseded" && html`<${Successor} memory=${memory} state=${state} go=${go}/>`}</li>`)}</ul>
    ${answer.cursor && html`<button onClick=${() => setLimit(limit + PAGE)}>${later.more}</button>`}`;
}

function Row({ memory, go }) {
  const text = html`<${Text} of=${beginning(memory.content, 140)}/>`;
  return html`<button class="plain" onClick=${() => go({ open: memory.id })}>
    ${memory.status === "superseded" ? html`<s>${text}</s> <span class="soft">(${later.superseded})</span>` : text}</button>`;
}

/** What took the place of a memory, where a link says so. */
function Successor({ memory, state, go }) {
  const past = state.asOf ? `&as_of=${state.asOf}` : "";
  const { answer } = useGet(`/links?id=${inPath(memory.id)}${past}`, state.namespace);
  const source = answer?.links.find((link) => link.type === "supersedes" && link.target === memory.id)?.source;
  const body = source && { ids: [source], ...(state.asOf && { as_of: state.asOf }) };
  const [newer] = useAnswer("/memories/get", body, state.namespace).answer?.memories || [];
  return newer && html`<p class="successor"><span class="soft">${later.replacedBy}</span> <${Row} memory=${newer} go=${go}/></p>`;
}

// Health: zones now and over time, problems with what settles them, and what happens

const ZONES = ["active", "stale", "fading", "dormant"];
const POINTS = 24;
const SHOWN_EVENTS = 40;
const SHOWN_SEARCHES = 40;
const WAIT_SECONDS = 25;
const RETRY_MS = 5000;
const REQUESTS = [
  ["GET", "/zones?limit=0", null, "inspect.zones(limit=0)", "zones"],
  ["POST", "/zones/shares", { points: POINTS }, `inspect.zone_shares(points=${POINTS})`, `report --points ${POINTS}`],
  ["POST", "/audit", {}, "upkeep.audit()", "audit"],
  ["GET", `/searches?limit=${SHOWN_SEARCHES}`, null, `inspect.searches(limit=${SHOWN_SEARCHES})`, ""],
  ["GET", "/events?order=newest", null, 'events(order="newest", wait=25)', ""],
];
const COLOURS = { active: 0, stale: 6, fading: 1, dormant: 5 };

const count = (number) => number.toLocaleString("en");
const Opens = ({ id, go }) => html`<button class="plain" onClick=${() => go({ open: id })}><${Text} of=${id}/></button>`;

export function Health({ state, scopes, go }) {
  return html`<div class="halves"><section><h2>${state.asOf ? later.zonesOn(state.asOf) : later.zonesNow}</h2><${ZonesNow} state=${state}/></section>
      <section><h2>${later.zonesThen}</h2><${ZonesThen} namespace=${state.namespace}/></section></div>
    <section><h2>${later.problems}</h2><${Problems} namespace=${state.namespace} scopes=${scopes} go=${go}/></section>
    <section><h2>${later.recent}</h2><${Recent} namespace=${state.namespace}/></section>
    <section><h2>${later.feed}</h2><${Feed} namespace=${state.namespace} go=${go}/></section><${SameOf} state=${state} requests=${REQUESTS}/>`;
}

/** The answer to a POST that tells its progress while it runs. */
async function followed(path, tell, { body, namespace, signal }) {
  const { body: stream } = await sent("POST", path, { body, namespace, signal, accept: "text/event-stream" });
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(later.brokenOff);
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const told = JSON.parse(event.slice("data: ".length));
      if (told.answer) return told.answer;
      if (told.problem) throw new Error(told.problem.detail);
      tell(told.progress);
    }
  }
}

/** A request that a button begins: its answer or refusal, the seconds that it has taken, how much is done. */
function useRun(namespace) {
  const [run, setRun] = useState({});
  const gone = useRef(null);
  useEffect(() => () => gone.current?.abort(), []);
  const start = (path, body) => {
    gone.current?.abort();
    const own = (gone.current = new AbortController());
    const began = Date.now();
    const put = (next) => own.signal.aborted || setRun(next);
    let progress = null;
    const now = () => put({ seconds: Math.round((Date.now() - began) / 1000), progress });
    const clock = setInterval(now, 1000);
    now();
    const tell = (next) => {
      progress = next;
      now();
    };
    const ended = (next) => {
      clearInterval(clock);
      put(next);
    };
    own.signal.addEventListener("abort", () => clearInterval(clock));
    followed(path, tell, { body, namespace, signal: own.signal }).then(
      (answer) => ended({ answer }), (problem) => ended({ refusal: problem.message }));
  };
  const stop = () => {
    gone.current?.abort();
    setRun({});
  };
  return { ...run, start, stop, isOn: run.seconds !== undefined };
}

function Running({ run }) {
  const { step, done, of } = run.progress || {};
  return html`<p><label>${step ? later.doing(step) : later.beginning} <progress value=${of ? done / of : undefined}/></label>
    ${of ? percent(done / of) : ""} <span class="soft">${later.running(run.seconds)}</span> <button onClick=${run.stop}>${later.cancel}</button></p>`;
}

/** A bar of the shares of zones, with its sentence. */
function Shares({ counts }) {
  const total = ZONES.reduce((sum, zone) => sum + (counts[zone] || 0), 0) || 1;
  let end = 0;
  const boxes = ZONES.map((zone) => {
    const width = (1000 * (counts[zone] || 0)) / total;
    end += width;
    return html`<rect key=${zone} class=${`g${COLOURS[zone]}`} x=${end - width} y="0" width=${width} height="12"/>`;
  });
  return html`<svg class="bar" role="img" viewBox="0 0 1000 12" preserveAspectRatio="none"
    aria-label=${ZONES.map((zone) => `${zone} ${count(counts[zone] || 0)}`).join(", ")}>${boxes}</svg>`;
}

const Key = ({ zone }) => html`<svg class="key" aria-hidden="true" viewBox="0 0 12 12"><rect class=${`g${COLOURS[zone]}`} width="12" height="12"/></svg>`;

const zonesAt = ({ asOf }) => `/zones?limit=0${asOf && `&now=${inPath(asOf)}`}`;

function ZonesNow({ state }) {
  const { answer, refusal } = useGet(zonesAt(state), state.namespace);
  const stats = useGet("/stats", state.namespace).answer;
  if (refusal) return html`<${Refused} of=${refusal}/>`;
  if (!answer) return html`<p role="status">${words.waiting}</p>`;
  const total = ZONES.reduce((sum, zone) => sum + (answer.counts[zone] || 0), 0);
  return html`<${Shares} counts=${answer.counts}/>
    <table class="zones"><thead><tr><th>${later.zone}</th><th class="n">${later.memories}</th><th class="n">${later.share}</th></tr></thead><tbody>
    ${ZONES.map((zone) => html`<tr key=${zone}><th scope="row"><${Key} zone=${zone}/>${zone}</th><td class="n">${count(answer.counts[zone] || 0)}</td>
      <td class="n">${percent((answer.counts[zone] || 0) / (total || 1))}</td></tr>`)}</tbody></table>
    <p class="soft">${later.protected(percent(answer.protected))}</p>
    ${stats && html`<p>${later.size}: ${["memories", "links"].map((name) => `${count(stats[name])} ${name}`).join(", ")}, <${Text} of=${stats.store}/>, <${Text} of=${stats.embedder}/></p>`}`;
}

function ZonesThen({ namespace }) {
  const run = useRun(namespace);
  const start = () => run.start("/zones/shares", { points: POINTS });
  return html`<p><button disabled=${run.isOn} onClick=${start}>${later.countThen}</button></p><p class="soft">${later.thenHint}</p>
    ${run.isOn && html`<${Running} run=${run}/>`}${run.refusal && html`<${Refused} of=${run.refusal}/>`}
    ${run.answer && html`<${History} of=${run.answer}/>`}`;
}

/** The counts of zones at each time as columns, and as a table. */
function History({ of }) {
  const at = (place) => Object.fromEntries(ZONES.map((zone) => [zone, of.counts[zone][place]]));
  const totals = of.times.map((_, place) => ZONES.reduce((sum, zone) => sum + of.counts[zone][place], 0));
  const most = Math.max(1, ...totals);
  const width = 1000 / of.times.length;
  const last = of.times.length - 1;
  const columns = of.times.map((_, place) => {
    let top = 0;
    return ZONES.map((zone) => {
      const height = (120 * at(place)[zone]) / most;
      top += height;
      return html`<rect key=${`${place} ${zone}`} class=${`g${COLOURS[zone]}`} x=${place * width} y=${120 - top} width=${width - 2} height=${height}/>`;
    });
  });
  const sentence = `${of.times[0].slice(0, 10)}: ${count(totals[0])}; ${of.times[last].slice(0, 10)}: ${count(totals[last])}`;
  return html`<svg class="chart" role="img" aria-label=${sentence} viewBox="0 0 1000 120" preserveAspectRatio="none">${columns}</svg>
    <p class="axis soft"><span>${of.times[0].slice(0, 10)}</span><span>${of.times[last].slice(0, 10)}</span></p>
    <ul class="legend">${ZONES.map((zone) => html`<li key=${zone}><${Key} zone=${zone}/>${zone}</li>`)}</ul>
    <details><summary>${later.asTable}</summary><div class="scroll" tabindex="0"><table><thead><tr><th>${later.time}</th>${ZONES.map((zone) => html`<th class="n" key=${zone}>${zone}</th>`)}</tr></thead>
    <tbody>${of.times.map((time, place) => html`<tr key=${time}><th scope="row">${clock(time, 16)}</th>
      ${ZONES.map((zone) => html`<td class="n" key=${zone}>${count(at(place)[zone])}</td>`)}</tr>`)}</tbody></table></div></details>`;
}

function Problems({ namespace, scopes, go }) {
  const run = useRun(namespace);
  if (!scopes.includes("upkeep")) return html`<p class="soft">${later.notAllowed}</p>`;
  const findings = run.answer?.findings.filter((finding) => finding.count > 0);
  return html`<p><button disabled=${run.isOn} onClick=${() => run.start("/audit", {})}>${later.look}</button> <span class="soft">${later.lookHint}</span></p>
    ${run.isOn && html`<${Running} run=${run}/>`}${run.refusal && html`<${Refused} of=${run.refusal}/>`}
    ${findings?.length === 0 && html`<p>${later.noProblems}</p>`}
    ${findings?.length > 0 && html`<div class="scroll" tabindex="0"><table class="findings"><thead><tr><th>${later.problem}</th><th class="n">${later.memories}</th><th>${later.examples}</th><th>${later.remedy}</th></tr></thead><tbody>
      ${findings.map((finding) => html`<tr key=${finding.name}><th scope="row">${finding.name}</th>
        <td class="n">${later.found(count(finding.count), count(finding.of))}<br/>${percent(finding.rate)}</td>
        <td>${finding.examples.map(({ id, why }) => html`<div key=${id}><${Opens} id=${id} go=${go}/> <span class="soft"><${Text} of=${why}/></span></div>`)}</td>
        <td>${finding.actions.length === 0 && html`<code>${later.noAction}</code>`}
          ${finding.actions.filter((action) => scopes.includes(action.scope)).map((action) => html`<${Action} key=${action.title} action=${action} finding=${finding} namespace=${namespace}/>`)}</td></tr>`)}
      </tbody></table></div>`}`;
}

/** How long the last recorded searches took. */
function Recent({ namespace }) {
  const { answer, refusal } = useGet(`/searches?limit=${SHOWN_SEARCHES}`, namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  if (!answer.is_kept) return html`<p class="soft">${later.noTimes}</p>`;
  const times = answer.searches.map(({ ms }) => ms).filter((ms) => ms !== null).sort((a, b) => a - b);
  const figure = (ms) => (ms === null ? "" : ms.toFixed(1));
  return html`${times.length > 0 && html`<p>${later.took(times.length, figure(times[Math.floor((times.length - 1) / 2)]), figure(times.at(-1)))}</p>`}
    ${answer.searches.length === 0 ? html`<p>${later.noSearches}</p>` : html`<details><summary>${later.asTable}</summary><div class="scroll" tabindex="0"><table class="recent">
      <thead><tr><th>${later.time}</th><th class="n">${later.ms}</th><th class="n">${later.chanceOfAnswer}</th><th>${later.question}</th></tr></thead><tbody>
      ${answer.searches.map((each) => html`<tr key=${each.id}><td class="when">${clock(each.at, 19)}</td><td class="n">${figure(each.ms)}</td>
        <td class="n">${each.probability === null ? "" : percent(each.probability)}</td><td><${Text} of=${each.query}/></td></tr>`)}</tbody></table></div></details>`}`;
}

const below = (path) => path.replace(/^\/v1/, "");

/** One action: first what it would do, then done, then taken back. */
function Action({ action, finding, namespace }) {
  const [step, setStep] = useState("offered");
  const [told, setTold] = useState({});
  const hasPreview = "apply" in action.body;
  const preview = useAnswer(below(action.path), step === "previewed" && hasPreview ? { ...action.body, apply: false } : null, namespace).answer;
  const send = (path, body, next) => {
    setStep("busy");
    ask("POST", below(path), { body, namespace }).then(
      (answer) => { setTold({ run: answer.run ?? told.run }); setStep(next); },
      (problem) => { setTold({ refusal: problem.message }); setStep("offered"); });
  };
  if (step === "busy") return html`<p role="status"><progress/></p>`;
  if (step === "undone") return html`<p role="status">${later.undone}</p>`;
  if (step === "done") {
    return html`<p role="status"><${Text} of=${later.done(told.run)}/> ${action.undo && told.run && html`<button onClick=${() => send(action.undo, { run: told.run }, "undone")}>${later.undo}</button>`}</p>`;
  }
  if (step === "offered") {
    return html`<p><button onClick=${() => setStep("previewed")}><${Text} of=${later.preview(action.title)}/></button></p>${told.refusal && html`<${Refused} of=${told.refusal}/>`}`;
  }
  return html`<div class="preview"><p>${later.wouldDo(count(finding.count))}</p>
    <pre tabindex="0"><${Text} of=${`${action.method} ${action.path} ${JSON.stringify(action.body)}`}/></pre>
    ${hasPreview && !preview && html`<p role="status">${words.waiting}</p>`}
    ${preview?.candidates && html`<ul>${preview.candidates.slice(0, 20).map((each) => html`<li key=${each.id}><${Text} of=${beginning(each.content, 80)}/> <span class="soft"><${Text} of=${each.reasons[1]}/></span></li>`)}</ul>`}
    <p><button disabled=${hasPreview && !preview} onClick=${() => send(action.path, action.body, "done")}>${later.doIt}</button> <button onClick=${() => setStep("offered")}>${later.leave}</button></p></div>`;
}

/** What happens, the newest first: a long poll after the other, until it is paused. */
function Feed({ namespace, go }) {
  const [isOn, setIsOn] = useState(true);
  const [events, setEvents] = useState([]);
  const [refusal, setRefusal] = useState("");
  const cursor = useRef("");
  useEffect(() => {
    if (!isOn) return undefined;
    const gone = new AbortController();
    let again = 0;
    const next = async () => {
      const place = cursor.current && `&wait=${WAIT_SECONDS}&after=${encodeURIComponent(cursor.current)}`;
      try {
        const page = await ask("GET", `/events?order=newest&limit=${SHOWN_EVENTS}${place}`, { namespace, signal: gone.signal });
        cursor.current = page.cursor;
        setRefusal("");
        setEvents((others) => [...page.events, ...others].slice(0, SHOWN_EVENTS));
        if (!gone.signal.aborted) next();
      } catch (problem) {
        if (gone.signal.aborted) return;
        setRefusal(problem.message);
        again = setTimeout(next, RETRY_MS);
      }
    };
    next();
    return () => {
      clearTimeout(again);
      gone.abort();
    };
  }, [isOn]);
  return html`<p><button aria-pressed=${!isOn} onClick=${() => setIsOn(!isOn)}>${isOn ? later.pause : later.resume}</button> <span class="soft">${isOn ? later.live : later.paused}</span></p>
    ${refusal && html`<${Refused} of=${refusal}/>`}
    ${events.length === 0 ? html`<p>${later.noEvents}</p>` : html`<div class="scroll" tabindex="0"><table class="feed"><thead><tr><th>${later.time}</th><th>${later.event}</th><th>${later.memory}</th><th>${later.who}</th></tr></thead><tbody>
      ${events.map((event) => html`<tr key=${event.seq} data-seq=${event.seq}><td class="when">${clock(event.at, 19)}</td><td>${event.type}</td>
        <td>${event.id === null ? later.ofAll : html`<${Opens} id=${event.id} go=${go}/>`}</td><td><${Text} of=${event.actor || ""}/></td></tr>`)}</tbody></table></div>`}`;
}

// Around: what links lead to from one memory, drawn in rings, and the same as a table

const [WIDTH, HEIGHT] = [1000, 560];
const RECENT = 200; // events among which a linked memory is looked for
const NAMED = 24; // nodes whose names fit into the drawing
const DEPTHS = [1, 2, 3];
const MOST_BACK = 3; // hops that are followed back
const ENTITY = "entity"; // the kind of a node that is an entity, and the type of an edge to it
const TYPES = ["mentions", "supports", "contradicts", "depends_on", "same_as", "supersedes", "consolidates", "may_replace"];

export function Around({ state, go }) {
  const [depth, setDepth] = useState(1);
  const [hasEntities, setHasEntities] = useState(false);
  const [types, setTypes] = useState([]);
  const [id, setId] = useState(state.memory);
  useEffect(() => setId(state.memory), [state.memory]);
  const linked = useGet(!state.memory && `/events?order=newest&limit=${RECENT}`, state.namespace);
  useEffect(() => {
    const last = linked.answer?.events.find(({ type }) => type === "link");
    if (last) go({ memory: last.id }, true);
  }, [linked.answer]);
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
    ${!state.memory && linked.answer && html`<p class="empty">${later.aroundHint}</p>`}
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

const OPPOSING = new Set(["contradicts", "supersedes", "may_replace"]);

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
  <thead><tr><th class="n">${later.steps}</th><th>${later.memory}</th><th>${later.kind}</th><th>${later.zone}</th><th class="n">${later.degree}</th><th class="n">${later.leftOut}</th></tr></thead><tbody>
  ${graph.nodes.map((node) => html`<tr key=${`${node.kind} ${node.id}`} data-id=${node.id}><td class="n">${node.steps}</td>
    <td>${node.kind === ENTITY ? html`<${Text} of=${node.title}/>` : html`<button class="plain" onClick=${() => go({ open: node.id })}><${Text} of=${node.title}/></button>`}</td>
    <td><${Text} of=${node.kind}/></td><td>${node.zone || ""}${node.bridge ? `, ${later.bridge}` : ""}</td><td class="n">${node.degree}</td><td class="n">${node.left_out || ""}</td></tr>`)}</tbody></table></div>`;

const Edges = ({ graph }) => graph.edges.length > 0 && html`<details><summary>${later.links}</summary><div class="scroll" tabindex="0"><table class="edges"><tbody>
  ${graph.edges.map((edge) => html`<tr key=${`${edge.source} ${edge.target} ${edge.type}`}><td><${Text} of=${edge.source}/></td><th scope="row">${edge.type}</th><td><${Text} of=${edge.target}/></td></tr>`)}</tbody></table></div></details>`;

// The start: what was asked last and what to try, what the store holds, what it lacks, and the keys

const LAST = 8; // searches
const TRIED = 3; // questions
const NEWEST = 200; // memories whose names make questions
const QUIET_DAYS = 30; // after which a store is shown as it was, too
const LOW = 0.5; // a chance that is worth a look
const REVIEW = { review: { in: ["outdated", "incorrect"] } };

const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

export function Start({ state, counts }) {
  const within = state.namespace;
  const searches = useGet(`/searches?limit=${LAST}`, within);
  const doubtful = useGet(`/searches?limit=100&below=${LOW}`, within).answer?.searches.length;
  const named = useGet(`/memories?limit=${NEWEST}&fields=entities`, within);
  const zones = useGet(zonesAt(state), within).answer;
  const last = useGet(!state.asOf && "/events?order=newest&limit=1", within).answer?.events[0]?.at;
  const review = useAnswer("/memories/count", { filters: REVIEW }, within).answer?.count;
  const link = (more, text) => html`<a href=${write({ ...state, ...more })}><${Text} of=${text}/></a>`;
  const often = new Map();
  for (const { entities } of named.answer?.memories || []) for (const name of entities) often.set(name, (often.get(name) || 0) + 1);
  const tried = [...often].sort((a, b) => b[1] - a[1]).slice(0, TRIED).map(([name]) => later.whatOf(name));
  const all = zones && total(zones.counts);
  const isQuiet = last && Date.now() - Date.parse(last) > QUIET_DAYS * DAY_MS;
  const care = [
    isQuiet && link({ asOf: day(last) }, later.quietSince(day(last))),
    review > 0 && link({ view: "time", filters: REVIEW }, later.judgedWrong(review)),
    doubtful > 0 && link({ view: "label" }, later.doubtful(doubtful)),
    zones?.counts.dormant > 0 && link({ view: "health" }, later.dormant(count(zones.counts.dormant))),
    link({ view: "health" }, later.lookFor)].filter(Boolean);
  return html`<div class="halves start"><div>
      ${tried.length > 0 && html`<section><h2>${later.tryThese}</h2><ul class="plainly">${tried.map((q) => html`<li key=${q}>${link({ view: "search", q }, q)}</li>`)}</ul></section>`}
      <section><h2>${later.lastAsked}</h2>${!searches.answer ? html`<${Pending} refusal=${searches.refusal}/>`
        : !searches.answer.searches.length ? html`<p class="soft">${searches.answer.is_kept ? later.noSearches : later.keepSearches}</p>`
        : html`<ul class="plainly">${searches.answer.searches.map(({ id, at, query, probability }) => html`<li key=${id}>${link({ view: "search", q: query }, query)}
            <span class="soft">${clock(at, 16)}${probability !== null && `, ${words.chanceOfThis(percent(probability))}`}</span></li>`)}</ul>`}</section></div>
    <div><section><h2>${later.thisStore}</h2>${zones && html`<p>${all === 0 ? later.noneYet : later.inWords(all, zones.counts)}</p>`}
      <h3>${later.care}</h3><ul class="plainly">${care.map((each, place) => html`<li key=${place}>${each}</li>`)}</ul></section>
    ${counts && Object.keys(counts).length > 1 && html`<section><h2>${later.namespaces}</h2><${Spaces} counts=${counts} state=${state}/></section>`}</div></div>`;
}

const Spaces = ({ counts, state }) => html`<ul class="plainly spaces">${Object.entries(counts).sort((a, b) => b[1] - a[1]).slice(0, 20).map(([name, size]) => html`<li key=${name}>
  <a href=${write({ ...state, namespace: name, open: "", memory: "" })}><${Text} of=${name}/></a> <span class="soft">${count(size)}</span></li>`)}</ul>`;

/** Why nothing was ranked: no such namespace, an empty one, a time before it, a filter, or words that nothing shares. */
export function Nothing({ state, go, counts, own }) {
  const past = useGet(`/stats${state.asOf ? `?as_of=${encodeURIComponent(state.asOf)}` : ""}`, state.namespace);
  const first = useGet(state.asOf && "/events?limit=1", state.namespace);
  const name = state.namespace || own?.namespace || "";
  if (!past.answer || (state.asOf && !first.answer)) return html`<${Pending} refusal=${past.refusal || first.refusal}/>`;
  const isFiltered = Object.keys(state.filters).length > 0;
  const began = first.answer?.events[0]?.at;
  if (past.answer.memories === 0 && !began) {
    return html`<div class="empty"><p class="chance"><${Text} of=${later.emptySpace(name)}/></p><p>${later.fillIt} <code>salience add --namespace <${Text} of=${name}/> "…"</code></p></div>
      ${counts && Object.keys(counts).length > 0 && html`<h2>${later.otherSpaces}</h2><${Spaces} counts=${counts} state=${state}/>`}`;
  }
  if (past.answer.memories === 0) {
    const until = { ...state.filters, created_at: { lte: `${state.asOf}T23:59:59Z` } };
    return html`<div class="empty"><p class="chance">${later.beforeAll(state.asOf, day(began))}</p><p>${later.untilInstead}</p>
      <p class="inline"><button onClick=${() => go({ asOf: "", filters: until })}>${later.datedUntil(state.asOf)}</button><button onClick=${() => go({ asOf: "" })}>${later.asNow}</button></p></div>`;
  }
  return html`<div class="empty"><p class="chance">${isFiltered ? later.filteredOut(count(past.answer.memories)) : words.nothing}</p>
    ${isFiltered && html`<p><button onClick=${() => go({ filters: {} })}>${later.withoutFilters}</button></p>`}</div>`;
}

/** What the keys do. */
export function Keys({ close }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} class="keys" aria-labelledby="keys" onClose=${close}><h2 id="keys">${later.keysTitle}</h2>
    <dl class="pairs">${later.keysDo.map(([key, does]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${does}</dd></div>`)}</dl>
    <form method="dialog"><button>${later.close}</button></form></dialog>`;
}

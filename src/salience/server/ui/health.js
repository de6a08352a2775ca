// The view Health: zones now and over time, problems with what settles them, and what happens.
import { html, useEffect, useRef, useState } from "./html.js";
import { ask, sent } from "./api.js";
import { Pending, useAnswer, useGet } from "./answers.js";
import { later } from "./later.js";
import { SameOf } from "./same.js";
import { beginning, clock, percent, Text } from "./text.js";
import { words } from "./words.js";

const ZONES = ["active", "stale", "fading", "dormant"];
const POINTS = 24;
const SHOWN_EVENTS = 40;
const SHOWN_SEARCHES = 40;
const WAIT_SECONDS = 25;
const RETRY_MS = 5000;
const REQUESTS = [
  ["GET", "/zones?limit=0", null, "zones(limit=0)", "zones"],
  ["POST", "/zones/shares", { points: POINTS }, `inspect.zone_shares(points=${POINTS})`, `report --points ${POINTS}`],
  ["POST", "/audit", {}, "upkeep.audit()", "audit"],
  ["GET", `/searches?limit=${SHOWN_SEARCHES}`, null, `inspect.searches(limit=${SHOWN_SEARCHES})`, ""],
  ["GET", "/events?order=newest", null, 'events(order="newest", wait=25)', ""],
];
const COLOURS = { active: 0, stale: 6, fading: 1, dormant: 5 };

const count = (number) => number.toLocaleString("en");
const Opens = ({ id, go }) => html`<button class="plain" onClick=${() => go({ open: id })}><${Text} of=${id}/></button>`;
const Refused = ({ of }) => html`<p role="alert">${words.failed}<${Text} of=${of}/></p>`;

export function View({ state, scopes, go }) {
  return html`<div class="halves"><section><h2>${later.zonesNow}</h2><${ZonesNow} namespace=${state.namespace}/></section>
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

function ZonesNow({ namespace }) {
  const { answer, refusal } = useAnswer("/zones?limit=0", {}, namespace, 0, "GET");
  const stats = useAnswer("/stats", {}, namespace, 0, "GET").answer;
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
      <thead><tr><th>${later.time}</th><th class="n">${later.ms}</th><th class="n">${words.chanceOfAnswer}</th><th>${later.question}</th></tr></thead><tbody>
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
    ${events.length === 0 ? html`<p>${later.noEvents}</p>` : html`<div class="scroll" tabindex="0"><table class="feed"><thead><tr><th>${later.time}</th><th>${later.event}</th><th>${words.memory}</th><th>${later.who}</th></tr></thead><tbody>
      ${events.map((event) => html`<tr key=${event.seq} data-seq=${event.seq}><td class="when">${clock(event.at, 19)}</td><td>${event.type}</td>
        <td>${event.id === null ? later.ofAll : html`<${Opens} id=${event.id} go=${go}/>`}</td><td><${Text} of=${event.actor || ""}/></td></tr>`)}</tbody></table></div>`}`;
}

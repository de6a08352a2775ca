// One memory, over any view: its text, where it is from, its links, its life, and what can be done to it.
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import { ask, Pending, Refused, useAnswer, useGet } from "./api.js";
import { later } from "./later.js";
import { command, python, quoted } from "./state.js";
import { beginning, clock, day, figure, Text, visible } from "./text.js";
import { words } from "./words.js";

const FIRST = 12; // links that are shown at once
const SHOWN = ["title", "kind", "speaker", "user_id", "agent_id", "session_id", "written_by", "tags", "entities", "created_at", "updated_at", "added_at",
  "valid_from", "valid_to", "expires_at", "last_accessed", "access_count", "version", "importance", "confidence", "review", "tier", "layer"];

export function View({ state, go, scopes, again, done, said }) {
  const dialog = useRef(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current.showModal();
    return () => (opener?.isConnected ? opener : document.querySelector(`main [data-id=${CSS.escape(state.open)}] :is(.more, .plain)`))?.focus();
  }, []);
  const close = () => go({ open: "", act: "" });
  const apart = (event) => event.target === dialog.current && close(); // a click beside it
  return html`<dialog ref=${dialog} class="drawer" aria-labelledby="memory" onCancel=${(event) => { event.preventDefault(); close(); }} onMouseDown=${apart}>
    <div class="inside"><header><h2 id="memory">${later.memory}</h2><button class="small" onClick=${close}>${later.close}</button></header>${said}
    <${Whole} key=${state.open} id=${state.open} state=${state} go=${go} scopes=${scopes} again=${again} done=${done}/></div></dialog>`;
}

function Whole({ id, state, go, scopes, again, done }) {
  const got = useAnswer("/memories/get", { ids: [id] }, state.namespace, again);
  const linked = useGet(`/links?id=${encodeURIComponent(id)}`, state.namespace, again);
  const [count, setCount] = useState(FIRST);
  const links = linked.answer?.links || [];
  const ends = [...new Set(links.slice(0, count).map(({ source, target }) => (source === id ? target : source)))];
  const others = useAnswer("/memories/get", ends.length > 0 && { ids: ends }, state.namespace, again);
  const memory = got.answer?.memories[0];
  if (!got.answer) return html`<${Pending} refusal=${got.refusal}/>`;
  if (!memory) return html`<p role="alert"><${Text} of=${later.noMemory(id)}/></p>`;
  const known = new Map((others.answer?.memories || []).filter(Boolean).map((each) => [each.id, each]));
  const isKnown = linked.answer && (!ends.length || others.answer);
  const value = (name) => (name.endsWith("_at") || name.startsWith("valid") || name === "last_accessed" ? clock(memory[name], 16)
    : Array.isArray(memory[name]) ? memory[name].join(", ") : memory[name]);
  const leave = (view) => go({ view, memory: id, against: "", open: "", act: "" });
  const facts = SHOWN.filter((name) => memory[name] !== null && memory[name] !== "" && memory[name]?.length !== 0);
  return html`${state.asOf && html`<p class="soft">${later.notThen(state.asOf)}</p>`}
    <blockquote class="whole"><${Text} of=${memory.content}/></blockquote>
    <p class="facts"><code><${Text} of=${id}/></code> <${Copy} text=${id}/>${memory.status !== "active" && html`<span class="chip"><${Text} of=${memory.status}/></span>`}
      ${memory.pinned > 0 && html`<span class="chip">${later.pinned}</span>`}</p>
    ${isKnown && html`<${Actions} memory=${memory} around=${{ links, others: known }} state=${state} go=${go} scopes=${scopes} done=${done}/>`}
    <h3>${later.about}</h3><dl class="pairs">${facts.map((name) => html`<div key=${name}><dt>${later.field[name] || name}</dt><dd><${Text} of=${value(name)}/></dd></div>`)}
      ${Object.entries(memory.metadata).map(([name, each]) => html`<div key=${`m ${name}`}><dt><${Text} of=${name}/></dt>
        <dd><${Text} of=${typeof each === "string" ? each : JSON.stringify(each)}/></dd></div>`)}</dl>
    ${links.length > 0 && html`<h3>${later.linked} (${links.length})</h3><ul class="linked">${links.slice(0, count).map((link) => {
      const isFrom = link.source === id;
      const other = isFrom ? link.target : link.source;
      return html`<li key=${`${link.source} ${link.target} ${link.type}`}><span class="soft">${(isFrom ? later.linksTo : later.linkedBy)[link.type] || link.type}</span>
        <button class="plain" onClick=${() => go({ open: other, act: "" })}><${Text} of=${beginning(known.get(other)?.content ?? other, 140)}/></button></li>`;
    })}</ul>${count < links.length && html`<button onClick=${() => setCount(links.length)}>${later.others(links.length - count)}</button>`}`}
    <h3>${later.itsLife}</h3><${Life} key=${memory.version} id=${id} namespace=${state.namespace}/>
    <p class="inline">${state.q && html`<button onClick=${() => leave("trace")}>${words.toTrace}</button>`}
      <button onClick=${() => leave("around")}>${later.toAround}</button></p>`;
}

// What can be done to it: the request that does it, those that take it back, and the same as lines to copy

const [WRITE, DELETE, UPKEEP] = ["memories:write", "memories:delete", "upkeep"];
const PAUSE_MS = 300;
const NEAR = 4; // memories that may take the place of another
const SETTABLE = ["content", "title", "gist", "entities", "status", "valid_from", "valid_to", "review", "outdated", "pinned",
  "importance", "relevance_score", "memory_score", "confidence", "strength", "feedback_for", "feedback_against"];
const OWN = ["content", "title", "gist", "kind", "speaker", "session_id", "agent_id", "user_id", "tags", "entities", "metadata", "tier",
  "memory_nature", "content_type", "layer", "importance", "confidence", "expires_at", "valid_from", "valid_to", "created_at"];

const pathOf = (id, rest = "") => `/memories/${encodeURIComponent(id)}${rest}`;
const picked = (memory, names) => Object.fromEntries(names.filter((name) => memory[name] !== null && memory[name] !== undefined).map((name) => [name, memory[name]]));

/** The request that gives a memory the values that it had, unless somebody has changed it since. */
function restored(before, now) {
  const names = SETTABLE.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]));
  return ["PATCH", pathOf(now.id), { ...Object.fromEntries(names.map((name) => [name, before[name]])), if_version: now.version }];
}

const changed = (memory, given, answer) => [restored(memory, answer)];
const personOf = (memory) => memory.user_id || memory.speaker;

/**
 * By name: `fits` says whether a memory can have it, `send` the request, `back` the requests that take it back (null where
 * nothing does), `lines` the same for the command line and for Python, and `scope` what a key needs for it.
 */
export const ACTIONS = {
  correct: {
    scope: WRITE, fits: ({ status }) => status === "active", isReady: (memory, { text }) => text.trim() && text !== memory.content,
    send: (memory, { text }) => ["PATCH", pathOf(memory.id), { content: text, if_version: memory.version }], back: changed,
    lines: ({ id }, { text }) => [command("update", [], id, text), `update(${python(id)}, content=${python(text)})`],
  },
  replace: {
    scope: WRITE, fits: ({ status }) => status === "active", isReady: (memory, { text, other }) => other || text.trim(),
    send: (memory, { text, other }) => (other ? ["POST", "/supersede", { old: memory.id, new: other, if_version: memory.version }]
      : ["POST", "/memories", { ...picked(memory, ["kind", "speaker", "agent_id", "user_id", "tags"]), content: text, supersedes: memory.id, dedup: false }]),
    back: async (memory, { other }, answer, scopes, namespace) => (!other && scopes.includes(DELETE) ? [["DELETE", pathOf(answer.id)]]
      : [restored(memory, await ask("GET", pathOf(memory.id), { namespace }))]),
    lines: ({ id }, { text, other }) => (other ? [command("supersede", [], id, other), `supersede(${python(id)}, ${python(other)})`]
      : [command("add", [["--supersedes", id], ["--no-dedup"]], text), `add(${python(text)}, supersedes=${python(id)}, dedup=False)`]),
  },
  outdated: {
    scope: WRITE, fits: ({ review, status }) => review !== "outdated" && status === "active",
    send: (memory) => ["POST", "/feedback", { id: memory.id, kind: "outdated", if_version: memory.version }], back: changed,
    lines: ({ id }) => [command("feedback", [], id, "outdated"), `feedback(${python(id)}, "outdated")`],
  },
  pin: {
    scope: WRITE, fits: ({ pinned }) => !pinned, send: ({ id }) => ["POST", pathOf(id, "/pin")], back: ({ id }) => [["POST", pathOf(id, "/unpin")]],
    lines: ({ id }) => [command("pin", [], id), `pin(${python(id)})`],
  },
  unpin: {
    scope: WRITE, fits: ({ pinned }) => pinned, send: ({ id }) => ["POST", pathOf(id, "/unpin")], back: ({ id }) => [["POST", pathOf(id, "/pin")]],
    lines: ({ id }) => [command("unpin", [], id), `unpin(${python(id)})`],
  },
  archive: {
    scope: UPKEEP, fits: ({ status, pinned }) => status !== "archived" && !pinned, send: ({ id }) => ["POST", "/archive", { ids: [id] }],
    back: (memory, given, answer) => [["POST", "/undo", { run: answer.run }]],
    lines: ({ id }) => [command("archive", [], id), `archive(${python(id)})`],
  },
  restore: {
    scope: UPKEEP, fits: ({ status }) => status === "archived", send: ({ id }) => ["POST", "/unarchive", { ids: [id] }],
    back: ({ id }) => [["POST", "/archive", { ids: [id] }]],
    lines: ({ id }) => [command("unarchive", [], id), `unarchive(${python(id)})`],
  },
  revive: {
    scope: WRITE, fits: ({ status }) => !["active", "archived"].includes(status),
    send: (memory) => ["PATCH", pathOf(memory.id), { status: "active", valid_to: null, if_version: memory.version }], back: changed,
    lines: ({ id }) => [command("update", [["--set", "status=active"], ["--set", "valid_to="]], id), `update(${python(id)}, status="active", valid_to=None)`],
  },
  erase: {
    scope: DELETE, fits: () => true, send: ({ id }) => ["DELETE", pathOf(id)],
    // It is written again, then its judgements, its links, and the state of what held again without it.
    back: (memory, given, answer, scopes, namespace, { links, others }) => scopes.includes(WRITE) && [
      ["POST", "/memories", { ...picked(memory, OWN), id: memory.id, dedup: false }],
      ["PATCH", pathOf(memory.id), picked(memory, SETTABLE.filter((name) => !OWN.includes(name)))],
      ...links.map(({ source, target, type, weight, created_at }) => ["POST", "/links", { source, target, type, weight, created_at }]),
      ...(answer?.restored || []).flatMap((id) => (others.has(id) ? [["PATCH", pathOf(id), picked(others.get(id), ["status", "valid_to"])]] : []))],
    lines: ({ id }) => [command("delete", [], id), `delete(${python(id)})`],
  },
  forget: {
    scope: DELETE, fits: personOf, send: (memory) => ["POST", "/users/delete", { user_id: personOf(memory) }], back: () => null,
    lines: (memory) => [command("delete", [["--user", personOf(memory)]]), `delete_user(${python(personOf(memory))})`],
  },
};

/** Do it; the requests that take it back, null where nothing does. */
async function perform(name, memory, given, scopes, namespace, around) {
  const [verb, path, body] = ACTIONS[name].send(memory, given);
  const answer = await ask(verb, path, { body, namespace });
  return (await ACTIONS[name].back(memory, given, answer, scopes, namespace, around)) || null;
}

async function takeBack(requests, namespace) {
  for (const [verb, path, body] of requests) { // in their order
    if (verb !== "PATCH" || Object.keys(body).length) await ask(verb, path, { body, namespace });
  }
}

function Actions({ memory, around, state, go, scopes, done }) {
  const names = Object.keys(ACTIONS).filter((name) => ACTIONS[name].fits(memory));
  const chosen = names.includes(state.act) ? state.act : "";
  const toggle = (name) => go({ act: name === chosen ? "" : name }, true);
  return html`<div class="inline actions" role="group" aria-label=${later.actions}>${names.map((name) => html`<button key=${name} aria-expanded=${name === chosen}
      onClick=${() => toggle(name)}><${Text} of=${later.act[name](personOf(memory))}/></button>`)}</div>
    ${chosen && html`<${Panel} key=${chosen} name=${chosen} memory=${memory} around=${around} state=${state} go=${go} scopes=${scopes} done=${done}/>`}`;
}

/** One action: what it changes and touches, then the button that does it, or the lines that do. */
function Panel({ name, memory, around, state, go, scopes, done }) {
  const action = ACTIONS[name];
  const isAllowed = scopes.includes(action.scope);
  const opposed = around.links.filter(({ type }) => type === "contradicts").map(({ source, target }) => (source === memory.id ? target : source));
  const [given, setGiven] = useState({ text: name === "correct" ? memory.content : "", other: (name === "replace" && opposed[0]) || "" });
  const [refusal, setRefusal] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const set = (more) => setGiven({ ...given, ...more });
  const isReady = !action.isReady || action.isReady(memory, given);
  const send = (event) => {
    event.preventDefault();
    if (!isAllowed || !isReady || isBusy) return;
    setIsBusy(true);
    perform(name, memory, given, scopes, state.namespace, around).then(
      (undo) => done(later.did[name], memory.content, undo && (() => takeBack(undo, state.namespace))),
      (problem) => { setIsBusy(false); setRefusal(problem.message); });
  };
  return html`<form class="preview" onSubmit=${send}>
    ${(name === "correct" || name === "replace") && html`<label>${later.textOf[name]}<textarea rows="3" value=${given.text}
      onInput=${(event) => set({ text: event.target.value, ...(name === "replace" && { other: "" }) })}/></label>`}
    ${name === "replace" && html`<${Successors} memory=${memory} opposed=${opposed} around=${around} given=${given} set=${set} state=${state}/>`}
    ${name === "correct" && isReady && html`<${Changed} from=${memory.content} to=${given.text}/>`}
    <ul>${says(name, memory, around).map((line) => html`<li key=${line}><${Text} of=${line}/></li>`)}</ul>
    ${name === "forget" && html`<${Person} person=${personOf(memory)} state=${state}/>`}
    ${refusal && html`<${Refused} of=${refusal}/>`}
    <p class="inline">${isAllowed ? html`<button class="main" disabled=${!isReady || isBusy}>${later.submit[name]}</button>` : html`<span class="soft">${later.needs(action.scope)}</span>`}
      <button type="button" onClick=${() => go({ act: "" }, true)}>${later.leave}</button></p>
    ${isReady && html`<details open=${!isAllowed}><summary>${later.asLines}</summary><${Lines} of=${linesOf(action, memory, given, state)}/></details>`}</form>`;
}

const linesOf = (action, memory, given, state) => {
  const [line, call] = action.lines(memory, given);
  const within = state.namespace && ` --namespace ${quoted(state.namespace)}`;
  return [`salience ${line.replace(/^\S+/, (word) => word + within)}`, `memory.${call}`];
};

const Lines = ({ of }) => of.map((line) => html`<div class="line" key=${line}><pre tabindex="0">${visible(line)}</pre><${Copy} text=${line}/></div>`);

/** A button that copies a text, and says so. */
function Copy({ text }) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => setIsCopied(false), [text]);
  const copy = () => navigator.clipboard?.writeText(text).then(() => setIsCopied(true));
  return html`<button type="button" class="small" onClick=${copy}>${isCopied ? later.copied : later.copy}<span class="hidden"> ${visible(beginning(text, 60))}</span></button>`;
}

/** What an action changes, and what else it touches. */
function says(name, memory, { links }) {
  const held = links.filter(({ source, type }) => source === memory.id && ["supersedes", "consolidates"].includes(type)).map(({ target }) => target);
  const lines = later.effect[name](links.length, personOf(memory), memory);
  return name === "erase" && held.length ? [...lines, later.holdsAgain(held.join(", "))] : lines;
}

/** What may take the place of a memory: those that contradict it, and those like the text that is typed. */
function Successors({ memory, opposed, around, given, set, state }) {
  const [query, setQuery] = useState("");
  useEffect(() => {
    const typed = setTimeout(() => setQuery(given.text.trim()), PAUSE_MS);
    return () => clearTimeout(typed);
  }, [given.text]);
  const { answer } = useAnswer("/search", query && { query, limit: NEAR + 1, touch: false }, state.namespace);
  const found = [...opposed.map((id) => [id, around.others.get(id)?.content ?? id]), ...(answer?.hits || []).map(({ id, content }) => [id, content])];
  const choices = [...new Map(found.filter(([id]) => id !== memory.id))];
  const radio = (id, text) => html`<label key=${id}><input type="radio" name="other" checked=${given.other === id} onChange=${() => set({ other: id })}/> ${text}</label>`;
  return html`<fieldset class="choices"><legend>${later.placeTakenBy}</legend>${radio("", later.newMemory)}
    ${choices.map(([id, text]) => radio(id, html`<${Text} of=${beginning(text, 140)}/>${opposed.includes(id) && html` <span class="soft">(${later.contradicts})</span>`}`))}</fieldset>`;
}

/** How much of a person would go. */
function Person({ person, state }) {
  const { answer, refusal } = useAnswer("/memories/list", { filters: { person }, limit: 5 }, state.namespace);
  return answer ? html`<p><${Text} of=${later.ofPerson(answer.total, person)}/></p><ul>${answer.memories.map(({ id, content }) => html`<li key=${id}><${Text} of=${beginning(content, 100)}/></li>`)}</ul>`
    : html`<${Pending} refusal=${refusal}/>`;
}

// Its life: its events, the words that edits changed, and its vitality

const DAY_MS = 86_400_000;
const EVENTS = 1000;
const AHEAD_DAYS = 365;
const POINTS = 200;
const [WIDTH, HEIGHT] = [1000, 200];
const ZONES = ["active", "stale", "fading", "dormant"];
const BOUNDS = [0, 0.1, 0.3, 0.6, 1];

const dayAt = (ms) => new Date(ms).toISOString().slice(0, 10);

function Life({ id, namespace }) {
  const [limit, setLimit] = useState(EVENTS);
  const { answer, refusal } = useGet(`/memories/${encodeURIComponent(id)}/history?limit=${limit}`, namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  const versions = new Map(answer.versions.map((version, place) => [version.since, place]));
  return html`<${Vitality} id=${id} namespace=${namespace}/>
    <div class="scroll" tabindex="0"><table class="life"><thead><tr><th>${later.when}</th><th>${later.what}</th><th>${later.who}</th>
      <th>${later.details}</th></tr></thead><tbody>
      ${answer.events.map((event) => html`<tr key=${event.seq}><td class="n">${clock(event.at, 16)}</td>
        <td>${later.happened[event.type] || event.type}</td><td><${Text} of=${event.actor || event.session || ""}/></td>
        <td><${Details} event=${event} answer=${answer} place=${versions.get(event.at)}/></td></tr>`)}</tbody></table></div>
    ${answer.cursor && html`<button onClick=${() => setLimit(limit + EVENTS)}>${later.more}</button>`}`;
}

/** The difference that an edit made to the text, else what an event set. */
function Details({ event, answer, place }) {
  const { set = {}, was = {}, feedback, link, target, weight } = event.payload;
  if (event.type === "link") return html`<${Text} of=${`${weight === null ? later.noLonger : ""}${link} ${target}`}/>`;
  if (feedback) return html`<${Text} of=${feedback}/>`;
  const one = place > 0 && "content" in was && html`<${Changed} from=${answer.versions[place - 1].record.content}
    to=${answer.versions[place].record.content}/>`;
  const fields = Object.keys(event.type === "write" ? {} : set).map((name) => `${name}: ${JSON.stringify(was[name] ?? null)} → ${JSON.stringify(set[name])}`);
  return html`${one}${fields.length > 0 && html`<p><${Text} of=${fields.join(", ")}/></p>`}`;
}

function Vitality({ id, namespace }) {
  const until = useMemo(() => dayAt(Date.now() + AHEAD_DAYS * DAY_MS), []);
  const { answer, refusal } = useGet(`/memories/${encodeURIComponent(id)}/vitality?points=${POINTS}&until=${until}`, namespace);
  if (!answer) return html`<${Pending} refusal=${refusal}/>`;
  const last = answer.points.findLast((point) => point.at <= answer.now) || answer.points[0];
  const gone = answer.archived_at;
  const sentence = `${later.alive(figure(last.vitality), last.zone)} ${!gone ? later.neverArchived
    : gone < answer.now ? later.archivedAt(day(gone)) : later.wouldBeArchived(day(gone))}`;
  return html`<h3>${later.vitality}</h3><p class="sentence">${sentence}</p>
    <${Curve} answer=${answer} sentence=${visible(sentence)}/><p class="soft">${later.ifUnused}</p>
    <details><summary>${later.crossings} (${answer.crossings.length})</summary><table><thead><tr><th>${later.when}</th><th>${later.zone}</th></tr></thead>
      <tbody>${answer.crossings.map((each) => html`<tr key=${each.at}><td>${clock(each.at, 16)}</td>
        <td>${each.zone}</td></tr>`)}</tbody></table></details>`;
}

/** Vitality over time with its zones; dashed from the present on. */
function Curve({ answer, sentence }) {
  const [first, last, now] = [answer.points[0].at, answer.points.at(-1).at, answer.now].map(Date.parse);
  const x = (time) => ((time - first) / (last - first || 1)) * WIDTH;
  const known = answer.points.filter((point) => point.vitality !== null);
  const line = (points) => points.map((point) => `${x(Date.parse(point.at))},${(1 - point.vitality) * HEIGHT}`).join(" ");
  const turn = known.findIndex((point) => Date.parse(point.at) > now);
  const split = turn < 0 ? known.length : turn;
  return html`<div class="plot" role="img" aria-label=${sentence}><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
      ${BOUNDS.map((bound) => html`<path class="grid" key=${bound} d=${`M0 ${(1 - bound) * HEIGHT}H${WIDTH}`}/>`)}
      <path class="grid now" d=${`M${x(now)} 0V${HEIGHT}`}/><polyline points=${line(known.slice(0, split + 1))}/>
      <polyline class="future" points=${line(known.slice(Math.max(0, split)))}/></svg>
    <div class="bands">${ZONES.map((zone) => html`<span key=${zone}>${zone}</span>`)}</div>
    <p class="axis soft"><span>${dayAt(first)}</span><span>${dayAt(last)}</span></p></div>`;
}

// The words by which two texts differ

const MOST = 400; // words of a text that are compared

/** The pieces of two texts in order: kept, removed or added. */
function pieces(from, to) {
  const [old, fresh] = [from, to].map((text) => text.split(/(?<=\s)/u));
  if (old.length > MOST || fresh.length > MOST) return [["del", from], ["ins", to]];
  const same = old.map(() => new Uint16Array(fresh.length + 1));
  same.push(new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      same[i][j] = old[i] === fresh[j] ? same[i + 1][j + 1] + 1 : Math.max(same[i + 1][j], same[i][j + 1]);
    }
  }
  const found = [];
  const add = (kind, word) => (found.at(-1)?.[0] === kind ? (found.at(-1)[1] += word) : found.push([kind, word]));
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      add("", old[i]);
      i += 1;
      j += 1;
    } else if (j === fresh.length || (i < old.length && same[i + 1][j] >= same[i][j + 1])) {
      add("del", old[i]);
      i += 1;
    } else {
      add("ins", fresh[j]);
      j += 1;
    }
  }
  return found;
}

const Changed = ({ from, to }) => html`<p class="diff">${pieces(from, to).map(([kind, text], place) => {
  const shown = html`<${Text} of=${text}/>`;
  return kind === "del" ? html`<del key=${place}>${shown}</del>` : kind === "ins" ? html`<ins key=${place}>${shown}</ins>` : shown;
})}</p>`;

// The page: the question above, the view below. Its state is the fragment of the address.
import { html, isTyping, render, useEffect, useRef, useState } from "./html.js";
import { Refused, useAnswer, useGet, useKey } from "./api.js";
import { Patterns } from "./scores.js";
import { Search } from "./search.js";
import { read, Same, searched, write } from "./state.js";
import { beginning, Text, visible } from "./text.js";
import { words } from "./words.js";

const [ask, store] = [() => import("./ask.js"), () => import("./store.js")];
const MODULES = {
  trace: () => ask().then(({ Trace }) => Trace),
  whatif: () => ask().then(({ WhatIf }) => WhatIf),
  ab: () => ask().then(({ Sided }) => Sided),
  context: () => ask().then(({ Context }) => Context),
  time: () => store().then(({ Time }) => Time),
  health: () => store().then(({ Health }) => Health),
  around: () => store().then(({ Around }) => Around),
  label: () => ask().then(({ Label }) => Label),
  start: () => store().then(({ Start }) => Start),
  nothing: () => store().then(({ Nothing }) => Nothing),
  keys: () => store().then(({ Keys }) => Keys),
  memory: () => import("./memory.js").then(({ View }) => View),
};
const ALONE = new Set(["context", "time", "health", "label", "around"]); // views that ask the server themselves
const MOST_LISTED = 60; // namespaces
const isWide = matchMedia("(min-width: 40rem)").matches;
const STORED = new Set(["time", "health", "around"]); // views of the store: a question leaves them

/** The view of a name: the first one is there at once, another is loaded when it is asked for. */
function useView(name) {
  const [views, setViews] = useState({ search: Search });
  useEffect(() => {
    if (name && !views[name]) MODULES[name]().then((View) => setViews((others) => ({ ...others, [name]: View })));
  }, [name]);
  return views[name];
}

function Page() {
  const [state, setState] = useState(() => read(location.hash));
  const [signedIn, setSignedIn] = useState(0);
  const [changes, setChanges] = useState(0);
  const [last, setLast] = useState(null); // the last change, with the requests that take it back
  const current = useRef(state); // two steps may follow each other before the page is drawn
  const show = (next) => {
    current.current = next;
    setState(next);
  };
  useEffect(() => {
    const moved = () => show(read(location.hash));
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  const go = (more, quietly = false) => {
    const next = { ...current.current, ...(typeof more === "function" ? more(current.current) : more) };
    history[quietly ? "replaceState" : "pushState"](null, "", write(next));
    show(next);
  };
  const [hasKeys, setHasKeys] = useState(false);
  useKeyboard(() => setHasKeys(true));
  useEffect(() => {
    document.title = [state.q, words.views[state.view], words.title].filter(Boolean).map(visible).join(" · ");
  }, [state.q, state.view]);
  const nav = useRef(null);
  useEffect(() => { // on a narrow screen the present view may be out of sight
    const [all, own] = [nav.current, nav.current.querySelector("[aria-current]")].map((each) => each.getBoundingClientRect());
    nav.current.scrollLeft += own.left - all.left - (all.width - own.width) / 2;
  }, [state.view]);
  const named = useGet("/profiles", "", signedIn).answer?.profiles.map((profile) => profile.name) || [];
  const isAlone = ALONE.has(state.view);
  const question = !isAlone && state.q.trim() ? searched(state) : null;
  const found = useAnswer("/candidates", question, state.namespace, signedIn + changes);
  const allowed = useGet("/key", state.namespace, signedIn);
  const { refusal, status } = !isAlone && found.refusal ? found : allowed;
  const scopes = allowed.answer?.scopes;
  const answer = found.answer;
  const own = allowed.answer;
  const counts = useGet(own?.namespaces.includes("*") && "/stats?everywhere=true", "", changes).answer?.namespaces;
  const isNone = answer ? answer.of === 0 : counts && isAlone && state.view !== "label" && !counts[state.namespace || own.namespace];
  const isStart = !question && !isAlone;
  const View = useView(isNone ? "nothing" : isStart ? "start" : state.view);
  const KeyList = useView(hasKeys && "keys");
  const Memory = useView(state.open && "memory");
  const unlock = (key) => {
    useKey(key);
    setSignedIn(signedIn + 1);
  };
  const done = (what, text, undo) => {
    setLast({ what, text, undo });
    setChanges(changes + 1);
    go({ act: "" }, true);
  };
  const said = last && html`<${Last} key=${changes} last=${last} done=${done} dismiss=${() => setLast(null)}/>`;
  return html`<a class="skip" href="#results" onClick=${skip}>${words.skip}</a><${Patterns}/>
    <header><div class="top"><h1>${words.title}</h1><${Question} state=${state} go=${go} named=${named} own=${own} counts=${counts}/></div>
      <nav ref=${nav} aria-label=${words.title}>${Object.entries(words.groups).map(([group, names]) => html`<span class="group" key=${group}><span class="soft">${group}</span>
        ${names.map((name) => html` <a key=${name} href=${`./${write({ ...state, view: name, open: "", act: "" })}`}
          aria-current=${state.view === name ? "page" : undefined}>${words.views[name]}</a>`)}</span>`)}
        <button class="plain" onClick=${() => setHasKeys(true)}>${words.keys}</button></nav></header>
    <main id="results" tabindex="-1" aria-busy=${Boolean(question && !answer && !refusal)}>
      ${!state.open && said}
      ${isStart && own && View && html`<${View} key=${`${state.namespace} ${changes}`} state=${state} counts=${counts}/>`}
      ${question && !answer && !refusal && html`<p role="status">${words.waiting}</p>`}
      ${refusal && status === 401 && html`<${KeyForm} unlock=${unlock}/>`}
      ${refusal && status !== 401 && html`<${Refused} of=${refusal}/>`}
      ${answer?.degraded.length > 0 && html`<p class="degraded">${words.degraded}<${Text} of=${answer.degraded.join("; ")}/></p>`}
      ${isNone && View && html`<${View} key=${`nothing ${state.namespace} ${state.asOf}`} state=${state} go=${go} counts=${counts} own=${own}/>`}
      ${isAlone && !isNone && scopes && View && html`<${View} key=${`${state.view} ${state.namespace} ${state.view === "health" ? "" : changes}`} scopes=${scopes} state=${state} go=${go}/>`}
      ${answer && !isNone && View && html`<${View} key=${JSON.stringify(question)} table=${answer} state=${state} go=${go} profiles=${named} scopes=${scopes}/><${Same} state=${state}/>`}
      ${state.open && scopes && Memory && html`<${Memory} state=${state} go=${go} scopes=${scopes} again=${changes} done=${done} said=${said}/>`}
      ${hasKeys && KeyList && html`<${KeyList} close=${() => setHasKeys(false)}/>`}
    </main>`;
}

/** What was changed last, and the button that takes it back. */
function Last({ last, done, dismiss }) {
  const [refusal, setRefusal] = useState("");
  const undo = () => last.undo().then(() => done(words.undone(last.what), last.text), (problem) => setRefusal(problem.message));
  return html`<div class="last"><p role="status"><strong><${Text} of=${last.what}/></strong> <${Text} of=${beginning(last.text, 70)}/></p>
    ${last.undo && html`<button onClick=${undo}>${words.undo}</button>`} <button onClick=${dismiss}>${words.dismiss}</button>
    ${refusal && html`<${Refused} of=${refusal}/>`}</div>`;
}

const skip = (event) => {
  event.preventDefault();
  document.getElementById("results").focus();
};

/** j and k go from card to card, o opens one, slash goes to the question, and a question mark lists the keys. */
function useKeyboard(list) {
  useEffect(() => {
    const pressed = (event) => {
      if (isTyping(event) || document.querySelector("dialog[open]")) return;
      if (event.key === "/") {
        event.preventDefault();
        document.getElementById("question").focus();
      } else if (event.key === "?") {
        list();
      } else if (event.key === "o") {
        document.activeElement?.closest(".card")?.querySelector(".more").click();
      } else if (event.key === "j" || event.key === "k") {
        const cards = [...document.querySelectorAll(".card")];
        const at = cards.indexOf(document.activeElement?.closest(".card"));
        cards[Math.max(0, Math.min(cards.length - 1, at + (event.key === "j" ? 1 : -1)))]?.focus();
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

/** The namespaces that the key has, with their counts; a field where they are unknown or too many. */
function Namespace({ state, go, own, counts }) {
  const chosen = state.namespace || own?.namespace || "";
  const names = counts ? Object.keys(counts) : (own?.namespaces || []).filter((name) => !name.includes("*"));
  const choose = (event) => go({ namespace: event.target.value.trim() === own?.namespace ? "" : event.target.value.trim(), memory: "", open: "" });
  if (!own || !names.length || names.length > MOST_LISTED) {
    return html`<label>${words.namespace} <input class="short" value=${state.namespace} placeholder=${own?.namespace} onChange=${choose}/></label>`;
  }
  return html`<label>${words.namespace} <select value=${chosen} onChange=${choose}>${[...new Set([chosen, ...names])].sort().map((name) => html`<option key=${name}
    value=${name}>${visible(name)}${counts && ` (${(counts[name] || 0).toLocaleString("en")})`}</option>`)}</select></label>`;
}

function Question({ state, go, named, own, counts }) {
  const [text, setText] = useState(state.q);
  useEffect(() => setText(state.q), [state.q]);
  const send = (event) => {
    event.preventDefault();
    go({ q: text.trim(), memory: "", open: "", why: {}, ...(STORED.has(state.view) && { view: "search" }) });
  };
  const without = (name) => {
    const { [name]: _, ...filters } = state.filters;
    go({ filters });
  };
  return html`<form class="question" role="search" onSubmit=${send}>
      <label class="ask"><span class="hidden">${words.ask}</span><input id="question" type="search" placeholder=${words.ask}
        value=${text} onInput=${(event) => setText(event.target.value)} autocomplete="off"/></label><button class="main">${words.go}</button>
      <details class="options" open=${isWide}><summary>${words.options}</summary><div><label>${words.profile} <select value=${state.profile} onChange=${(event) => go({ profile: event.target.value, weights: {} })}>
        <option value="">${words.usual}</option>${named.map((name) => html`<option key=${name} value=${name}>${visible(name)}</option>`)}</select></label>
      <${Namespace} state=${state} go=${go} own=${own} counts=${counts}/>
      <label>${words.asOf} <input type="date" value=${state.asOf} onChange=${(event) => go({ asOf: event.target.value })}/></label></div></details></form>
    ${Object.keys(state.filters).length > 0 && html`<p class="filters">${words.filters}: ${Object.entries(state.filters).map(([name, condition]) => html`
      <button class="chip" key=${name} title=${words.noFilter(visible(name))} onClick=${() => without(name)}><${Text} of=${`${name} ${JSON.stringify(condition)}`}/> ✕</button> `)}</p>`}`;
}

function KeyForm({ unlock }) {
  const field = useRef(null);
  const send = (event) => {
    event.preventDefault();
    unlock(field.current.value.trim());
  };
  return html`<form class="inline" onSubmit=${send}><label>${words.key} <input ref=${field} type="password" autocomplete="off" required/></label>
    <button>${words.useKey}</button><p class="soft">${words.keyHint}</p></form>`;
}

const page = document.getElementById("page");
let held = null; // what has the focus; where it goes away, the results get it
addEventListener("focusin", (event) => {
  held = event.target;
});
new MutationObserver(() => {
  if (!held || held.isConnected) return;
  held = null;
  if (document.activeElement === document.body) document.getElementById("results").focus({ preventScroll: true });
}).observe(page, { childList: true, subtree: true });
render(html`<${Page}/>`, page);

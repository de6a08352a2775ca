// The page: the question above, the view below. Its state is the fragment of the address.
import { html, isTyping, render, useEffect, useRef, useState } from "./html.js";
import { useKey } from "./api.js";
import { useAnswer, useGet } from "./answers.js";
import { Patterns } from "./draw.js";
import { Same } from "./same.js";
import { Search } from "./search.js";
import { read, searched, write } from "./state.js";
import { Text, visible } from "./text.js";
import { words } from "./words.js";

const MODULES = {
  trace: () => import("./trace.js"),
  whatif: () => import("./whatif.js"),
  ab: () => import("./ab.js"),
  context: () => import("./context.js"),
  time: () => import("./time.js"),
  health: () => import("./health.js"),
  label: () => import("./label.js"),
  around: () => import("./around.js"),
};
const ALONE = new Set(["context", "time", "health", "label", "around"]); // views that ask the server themselves

/** The view of a name: the first one is there at once, another is loaded when it is asked for. */
function useView(name) {
  const [views, setViews] = useState({ search: Search });
  useEffect(() => {
    if (!views[name]) MODULES[name]().then(({ View }) => setViews((others) => ({ ...others, [name]: View })));
  }, [name]);
  return views[name];
}

function Page() {
  const [state, setState] = useState(() => read(location.hash));
  const [signedIn, setSignedIn] = useState(0);
  useEffect(() => {
    const moved = () => setState(read(location.hash));
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  const go = (changes, quietly = false) => {
    const next = { ...state, ...changes };
    history[quietly ? "replaceState" : "pushState"](null, "", write(next));
    setState(next);
  };
  useKeyboard();
  const named = useGet("/profiles", "", signedIn).answer?.profiles.map((profile) => profile.name) || [];
  const isAlone = ALONE.has(state.view);
  const question = !isAlone && state.q.trim() ? searched(state) : null;
  const found = useAnswer("/candidates", question, state.namespace, signedIn);
  const allowed = useGet(isAlone && "/key", state.namespace, signedIn);
  const { refusal, status } = isAlone ? allowed : found;
  const answer = found.answer;
  const View = useView(state.view);
  const unlock = (key) => {
    useKey(key);
    setSignedIn(signedIn + 1);
  };
  return html`<a class="skip" href="#results" onClick=${skip}>${words.skip}</a><${Patterns}/>
    <header><h1>${words.title}</h1><${Question} state=${state} go=${go} named=${named}/>
      <nav aria-label=${words.title}>${Object.keys(words.views).map((name) => html`<a key=${name} href=${write({ ...state, view: name })}
        aria-current=${state.view === name ? "page" : undefined}>${words.views[name]}</a>`)}</nav></header>
    <main id="results" tabindex="-1" aria-busy=${Boolean(question && !answer && !refusal)}>
      ${!question && !isAlone && html`<p>${words.start}</p>`}
      ${question && !answer && !refusal && html`<p role="status">${words.waiting}</p>`}
      ${refusal && status === 401 && html`<${KeyForm} unlock=${unlock}/>`}
      ${refusal && status !== 401 && html`<p role="alert">${words.failed}<${Text} of=${refusal}/></p>`}
      ${answer?.degraded.length > 0 && html`<p class="degraded">${words.degraded}<${Text} of=${answer.degraded.join("; ")}/></p>`}
      ${isAlone && allowed.answer && View && html`<${View} key=${state.namespace} scopes=${allowed.answer.scopes} state=${state} go=${go}/>`}
      ${answer && View && html`<${View} key=${JSON.stringify(question)} table=${answer} state=${state} go=${go} profiles=${named}/><${Same} state=${state}/>`}
    </main>`;
}

const skip = (event) => {
  event.preventDefault();
  document.getElementById("results").focus();
};

/** j and k go from card to card, slash to the question. */
function useKeyboard() {
  useEffect(() => {
    const pressed = (event) => {
      if (isTyping(event)) return;
      if (event.key === "/") {
        event.preventDefault();
        document.getElementById("question").focus();
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

function Question({ state, go, named }) {
  const [text, setText] = useState(state.q);
  useEffect(() => setText(state.q), [state.q]);
  const send = (event) => {
    event.preventDefault();
    go({ q: text.trim(), memory: "" });
  };
  const without = (name) => {
    const { [name]: _, ...filters } = state.filters;
    go({ filters });
  };
  return html`<form class="question" role="search" onSubmit=${send}>
      <label class="ask"><span class="hidden">${words.ask}</span><input id="question" type="search" placeholder=${words.ask}
        value=${text} onInput=${(event) => setText(event.target.value)} autocomplete="off"/></label><button>${words.go}</button>
      <label>${words.profile} <select value=${state.profile} onChange=${(event) => go({ profile: event.target.value, weights: {} })}>
        <option value="">${words.usual}</option>${named.map((name) => html`<option key=${name} value=${name}>${visible(name)}</option>`)}</select></label>
      <label>${words.namespace} <input class="short" value=${state.namespace} onChange=${(event) => go({ namespace: event.target.value.trim() })}/></label>
      <label>${words.asOf} <input type="date" value=${state.asOf} onChange=${(event) => go({ asOf: event.target.value })}/></label></form>
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

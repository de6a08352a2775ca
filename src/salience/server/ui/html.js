// Preact's parts and htm, bound together.
import { h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export { render };
export { useEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
export const html = htm.bind(h);

/** True for a key that types, chooses, or is the browser's. */
export const isTyping = (event) => event.ctrlKey || event.metaKey || event.altKey
  || event.target.matches("input:not([type=range], [type=checkbox], [type=radio], [type=file]), select, textarea");

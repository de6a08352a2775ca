// Texts of memories and numbers. A text is a text node and nothing else; what nobody sees is shown.
import { html } from "./html.js";

// Controls, directions, zero width, tags, fillers, private letters and lone surrogates.
const INVISIBLE =
  /(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/u;
const JOINED = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]|(?=[\p{L}\p{M}])[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]/u;
const STYLED = /[\p{Extended_Pictographic}\d#*\p{Script=Han}]/u;
const [LETTER, RIGHT_TO_LEFT] = [/[\p{L}\p{M}\p{N}\p{Cf}]/u, /[\p{Script=Hebrew}\p{Script=Arabic}]/u];
const LETTERS = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}|[^]/gu; // the flag of a region is one

const code = (letter) => `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** True for a letter that nobody sees, unless it is part of how a script or an emoji is written. */
const isHidden = (letter, before, after) => letter !== "\n" && letter !== "\t" && letter.length < 3 && INVISIBLE.test(letter)
  && !(/[\u200c\u200d]/.test(letter) && JOINED.test(before) && (JOINED.test(after) || (RIGHT_TO_LEFT.test(before) && !LETTER.test(after))))
  && !(/[\u200e\u200f\u061c]/.test(letter) && (RIGHT_TO_LEFT.test(before) || RIGHT_TO_LEFT.test(after)))
  && !(/[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u.test(letter) && STYLED.test(before));

/** The pieces of a text: as it is, and one letter each that is shown by its code. */
function pieces(text) {
  const found = [["", false]];
  const letters = String(text ?? "").match(LETTERS) || [];
  letters.forEach((letter, place) => {
    if (isHidden(letter, letters[place - 1] || "", letters[place + 1] || "")) found.push([code(letter), true], ["", false]);
    else found.at(-1)[0] += letter;
  });
  return found;
}

/** A text of unknown origin, apart from the text around it, with the codes of what is invisible. */
export const Text = ({ of }) => html`<bdi>${pieces(of).map(([text, isCode]) => (isCode ? html`<span class="code">${text}</span>` : text))}</bdi>`;

/** The same as plain text, for attributes. */
export const visible = (text) => pieces(text).map(([piece]) => piece).join("");

/** A number to four places, or to three digits where that would hide it. */
export function figure(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "—";
  const small = value !== 0 && Math.abs(value) < 0.001;
  return (small ? value.toPrecision(3) : value.toFixed(4)).replace("-", "−");
}

/** A number to two places with its sign. */
export const signed = (value) =>
  (value < 0 ? "−" : "+") + (Math.abs(value) < 0.005 && value !== 0
    ? Math.abs(value).toPrecision(1) : Math.abs(value).toFixed(2));

export const percent = (value) =>
  value > 0 && value < 0.01 ? "less than 1 %" : `${Math.round(value * 100)} %`;

/** The first letters of a text. */
export const beginning = (text, count) => {
  const letters = [...text];
  return letters.length > count ? `${letters.slice(0, count - 1).join("")}…` : text;
};

/** The first letters of a time by the clocks of the reader: 10 for the day, 16 with the minute. */
export const clock = (time, letters) => {
  const at = new Date(time);
  return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, letters).replace("T", " ");
};

export const day = (time) => (time ? clock(time, 10) : "");

/** Fields of requests: an object, checked at run time, whose names may be in camel case as well. */
import { invalid } from "./errors.js";

type InCamelCase<Name> = Name extends `${infer First}_${infer Rest}`
  ? Rest extends ""
    ? Name
    : `${First}${Capitalize<InCamelCase<Rest>>}`
  : Name;

/** Fields by the names of the library, or by the same names in camel case. */
export type Named<Fields> = Fields | { [Name in keyof Fields as InCamelCase<Name>]: Fields[Name] };

/** Fields whose values are objects with fields of their own, or lists of such. */
const WITHIN = new Set(["items", "messages", "content", "links", "sections", "dedup", "options"]);

/**
 * An object of fields by the names of the library.
 *
 * Throws a `SalienceError` that names what it is if it is no object, and a field that is there by both names.
 */
export function fields(given: unknown, what = "the request"): Record<string, unknown> {
  if (!isObject(given)) {
    throw invalid(what, `is ${kind(given)}`, "give an object of its fields");
  }
  const named: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const own = name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (own !== name && own in given && value !== undefined) {
      throw invalid(name, `is another name of ${own}`, "give one of the two");
    }
    named[own] = WITHIN.has(own) ? inside(value) : value;
  }
  return named;
}

/**
 * Settings or options of a call by their names in camel case; those of snake case have the same meaning.
 *
 * Throws a `SalienceError` that names what is unknown, and what there is.
 */
export function camelCased<Options extends object>(what: string, given: unknown, known: readonly string[]): Options {
  if (!isObject(given)) throw invalid(what, `are ${kind(given)}`, `give an object with some of ${known.join(", ")}`);
  const named: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const own = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    if (!known.includes(own)) throw invalid(name, `is none of ${what}`, `use ${known.join(", ")}`);
    named[own] = value;
  }
  return named as Options;
}

function inside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inside);
  return isObject(value) ? fields(value) : value;
}

function isObject(value: unknown): value is object {
  return Object.prototype.toString.call(value) === "[object Object]";
}

function kind(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (value instanceof Promise) return "a promise, which has to be awaited";
  return typeof value === "object" ? `a ${value.constructor?.name ?? "value"}` : `a ${typeof value}`;
}

import { Deadline, pause } from "./deadline.js";
import { type ErrorCode, invalid, refusal, SalienceError } from "./errors.js";
import { camelCased, fields } from "./fields.js";

/** The server, and the conduct of every request; `timeout` is in milliseconds. */
export interface Settings {
  /** The address of the server; http://127.0.0.1:8420 by default. */
  baseUrl?: string | URL;
  /** A key that the server made; none is needed on its own machine while it has none. */
  apiKey?: string;
  /** The namespace of the memories; that of the key by default. */
  namespace?: string;
  /** The time zone of whoever asks, as Europe/Berlin; that of the key by default. */
  timeZone?: string;
  /** The most milliseconds that an attempt may take, 60,000 by default; Infinity for no limit. */
  timeout?: number;
  /** The function that sends requests; that of the platform by default. */
  fetch?: typeof globalThis.fetch;
  /** How often a request that found no answer, or a busy server, is sent again; 2 by default. */
  maxRetries?: number;
}

/** The options of every call. */
export interface CallOptions {
  /** Gives the call up. */
  signal?: AbortSignal;
  /** The most milliseconds of an attempt, instead of the client's. */
  timeout?: number;
  /** The namespace, instead of the client's. */
  namespace?: string;
  /** Further header fields, such as `traceparent`. */
  headers?: Readonly<Record<string, string>>;
}

/** The options of a call that reads what is stored. */
export interface PastOptions extends CallOptions {
  /** Read what there was at this time, as it was then. */
  asOf?: string | number;
}

/** The options of a call that writes. */
export interface WriteOptions extends CallOptions {
  /** The key by which the server knows a repetition of this write; a new one by default. */
  idempotencyKey?: string;
}

/** The options of a call that changes one memory. */
export interface ChangeOptions extends WriteOptions {
  /** Change it only if this is its version; VersionConflict otherwise. */
  ifVersion?: number;
}

/**
 * When a request may be sent again: "always" if it reads or the server knows repetitions of it, else
 * "refused", only after an answer which says that nothing was done.
 */
export type Repeatable = "always" | "refused";

/** A request to an operation of the server. */
export interface Request {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** A path, or the segments of one below /v1, which are encoded. */
  path: string | readonly string[];
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  repeatable: Repeatable;
}

const SETTINGS = ["baseUrl", "apiKey", "namespace", "timeZone", "timeout", "fetch", "maxRetries", "profile"];
const OPTIONS = ["signal", "timeout", "namespace", "headers", "asOf", "idempotencyKey", "ifVersion"];
const DEFAULT_URL = "http://127.0.0.1:8420";
const DEFAULT_TIMEOUT = 60_000;
const DEFAULT_RETRIES = 2;
const FIRST_PAUSE = 250; // milliseconds; each further one is twice as long
const LONGEST_PAUSE = 30_000; // a server that asks for more is not waited for
const TURNED_AWAY = new Set<ErrorCode>(["Busy", "Stopping"]); // before anything was done
const HOPELESS = new Set<ErrorCode>(["NotSalience", "Redirected", "TimeLimit"]); // the next time as well
const UNANSWERED = new Set([0, 408, 502, 503, 504]);

/** The options of a call, by their names; an unknown one is refused. */
export function callOptions<Options extends CallOptions>(given: Options | undefined): Options {
  return camelCased<Options>("the options of the call", given ?? {}, OPTIONS);
}

/** Sends requests with the key and the namespace, within a time limit, again where that is safe. */
export class Transport {
  readonly settings: Readonly<Settings>;
  readonly #base: string;

  constructor(given: Settings) {
    const settings = camelCased<Settings>("the settings", given, SETTINGS);
    this.settings = settings;
    this.#base = checkedAddress(settings.baseUrl ?? DEFAULT_URL);
    if (settings.apiKey !== undefined && !/^[!-~]+$/.test(settings.apiKey)) {
      throw new TypeError("apiKey has characters that no key has"); // it is not shown: it may be one
    }
  }

  /** The answer as JSON; undefined for one without a body. */
  async json<Answer>(request: Request, options: CallOptions = {}): Promise<Answer> {
    return this.#repeat(request, options, async (response, deadline) => {
      const text = await response.text();
      deadline.end();
      return (text === "" ? undefined : JSON.parse(text)) as Answer;
    });
  }

  /** The lines of the answer, as they come in; the time limit holds for each piece of it. */
  async *lines(request: Request, options: CallOptions = {}): AsyncGenerator<string, void, undefined> {
    const { response, deadline } = await this.#repeat(request, options, async (response, deadline) => {
      return { response, deadline };
    });
    try {
      yield* linesOf(response, deadline);
    } catch (error) {
      throw this.#failure(error, options, deadline);
    } finally {
      deadline.end();
    }
  }

  async #repeat<Value>(
    request: Request,
    given: CallOptions,
    read: (response: Response, deadline: Deadline) => Promise<Value>,
  ): Promise<Value> {
    const options = callOptions<CallOptions>(given);
    const url = this.#url(request);
    const init = this.#init(request, options);
    const retries = this.settings.maxRetries ?? DEFAULT_RETRIES;
    for (let retry = 0; ; retry++) {
      const deadline = new Deadline(this.#timeout(options), options.signal);
      try {
        return await read(await this.#send(url, init, deadline), deadline);
      } catch (error) {
        deadline.end();
        const failure = this.#failure(error, options, deadline);
        if (!(failure instanceof SalienceError) || !repeatable(failure, request)) throw failure;
        const wait = failure.retryAfter === null ? backoff(retry) : failure.retryAfter * 1000;
        if (retry >= retries || wait > LONGEST_PAUSE) throw failure;
        await pause(wait, options.signal);
      }
    }
  }

  async #send(url: string, init: RequestInit, { signal }: Deadline): Promise<Response> {
    const fetch = this.settings.fetch ?? globalThis.fetch;
    const response = await fetch(url, { ...init, signal });
    if (response.ok) return response;
    if (response.type === "opaqueredirect" || isRedirect(response)) {
      throw new SalienceError(
        `baseUrl: ${this.#base} leads elsewhere; give the address that it leads to`,
        { status: response.status, code: "Redirected" },
      );
    }
    throw await refusal(response);
  }

  #url({ path, query = {} }: Request): string {
    const place = typeof path === "string" ? path : `/v1/${path.map(encodedSegment).join("/")}`;
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(fields(query))) {
      if (value === undefined || value === null) continue;
      parameters.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
    }
    return `${this.#base}${place}${parameters.size === 0 ? "" : `?${parameters}`}`;
  }

  #init({ method, body, headers }: Request, options: CallOptions): RequestInit {
    const { apiKey, timeZone } = this.settings;
    const namespace = options.namespace ?? this.settings.namespace;
    const fields = new Headers(headers);
    if (body !== undefined) fields.set("content-type", mediaType(body));
    if (apiKey !== undefined) fields.set("authorization", `Bearer ${apiKey}`);
    if (namespace !== undefined) fields.set("salience-namespace", encodedText("namespace", namespace));
    if (timeZone !== undefined) fields.set("salience-time-zone", timeZone);
    for (const [name, value] of Object.entries(options.headers ?? {})) fields.set(name, value);
    const content = body === undefined ? {} : { body: encodedBody(body) };
    return { method, headers: fields, redirect: "manual", ...content }; // a key is not carried elsewhere
  }

  #timeout(options: CallOptions): number {
    return options.timeout ?? this.settings.timeout ?? DEFAULT_TIMEOUT;
  }

  /** The error to throw: that of the caller who gave up, a refusal, or the lack of an answer. */
  #failure(error: unknown, options: CallOptions, deadline: Deadline): unknown {
    if (options.signal?.aborted) return options.signal.reason;
    if (error instanceof SalienceError) return error;
    if (deadline.passed) {
      const limit = this.#timeout(options);
      return new SalienceError(`timeout: no answer from ${this.#base} in ${limit} ms`, {
        code: "Timeout",
        cause: error,
      });
    }
    if (error instanceof SyntaxError) {
      return new SalienceError(`baseUrl: ${this.#base} does not answer in JSON`, {
        code: "NotSalience",
        cause: error,
      });
    }
    return new SalienceError(`baseUrl: ${this.#base} cannot be reached; is the server running?`, {
      code: "Unreachable",
      cause: error,
    });
  }
}

/** Whether nothing was done, or it does no harm to do it twice. */
function repeatable({ status, code, retryAfter }: SalienceError, request: Request): boolean {
  if (status === 429 || TURNED_AWAY.has(code)) return true;
  if (request.repeatable === "refused" || HOPELESS.has(code)) return false;
  return UNANSWERED.has(status) || (code === "RequestInProgress" && retryAfter !== null);
}

function backoff(retry: number): number {
  return FIRST_PAUSE * 2 ** retry * (0.5 + Math.random() / 2);
}

function checkedAddress(baseUrl: string | URL): string {
  const url = new URL(baseUrl);
  const problem =
    url.protocol !== "http:" && url.protocol !== "https:"
      ? "has to begin with http:// or https://"
      : url.username || url.password
        ? "holds a password; give the key as apiKey"
        : url.search || url.hash
          ? "has a query; leave it out"
          : null;
  if (problem !== null) throw new TypeError(`baseUrl ${problem}`);
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "").replace(/\/v1$/, "");
}

function isRedirect(response: Response): boolean {
  return response.status >= 300 && response.status < 400;
}

function encodedBody(body: unknown): BodyInit {
  return body instanceof Blob ? body : JSON.stringify(fields(body));
}

function mediaType(body: unknown): string {
  return body instanceof Blob ? body.type : "application/json";
}

/** A segment of a path; "." and ".." would be taken for folders on their way. */
function encodedSegment(id: string): string {
  if (!/^\.{0,2}$/.test(id)) return encodedText("id", id);
  throw invalid("id", `is ${JSON.stringify(id)}`, "use a method of several ids, such as getMany");
}

function encodedText(field: string, text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw invalid(field, "has half a character", "give whole ones");
  }
}

async function* linesOf(response: Response, deadline: Deadline): AsyncGenerator<string, void> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      deadline.pause();
      rest += decoder.decode(value, { stream: !done });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
      if (done) break;
      deadline.restart();
    }
    if (rest !== "") yield rest;
  } finally {
    await reader.cancel();
  }
}

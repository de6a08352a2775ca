import type { Schemas } from "./types.js";

/** The body of a refusal, as `application/problem+json` has it. */
export type Problem = Schemas["Problem"];

/** One wrong value: its place in the request, what is wrong with it, and what to do. */
export type FieldError = Problem["errors"][number];

/** The name of an error: one that the server knows, or one of the client; of a proxy "HTTP502". */
export type ErrorCode =
  | Problem["code"]
  | "NotSalience"
  | "Redirected"
  | "Timeout"
  | "Unreachable"
  | `HTTP${number}`;

/** The contents of an error, beside its message. */
interface Known {
  status?: number;
  code: ErrorCode;
  errors?: readonly FieldError[];
  requestId?: string | null;
  retryAfter?: number | null;
  cause?: unknown;
}

/**
 * A request that was not done.
 *
 * `status` is that of the answer, 0 if there was none. `code` is the name of the error, such as
 * "InvalidInput" or "NotFound"; "Timeout" and "Unreachable" if there was no answer. `requestId` finds
 * the request in the logs of the server. `retryAfter` is how many seconds a busy server asks to wait.
 */
export class SalienceError extends Error {
  override readonly name: string = "SalienceError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly errors: readonly FieldError[];
  readonly requestId: string | null;
  readonly retryAfter: number | null;

  constructor(message: string, known: Known) {
    super(message, known.cause === undefined ? undefined : { cause: known.cause });
    this.status = known.status ?? 0;
    this.code = known.code;
    this.errors = known.errors ?? [];
    this.requestId = known.requestId ?? null;
    this.retryAfter = known.retryAfter ?? null;
  }
}

/** A change of a version that is not the present one; `record` is the memory as it is now. */
export class VersionConflict extends SalienceError {
  override readonly name = "VersionConflict";
  readonly record: Schemas["MemoryRecord"] | null;

  constructor(message: string, known: Known, record: Schemas["MemoryRecord"] | null) {
    super(message, known);
    this.record = record;
  }
}

/** The error of a value that no server has to see. */
export function invalid(field: string, problem: string, remedy: string): SalienceError {
  const errors = [{ field, problem, remedy }];
  return new SalienceError(`${field} ${problem}; ${remedy}`, { code: "InvalidInput", errors });
}

/** The error of an answer that refuses a request, whoever wrote it. */
export async function refusal(response: Response): Promise<SalienceError> {
  const text = await response.text();
  const problem = problemIn(text);
  const known: Known = {
    status: response.status,
    code: problem?.code ?? `HTTP${response.status}`,
    errors: problem?.errors ?? [],
    requestId: response.headers.get("x-request-id") ?? problem?.instance ?? null,
    retryAfter: seconds(response.headers.get("retry-after")),
  };
  const message = problem ? sentence(problem) : `${response.status} ${text.slice(0, 200)}`.trim();
  return known.code === "VersionConflict"
    ? new VersionConflict(message, known, problem?.record ?? null)
    : new SalienceError(message, known);
}

/** Retry-After in seconds, as a number or as a date. */
function seconds(value: string | null): number | null {
  if (value === null) return null;
  const wait = /^\d+$/.test(value.trim()) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}

function problemIn(text: string): Problem | null {
  try {
    const value = JSON.parse(text) as Partial<Problem> | null;
    const { code, detail, errors } = value ?? {};
    return code !== undefined && detail !== undefined && errors !== undefined ? (value as Problem) : null;
  } catch {
    return null; // a proxy answered, not the server
  }
}

/** The detail, with the fields that it does not name. */
function sentence({ detail, errors }: Problem): string {
  const fields = errors
    .map(({ field, problem, remedy }) => `${field}: ${problem}${remedy ? `; ${remedy}` : ""}`)
    .filter((text) => !detail.includes(text));
  return [detail, ...fields].join("\n");
}

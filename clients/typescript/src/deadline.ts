/** A time limit that joins the signal of a caller; it can be set again while an answer streams in. */
export class Deadline {
  readonly #limit = new AbortController();
  readonly #milliseconds: number;
  readonly #caller: AbortSignal | undefined;
  readonly #cancel = (): void => this.#limit.abort(this.#caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #passed = false;

  constructor(milliseconds: number, caller: AbortSignal | undefined) {
    caller?.throwIfAborted();
    this.#milliseconds = milliseconds;
    this.#caller = caller;
    caller?.addEventListener("abort", this.#cancel, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#limit.signal;
  }

  /** Whether the time was over, and not the caller who gave up. */
  get passed(): boolean {
    return this.#passed;
  }

  /** Stops the clock while the caller works on what came in. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  restart(): void {
    this.pause();
    if (!Number.isFinite(this.#milliseconds)) return;
    this.#timer = setTimeout(() => {
      this.#passed = true;
      this.#limit.abort(new DOMException("the time is over", "TimeoutError"));
    }, this.#milliseconds);
  }

  end(): void {
    this.pause();
    this.#caller?.removeEventListener("abort", this.#cancel);
  }
}

/** Waits, unless the caller gives up. */
export function pause(milliseconds: number, caller: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(caller?.reason);
    };
    const timer = setTimeout(() => {
      caller?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (caller?.aborted) stop();
    caller?.addEventListener("abort", stop, { once: true });
  });
}

import type { LanguageModelMiddleware } from "ai";

import type { ContextRequest, NewMemory, Salience } from "../client.js";

type Transform = NonNullable<LanguageModelMiddleware["transformParams"]>;
type Params = Awaited<ReturnType<Transform>>;
type Prompt = Params["prompt"];
type UserMessage = Extract<Prompt[number], { role: "user" }>;
type Streamed = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>["stream"];
type Part = Streamed extends ReadableStream<infer Item> ? Item : never;

const DEFAULT_TOKENS = 1_000;
const LONGEST_QUERY = 10_000; // characters; the end of a longer message is asked about

/** The client, and what it recalls and remembers. */
export interface SalienceMemoryOptions {
  client: Salience;
  /** The namespace; that of the client by default. */
  namespace?: string;
  /** The most tokens that the memories may take; 1,000 by default. */
  maxTokens?: number;
  /** Further options of the context, such as `filters`, `sections` or `cut`. */
  context?: Omit<ContextRequest, "query" | "max_tokens" | "format" | "touch">;
  /**
   * The fields of the turns to remember, such as `session_id` or `user_id`; `true` for none. Nothing is
   * remembered by default.
   */
  remember?: boolean | Omit<NewMemory, "content" | "id">;
  /**
   * Takes the errors of the server, after which the model is asked without memories; it may throw. They
   * are written to the console by default.
   */
  onError?: (error: unknown) => void;
}

/**
 * Gives a language model memories: those that matter for the last message of the user stand before its
 * words, between tags, named as untrusted. With `remember` the message and the answer are kept.
 */
export function salienceMemory(options: SalienceMemoryOptions): LanguageModelMiddleware {
  const { client, namespace, remember = false, onError = warn } = options;
  const questions = new WeakMap<object, string>(); // by the parameters that the model gets
  const scope = namespace === undefined ? {} : { namespace };

  async function recall(query: string, touch: boolean, signal: AbortSignal | undefined): Promise<string> {
    const context = await client.getContext(
      {
        ...options.context,
        query: end(query),
        max_tokens: options.maxTokens ?? DEFAULT_TOKENS,
        format: "xml",
        touch,
      },
      { ...scope, ...(signal && { signal }) },
    );
    return context.text;
  }

  async function keep(params: object, answer: string): Promise<void> {
    const question = questions.get(params);
    if (remember === false || question === undefined || answer === "") return;
    const content = [
      { role: "user", content: question },
      { role: "assistant", content: answer },
    ];
    try {
      await client.add({ ...(remember === true ? {} : remember), content }, scope);
    } catch (error) {
      onError(error);
    }
  }

  return {
    specificationVersion: "v3",

    async transformParams({ params }) {
      const at = params.prompt.findLastIndex(({ role }) => role === "user");
      const message = params.prompt[at] as UserMessage | undefined;
      const question = message === undefined ? "" : words(message);
      if (message === undefined || question === "") return params;
      const isNew = at === params.prompt.length - 1; // later steps of a call have tool results after it
      let changed: Params = { ...params };
      try {
        const memories = await recall(question, isNew, params.abortSignal);
        if (memories !== "") changed = { ...params, prompt: params.prompt.with(at, before(message, memories)) };
      } catch (error) {
        if (params.abortSignal?.aborted) throw error;
        onError(error);
      }
      questions.set(changed, question);
      return changed;
    },

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const texts = result.content.map((part) => (part.type === "text" ? part.text : ""));
      if (isComplete(result.finishReason)) await keep(params, texts.join(""));
      return result;
    },

    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      let answer = "";
      let complete = false;
      const reader = new TransformStream<Part, Part>({
        transform(part, controller) {
          if (part.type === "text-delta") answer += part.delta;
          if (part.type === "finish") complete = isComplete(part.finishReason);
          controller.enqueue(part);
        },
        async flush() {
          if (complete) await keep(params, answer);
        },
      });
      return { stream: stream.pipeThrough(reader), ...rest };
    },
  };
}

/** Whether a model said all that it had to say. */
function isComplete({ unified }: { unified: string }): boolean {
  return unified === "stop" || unified === "length";
}

function words(message: UserMessage): string {
  const texts = message.content.map((part) => (part.type === "text" ? part.text : ""));
  return texts.filter((text) => text !== "").join("\n").trim();
}

/** The message with the memories before its words: providers refuse two of one role in a row. */
function before(message: UserMessage, memories: string): UserMessage {
  return { ...message, content: [{ type: "text", text: memories }, ...message.content] };
}

/** The end of a long text, from a whole character on. */
function end(text: string): string {
  return text.slice(-LONGEST_QUERY).replace(/^[\uDC00-\uDFFF]/, "");
}

function warn(error: unknown): void {
  console.warn("salience: memories were not recalled, or not kept.", error);
}

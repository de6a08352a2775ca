/** Types of requests and answers, out of the OpenAPI document of the server. */
import type { components, paths } from "./openapi.js";

type Method = "get" | "post" | "patch" | "delete";
type Operation<Path extends keyof paths, Verb extends Method> = NonNullable<paths[Path][Verb]>;
type Json<Message> = Message extends { content: { "application/json": infer Body } } ? Body : undefined;

/** The body that an operation takes. */
export type Body<Path extends keyof paths, Verb extends Method = "post"> =
  Operation<Path, Verb> extends { requestBody?: infer Message } ? Json<NonNullable<Message>> : never;

/** The query of an operation. */
export type Query<Path extends keyof paths, Verb extends Method = "get"> =
  Operation<Path, Verb> extends { parameters: { query?: infer Values } } ? NonNullable<Values> : never;

/** The answer of an operation that was done. */
export type Answer<Path extends keyof paths, Verb extends Method = "post"> =
  Operation<Path, Verb> extends { responses: infer Responses }
    ? { [Status in keyof Responses & (200 | 201)]: Json<Responses[Status]> }[keyof Responses & (200 | 201)]
    : never;

export type Schemas = components["schemas"];

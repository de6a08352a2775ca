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
    ? Whole<{ [Status in keyof Responses & (200 | 201)]: Json<Responses[Status]> }[keyof Responses & (200 | 201)]>
    : never;

export type Schemas = { [Name in keyof components["schemas"]]: Whole<components["schemas"][Name]> };

/** What a hit has if there is something to tell. */
type GivenIfAny =
  | ("assumed" | "zone" | "may_be_replaced_by" | "supporting_turn_count" | "best_turn" | "best_turn_routes")
  | ("details" | "passages" | "neighbors" | "explanation");
type IsOne = { id: string; content?: string; status?: unknown };

/** The members of a memory, and those that may be null, which an answer leaves out only where that is asked for. */
type Always<T, Name extends keyof T> = T extends IsOne
  ? Name extends GivenIfAny
    ? never
    : Name
  : null extends T[Name]
    ? Name
    : never;
type Given<T> = { [Name in keyof T as Always<T, Name>]-?: Whole<Exclude<T[Name], undefined>> } & {
  [Name in keyof T as Exclude<Name, Always<T, Name & keyof T>>]: Whole<T[Name]>;
};
/** An answer of which nothing was left out. */
type Whole<T> = T extends readonly (infer Item)[]
  ? Whole<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : Given<T>
    : T;

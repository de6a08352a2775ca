export {
  Salience,
  type AccessKey,
  type ContextRequest,
  type Erased,
  type ErasureReceipt,
  type Filters,
  type Further,
  type MemoryRecord,
  type NameCount,
  type NewKey,
  type NewMemory,
  type Page,
  type SalienceSettings,
  type SearchRequest,
} from "./client.js";
export { SalienceError, VersionConflict, type ErrorCode, type FieldError } from "./errors.js";
export type { Named } from "./fields.js";
export { Listing } from "./listing.js";
export type { FoundMemory, ScoredMemory, SearchAnswer } from "./names.js";
export type { CallOptions, ChangeOptions, PastOptions, WriteOptions } from "./transport.js";
export type { Answer, Body, Query, Schemas } from "./types.js";

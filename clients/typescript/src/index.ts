export { Salience, type SalienceSettings } from "./client.js";
export { SalienceError, VersionConflict, type FieldError } from "./errors.js";
export { Listing } from "./listing.js";
export type { SearchAnswer } from "./names.js";
export type { CallOptions, ChangeOptions, WriteOptions } from "./transport.js";

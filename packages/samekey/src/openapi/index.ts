/**
 * What protected routes say of their keys, for others to read: OpenAPI 3.1, the page that the IETF's draft asks for,
 * and what can be told before a request.
 */

export { acceptedKeys, retentionOf, type WellKnown, WELL_KNOWN_PATH, wellKnown } from './advertised.ts';
export type { HeaderPart, ResponsePart } from './answers.ts';
export type { Idempotency, KeyAt } from './described.ts';
export type { Schema } from './key-schema.ts';
export { type Merged, mergeInto, type Told } from './merge.ts';
export { type OperationPart, operationOf, type ParameterPart } from './operation-part.ts';
export { idempotencyPage, type PageOptions } from './published-page.ts';

/**
 * Samekey for GraphQL: graphql-js, and servers on it such as Yoga, Apollo and Mercurius.
 */

export type { Attempt } from '../../engine/attempt.ts';
export type { Refusal } from '../../http-call/call-exchange.ts';
export type {
  CallAnswer,
  CallRedactFunction,
  CallReplay,
  CallReplayFunction,
  OtherCallAnswer,
} from '../../http-call/call-hooks.ts';
export type { CallStatus } from '../../http-call/call-route.ts';
export type { RequestOfCalls } from '../../http-call/request-lines.ts';
export type { ScopeFunction } from '../../http/scope-function.ts';
export { attemptOf, type GraphqlOptions, idempotent, type Resolver } from './graphql-adapter.ts';
export type { GraphqlCall } from './graphql-call.ts';
export type { IdempotencyExtensions, ResolverError } from './graphql-errors.ts';
export { type GraphqlServeOptions, type GraphqlStatusOptions, serve, serveStatus } from './serve.ts';

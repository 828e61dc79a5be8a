/**
 * Samekey for handlers of the form `Request → Response`: Node, Deno, Bun, Workers, and the frameworks built on them.
 */

export type { Attempt } from '../../engine/attempt.ts';
export { CORS, type CorsHeaders, corsFor } from '../../http/cors.ts';
export { type IetfOptions, ietf } from '../../http/profiles/ietf.ts';
export type { Profile } from '../../http/profile.ts';
export { stripe } from '../../http/profiles/stripe.ts';
export type { RouteOptions } from '../../http/route.ts';
export type { ScopeFunction } from '../../http/scope-function.ts';
export type { FirstSentOptions } from '../../http/first-sent.ts';
export type { FreshnessOptions } from '../../http/freshness.ts';
export type { OtherAnswer, RedactFunction, ReplayFunction } from '../../http/answer-hooks.ts';
export type { KeyPlace } from '../../http/key-place.ts';
export type { FetchContext } from '../../http-fetch/keep-alive.ts';
export { type FetchHandler, type FetchOptions, idempotent } from './fetch-adapter.ts';
export { serve, serveStatus } from './serve.ts';
export type { ServedBody, ServeOptions } from '../../http/serve.ts';
export type { StatusOptions } from '../../http/status.ts';

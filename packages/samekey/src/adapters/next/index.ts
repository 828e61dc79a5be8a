/**
 * Samekey for route handlers of Next.js (App Router).
 */

export type { Attempt } from '../../engine/attempt.ts';
export { CORS, type CorsHeaders, corsFor } from '../../http/cors.ts';
export { type IetfOptions, ietf } from '../../http/profiles/ietf.ts';
export type { OtherAnswer, RedactFunction, ReplayFunction } from '../../http/answer-hooks.ts';
export type { KeyPlace } from '../../http/key-place.ts';
export type { Profile } from '../../http/profile.ts';
export { stripe } from '../../http/profiles/stripe.ts';
export type { RouteOptions } from '../../http/route.ts';
export type { ScopeFunction } from '../../http/scope-function.ts';
export type { FirstSentOptions } from '../../http/first-sent.ts';
export type { FreshnessOptions } from '../../http/freshness.ts';
export { type ActionCall, type ActionOptions, idempotentAction } from './action.ts';
export type { Refusal } from '../../http-call/call-exchange.ts';
export type {
  CallAnswer,
  CallRedactFunction,
  CallReplay,
  CallReplayFunction,
  OtherCallAnswer,
} from '../../http-call/call-hooks.ts';
export { attemptOf, idempotent, type NextHandler, type NextOptions } from './next-adapter.ts';
export type { NextCall, NextContext, RouteParams } from './next-exchange.ts';
export { type NextServeOptions, serve, serveStatus } from './serve.ts';
export type { ServedBody, ServeOptions } from '../../http/serve.ts';
export type { StatusOptions } from '../../http/status.ts';

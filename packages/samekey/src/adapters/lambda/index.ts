/**
 * Samekey for AWS Lambda behind API Gateway, an Application Load Balancer or a function URL.
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
export { attemptOf, idempotent, type LambdaHandler, type LambdaOptions } from './lambda-adapter.ts';
export type { LambdaContext, LambdaEvent, LambdaResult } from './event.ts';
export { serve, serveStatus } from './serve.ts';
export type { ServedBody, ServeOptions } from '../../http/serve.ts';
export type { StatusOptions } from '../../http/status.ts';

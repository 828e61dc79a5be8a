/**
 * Samekey for tRPC 11.
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
export type { ScopeFunction } from '../../http/scope-function.ts';
export { serve, serveStatus, type TrpcServeOptions, type TrpcStatusOptions } from './serve.ts';
export {
  attemptOf,
  idempotent,
  type Transformer,
  type TrpcCall,
  type TrpcMiddleware,
  type TrpcOptions,
} from './trpc-adapter.ts';
export { type IdempotencyData, idempotencyData } from './trpc-errors.ts';
export type { TrpcHttp } from './trpc-http.ts';

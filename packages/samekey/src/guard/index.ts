export { type Breaker, type BreakerOptions, withBreaker } from './breaker.ts';
export type { ActiveKeysOptions } from './active-keys.ts';
export { type CallerLimits, createLimits, type LimitsOptions } from './caller-limits.ts';
export type { Counters, Counts } from '../store/counters.ts';
export type { RateLimiter } from './rate-limiter.ts';
export type { Asker, Limits, Room } from '../core/limits.ts';
export { type TimeSigner, type TimeSignerOptions, timeSigner } from './sign-time.ts';

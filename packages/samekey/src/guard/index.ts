export { type Breaker, type BreakerOptions, withBreaker } from './breaker.ts';
export { createLimits, type LimitsOptions } from './limits.ts';
export type { RateLimiter } from './rate-limiter.ts';
export type { Asker, Limits, Room } from '../core/limits.ts';
export { type TimeSigner, type TimeSignerOptions, timeSigner } from './sign-time.ts';

/** Lengths of time, in milliseconds. */

export const MINUTE_MS: number = 60 * 1_000;
export const DAY_MS: number = 24 * 60 * MINUTE_MS;

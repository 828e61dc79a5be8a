/** Lengths of time, in milliseconds. */

export const DAY_MS: number = 24 * 60 * 60 * 1_000;

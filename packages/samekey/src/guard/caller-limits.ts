/**
 * Limits of what one caller may begin: new keys in a time, keys stored at once, looks in a time. They protect capacity
 * and not money, so by default a limiter that fails lets requests through.
 *
 * Sources: contract §4 row 13; RFC 6585 §4 (429), RFC 9110 §10.2.3 (`Retry-After`).
 */

import { OptionsError } from '../core/errors.ts';
import type { Asker, Limits, Room } from '../core/limits.ts';
import { having, oneOf, readOptions, type Row, type Table, wholeNumber } from '../core/options.ts';
import { ACTIVE_KEYS_ROW, type ActiveKeysOptions, createActiveKeys } from './active-keys.ts';
import { type RateLimiter, takePoint } from './rate-limiter.ts';

/** What is limited. At least one limit is named. */
export interface LimitsOptions {
  /** How many new keys a caller may use in a time: retries, replays and refusals of known keys do not count. */
  readonly newKeys?: RateLimiter;
  /** How many keys a caller may have stored at once, all operations together. */
  readonly activeKeys?: ActiveKeysOptions;
  /** How often a caller may look at how requests stand (`serveStatus`), found or not: what guessing keys costs. */
  readonly looks?: RateLimiter;
  /** What a limit is for: a `caller` (default), all operations together, or each `operation` of a caller. */
  readonly per?: 'caller' | 'operation';
  /** `open` (default): what a limiter cannot decide goes on. `closed`: it is answered 503, unless the key is known. */
  readonly whenLimiterFails?: 'open' | 'closed';
  /** How long a limiter may take, in milliseconds; default 250. Then it has failed. */
  readonly decisionTimeMaxMs?: number;
}

/** Limits, and what ends them. */
export interface CallerLimits extends Limits {
  /** Writes down what this process has counted of `activeKeys`; before it ends. Rejects when the store cannot. */
  flush(): Promise<void>;
}

/** Makes limits, for the option `limits` of an instance, an operation or a route. Throws `OptionsError`. */
export function createLimits(options: LimitsOptions): CallerLimits {
  const own = readOptions('createLimits', LIMITS_ROWS, options);
  const { newKeys, looks, per, whenLimiterFails, decisionTimeMaxMs } = own;
  const activeKeys = options.activeKeys === undefined ? null : createActiveKeys(options.activeKeys);
  if (newKeys === undefined && looks === undefined && activeKeys === null) {
    throw new OptionsError('createLimits limits nothing: name newKeys, activeKeys or looks.');
  }
  // A caller's text has no `|`, so no caller can name itself into another one's operation.
  const nameOf = ({ caller, operation }: Asker): string =>
    per === 'caller' ? caller : `${caller}|${operation}`;
  return Object.freeze({
    whenLimiterFails,
    decisionTimeMaxMs,
    async takeNewKey(asker: Asker) {
      const point = newKeys === undefined ? FREE : await takePoint(newKeys, nameOf(asker));
      if (activeKeys === null || point.fullForMs !== null) return point;
      const room = await activeKeys.take(asker.caller).catch((error: unknown) => {
        point.end(false);
        throw error;
      });
      if (room.fullForMs !== null) point.end(false);
      return room.fullForMs !== null ? room : both(point, room);
    },
    flush: async () => activeKeys?.flush(),
    takeLook: async (asker: Asker) => (looks === undefined ? FREE : takePoint(looks, nameOf(asker))),
  });
}

const limiter: Row<RateLimiter, undefined> = having(
  ['consume', 'reward'],
  'a limiter with consume and reward, such as new RateLimiterMemory({ points, duration }) of rate-limiter-flexible',
);

const LIMITS_ROWS = {
  newKeys: limiter,
  activeKeys: ACTIVE_KEYS_ROW,
  looks: limiter,
  per: oneOf(['caller', 'operation'], 'caller'),
  whenLimiterFails: oneOf(['open', 'closed'], 'open'),
  decisionTimeMaxMs: wholeNumber(1, undefined, 250),
} satisfies Table<LimitsOptions>;

const FREE: Room = Object.freeze({ fullForMs: null, end: () => undefined });

function both(first: Room, second: Room): Room {
  return {
    fullForMs: null,
    end(used) {
      first.end(used);
      second.end(used);
    },
  };
}

/** What each statement is told of the time, and the shared time's row (`server-time.ts`, F117). */

import { createServerTime, type ServerTime } from '../../store/time/server-time.ts';
import { number } from '../sql/record-row.ts';
import { type Ask, plain, type SqlValue, type Statement } from './client.ts';

/** Where a store's time comes from. */
interface TimeOptions {
  /** The table with the row `last_now`. */
  readonly meta: string;
  /** SQL of the server's clock, in milliseconds. */
  readonly clockMs: string;
  /** On a connection that no request waits for. */
  readonly ask: Ask;
  readonly monotonicNow: () => number;
  readonly now: () => number;
}

/** Makes it. Each statement of it is one reading, or one row. */
export function createPostgresTime({ meta, clockMs, ask, monotonicNow, now }: TimeOptions): ServerTime {
  const read = plain(`SELECT ${clockMs}, (SELECT m.value FROM ${meta} m WHERE m.name = 'last_now')`);
  const move = plain(`UPDATE ${meta} SET value = $1::bigint WHERE name = 'last_now' AND value < $1::bigint`);
  return createServerTime(
    {
      async read() {
        const [clock, shared] = (await ask(read, []))[0] ?? [];
        return { clock: number(clock), shared: number(shared ?? 0) };
      },
      move: async (time) => void (await ask(move, [String(time)])),
    },
    monotonicNow,
    now,
  );
}

/** The values of a statement with its times, as they are when it is sent. */
export function timedValues(
  { times = [] }: Statement,
  values: readonly SqlValue[],
  time: ServerTime | undefined,
): readonly SqlValue[] {
  if (times.length === 0) return values;
  return [...values, ...times.map((name) => (name === 'held' ? heldOf(time) : boundOf(time)))];
}

function boundOf(time: ServerTime | undefined): string | null {
  const bound = time?.bound();
  return bound === undefined ? null : String(bound);
}

function heldOf(time: ServerTime | undefined): string {
  return String(Math.ceil(time?.heldMs() ?? 0));
}

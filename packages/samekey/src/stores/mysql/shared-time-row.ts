/** The shared time's row (`store/time/server-time.ts`, F117). */

import { number } from '../sql/record-row.ts';
import { numberOf } from './literals.ts';
import type { Ask } from './client.ts';
import type { Tables } from './tables.ts';

const NAME = "name = 'last_now'";

/** The server's clock and the shared time, of one moment. */
export async function readTimes(
  ask: Ask,
  { clock, meta }: Tables,
): Promise<{ readonly clock: number; readonly shared: number }> {
  const [row = []] = await ask(`SELECT ${clock}, (SELECT value FROM ${meta} WHERE ${NAME})`);
  return { clock: number(row[0]), shared: number(row[1] ?? 0) };
}

/** Moves it on, never back. */
export async function moveTime(ask: Ask, { meta }: Tables, to: number): Promise<void> {
  await ask(`UPDATE ${meta} SET value = ${numberOf(to)} WHERE ${NAME} AND value < ${numberOf(to)}`);
}

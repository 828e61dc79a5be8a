/**
 * A slice of the fuzz of each door; all of it is `npm run prove -- --only fuzz`, which runs this file with what it asks
 * for in `SAMEKEY_FUZZ`.
 */

import { appendFileSync } from 'node:fs';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import {
  FUZZ_KINDS,
  fuzzContract,
  fuzzed,
  type FuzzDoor,
  type FuzzSlice,
  responseFuzz,
} from '../../../testing/src/fuzz-contract.ts';
import { DOORS } from './doors.ts';

/** What the long run asks for; `out` gets a line of JSON for each piece that is done. */
interface Asked extends FuzzSlice {
  readonly door: string;
  readonly seconds: number | null;
  readonly out: string;
}

const asked = JSON.parse(process.env['SAMEKEY_FUZZ'] ?? 'null') as Asked | null;
const SLICE: FuzzSlice = { seed: 1, rounds: 200 };
/** Rounds after which servers and stores are made anew. */
const PIECE = 500;

// Some servers write what breaks to the console.
beforeAll(() => void vi.spyOn(console, 'error').mockReturnValue(undefined));

/** Rounds that a long run has failed on: they stay. */
const FAILED_ONCE: Readonly<Record<string, readonly number[]>> = {
  express: [182_301, 186_553, 188_156, 197_636, 198_633, 198_900],
  express4: [182_301, 188_156, 198_900],
  'nest-express': [183_884, 184_957, 185_570, 192_434],
  'nest-fastify': [181_386, 189_833],
  fastify: [185_598, 185_991, 186_553, 189_236, 191_796, 194_999, 199_057],
  koa: [181_174, 181_304, 181_501, 182_301, 183_481, 189_968, 192_552, 193_861, 196_151],
  koa2: [181_174, 186_553, 192_552],
  lambda: [182_605, 183_101],
  node: [185_994, 195_519, 198_682],
  fetch: [185_570],
};

async function failedOnce(door: FuzzDoor, seeds: readonly number[]): Promise<readonly string[]> {
  const fuzz = await responseFuzz(door);
  const faults: string[] = [];
  for (const seed of seeds) faults.push(...(await fuzz.round(seed)));
  await fuzz.close();
  return faults;
}

if (asked === null)
  for (const door of DOORS) {
    fuzzContract({ describe, it }, door, SLICE);
    const seeds = FAILED_ONCE[door.name];
    if (seeds === undefined) continue;
    it(`${door.name} keeps what it was mended for`, async () => {
      expect(await failedOnce(door, seeds)).toEqual([]);
    });
  }
else {
  it(`the long run of ${asked.door}`, { timeout: 0 }, async () => {
    const door = DOORS.find(({ name }) => name === asked.door);
    if (door === undefined) expect.fail(`There is no door "${asked.door}".`);
    const endsAt = performance.now() + (asked.seconds ?? Number.POSITIVE_INFINITY) * 1000;
    const isOver = (): boolean => performance.now() > endsAt;
    for (const [kind, open] of Object.entries(FUZZ_KINDS)) {
      for (let done = 0; done < asked.rounds && !isOver(); done += PIECE) {
        const most = Math.min(PIECE, asked.rounds - done);
        const { rounds, faults } = await fuzzed(await open(door), asked.seed + done, most, isOver);
        appendFileSync(asked.out, `${JSON.stringify({ kind, rounds, faults })}\n`);
      }
    }
  });
}

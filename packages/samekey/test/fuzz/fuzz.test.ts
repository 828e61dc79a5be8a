/**
 * A slice of the fuzz of each door; all of it is `npm run prove -- --only fuzz`, which runs this file with what it asks
 * for in `SAMEKEY_FUZZ`.
 */

import { appendFileSync } from 'node:fs';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { FUZZ_KINDS, fuzzContract, fuzzed, type FuzzSlice } from '../../../testing/src/fuzz-contract.ts';
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

if (asked === null) for (const door of DOORS) fuzzContract({ describe, it }, door, SLICE);
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

/**
 * The request fuzz: bytes that a client may send, right or wrong, go to the bare application and to the protected one, and
 * to that one again. Where the bare one answers, the other answers, and never by a 5xx of its own; and no handler runs
 * twice.
 *
 * Sources: contract §1 (once), §4.1 (refusals), §7.7 (a body that cannot be read closes its connection).
 */

import { openBench, ROUTES, type FuzzBench } from './bench.ts';
import type { FuzzDoor } from './door.ts';
import { answersOf, exchangeUntilQuiet, type SeenAnswer } from './raw-client.ts';
import { requestsOf } from './request-plan.ts';
import type { Faults, Fuzz } from './response-fuzz.ts';

/** After so long without a byte the client has nothing more to say; looked at again with the longer one. */
const QUIET_MS = [60, 2_000] as const;

let rounds = 0;

/** Opens the request fuzz of a door. */
export async function requestFuzz(door: FuzzDoor): Promise<Fuzz> {
  const bench = await openBench(door);
  return {
    async round(seed) {
      let faults: Faults = [];
      for (const quietMs of QUIET_MS) {
        faults = await play(bench, seed, quietMs);
        // A machine that was too slow is no fault.
        if (faults.length === 0) break;
      }
      return faults.map((fault) => `${door.name}, request, seed ${seed}: ${fault}`);
    },
    close: () => bench.close(),
  };
}

async function play(bench: FuzzBench, seed: number, quietMs: number): Promise<Faults> {
  rounds += 1;
  const { bytes, ids, keyed } = requestsOf(
    seed,
    ROUTES.map(({ path }) => path),
    `${seed}-${rounds}`,
  );
  const methods = bytes.toString('latin1').startsWith('HEAD') ? ['HEAD'] : [];
  const bare = await exchangeUntilQuiet(bench.bare.port, bytes, quietMs);
  const first = await exchangeUntilQuiet(bench.safe.port, bytes, quietMs);
  const again = await exchangeUntilQuiet(bench.safe.port, bytes, quietMs);
  // Bytes behind a request that are none end the connection, at once or once it is answered.
  const plain = answersOf(bare.bytes, methods)
    .filter((one, i) => bench.bare.runsOf(ids[i] ?? '').length > 0 || !isParsers(one))
    .slice(0, ids.length);
  const faults: Faults = [];
  for (const [what, came] of [
    ['first', first],
    ['again', again],
  ] as const) {
    if (came.isHung && !bare.isHung) faults.push(`${what}: the connection hung`);
    compare(plain, answersOf(came.bytes, methods), (fault) => faults.push(`${what}: ${fault}`));
  }
  for (const id of ids) {
    const runs = bench.safe.runsOf(id).length;
    if (runs > 1 && keyed.includes(id)) faults.push(`the handler ran ${runs} times`);
    bench.forget(id);
  }
  return faults;
}

function compare(
  plain: readonly SeenAnswer[],
  came: readonly SeenAnswer[],
  tell: (fault: string) => void,
): void {
  for (const [i, { status, headers }] of came.entries()) {
    const expected = plain[i]?.status;
    if (status >= 500 && (expected === undefined || expected < 500))
      tell(`answer ${i} is ${status}, and ${expected ?? 'none'} without Samekey`);
    // What was not read of a body would be taken for the next request.
    if (headers.some(([name, value]) => name.toLowerCase() === 'connection' && value === 'close')) return;
  }
  if (came.length < plain.length) tell(`${came.length} answers came, and ${plain.length} without Samekey`);
}

/** What the server answers by itself where it cannot read on. */
function isParsers({ status }: SeenAnswer): boolean {
  return [400, 408, 413, 431].includes(status);
}

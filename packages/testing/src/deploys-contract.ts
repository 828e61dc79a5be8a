/**
 * Deploys as a contract: every option that code may change, with a record in each state, asked for at new code, at old code, and where
 * it was made again after a rollback. Each cell is the answer, a run that is proven to be allowed, or a refusal by its name.
 *
 * Invariants: an option without a row fails the run · no cell runs twice, none is another request's answer, and none sticks: where the
 * record was made it is met as ever · what is not known to be another request is never refused for good (422).
 */

import assert from 'node:assert/strict';
import { OPERATION_OPTIONS } from 'samekey/internals/core/settings';
import type { StoreHarness, StoreUnderTest, TestRunner } from './contract/context.ts';
import { ALL_OPTIONS, type Change, CHANGES, type Code } from './deploys/changes.ts';
import { type Door, type Handling, routeDoor, servedDoor } from './deploys/door.ts';
import { createBench, type EngineBench } from './engine/bench.ts';
import { createSignal } from './engine/signals.ts';

/** The states of a record that a retry may meet. */
export const DEPLOY_STATES = ['finished', 'in flight', 'retryable', 'unknown', 'pending'] as const;

type DeployState = (typeof DEPLOY_STATES)[number];

/** What a retry met at new code that found old code's record, and at old code that found new code's; null: none was made. */
export type Met = readonly [atNew: string | null, atOld: string | null];

/** A row of the table: what a change does to retries. */
export interface DeployRow {
  readonly what: string;
  /** Instead of cells, where it is told in words. */
  readonly words: string | null;
  readonly cells: Readonly<Record<DeployState, Met>> | null;
}

/** What a retry meets where nothing was changed. */
export const AS_EVER: Readonly<Record<DeployState, string>> = {
  finished: 'replay',
  'in flight': '409 in-progress',
  retryable: 'run',
  unknown: '409 outcome-unknown',
  pending: '202 pending',
};

/** The same in other profiles. */
const ALSO_AS_EVER: ReadonlySet<string> = new Set(['425 in-progress']);

/** Refusals that a retry may meet; each has a page, and the same request is answered by code that knows. */
const REFUSALS: ReadonlySet<string> = new Set([
  '503 record-newer',
  '503 request-moved',
  '503 body-too-large-now',
  // Protections that hold for every request.
  '400 request-time-invalid',
  '400 request-invalid',
]);

/** Describes the contract to a test runner. `told` is given the table when all rows have run. */
export function deployContract(
  runner: TestRunner,
  harness: StoreHarness,
  told: (rows: readonly DeployRow[]) => void = () => undefined,
): void {
  const rows: DeployRow[] = [];
  let shared: StoreUnderTest | null = null;
  const closeShared = async (): Promise<void> => {
    await shared?.close();
    shared = null;
  };
  runner.describe(`deploys on ${harness.name}`, () => {
    runner.it('every option has a row', async () => {
      const named = new Set(CHANGES.flatMap(({ options }) => options));
      assert.deepEqual(
        ALL_OPTIONS.filter((option) => !named.has(option)),
        [],
        'options without a row',
      );
      assert.deepEqual(
        [...named].filter((option) => !ALL_OPTIONS.includes(option)),
        [],
        'rows of options that are none',
      );
    });

    for (const change of CHANGES) {
      const { what, words = null } = change;
      if (words !== null) {
        rows.push({ what, words, cells: null });
        continue;
      }
      const index = rows.push({ what, words: null, cells: null }) - 1;
      runner.it(`a deploy changes ${what}`, async () => {
        // A store for several changes: an empty one costs a server more than what is played on it.
        shared ??= await harness.create();
        rows[index] = { what, words: null, cells: await played(createBench(shared), change, `${index}`) };
        if (index % CHANGES_PER_STORE === 0) await closeShared();
      });
    }

    runner.it('the table says what was met', async () => {
      await closeShared();
      told(rows);
    });
  });
}

function isOwn([name]: readonly [string, unknown]): boolean {
  return (OPERATION_OPTIONS as readonly string[]).includes(name);
}

const paid: Handling = () => 201;

/** Each change has two processes, with connections of their own. */
const CHANGES_PER_STORE = 8;

interface Side {
  readonly route: Door;
  readonly served: Door;
  readonly code: Code;
}

async function played(bench: EngineBench, change: Change, name: string): Promise<Record<DeployState, Met>> {
  const [old, young] = [await sideOf(bench, change.before ?? {}), await sideOf(bench, change.after ?? {})];
  const cells: Partial<Record<DeployState, Met>> = {};
  for (const [n, state] of DEPLOY_STATES.entries())
    cells[state] = [
      await cellOf(bench, state, `key-${name}-${n}`, old, young),
      await cellOf(bench, state, `key-${name}-${n}-new`, young, old),
    ];
  return cells as Record<DeployState, Met>;
}

async function sideOf(bench: EngineBench, code: Code): Promise<Side> {
  const { route = {}, served = {}, definition = {}, deferred = {} } = code;
  const { samekey } = await bench.node(code.instance ?? {});
  const names = Object.entries({ policy: 'standard', ...route });
  const { operation = 'pay' } = route;
  const ofDoor = names.filter((one) => !isOwn(one) && one[0] !== 'operation' && one[0] !== 'required');
  return {
    code,
    route: routeDoor(samekey, route),
    served: servedDoor(
      samekey,
      { name: operation, ...Object.fromEntries(names.filter(isOwn)), ...definition },
      { ...Object.fromEntries(ofDoor), ...served },
      deferred,
    ),
  };
}

/** Makes a record at one side and asks for it at the other; what that met. Fails for a cell that must not be. */
async function cellOf(
  bench: EngineBench,
  state: DeployState,
  key: string,
  maker: Side,
  other: Side,
): Promise<string | null> {
  let runs = 0;
  const ask = (side: Side, handling: Handling): Promise<string> =>
    (state === 'pending' ? side.served : side.route).ask({ ...side.code.sent, key }, (attempt) => {
      runs += 1;
      return handling(attempt);
    });
  const inside = createSignal();
  const leave = createSignal();
  const first = ask(maker, async (attempt) => {
    if (state === 'retryable') attempt.notExecuted();
    if (state === 'unknown') attempt.unknown('nobody knows');
    if (state === 'in flight') {
      inside.send();
      await leave.sent;
    }
    return state === 'retryable' ? 503 : 201;
  });
  if (state === 'in flight') await bench.until(Promise.race([inside.sent, first]));
  else {
    const made = await bench.until(first);
    // A rule for fresh keys: no record was made.
    if (runs === 0 && made !== '202 pending') return null;
  }
  if (state === 'in flight' && runs === 0) return null;
  const made = runs;
  const met = await bench.until(ask(other, paid));
  const isAsEver = met === AS_EVER[state] || ALSO_AS_EVER.has(met);
  assert.ok(isAsEver || REFUSALS.has(met), `${state}: ${met}`);
  assert.equal(runs - made, met === 'run' ? 1 : 0);
  leave.send();
  await bench.until(first);
  // After a rollback: where it was made it is as ever, or as what has become of it meanwhile.
  const ended = state === 'in flight' || met === 'run' ? 'finished' : state;
  const back = await bench.until(ask(maker, paid));
  assert.equal(back, AS_EVER[ended], `${state}, at the code that made it`);
  const again = await bench.until(ask(other, paid));
  const expected = ended === 'retryable' ? 'finished' : ended;
  assert.ok(again === AS_EVER[expected] || REFUSALS.has(again), `${state}, again: ${again}`);
  const allowed = state === 'pending' ? 0 : state === 'retryable' ? 2 : 1;
  assert.equal(runs, allowed, `${state}: it ran ${runs} times`);
  return met;
}

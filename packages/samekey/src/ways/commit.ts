/**
 * One transaction of the caller's, ended together with a write to the attempt's record: begun, bounded, committed, and
 * known to be committed. The transactional way ends its attempt so, the phased way each of its phases.
 *
 * Invariants
 * - The write to the record is the transaction's last statement; nothing is told as committed before COMMIT is
 *   confirmed.
 * - Renewals stand still while the transaction is open: one would change the row under its snapshot, and at REPEATABLE
 *   READ the write would fail for ever (F60).
 * - An unclear COMMIT is resolved by a conditional write (a renewal, which waits for the row), never by absence in a
 *   read. So is one that nobody answers: our write holds the row until the transaction has ended, so a renewal proves
 *   that it has.
 * - The body runs again only after the transaction before it is known to be rolled back and the claim is known to be
 *   held.
 */

import {
  type Again,
  type Commit,
  type CommitPlan,
  isThere,
  type Transactions,
  tryOnce,
} from './commit-once.ts';
import type { Owner } from '../engine/owner.ts';

export { expectWritten, type Transactions } from './commit-once.ts';

/** Runs of one body at most when the database rolls back to let others through (40001, 40P01 …). */
const RUNS_MAX = 5;
const PAUSE_MIN_MS = 5;
const PAUSE_MAX_MS = 100;
/** An unclear COMMIT is looked into for so long at most, in milliseconds, and not beyond the claim. */
const RESOLVE_TIME_MAX_MS = 10_000;

/** Runs the plan to its end under the attempt's claim. Rejects for bugs only. */
export async function commit<Tx, Done>(
  owner: Owner,
  transactions: Transactions<Tx>,
  plan: CommitPlan<Tx, Done>,
): Promise<Commit<Done>> {
  try {
    return await runPlan(owner, {
      tryOnce: () => tryOnce(owner, transactions, plan),
      lookInto: (done, deadline) => lookInto(owner, plan, done, deadline),
    });
  } finally {
    owner.letGo();
  }
}

/** What becomes known of a transaction that was not answered. */
export type Look<Done> = 'unclear' | 'rolled-back' | Commit<Done>;

/** How a plan's transaction is run, and how an unclear end is looked into. */
interface Manner<Done> {
  tryOnce(): Promise<Commit<Done> | Again<Done>>;
  lookInto(done: Again<Done>['done'], deadline: number): Promise<Look<Done>>;
}

/** Runs it until its end is known, and again where the database has rolled it back to let others through. */
export async function runPlan<Done>(owner: Owner, manner: Manner<Done>): Promise<Commit<Done>> {
  for (let runs = 1; ; runs += 1) {
    const tried = await manner.tryOnce();
    if (tried.kind !== 'again') return tried;
    await pause(owner, runs);
    // The look at the fence, and time for another run.
    const asked = resolve(owner, manner, tried.done);
    const look = await (tried.late === undefined ? asked : Promise.race([tried.late, asked]));
    if (look !== 'rolled-back') return look;
    if (runs === RUNS_MAX) return { kind: 'rolled-back', error: tried.error };
  }
}

/** Whether the transaction was committed. Asked again while the store cannot say, as long as the claim may last. */
async function resolve<Done>(
  owner: Owner,
  manner: Manner<Done>,
  done: Again<Done>['done'],
): Promise<'rolled-back' | Commit<Done>> {
  const { world } = owner;
  const deadline = world.monotonicNow() + Math.min(RESOLVE_TIME_MAX_MS, Math.max(1_000, owner.claimLeftMs()));
  for (let tries = 1; ; tries += 1) {
    const look = await manner.lookInto(done, deadline);
    if (look !== 'unclear') return look;
    if (world.monotonicNow() >= deadline) return { kind: 'unclear', error: unresolved() };
    await pause(owner, tries);
  }
}

/** Asked by a renewal, which waits for the row that the transaction has locked. */
async function lookInto<Tx, Done>(
  owner: Owner,
  plan: CommitPlan<Tx, Done>,
  done: Again<Done>['done'],
  deadline: number,
): Promise<Look<Done>> {
  const result = await owner.renew(deadline);
  if (result.kind === 'unclear') return 'unclear';
  // Granted after the transaction has ended, so what is read now is what it left.
  const record = result.kind === 'lost' ? result.record : done === null ? null : await owner.look();
  if (record === undefined) return 'unclear';
  if (done !== null && isThere(owner.attempt, plan, record, done.value)) {
    return { kind: 'committed', done: done.value };
  }
  return result.kind === 'lost' ? { kind: 'lost', record } : 'rolled-back';
}

function unresolved(): Error {
  return new Error('The store did not say in time whether COMMIT was done.');
}

function pause({ world }: Owner, runs: number): Promise<void> {
  const most = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** runs);
  return new Promise((done) => void world.setTimer(most * (0.5 + world.random() / 2), done));
}

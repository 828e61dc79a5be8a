/**
 * One transaction of the caller's, ended together with a write to the attempt's record: begun, bounded, committed, and known to
 * be committed. The transactional way ends its attempt so, the phased way each of its phases.
 *
 * Invariants
 * - The write to the record is the transaction's last statement; nothing is told as committed before COMMIT is confirmed.
 * - Renewals stand still while the transaction is open: one would change the row under its snapshot, and at REPEATABLE READ
 *   the write would fail for ever (F60).
 * - An unclear COMMIT is resolved by a conditional write (a renewal, which waits for the row), never by absence in a read.
 * - The body runs again only after the transaction before it is known to be rolled back and the claim is known to be held.
 */

import type { RunningAttempt } from './attempt.ts';
import type { Owner } from './owner.ts';
import type { SamekeyRecord } from './record.ts';
import type { TransactionalStore, TransactionSource, Within } from './transaction.ts';

/** Where transactions come from, and whose records they may write. */
export interface Transactions<Tx> {
  readonly source: TransactionSource<Tx, unknown>;
  readonly store: TransactionalStore;
}

/** What became of the transaction. */
export type Commit<Done> =
  | { readonly kind: 'committed'; readonly done: Done }
  /** `error`: what the body threw, or why the database refused. */
  | { readonly kind: 'rolled-back'; readonly error: unknown }
  /** No connection, no BEGIN, or the claim could not be made sure of: the body did not run. */
  | { readonly kind: 'not-started'; readonly error: unknown }
  /** The record is no longer this attempt's; rolled back. */
  | { readonly kind: 'lost'; readonly record: SamekeyRecord | null }
  | { readonly kind: 'unclear'; readonly error: unknown };

/** One transaction. */
export interface CommitPlan<Tx, Done> {
  /** Does the work and, last of all, the write to the record; throws {@link Refused} when that was refused. */
  body(tx: Tx, within: Within): Promise<Done>;
  /** Whether the record, which is still this attempt's, shows that it was committed. */
  isThere(record: SamekeyRecord, done: Done): boolean;
}

/** Thrown by a body whose write to the record was refused. */
export class Refused extends Error {
  readonly record: SamekeyRecord | null;

  constructor(record: SamekeyRecord | null) {
    super('The record is no longer this attempt’s: the transaction is rolled back.');
    this.record = record;
  }
}

/** Throws {@link Refused} unless the write to the record was made. */
export function expectWritten<Result extends { readonly kind: string }>(
  result: Result,
): asserts result is Extract<Result, { kind: 'applied' | 'already' }> {
  if (result.kind === 'applied' || result.kind === 'already') return;
  throw new Refused((result as { record?: SamekeyRecord | null }).record ?? null);
}

/** Runs of one body at most when the database rolls back to let others through (40001, 40P01 …). */
const RUNS_MAX = 5;
const PAUSE_MIN_MS = 5;
const PAUSE_MAX_MS = 100;
/** A transaction begins with at least this share of its claim left; else the claim is renewed first. */
const CLAIM_SHARE_MIN = 0.75;
/** An unclear COMMIT is looked into for so long at most, in milliseconds, and not beyond the claim. */
const RESOLVE_TIME_MAX_MS = 10_000;

/** Runs the plan to its end. Rejects for bugs only. */
export async function commit<Tx, Done>(
  owner: Owner,
  transactions: Transactions<Tx>,
  plan: CommitPlan<Tx, Done>,
): Promise<Commit<Done>> {
  try {
    for (let runs = 1; ; runs += 1) {
      const tried = await tryOnce(owner, transactions, plan);
      if (tried.kind !== 'again') return tried;
      await pause(owner, runs);
      // The look at the fence, and time for another run.
      const look = await resolve(owner, plan, tried.done);
      if (look !== 'rolled-back') return look;
      if (runs === RUNS_MAX) return { kind: 'rolled-back', error: tried.error };
    }
  } finally {
    owner.letGo();
  }
}

/** Rolled back to let others through (`done` null), or nobody knows; a renewal tells. */
interface Again<Done> {
  readonly kind: 'again';
  readonly error: unknown;
  readonly done: { readonly value: Done } | null;
}

async function tryOnce<Tx, Done>(
  owner: Owner,
  { source, store }: Transactions<Tx>,
  plan: CommitPlan<Tx, Done>,
): Promise<Commit<Done> | Again<Done>> {
  let began = false;
  let done: Again<Done>['done'] = null;
  try {
    await source.run(async (tx, handle) => {
      const within = store.within(handle);
      await makeSure(owner, source, within);
      began = true;
      const value = await plan.body(tx, within);
      done = { value };
      await owner.probe('commit.sent');
    });
  } catch (error) {
    if (error instanceof Refused) return { kind: 'lost', record: error.record };
    if (!began) return { kind: 'not-started', error };
    return afterError(store, error, done);
  }
  await owner.probe('commit.applied');
  // The compiler does not see the assignment inside the function above.
  const mine = done as Again<Done>['done'];
  if (mine === null) return { kind: 'rolled-back', error: hidden(source.name) };
  if (source.tellsCommit) return { kind: 'committed', done: mine.value };
  // The library does not look at the answer to COMMIT, which may have been ROLLBACK. Presence is proof.
  const seen = await owner.look();
  return isThere(owner.attempt, plan, seen ?? null, mine.value)
    ? { kind: 'committed', done: mine.value }
    : { kind: 'again', error: hidden(source.name), done: mine };
}

function afterError<Done>(
  store: TransactionalStore,
  error: unknown,
  done: Again<Done>['done'],
): Commit<Done> | Again<Done> {
  const fault = store.transactionFault(error);
  if (fault === 'again') return { kind: 'again', error, done: null };
  // Without our write to the record there was no COMMIT, so whatever went wrong, nothing of it stands.
  if (done === null || fault === 'rolled-back') return { kind: 'rolled-back', error };
  return { kind: 'again', error, done };
}

/** Renewals stand still, the claim lasts long enough, and the transaction cannot outlive it. */
async function makeSure<Tx>(
  owner: Owner,
  source: TransactionSource<Tx, unknown>,
  within: Within,
): Promise<void> {
  if (source.exclusive) {
    // Nobody can take the record over while this transaction is open; whether somebody has, the write to it finds.
    owner.attempt.held = true;
  } else {
    // Before our first statement: only that takes the snapshot.
    await owner.hold(owner.attempt.settings.claimTtlMs * CLAIM_SHARE_MIN);
  }
  await within.limit?.(Math.max(1, Math.floor(owner.claimLeftMs())));
}

/** Whether the transaction was committed: asked by a renewal, which waits for the row that the transaction has locked. */
async function resolve<Tx, Done>(
  owner: Owner,
  plan: CommitPlan<Tx, Done>,
  done: Again<Done>['done'],
): Promise<'rolled-back' | Commit<Done>> {
  const { attempt, world } = owner;
  const timeMaxMs = Math.min(RESOLVE_TIME_MAX_MS, Math.max(1_000, owner.claimLeftMs()));
  const result = await owner.renew(world.monotonicNow() + timeMaxMs);
  if (result.kind === 'unclear') return { kind: 'unclear', error: unresolved() };
  // Granted after the transaction has ended, so what is read now is what it left.
  const record = result.kind === 'lost' ? result.record : done === null ? null : await owner.look();
  if (record === undefined) return { kind: 'unclear', error: unresolved() };
  if (done !== null && isThere(attempt, plan, record, done.value)) {
    return { kind: 'committed', done: done.value };
  }
  return result.kind === 'lost' ? { kind: 'lost', record } : 'rolled-back';
}

function isThere<Tx, Done>(
  { fence }: RunningAttempt,
  plan: CommitPlan<Tx, Done>,
  record: SamekeyRecord | null,
  done: Done,
): boolean {
  if (record === null || record.claimId !== fence.claimId || record.attempt !== fence.attempt) return false;
  return plan.isThere(record, done);
}

function hidden(name: string): Error {
  return new Error(
    `The transaction of ${name} was rolled back at COMMIT: a statement in it had failed after the handler's answer. Await every query.`,
  );
}

function unresolved(): Error {
  return new Error('The store did not say in time whether COMMIT was done.');
}

function pause({ world }: Owner, runs: number): Promise<void> {
  const most = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** runs);
  return new Promise((done) => void world.setTimer(most * (0.5 + world.random() / 2), done));
}

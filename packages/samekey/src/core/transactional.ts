/**
 * The transactional way (semantics §5): the handler's writes and the completion of its record commit together, conditional on
 * the fence. Rolled back, nothing happened, and the next attempt runs without waiting for anybody.
 *
 * Invariants
 * - Nothing leaves before the commit is confirmed; the completion is the transaction's last statement.
 * - Renewals stand still while the transaction is open: one would change the row under its snapshot, and at REPEATABLE READ
 *   the completion would fail for ever (F60).
 * - Only an answer that becomes final commits. What may run again (a throw, a 5xx, 429 …) is rolled back first, so that
 *   "nothing happened" is true.
 * - An unclear COMMIT is resolved by a conditional write (a renewal, which waits for the row), never by absence in a read.
 * - A handler runs again only after the transaction before it is known to be rolled back and the claim is known to be held.
 */

import type { Ending, RunningAttempt } from './attempt.ts';
import { type Conclusion, conclude, finishRequest } from './conclude.ts';
import type { Owner } from './owner.ts';
import type { SamekeyRecord } from './record.ts';
import { response, type StoredResponse } from './response.ts';
import type { FinishResult } from './store.ts';
import type { TransactionalStore, TransactionSource, Within } from './transaction.ts';

/** The handler, run inside the transaction; resolves with its answer. May be run again after a rollback. */
export type TransactionBody<Tx> = (tx: Tx, within: Within) => Promise<Answered>;

/** A handler's answer, and whether its writes are wanted. */
export interface Answered {
  readonly response: StoredResponse;
  /** The handler called `rollback()`: its answer stands, its writes do not. */
  readonly rollBack: boolean;
}

/** Where transactions come from, and whose records they may end. */
export interface Transactions<Tx> {
  readonly source: TransactionSource<Tx, unknown>;
  readonly store: TransactionalStore;
}

/** Runs of one attempt at most when the database rolls back to let others through (40001, 40P01 …). */
const RUNS_MAX = 5;
const PAUSE_MIN_MS = 5;
const PAUSE_MAX_MS = 100;
/** A transaction begins with at least this share of its claim left; else the claim is renewed first. */
const CLAIM_SHARE_MIN = 0.75;
/** An unclear COMMIT is looked into for so long at most, in milliseconds, and not beyond the claim. */
const RESOLVE_TIME_MAX_MS = 10_000;

/** Thrown through the library, so that it rolls back. */
class RollBack extends Error {
  readonly answered: StoredResponse;
  constructor(answered: StoredResponse) {
    super('The handler did not want its writes: the transaction is rolled back.');
    this.answered = answered;
  }
}

class Refused extends Error {
  readonly result: FinishResult;
  constructor(result: FinishResult) {
    super('The record is no longer this attempt’s: the transaction is rolled back.');
    this.result = result;
  }
}

class NotStarted extends Error {
  constructor(cause: unknown) {
    super('The claim could not be made sure of: the handler did not run.', { cause });
  }
}

type Committed = Extract<Ending, { kind: 'committed' }>;

/** Runs an attempt in a transaction of its own. */
export async function runTransactional<Tx>(
  owner: Owner,
  transactions: Transactions<Tx>,
  body: TransactionBody<Tx>,
): Promise<Ending> {
  try {
    for (let runs = 1; ; runs += 1) {
      const ending = await runOnce(owner, transactions, body);
      if (ending.kind !== 'again') return ending;
      if (runs === RUNS_MAX) return threw(ending.error);
      await pause(owner, runs);
      // The look at the fence, and time for another run.
      const look = await resolve(owner, ending.done);
      if (look !== 'rolled-back') return look;
    }
  } finally {
    owner.letGo();
  }
}

/** `again`: rolled back (`done` null) or perhaps not; a renewal tells. */
type Again = { readonly kind: 'again'; readonly error: unknown; readonly done: Committed | null };

async function runOnce<Tx>(
  owner: Owner,
  { source, store }: Transactions<Tx>,
  body: TransactionBody<Tx>,
): Promise<Ending | Again> {
  const { attempt } = owner;
  let began = false;
  let done: Committed | null = null;
  try {
    await source.run(async (tx, handle) => {
      const within = store.within(handle);
      await makeSure(owner, source, within);
      began = true;
      const { response: answer, rollBack } = await body(tx, within);
      const conclusion = conclude(attempt, { kind: 'answered', response: answer }, owner.recordSizeMaxBytes);
      if (rollBack || answer.status >= 500 || !isFinal(conclusion)) throw new RollBack(answer);
      await owner.probe('commit.before');
      const result = await within.finish(finishRequest(attempt, conclusion));
      if (result.kind === 'refused' || result.kind === 'busy') throw new Refused(result);
      done = committed(conclusion, answer, result.expiresAt);
      await owner.probe('commit.sent');
    });
  } catch (error) {
    if (error instanceof RollBack) return { kind: 'answered', response: error.answered, rolledBack: true };
    if (error instanceof Refused) {
      return { kind: 'lost', record: error.result.kind === 'refused' ? error.result.record : null };
    }
    if (!began) return { kind: 'not-started', error: error instanceof NotStarted ? error.cause : error };
    return afterError(store, error, done);
  }
  await owner.probe('commit.applied');
  // Typed by hand: the compiler does not see the assignment inside the function above.
  const mine = done as Committed | null;
  if (mine === null) return threw(new Error(`${source.name} resolved although its function had not ended.`));
  if (source.tellsCommit) return mine;
  // The library does not look at the answer to COMMIT, which may have been ROLLBACK.
  const seen = await owner.look();
  return isOwn(seen ?? null, attempt) && seen?.state === mine.to
    ? mine
    : { kind: 'again', error: hidden(source.name), done: mine };
}

function afterError(store: TransactionalStore, error: unknown, done: Committed | null): Ending | Again {
  const fault = store.transactionFault(error);
  if (fault === 'again') return { kind: 'again', error, done: null };
  // Without our completion there was no COMMIT, so whatever went wrong, nothing of it stands.
  if (done === null || fault === 'rolled-back') return threw(error);
  return { kind: 'again', error, done };
}

/** Renewals stand still, the claim lasts long enough, and the transaction cannot outlive it. */
async function makeSure<Tx>(
  owner: Owner,
  source: TransactionSource<Tx, unknown>,
  within: Within,
): Promise<void> {
  try {
    if (source.exclusive) {
      // Nobody can take the record over while this transaction is open; whether somebody has, the completion finds.
      owner.attempt.held = true;
    } else {
      // Before our first statement: only that takes the snapshot.
      await owner.hold(owner.attempt.settings.claimTtlMs * CLAIM_SHARE_MIN);
    }
    await within.limit?.(Math.max(1, Math.floor(owner.claimLeftMs())));
  } catch (error) {
    throw new NotStarted(error);
  }
}

/** Whether the transaction was committed, by a renewal that waits for the row and holds only while nobody finished it. */
async function resolve(owner: Owner, done: Committed | null): Promise<'rolled-back' | Ending> {
  const { attempt, world } = owner;
  const timeMaxMs = Math.min(RESOLVE_TIME_MAX_MS, Math.max(1_000, owner.claimLeftMs()));
  const result = await owner.renew(world.monotonicNow() + timeMaxMs);
  if (result.kind === 'renewed') return 'rolled-back';
  if (result.kind === 'unclear') {
    return { kind: 'unclear', error: new Error('The store did not say in time whether COMMIT was done.') };
  }
  const { record } = result;
  if (done !== null && record !== null && isOwn(record, attempt) && record.state === done.to) {
    return { ...done, expiresAt: record.expiresAt };
  }
  return { kind: 'lost', record };
}

function isOwn(record: SamekeyRecord | null, { fence }: RunningAttempt): boolean {
  return record !== null && record.claimId === fence.claimId && record.attempt === fence.attempt;
}

function isFinal({ to }: Conclusion): boolean {
  return to === 'completed' || to === 'failed';
}

function committed(conclusion: Conclusion, answer: StoredResponse, expiresAt: number): Committed {
  const to = conclusion.to === 'completed' ? 'completed' : 'failed';
  return { kind: 'committed', to, reason: conclusion.reason, response: answer, expiresAt };
}

function threw(error: unknown): Ending {
  return { kind: 'threw', error, response: response(500), rolledBack: true };
}

function hidden(name: string): Error {
  return new Error(
    `The transaction of ${name} was rolled back at COMMIT: a statement in it had failed after the handler's answer. Await every query.`,
  );
}

function pause({ world }: Owner, runs: number): Promise<void> {
  const most = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** runs);
  return new Promise((done) => void world.setTimer(most * (0.5 + world.random() / 2), done));
}

/**
 * One run of a caller's transaction: from BEGIN to the library's word on COMMIT, or to the silence instead of it.
 *
 * Invariants
 * - Renewals stand still and the claim lasts before the first statement, which takes the snapshot.
 * - What the body threw is what counts, whatever a library makes of it when its ROLLBACK fails too.
 * - A library that does not look at the answer to COMMIT is not believed: the record is read.
 */

import type { RunningAttempt } from '../engine/attempt.ts';
import { enroll } from './enrolled.ts';
import { FenceLostError } from '../core/errors.ts';
import type { Owner } from '../engine/owner.ts';
import { ENDED_INSIDE, type SamekeyRecord } from '../core/record.ts';
import type { Store } from '../store/store.ts';
import type { TransactionalStore, TransactionSource, Within } from '../store/transaction.ts';

/** Where transactions come from, and whose records they may write. */
export interface Transactions<Tx> {
  readonly source: TransactionSource<Tx, unknown>;
  readonly store: TransactionalStore & Pick<Store, 'name' | 'capabilities'>;
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
  /** It was ended inside, by somebody else than the source: what was committed by then stands (F122). */
  | {
      readonly kind: 'stopped';
      readonly to: 'unknown';
      readonly reason: typeof ENDED_INSIDE;
      readonly error: unknown;
    }
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

/** A transaction begins with at least this share of its claim left; else the claim is renewed first. */
const CLAIM_SHARE_MIN = 0.75;
/**
 * COMMIT unanswered for so long, in milliseconds, is looked into: a driver waits for ever on a half-open connection.
 */
const COMMIT_TIME_MAX_MS = 2_000;

/**
 * Rolled back to let others through (`done` null), or nobody knows; a renewal tells, or `late`: COMMIT was only slow.
 */
export interface Again<Done> {
  readonly kind: 'again';
  readonly error: unknown;
  readonly done: { readonly value: Done } | null;
  readonly late?: Promise<Commit<Done>>;
}

/** How far one run has come. */
export interface Run<Done> {
  began: boolean;
  done: Again<Done>['done'];
  /** What the transaction's function threw. */
  failure: { readonly error: unknown } | null;
  /** Whether rolling back undoes all of it. */
  isWhole: boolean;
  /** Called when COMMIT is about to be sent. */
  onDone: () => void;
}

/** What runs in a transaction that has begun, and the verbs that it has there. */
export interface Entered<Tx, Done> {
  readonly owner: Owner;
  readonly plan: CommitPlan<Tx, Done>;
  readonly within: Within;
}

/** How a transaction comes to run for an attempt. */
interface Entrance<Tx, Done> {
  /** As `TransactionSource.run` says. Rejects when none may begin. */
  opening(connection: object): Promise<string | null>;
  /** The transaction is open: sets its limits, and says what runs in it. Rejects when nothing may. */
  enter(within: Within): Promise<Entered<Tx, Done>>;
}

/** A run that has come to nothing yet. */
export function newRun<Done>(): Run<Done> {
  return { began: false, done: null, failure: null, isWhole: true, onDone: () => undefined };
}

/** One run under a claim. Never rejects. */
export function tryOnce<Tx, Done>(
  owner: Owner,
  transactions: Transactions<Tx>,
  plan: CommitPlan<Tx, Done>,
): Promise<Commit<Done> | Again<Done>> {
  const run = newRun<Done>();
  return follow(
    owner,
    transactions,
    plan,
    run,
    launch(transactions, run, underClaim(owner, transactions, plan)),
  );
}

/** Waits for the end of a run. Never rejects. */
export async function follow<Tx, Done>(
  owner: Owner,
  transactions: Transactions<Tx>,
  plan: CommitPlan<Tx, Done>,
  run: Run<Done>,
  ending: Promise<void>,
): Promise<Commit<Done> | Again<Done>> {
  const { source, store } = transactions;
  const silence = new Promise<'silent'>((resolve) => {
    run.onDone = () => void owner.world.setTimer(COMMIT_TIME_MAX_MS, () => resolve('silent'));
  });
  let fault: Run<Done>['failure'];
  try {
    const first = await Promise.race([ending, silence]);
    if (first === 'silent')
      return { kind: 'again', error: silent(source.name), ...unanswered(source, ending, run) };
    fault = run.failure;
  } catch (error) {
    fault = run.failure ?? { error };
  }
  if (fault !== null) return afterFault(store, fault.error, run);
  await owner.probe('commit.applied');
  const { done } = run;
  if (done === null) return { kind: 'rolled-back', error: hidden(source.name) };
  if (source.tellsCommit) return { kind: 'committed', done: done.value };
  // The library does not look at the answer to COMMIT, which may have been ROLLBACK. Presence is proof.
  const seen = await owner.look();
  return isThere(owner.attempt, plan, seen ?? null, done.value)
    ? { kind: 'committed', done: done.value }
    : { kind: 'again', error: hidden(source.name), done };
}

/** The claim is made sure of before the first statement, and bounds the transaction. */
function underClaim<Tx, Done>(
  owner: Owner,
  { source, store }: Transactions<Tx>,
  plan: CommitPlan<Tx, Done>,
): Entrance<Tx, Done> {
  let isSure = false;
  return {
    async opening(connection) {
      await makeSure(owner, source);
      isSure = true;
      return store.opening?.(connection, boundOf(owner)) ?? null;
    },
    async enter(within) {
      if (!isSure) await makeSure(owner, source);
      await within.limit?.(boundOf(owner));
      // BEGIN or the limits may have waited for a lock.
      if (!source.exclusive && owner.claimLeftMs() <= 0) throw new FenceLostError();
      return { owner, plan, within };
    },
  };
}

/** Begins the transaction of a run. Resolves when the library says that it was committed. */
export async function launch<Tx, Done>(
  { source, store }: Transactions<Tx>,
  run: Run<Done>,
  entrance: Entrance<Tx, Done>,
): Promise<void> {
  async function body(tx: Tx, handle: unknown): Promise<void> {
    let left: (() => void) | undefined;
    let within: Within | undefined;
    try {
      within = store.within(handle);
      left = enroll(tx, within);
      const entered = await entrance.enter(within);
      run.began = true;
      run.done = { value: await entered.plan.body(tx, entered.within) };
      await entered.owner.probe('commit.sent');
      run.onDone();
    } catch (error) {
      run.failure = { error };
      // Also if it was the last write that failed: what it says of the record is no proof of what the handler did.
      if (run.began && within?.undoes !== undefined) run.isWhole = await within.undoes(error);
      throw error;
    } finally {
      left?.();
    }
  }
  return source.run(body, (connection) => entrance.opening(connection));
}

/** What the library says in the end counts too; a failure says nothing that the row would not. */
function unanswered<Tx, Done>(
  { tellsCommit }: TransactionSource<Tx, unknown>,
  ending: Promise<void>,
  { done }: Run<Done>,
): Pick<Again<Done>, 'done'> & { readonly late: Promise<Commit<Done>> } {
  const late = new Promise<Commit<Done>>((resolve) => {
    ending.then(
      () => (tellsCommit && done !== null ? resolve({ kind: 'committed', done: done.value }) : undefined),
      () => undefined,
    );
  });
  return { done, late };
}

function afterFault<Done>(
  store: TransactionalStore,
  error: unknown,
  { began, done, isWhole }: Run<Done>,
): Commit<Done> | Again<Done> {
  if (!isWhole) return { kind: 'stopped', to: 'unknown', reason: ENDED_INSIDE, error };
  if (error instanceof Refused) return { kind: 'lost', record: error.record };
  if (began) return afterError(store, error, done);
  return error instanceof FenceLostError ? { kind: 'lost', record: null } : { kind: 'not-started', error };
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

/** Renewals stand still, and the claim lasts long enough. */
async function makeSure<Tx>(owner: Owner, source: TransactionSource<Tx, unknown>): Promise<void> {
  if (source.exclusive) {
    // Nobody can take the record over while this transaction is open; whether somebody has, the write to it finds.
    owner.attempt.held = true;
  } else {
    // Before our first statement: only that takes the snapshot.
    await owner.hold(owner.attempt.settings.claimTtlMs * CLAIM_SHARE_MIN);
  }
}

/** So long a transaction may take: it cannot outlive its claim. */
function boundOf(owner: Owner): number {
  return Math.max(1, Math.floor(owner.claimLeftMs()));
}

/** Whether the record shows that this very attempt's write was committed. */
export function isThere<Tx, Done>(
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
    `The transaction of ${name} was rolled back at COMMIT: a statement in it had failed after the handler's answer (await every query), or a pooler gave COMMIT to a session that had not prepared it (postgres.js: prepare: false).`,
  );
}

function silent(name: string): Error {
  return new Error(`COMMIT was sent by ${name} and not answered: the connection may be half open.`);
}

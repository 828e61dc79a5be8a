/**
 * `reserve: 'in-transaction'` (contract §5.3): one transaction and one commit for a new key. A lock that the
 * transaction takes is the claim and its owner's sign of life; the record is written whole by the last statement, or
 * there is none.
 *
 * Invariants
 * - What cannot be reserved at once (a record stands there, no connection is free, the store refuses) is claimed as
 *   always, in a commit of its own: a replay needs no connection of the application's.
 * - If the last statement finds that somebody was first, all is rolled back, and the request is answered as a retry.
 * - An unclear COMMIT is looked into once the lock is free: then the transaction has ended, and what is read afterwards
 *   is what it left. It runs again only under a new reservation in the database of its writes: should that be another
 *   server by now, which has not heard of the commit, it has not heard of the writes either.
 * - An attempt whose handler fails gets a record before its transaction is rolled back, if the store answers in time:
 *   nobody runs the key in between. What fails at COMMIT gets it afterwards. A process that dies leaves nothing.
 */

import type { Owner } from '../engine/owner.ts';
import type { NewMessage } from '../store/message.ts';
import type { ClaimRequest, FinishResult, HandResult } from '../store/store.ts';
import type { NewRecord, Reserved, Within } from '../store/transaction.ts';
import type { Reserving } from '../engine/work.ts';
import type { World } from '../core/world.ts';
import { type Look, runPlan, type Transactions } from './commit.ts';
import {
  type Again,
  type Commit,
  type CommitPlan,
  type Entered,
  follow,
  isThere,
  launch,
  newRun,
  Refused,
  type Run,
} from './commit-once.ts';

/** A connection of the application's is waited for so long, in milliseconds; then a claim is asked for. */
const CONNECTION_TIME_MAX_MS = 250;
/** The statement that reserves may take so long, in milliseconds. */
const STATEMENT_TIME_MAX_MS = 5_000;

/** The transaction is to be rolled back: nothing has run in it. */
class NotReserved extends Error {
  readonly kind: 'known' | 'taken';

  constructor(kind: 'known' | 'taken') {
    super('The key is not reserved: the transaction is rolled back.');
    this.kind = kind;
  }
}

/** A transaction that has reserved the key, and waits for its handler. */
interface Held<Tx> {
  readonly run: Run<unknown>;
  readonly ending: Promise<void>;
  readonly start: Start<Tx>;
}

/** What is to run in it; null: nothing. */
type Work<Tx> = Pick<Entered<Tx, unknown>, 'owner' | 'plan'> | null;

/** Told once. */
class Start<Tx> {
  readonly given: Promise<Work<Tx>>;
  #resolve: ((work: Work<Tx>) => void) | null = null;

  constructor() {
    this.given = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  give(work: Work<Tx>): void {
    this.#resolve?.(work);
  }
}

/** The reservation of one request. */
export class KeyReservation<Tx> implements Reserving {
  hasMet = false;
  readonly #world: World;
  readonly #transactions: Transactions<Tx>;
  #claim: ClaimRequest | null = null;
  #held: Held<Tx> | null = null;
  /** Waits for a connection that came too late: there is never more than one in the library's queue. */
  #isWaiting = false;
  /** Why the last run was rolled back. */
  #failure: unknown = null;

  constructor(world: World, transactions: Transactions<Tx>) {
    this.#world = world;
    this.#transactions = transactions;
  }

  reserve(claim: ClaimRequest): Promise<Reserved | 'late' | 'silent'> {
    if (this.#isWaiting) return Promise.resolve('late');
    this.#claim = claim;
    return this.#begin(claim, CONNECTION_TIME_MAX_MS);
  }

  /** `timeMaxMs`: how long a connection is waited for; null: as long as the library waits. */
  #begin(claim: ClaimRequest, timeMaxMs: number | null): Promise<Reserved | 'late' | 'silent'> {
    const run = newRun<unknown>();
    const start = new Start<Tx>();
    return new Promise((resolve) => {
      let isGivenUp = false;
      const giveUp = (why: 'late' | 'silent'): void => {
        isGivenUp = true;
        this.#isWaiting = true;
        resolve(why);
      };
      let timer = timeMaxMs === null ? null : this.#world.setTimer(timeMaxMs, () => giveUp('late'));
      let isConnected = false;
      /** From here on the key may be locked by this very transaction: nobody looks who has it before it has ended. */
      const connected = (): void => {
        if (isGivenUp) throw new NotReserved('known');
        if (isConnected) return;
        isConnected = true;
        timer?.cancel();
        timer = this.#world.setTimer(STATEMENT_TIME_MAX_MS, () => giveUp('silent'));
      };
      const ending = launch(this.#transactions, run, {
        opening: async (connection) => {
          connected();
          return this.#opening(connection, claim);
        },
        enter: async (within) => {
          connected();
          await reserveWithin(within, claim);
          if (isGivenUp) throw new NotReserved('known');
          timer?.cancel();
          this.#held = { run, ending, start };
          resolve('reserved');
          const entered = await start.given;
          if (entered === null) throw new NotReserved('known');
          return { ...entered, within };
        },
      });
      // Told only now that it is rolled back: its own locks are not met by whoever looks who has the key.
      ending
        .catch((error: unknown) => {
          if (this.#held === null) resolve(error instanceof NotReserved ? error.kind : 'known');
        })
        .finally(() => {
          timer?.cancel();
          if (isGivenUp) this.#isWaiting = false;
        });
    });
  }

  release(): void {
    this.#held?.start.give(null);
  }

  /** Whether the attempt runs in the transaction that has reserved its key. */
  get isHeld(): boolean {
    return this.#held !== null;
  }

  /** Runs the plan in it, to its end. Rejects for bugs only. */
  commit<Done>(owner: Owner, plan: CommitPlan<Tx, Done>): Promise<Commit<Done>> {
    const own = this.#noting(owner, plan);
    return runPlan<Done>(owner, {
      tryOnce: () => this.#tryOnce(owner, own),
      lookInto: (done) => this.#lookInto(owner, own, done),
    });
  }

  /** The same, with a record made of an attempt that fails while its transaction still has the key. */
  #noting<Done>(owner: Owner, plan: CommitPlan<Tx, Done>): CommitPlan<Tx, Done> {
    const claim = this.#claimed();
    return {
      ...plan,
      body: async (tx, within) => {
        const own = withRecord(within, claim);
        try {
          return await plan.body(tx, own.within);
        } catch (error) {
          // Where its insert is not committed a claim would wait for it.
          if (!own.hasWritten() && this.#isKept(owner, error)) await owner.note();
          throw error;
        }
      },
    };
  }

  /** Whether something of an attempt that fails with this error is kept; else it runs again, or somebody was first. */
  #isKept({ attempt }: Owner, error: unknown): boolean {
    if (error instanceof Refused) return false;
    return attempt.saidUnknown !== null || this.#transactions.store.transactionFault(error) !== 'again';
  }

  async #tryOnce<Done>(owner: Owner, plan: CommitPlan<Tx, Done>): Promise<Commit<Done> | Again<Done>> {
    if (this.#held === null) {
      const [sentAt, sentWallAt] = [this.#world.monotonicNow(), this.#world.wallNow()];
      const reserved = await this.#begin(this.#claimed(), null);
      // A claim would throw out who has it by now: it sees no locks.
      if (reserved === 'taken') return { kind: 'lost', record: null };
      if (reserved !== 'reserved') return { kind: 'rolled-back', error: this.#failure };
      owner.attempt.renewed(sentAt, sentWallAt);
    }
    const held = this.#held;
    if (held === null) throw new Error('A key was reserved, and its transaction is not there.');
    this.#held = null;
    const { ending, start } = held;
    const run = held.run as Run<Done>;
    const followed = follow(owner, this.#transactions, plan, run, ending);
    start.give({ owner, plan });
    const tried = await followed;
    if (tried.kind !== 'again') return tried;
    this.#failure = tried.error;
    // It has a record, and runs in no transaction that reserves one.
    return tried.done === null && owner.attempt.unrecorded === null
      ? { kind: 'rolled-back', error: tried.error }
      : tried;
  }

  async #lookInto<Done>(
    owner: Owner,
    plan: CommitPlan<Tx, Done>,
    done: Again<Done>['done'],
  ): Promise<Look<Done>> {
    if (done === null) return 'rolled-back';
    const has = await owner.reservation();
    if (has === undefined || has === 'same' || has === 'other') return 'unclear';
    // In another snapshot: it sees what was committed before the lock was free.
    const record = await owner.look();
    if (record === undefined) return 'unclear';
    if (isThere(owner.attempt, plan, record, done.value)) return { kind: 'committed', done: done.value };
    return record === null ? 'rolled-back' : { kind: 'lost', record };
  }

  #opening(connection: object, claim: ClaimRequest): string | null {
    return this.#transactions.store.opening?.(connection, claim.claimTtlMs, claim) ?? null;
  }

  #claimed(): ClaimRequest {
    if (this.#claim === null) throw new Error('Nothing was reserved.');
    return this.#claim;
  }
}

async function reserveWithin(within: Within, claim: ClaimRequest): Promise<void> {
  const reserved = (await within.reserve?.(claim, claim.claimTtlMs)) ?? 'known';
  if (reserved !== 'reserved') throw new NotReserved(reserved);
}

/** The verbs of an attempt whose record is written at its end. */
function withRecord(
  within: Within,
  claim: ClaimRequest,
): { readonly within: Within; readonly hasWritten: () => boolean } {
  const ofRecord: NewMessage[] = [];
  let hasWritten = false;
  const record = async (end: NewRecord['end']): Promise<FinishResult> => {
    if (within.record === undefined) throw new Error('The store writes no records of reserved keys.');
    // Whatever becomes of the reply, it may stand there until the transaction ends.
    hasWritten = true;
    const result = await within.record({ claim, end });
    hasWritten = result.kind === 'applied';
    return result;
  };
  return {
    hasWritten: () => hasWritten,
    within: {
      ...within,
      finish: (end) => record(end),
      enqueue(messages) {
        // What goes on with the record follows it.
        ofRecord.push(...messages.filter(({ owner }) => owner !== null));
        return within.enqueue(messages.filter(({ owner }) => owner === null));
      },
      async handOver(): Promise<HandResult> {
        const written = await record(null);
        if (written.kind !== 'applied') return { kind: 'refused', record: recordIn(written) };
        await within.enqueue(ofRecord.splice(0));
        return { kind: 'applied' };
      },
    },
  };
}

function recordIn(result: FinishResult): Extract<HandResult, { kind: 'refused' }>['record'] {
  return result.kind === 'refused' ? result.record : null;
}

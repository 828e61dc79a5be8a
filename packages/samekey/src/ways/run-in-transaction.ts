/**
 * The transactional way (contract §5.3): the handler's writes and the completion of its record commit together,
 * conditional on the fence. Rolled back, nothing happened, and the next attempt runs without waiting for anybody.
 *
 * Invariants: nothing leaves before the commit is confirmed · only an answer that becomes final commits; what may run
 * again (a throw, a 5xx, 429 …) is rolled back first, so that "nothing happened" is true.
 */

import type { Ending } from '../engine/attempt.ts';
import { commit, expectWritten, type Transactions } from './commit.ts';
import type { CommitPlan } from './commit-once.ts';
import type { KeyReservation } from './reservation.ts';
import { type Conclusion, conclude, finishRequest } from '../engine/ending/conclude.ts';
import type { Owner } from '../engine/owner.ts';
import { response, type StoredResponse } from '../core/response.ts';
import type { Within } from '../store/transaction.ts';

/** A handler's answer, and whether its writes are wanted. */
export interface Answered {
  readonly response: StoredResponse;
  /** The handler called `rollback()`: its answer stands, its writes do not. */
  readonly rollBack: boolean;
  /** The handler enqueued a message that the attempt goes on with: the record is not ended, but handed over. */
  readonly handOver?: boolean;
}

type Committed = Extract<Ending, { kind: 'committed' | 'handed-over' }>;

/** Thrown through the library, so that it rolls back. */
class RollBack extends Error {
  readonly answered: StoredResponse;

  constructor(answered: StoredResponse) {
    super('The handler did not want its writes: the transaction is rolled back.');
    this.answered = answered;
  }
}

/**
 * Runs an attempt in a transaction of its own, or in the one that has reserved its key. The body may be run again after
 * a rollback.
 */
export async function runTransactional<Tx>(
  owner: Owner,
  transactions: Transactions<Tx>,
  body: (tx: Tx, within: Within) => Promise<Answered>,
  reservation: KeyReservation<Tx> | null = null,
): Promise<Ending> {
  const plan: CommitPlan<Tx, Committed> = {
    async body(tx, within) {
      // It was rolled back to let others through: what it called outside may have happened, and must not happen again.
      if (owner.attempt.saidUnknown !== null) throw new RollBack(response(500));
      const { response: answer, rollBack, handOver = false } = await body(tx, within);
      const conclusion = conclude(
        owner.attempt,
        { kind: 'answered', response: answer },
        owner.recordSizeMaxBytes,
      );
      if (rollBack || answer.status >= 500 || !isFinal(conclusion)) throw new RollBack(answer);
      await owner.probe('commit.before');
      if (handOver) {
        const { id, fence } = owner.attempt;
        expectWritten(await within.handOver({ ...id, ...fence }));
        return { kind: 'handed-over', response: answer };
      }
      const result = await within.finish(finishRequest(owner.attempt, conclusion));
      expectWritten(result);
      return committed(conclusion, answer, result.expiresAt);
    },
    // A worker may have ended it already.
    isThere: (record, done) =>
      done.kind === 'committed'
        ? record.state === done.to
        : record.state !== 'in_progress' && record.state !== 'retryable',
  };
  const ended =
    reservation?.isHeld === true
      ? await reservation.commit(owner, plan)
      : await commit(owner, transactions, plan);
  switch (ended.kind) {
    case 'committed':
      return ended.done;
    case 'rolled-back':
      // Rolled back to let others through, it is run no more by who does not know what it did.
      if (owner.attempt.saidUnknown !== null && transactions.store.transactionFault(ended.error) === 'again')
        return { kind: 'answered', response: response(500), rolledBack: true };
      return ended.error instanceof RollBack
        ? { kind: 'answered', response: ended.error.answered, rolledBack: true }
        : { kind: 'threw', error: ended.error, response: response(500), rolledBack: true };
    default:
      return ended;
  }
}

function isFinal({ to }: Conclusion): boolean {
  return to === 'completed' || to === 'failed';
}

function committed(
  conclusion: Conclusion,
  answer: StoredResponse,
  expiresAt: number,
): Extract<Ending, { kind: 'committed' }> {
  const to = conclusion.to === 'completed' ? 'completed' : 'failed';
  const { reason, response: stored } = conclusion;
  return { kind: 'committed', to, reason, response: answer, stored, expiresAt };
}

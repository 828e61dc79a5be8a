/**
 * Transactions of the shop on the stage: those of the memory store, with the steps in which the database commits
 * them or rolls them back. What is taken inside counts as taken when it is committed.
 */

import type { FinishResult, Store } from 'samekey/internals/store/store';
import type { TransactionSource, Within } from 'samekey/internals/store/transaction';
import type { MemoryTransaction } from 'samekey/stores/memory';
import { rowOf } from './shown-row.ts';
import type { Happening } from './run-recorder.ts';
import type { Stage } from './stage.ts';
import type { LaneId } from './trace.ts';
import { euros } from './http-lines.ts';

/** A store that has transactions, behind a connection. */
interface WithTransactions extends Store {
  within(handle: unknown): Within;
}

/** What a process has of them. */
interface StageTransactions {
  readonly source: TransactionSource<MemoryTransaction, MemoryTransaction>;
  /** The store, its part inside a transaction behind the connection too. */
  readonly store: Store;
}

/** A debit in the shop's own database: a row of its own, as ledgers have them. */
export interface Debit {
  readonly order: string;
  readonly amountCents: number;
}

/** Puts the transactions of a process on the stage. */
export function stageTransactions(stage: Stage, lane: LaneId, store: Store): StageTransactions {
  const { recorder, timeline, random, database, books } = stage;
  const me = recorder.nameOf(lane);
  const inner = store as WithTransactions;
  const booked = new Set(database.rows.entries().map(([key]) => key));
  /** What the last end inside a transaction came to. */
  let last: { readonly attempt: number; readonly result: FinishResult } | null = null;
  /** Whether the transaction notes a part, and ends nothing. */
  let isPart = false;

  /** The last statement of a transaction travels to the database. */
  function commits<Result>(
    caption: string,
    body: string,
    apply: () => Result | Promise<Result>,
  ): Promise<Result> {
    const [asked = -1] = recorder.happens({
      lane,
      caption,
      sends: [{ from: lane, to: 'store', label: 'COMMIT', body, tone: 'claim' }],
    });
    return new Promise((resolve, reject) => {
      timeline.setTimer(random.between(2, 8), () => {
        recorder.arrives(asked);
        Promise.resolve(apply()).then(resolve, reject);
      });
    });
  }

  const within = (handle: unknown): Within => {
    const verbs = inner.within(handle);
    return {
      ...verbs,
      finish: (request) =>
        commits(
          `${me} ends the transaction: what it wrote and the answer are to be committed together.`,
          `state ${request.to}\nclaim ${request.claimId}\nattempt ${request.attempt}`,
          async () => {
            const result = await verbs.finish(request);
            last = { attempt: request.attempt, result };
            return result;
          },
        ),
      checkpoint: (request) =>
        commits(
          `${me} ends the transaction: what it wrote and how far it is are to be committed together.`,
          `claim ${request.claimId}\nattempt ${request.attempt}`,
          () => {
            isPart = true;
            return verbs.checkpoint(request);
          },
        ),
      handOver: (owner) =>
        commits(
          `${me} ends the transaction: the order and a message to the worker are to be committed together.`,
          `state pending\nclaim ${owner.claimId}\nattempt ${owner.attempt}`,
          () => verbs.handOver(owner),
        ),
    };
  };

  /** The way back from the database. */
  function answered(what: Happening, reply: string): Promise<void> {
    const tone = what.tone ?? 'plain';
    const [sent = -1] = recorder.happens({
      ...what,
      sends: [{ from: 'store', to: lane, label: reply, tone }],
    });
    return new Promise((resolve) => {
      timeline.setTimer(random.between(2, 8), () =>
        stage.world(lane).deliver(() => {
          recorder.arrives(sent);
          resolve();
        }),
      );
    });
  }

  async function committed(): Promise<void> {
    const [record] = await database.list({ limit: 1 });
    if (record !== undefined) recorder.row(rowOf(record, recorder.lanes));
    const fresh = database.rows.entries().filter(([key]) => !booked.has(key));
    for (const [key, value] of fresh) {
      booked.add(key);
      if (stage.counted.has(key)) continue;
      stage.counted.add(key);
      await (key.startsWith('debit') ? debited(value as Debit) : ordered());
    }
  }

  function debited({ order, amountCents }: Debit): Promise<void> {
    const { isSecond } = books.take(order, amountCents);
    const what: Happening = {
      lane: 'store',
      caption: isSecond
        ? `The database commits: ${euros(amountCents)} more are taken for order ${order}. The customer has paid twice.`
        : `The database commits the debit of ${euros(amountCents)} and the answer in one go. The row is finished.`,
      tone: isSecond ? 'danger' : 'good',
      marks: isSecond ? ['charged-again', 'late-write-taken'] : ['charged', 'stored'],
    };
    return answered(what, 'committed');
  }

  function ordered(): Promise<void> {
    if (isPart) {
      const noted = 'The database commits the part, and the row now says that it is done.';
      return answered({ lane: 'store', caption: noted, tone: 'claim' }, 'committed');
    }
    const caption = 'The database commits the order and all that belongs to it in one go.';
    return answered({ lane: 'store', caption, tone: 'good', marks: ['stored'] }, 'committed');
  }

  async function rolledBack(): Promise<void> {
    if (last === null) {
      const caption =
        'The handler has failed: the database rolls the order back. What the provider has done, it cannot roll back.';
      return answered({ lane: 'store', caption, tone: 'danger' }, 'rolled back');
    }
    const { attempt, result } = last;
    const found = result.kind === 'refused' ? result.record : null;
    const caption =
      found === null
        ? `The database rolls back: the transaction of ${me} is older than its claim. Its debit is gone.`
        : `${me} is late: it writes as attempt ${attempt}, and the row belongs to attempt ${found.attempt}. The fence refuses it, and the debit is rolled back.`;
    return answered({ lane: 'store', caption, tone: 'good', marks: ['late-write-refused'] }, 'rolled back');
  }

  return {
    store: { ...store, within } as Store,
    source: {
      name: 'memory',
      dialect: 'memory',
      tellsCommit: true,
      exclusive: false,
      async run(body) {
        last = null;
        isPart = false;
        try {
          const result = await database.transaction((tx) => body(tx, tx));
          await committed();
          return result;
        } catch (error) {
          await rolledBack();
          throw error;
        }
      },
    },
  };
}

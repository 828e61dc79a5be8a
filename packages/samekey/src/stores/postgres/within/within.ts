/**
 * The store's verbs inside a user's transaction: they commit or roll back with it. No collision of keys can abort the
 * transaction (F14): a record is inserted only by `record`, which inserts nothing where one stands. What PostgreSQL
 * would refuse is refused before it is sent.
 */

import { StoreError } from '../../../core/errors.ts';
import { idText } from '../../../core/record.ts';
import { decideHandOver } from '../../../store/machine/index.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  ClaimRequest,
  FencedId,
  FinishRequest,
  FinishResult,
  HandResult,
} from '../../../store/store.ts';
import type { NewMessage } from '../../../store/message.ts';
import type { Reservation, ReservedId, Within } from '../../../store/transaction.ts';
import { number } from '../../sql/record-row.ts';
import { notFinished, notNoted } from '../hot-path.ts';
import { checkpointRow, finishRows, handOverRow } from '../input-rows.ts';
import { CHECKPOINT_INPUT, FINISH_INPUT, HAND_OVER_INPUT } from '../input-columns.ts';
import { inputValues } from '../parameters.ts';
import {
  type Ask,
  askTransaction,
  isPostgresJs,
  isSqlTransaction,
  type PgPoolClient,
  type PostgresTransaction,
  type SqlRow,
  type SqlValue,
  type Statement,
} from '../client.ts';
import { storeError } from '../errors.ts';
import type { LentSessions } from './lent-sessions.ts';
import type { Records } from '../records.ts';
import { createReserving } from './reserve.ts';
import type { ServerTime } from '../../../store/time/server-time.ts';
import { timedValues } from '../statement-times.ts';
import { ENDED_MARK } from '../tables.ts';
import { codesOf, forgetsOurs, losesConnection, textsOf } from './transaction-fault.ts';
import {
  checkpointWithinStatement,
  finishWithinStatement,
  handOverStatement,
  isOpenStatement,
  limitStatement,
} from '../statements.ts';

/** The store's verbs inside a user's transaction. */
export interface WithinPostgres extends Within {
  /**
   * Ends an attempt together with the transaction's other writes; its last statement. On `refused` it must roll back.
   */
  finish(request: FinishRequest): Promise<FinishResult>;
  /** Notes what the attempt has done so far. On `refused` the transaction must roll back. */
  checkpoint(request: CheckpointRequest): Promise<CheckpointResult>;
  /** Gives the attempt to the worker of a message. On `refused` the transaction must roll back. */
  handOver(owner: FencedId): Promise<HandResult>;
  /** Puts messages in: they are delivered if and when the transaction commits. */
  enqueue(messages: readonly NewMessage[]): Promise<void>;
  /**
   * Bounds the transaction's statements, waits and pauses by the rest of its claim; stricter settings of yours stay.
   */
  limit(timeMaxMs: number): Promise<void>;
}

/** What `within` sends by, beside the transaction. */
interface WithinAsks {
  readonly enqueueWithin: (ask: Ask, messages: readonly NewMessage[]) => Promise<void>;
  /** On a connection of the store's own. */
  readonly askOwn: Ask;
}

/** Makes `within`. */
export function createWithin(
  records: Records,
  sessions: LentSessions,
  time: ServerTime,
  { enqueueWithin, askOwn }: WithinAsks,
): {
  within(tx: PostgresTransaction): WithinPostgres;
  opening(connection: object, timeMaxMs: number, reserve?: ClaimRequest): string | null;
  reservations(requests: readonly ReservedId[]): Promise<readonly Reservation[]>;
} {
  const { tables } = records;
  const [unlimited, limited] = [false, true].map((isLimited) => ({
    finish: finishWithinStatement(tables, isLimited),
    checkpoint: checkpointWithinStatement(tables, isLimited),
    handOver: handOverStatement(tables, isLimited),
  })) as [Statements, Statements];
  const limits = limitStatement(tables);
  const reserving = createReserving(records);
  /** Whether the table was large when it was last looked at: what is prepared then goes by the index. */
  let isTableLarge = false;
  const isOpen = isOpenStatement();

  function within(tx: PostgresTransaction): WithinPostgres {
    async function send(
      asked: Statement,
      values: readonly SqlValue[],
      prepare: boolean,
    ): Promise<readonly SqlRow[]> {
      checkOpen(tx);
      try {
        return (await askTransaction(tx, asked, timedValues(asked, values, time), prepare)).rows;
      } catch (error) {
        if (forgetsOurs(error)) sessions.forgot(tx);
        if (!isEnded(error)) throw storeError(error, true);
        isOver = true;
        throw ended(error);
      }
    }
    const ask: Ask = (asked, values) => send(asked, values, isLarge && sessions.canPrepare(tx));
    const opened = isSqlTransaction(tx) ? tx.opened : undefined;
    let statements = unlimited;
    /** What is prepared on a small table would read all of it for ever. */
    let isLarge = false;
    if (opened === null) sessions.forgot(tx);
    else if (opened !== undefined) bounded(opened, undefined);
    /** Noticed: what is open now, if anything is, is somebody else's. */
    let isOver = false;
    checkOpen(tx);

    /** The first statement has answered with this row. */
    function bounded(row: SqlRow, prepared: string | null | undefined): void {
      sessions.answered(tx, row[0], prepared);
      statements = limited;
      isLarge = number(row.at(-1)) === 1;
      isTableLarge = isLarge;
    }

    /** Sends the first statement, unless it went out with BEGIN. Gives its row. */
    async function bound(first: Statement, values: readonly SqlValue[], prepare: boolean): Promise<SqlRow> {
      if (opened !== undefined && opened !== null) return opened;
      const [row = []] = await send(first, values, prepare);
      bounded(row, prepare ? first.name : null);
      return row;
    }

    return {
      async finish(request) {
        const { rows, bodies } = finishRows([request]);
        const values = [...inputValues(rows, FINISH_INPUT.length, 'one'), bodies];
        // The second try: it was renewed between the update's look and ours.
        for (let tries = 0; tries < 2; tries += 1) {
          const [row] = await ask(statements.finish, values);
          if (row !== undefined) return { kind: 'applied', expiresAt: number(row[2]) };
          const found = await records.find(ask, [request]);
          const result = notFinished(records, request, found.get(idText(request)));
          if (result.kind !== 'busy') return result;
        }
        return { kind: 'busy' };
      },
      async checkpoint(request) {
        const values = inputValues([checkpointRow(request)], CHECKPOINT_INPUT.length, 'one');
        if ((await ask(statements.checkpoint, values)).length > 0) return { kind: 'applied' };
        const found = await records.find(ask, [request]);
        return notNoted(records, request, found.get(idText(request)));
      },
      async handOver(owner) {
        const values = inputValues([handOverRow(owner)], HAND_OVER_INPUT.length, 'one');
        if ((await ask(statements.handOver, values)).length > 0) return { kind: 'applied' };
        const seen = (await records.find(ask, [owner])).get(idText(owner));
        return decideHandOver(seen?.record ?? null, owner, records.view(seen)).result;
      },
      enqueue: (messages) => enqueueWithin(ask, messages),
      async limit(timeMaxMs) {
        await bound(limits, [String(timeMaxMs)], sessions.canPrepare(tx));
      },
      async reserve(request, timeMaxMs) {
        const prepare = isTableLarge && sessions.canPrepare(tx);
        const values = reserving.values(request, timeMaxMs);
        return reserving.reserved(await bound(reserving.statement(prepare), values, prepare));
      },
      record: (record) => reserving.record(ask, record),
      async undoes(error) {
        if (isOver) return false;
        // What is sent on a connection that is lost could reach its next user.
        if (statements === unlimited || losesConnection(error)) return true;
        // The library may learn of the loss after its query has failed.
        await new Promise((resolve) => void setTimeout(resolve, 0));
        try {
          const { rows } = await askTransaction(tx, isOpen, [], false);
          return rows[0]?.[0] === '1';
        } catch {
          // A transaction in which a statement has failed answers nothing; without a connection there is none.
          return true;
        }
      },
    };
  }

  return {
    within,
    opening(connection, timeMaxMs, reserve) {
      if (reserve === undefined)
        return sessions.keeps(connection, limits.name) ? `EXECUTE ${limits.name}(${timeMaxMs})` : null;
      return sessions.keeps(connection, reserving.preparedName)
        ? reserving.execute(reserve, timeMaxMs)
        : null;
    },
    reservations: (requests) => reserving.reservations(askOwn, requests),
  };
}

interface Statements {
  readonly finish: Statement;
  readonly checkpoint: Statement;
  readonly handOver: Statement;
}

/**
 * In whatever a library wrapped it. Some put the statement into their message, and the mark stands in that: the code
 * decides with it.
 */
function isEnded(error: unknown): boolean {
  return codesOf(error).includes('22P02') && textsOf(error).some((text) => text.includes(ENDED_MARK));
}

function ended(cause: unknown): StoreError {
  return new StoreError(
    'The transaction was ended inside the handler, by COMMIT or ROLLBACK: what was committed by then may stand. Leave both to Samekey.',
    { applied: 'no', transient: false, cause },
  );
}

/**
 * Throws `StoreError` for one that is in none: it would commit each statement by itself. Drivers that cannot tell are
 * believed.
 */
export function checkOpen(tx: PostgresTransaction): void {
  // Its source gives it out inside a transaction only.
  if (isSqlTransaction(tx)) return;
  if (isPostgresJs(tx)) {
    if ('savepoint' in tx) return;
  } else if (typeof (tx as PgPoolClient | undefined)?.query === 'function') {
    if ((tx as { getTransactionStatus?(): unknown }).getTransactionStatus?.() !== 'I') return;
  }
  throw new StoreError(
    'within() needs a client inside a transaction: one of pg between BEGIN and COMMIT, or the sql that sql.begin() passes.',
    { applied: 'no', transient: false },
  );
}

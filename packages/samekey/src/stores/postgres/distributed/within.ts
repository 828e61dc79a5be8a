/**
 * The store's verbs inside a user's transaction: they commit or roll back with it. The row is locked, read, decided and
 * written; only ever an UPDATE, so no collision of keys can abort the transaction (F14).
 */

import { StoreError } from '../../../core/errors.ts';
import { decideCheckpoint, decideFinish, decideHandOver } from '../../../store/machine/index.ts';
import type { RecordId } from '../../../core/record.ts';
import { checkIds } from '../../sql/record-row.ts';
import { BUSY, type Decide } from '../../verbs/change.ts';
import { type Ask, askTransaction, type PostgresTransaction } from '../client.ts';
import { storeError } from '../errors.ts';
import type { ServerTime } from '../../../store/time/server-time.ts';
import { timedValues } from '../statement-times.ts';
import { statement } from '../statements.ts';
import { checkOpen, type WithinPostgres } from '../within/within.ts';
import { type Records } from './records.ts';

/** Makes `within`. */
export function createWithin(
  records: Records,
  prepare: boolean,
  time: ServerTime,
): (tx: PostgresTransaction) => WithinPostgres {
  const { doubted } = records.layout.facts;

  return (tx) => {
    checkOpen(tx);
    const ask: Ask = async (asked, values) => {
      checkOpen(tx);
      try {
        return (await askTransaction(tx, asked, timedValues(asked, values, time), prepare)).rows;
      } catch (error) {
        throw storeError(error, true, doubted);
      }
    };

    async function one<Request extends RecordId, Result>(
      request: Request,
      decide: Decide<Request, Result>,
    ): Promise<Result | typeof BUSY> {
      checkIds([request]);
      return records.apply(ask, request, decide, { lock: 'FOR UPDATE' });
    }

    return {
      finish: (request) => one(request, decideFinish),
      checkpoint: (request) => one(request, decideCheckpoint),
      async handOver(owner) {
        const result = await one(owner, decideHandOver);
        return result.kind === 'busy' ? { kind: 'refused', record: null } : result;
      },
      async enqueue(messages) {
        if (messages.length === 0) return;
        throw new StoreError(
          'The distributed PostgreSQL store keeps no messages: use an outbox of your own, or postgresStore().',
          { applied: 'no', transient: false },
        );
      },
      async limit(timeMaxMs) {
        const row = (await ask(LIMITS, []))[0] ?? [];
        const least = BOUNDED.map((_, i) => String(Math.min(timeMaxMs, millisecondsOf(String(row[i])))));
        await ask(SET_LIMITS, least);
      },
    };
  };
}

const BOUNDED = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
const LIMITS = statement(
  'plain_limits',
  `SELECT ${BOUNDED.map((name) => `current_setting('${name}')`).join(', ')}`,
);
const SET_LIMITS = statement(
  'plain_limit',
  `SELECT ${BOUNDED.map((name, i) => `set_config('${name}', $${i + 1}::text, true)`).join(', ')}`,
);

const UNITS: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A setting as servers show it: `30s`, `1500ms`, `1500`; 0, and what is none of these, is no limit. */
function millisecondsOf(setting: string): number {
  const [, digits = '0', unit = 'ms'] = /^(\d+)\s*([a-z]*)$/.exec(setting.trim()) ?? [];
  const ms = Math.ceil(Number(digits) * (UNITS[unit === '' ? 'ms' : unit] ?? 0));
  return ms === 0 ? Number.POSITIVE_INFINITY : ms;
}

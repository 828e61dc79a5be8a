/** Reserves keys by a lock of the user's transaction, and writes their records in it (see reserve-statements.ts). */

import type { ClaimRequest, FinishResult } from '../../../store/store.ts';
import type { NewRecord, Reservation, Reserved, ReservedId } from '../../../store/transaction.ts';
import { idText } from '../../../core/record.ts';
import { number } from '../../sql/record-row.ts';
import type { Ask, SqlRow, SqlValue, Statement } from '../client.ts';
import { RECORD_INPUT, RESERVATION_INPUT, RESERVE_INPUT } from '../input-columns.ts';
import { recordRows, reserveRow } from '../input-rows.ts';
import { inputValues } from '../parameters.ts';
import type { Records } from '../records.ts';
import { recordStatement, reservationsStatement, reserveStatement } from './reserve-statements.ts';

/** What reserves. */
interface Reserving {
  /** `isLarge`: the table is known to be large; then it may be kept prepared. */
  statement(isLarge: boolean): Statement;
  /** Of the one that a session may keep. */
  readonly preparedName: string;
  values(request: ClaimRequest, timeMaxMs: number): readonly SqlValue[];
  /** The same as SQL without parameters, for a session that keeps the statement prepared. */
  execute(request: ClaimRequest, timeMaxMs: number): string;
  /** What its row says. */
  reserved(row: SqlRow): Reserved;
  /** Inserts the record. */
  record(ask: Ask, record: NewRecord): Promise<FinishResult>;
  /** Who has each of these keys. */
  reservations(ask: Ask, requests: readonly ReservedId[]): Promise<readonly Reservation[]>;
}

/** Makes it. */
export function createReserving(records: Records): Reserving {
  const { tables } = records;
  const [first, reserve] = [reserveStatement(tables, false), reserveStatement(tables, true)];
  const insert = recordStatement(tables);
  const look = { one: reservationsStatement(tables, 'one'), many: reservationsStatement(tables, 'many') };

  return {
    statement: (isLarge) => (isLarge ? reserve : first),
    preparedName: reserve.name,
    values: (request, timeMaxMs) => [...idValues(request), String(timeMaxMs)],
    execute(request, timeMaxMs) {
      const values = reserveRow(request).map((cell) => literal(String(cell)));
      return `EXECUTE ${reserve.name}(${[...values, timeMaxMs].join(', ')})`;
    },
    reserved(row) {
      const [free, known] = row.slice(-3);
      if (isSet(known)) return 'known';
      return isSet(free) ? 'reserved' : 'taken';
    },
    async record(ask, record) {
      const { rows, bodies } = recordRows(record);
      const [row] = await ask(insert, [...inputValues(rows, RECORD_INPUT.length, 'one'), bodies]);
      if (row !== undefined) return { kind: 'applied', expiresAt: number(row[0]) };
      const found = await records.find(ask, [record.claim]);
      return { kind: 'refused', record: found.get(idText(record.claim))?.record ?? null };
    },
    async reservations(ask, requests) {
      if (requests.length === 0) return [];
      const rows = requests.map((request, place) => [...reserveRow(request), place]);
      const arity = rows.length === 1 ? 'one' : 'many';
      const found = await ask(look[arity], inputValues(rows, RESERVATION_INPUT.length, arity));
      const byPlace = new Map(found.map((row) => [number(row[0]), reservationOf(row)]));
      return requests.map((_, place) => byPlace.get(place) ?? 'other');
    },
  };
}

function idValues(request: ReservedId): readonly SqlValue[] {
  return inputValues([reserveRow(request)], RESERVE_INPUT.length, 'one');
}

function reservationOf([, same, free, known]: SqlRow): Reservation {
  if (isSet(known)) return 'known';
  if (isSet(same)) return 'same';
  return isSet(free) ? 'free' : 'other';
}

function isSet(flag: unknown): boolean {
  return number(flag) === 1;
}

/** Nothing that a setting of the session, or its encoding, reads another way: no quote, no backslash, ASCII alone. */
const PLAIN = /^[\w |/.:@+=,~-]*$/;

/** A text as SQL; one that is not plain as digits alone. */
function literal(text: string): string {
  if (PLAIN.test(text)) return `'${text}'`;
  return `convert_from(decode('${Buffer.from(text, 'utf8').toString('hex')}', 'hex'), 'UTF8')`;
}

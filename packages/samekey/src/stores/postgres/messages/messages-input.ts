/** Messages as rows of input and as rows read; in the order of `messages-statements.ts`. */

import { StoreError } from '../../../core/errors.ts';
import type {
  Lease,
  MessageState,
  NewMessage,
  NoteRequest,
  StoredMessage,
  TakenMessage,
} from '../../../store/message.ts';
import { exact, number, shown } from '../../sql/record-row.ts';
import type { Cell } from '../parameters.ts';
import type { SqlRow } from '../client.ts';

/** A row of `ENQUEUE_INPUT`. */
export function enqueueRow(message: NewMessage): readonly Cell[] {
  const { owner, group } = message;
  return [
    exact(message.id),
    exact(message.topic),
    group === null ? null : exact(group),
    noNul(message.payload),
    message.headers,
    message.delayMs,
    owner === null ? null : exact(owner.scope),
    owner === null ? null : exact(owner.key),
    owner === null ? null : exact(owner.claimId),
    owner?.attempt ?? null,
  ];
}

/** A row of `REFERRED_ENQUEUE_INPUT`. */
export function referredEnqueueRow(message: NewMessage): readonly Cell[] {
  const { reference } = message;
  return [...enqueueRow(message), reference === undefined ? null : exact(reference)];
}

/** A row of `NOTE_INPUT`. */
export function noteCells(request: NoteRequest): readonly Cell[] {
  return [...leaseCells(request), exact(request.providerId)];
}

/** What leads every row that names a lease. */
export function leaseCells({ place, leaseId, started }: Lease): Cell[] {
  return [place, leaseId, started];
}

/** An error's text for people. */
export function errorCell(error: string | null): string | null {
  return shown(error);
}

/** A row of `BACK_INPUT`. */
export function backRow(
  request: Lease & { readonly error: string | null; readonly begun: boolean; readonly proven: boolean },
  state: MessageState,
  delayMs: number,
): readonly Cell[] {
  const { begun, proven } = request;
  return [...leaseCells(request), state, delayMs, errorCell(request.error), begun ? 1 : 0, proven ? 1 : 0];
}

/** The message in a row of `MESSAGE_COLUMNS`. */
export function messageOf(row: SqlRow): StoredMessage {
  return {
    place: number(row[0]),
    id: text(row[1]),
    topic: text(row[2]),
    group: textOrNull(row[3]),
    state: text(row[4]) as MessageState,
    parked: row[5] === true || row[5] === 't',
    dueAt: number(row[6]),
    createdAt: number(row[7]),
    started: number(row[8]),
    finished: number(row[9]),
    proven: number(row[10]),
    forgiven: number(row[11]),
    leaseId: textOrNull(row[12]),
    providerId: textOrNull(row[13]),
    lastError: textOrNull(row[14]),
    owner:
      row[15] === null || row[16] === null
        ? null
        : {
            scope: text(row[15]),
            key: text(row[16]),
            claimId: text(row[17]),
            attempt: number(row[18]),
          },
    headers: textOrNull(row[19]),
    payload: text(row[20]),
  };
}

/** The message in a row of a take; undefined if it was only parked. */
export function takenOf(row: SqlRow): TakenMessage | undefined {
  const message = messageOf(row);
  if (message.state !== 'leased' || message.leaseId === null) return undefined;
  return { ...message, leaseId: message.leaseId, exhausted: number(row[21]) === 1 };
}

/** JSON text never holds a NUL, which it escapes; anything else that does would abort the transaction. */
function noNul(json: string): string {
  if (!json.includes('\0')) return json;
  throw new StoreError('A message is JSON text; this one holds a NUL character, which JSON escapes.', {
    applied: 'no',
    transient: false,
  });
}

function text(value: unknown): string {
  return value as string;
}

function textOrNull(value: unknown): string | null {
  return (value ?? null) as string | null;
}

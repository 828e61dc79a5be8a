/**
 * Rows of the outbox in stores that decide on messages they have read. Text for people is kept as far as SQL can; what
 * identifies is refused if not.
 */

import type { MessageState, StoredMessage } from '../../store/message.ts';
import { type ColumnValue, exact, number, shown } from './record-row.ts';

/** The columns of a message beside its `place`, in the order of {@link messageValues}. */
export const MESSAGE_COLUMNS = [
  'id',
  'topic',
  'group_key',
  'state',
  'parked',
  'due_at',
  'created_at',
  'started',
  'finished',
  'proven',
  'forgiven',
  'lease_id',
  'provider_id',
  'last_error',
  'scope',
  'key',
  'claim_id',
  'attempt',
  'headers',
  'payload',
] as const;

/** One of them. */
type MessageColumn = (typeof MESSAGE_COLUMNS)[number];

/** A message as a row. Throws `StoreError` for identifying text that SQL would alter. */
export function messageValues(message: Omit<StoredMessage, 'place'>): ColumnValue[] {
  const { group, providerId, owner } = message;
  return [
    exact(message.id),
    exact(message.topic),
    group === null ? null : exact(group),
    message.state,
    message.parked ? 1 : 0,
    message.dueAt,
    message.createdAt,
    message.started,
    message.finished,
    message.proven,
    message.forgiven,
    message.leaseId,
    providerId === null ? null : exact(providerId),
    shown(message.lastError),
    owner === null ? null : exact(owner.scope),
    owner === null ? null : exact(owner.key),
    owner === null ? null : exact(owner.claimId),
    owner?.attempt ?? null,
    message.headers,
    message.payload,
  ];
}

/** The message in a row; `at` gives its text or number. */
export function messageOf(place: unknown, at: (column: MessageColumn) => unknown): StoredMessage {
  const text = (column: MessageColumn): string | null => (at(column) ?? null) as string | null;
  const count = (column: MessageColumn): number => number(at(column));
  const [scope, key, claimId] = [text('scope'), text('key'), text('claim_id')];
  return {
    place: number(place),
    id: text('id') ?? '',
    topic: text('topic') ?? '',
    group: text('group_key'),
    payload: text('payload') ?? '',
    headers: text('headers'),
    // One that only newer code knows stays what it is.
    state: text('state') as MessageState,
    parked: count('parked') === 1,
    dueAt: count('due_at'),
    createdAt: count('created_at'),
    started: count('started'),
    finished: count('finished'),
    proven: count('proven'),
    forgiven: count('forgiven'),
    leaseId: text('lease_id'),
    providerId: text('provider_id'),
    lastError: text('last_error'),
    owner:
      scope === null || key === null || claimId === null
        ? null
        : { scope, key, claimId, attempt: count('attempt') },
  };
}

/** What a listener is told of a record or a message that no key of the ring opens. */

import type { RecordId, Unreadable } from '../core/record.ts';

/** What was met that could not be opened. */
export interface UnreadableFound extends Unreadable {
  /** Null for a message. */
  readonly id: RecordId | null;
  /** The operation of the record, or the topic of the message. */
  readonly operation: string;
  /** Null for a record. */
  readonly messageId: string | null;
}

/**
 * What an operator's functions are given, checked before anything is looked at or written: a table for each. What is
 * misspelt is refused with the right name, and no state is written that the state table does not have (F145).
 */

import { OptionsError } from '../core/errors.ts';
import {
  anything,
  kindOf,
  listOf,
  nested,
  oneOf,
  orNull,
  type Row,
  readOptions,
  required,
  row,
  type Table,
  text,
  wholeNumber,
} from '../core/options.ts';
import { type Fence, type RecordId, STATES, type State } from '../core/record.ts';
import type { StoredResponse } from '../core/response.ts';
import type { StorableResponse } from '../core/stored-response.ts';
import { AUDIT_ACTS, type AuditRequest } from '../store/audit.ts';
import { SETTLED_TO, settledAnswer } from '../store/ends.ts';
import type { MessageListRequest } from '../store/message.ts';
import type { ListRequest } from '../store/store.ts';
import type { NoEffectBecause } from './no-effect-by-hand.ts';

/** What every act by hand names. */
export interface Act {
  /** For people and the audit: why. 1 to 1,000 characters, no personal data: it outlives the record. */
  readonly reason: string;
  /** Only if the record still is what was seen with this; default: what is found when the act begins. */
  readonly seen?: Fence;
}

/** How an outcome that nobody knew is decided. */
export interface Settlement extends Act {
  /** `completed` and `failed` are final; `retryable`: nothing happened, the next request runs. */
  readonly to: 'completed' | 'failed' | 'retryable';
  /**
   * What retries get; for `completed` and `failed`. Null: it is not known any more, and they get 410 with nothing but
   * that. A response whose body is null tells them its status too.
   */
  readonly response?: StoredResponse | null;
  /** For `retryable`: why nothing of the last attempt can happen any more. Not needed where the record shows it. */
  readonly because?: NoEffectBecause;
  /**
   * For `retryable`: how long a call to a provider may be under way after the claim has ended, in milliseconds; "no
   * effect" does not count earlier. Default: what the open effect says of its call, else 60,000.
   */
  readonly callTimeMaxMs?: number;
  /**
   * For `retryable`: the open effect did happen, and gave this, any JSON value. Its call is not made again, and the
   * next attempt goes on behind it. Then nothing has to be proven.
   */
  readonly effectResult?: unknown;
}

/** How a failed key is let run again. */
export interface Reopening extends Act {
  /**
   * Of an outcome that nobody came to know (`outcome-never-known`): that nothing happened. Needed there, and means
   * nothing elsewhere.
   */
  readonly effect?: 'none';
}

/** What somebody looked at before it is forgotten. A whole record is one. */
interface Seen extends Fence {
  /** It may have ended otherwise since, under the same fence: a finish came late. */
  readonly state: State;
}

/** How a record is dropped. */
export interface Forgetting extends Act {
  /** Only if the record still is this; default: what is found when the act begins. */
  readonly seen?: Seen;
  /**
   * Of an outcome that nobody came to know (`outcome-never-known`), and of an effect that was begun and never ended:
   * that nothing happened. Needed there, and means nothing elsewhere.
   */
  readonly effect?: 'none';
}

const LIST_LIMIT_MAX = 1_000;

const ID_ROWS = { scope: required(text()), key: required(text()) } satisfies Table<RecordId>;

const FENCE_ROWS = { claimId: required(text()), attempt: required(wholeNumber(0)) } satisfies Table<Fence>;
const SEEN_ROWS = { ...FENCE_ROWS, state: required(oneOf(STATES)) } satisfies Table<Seen>;

/** Why, for the audit; how long it may be is the store's to say. */
const reason: Row<string, string> = required(text(), 'reason is missing: say why, for the audit.');

/** A whole record may be given too: of it these members are read. */
const seen: Row<Fence, undefined> = row((given, path) => {
  const { claimId, attempt } = (given ?? {}) as Partial<Fence>;
  return nested(FENCE_ROWS).read({ claimId, attempt }, path);
});

const seenWhole: Row<Seen, undefined> = row((given, path) => {
  const { claimId, attempt, state } = (given ?? {}) as Partial<Seen>;
  return nested(SEEN_ROWS).read({ claimId, attempt, state }, path);
});

const noEffect = oneOf(['none']);

const SETTLEMENT_ROWS = {
  to: required(oneOf(SETTLED_TO)),
  reason,
  seen,
  response: orNull(anything<NonNullable<Settlement['response']>>()),
  because: oneOf(['owner-gone', 'downstream-key']),
  callTimeMaxMs: wholeNumber(0),
  effectResult: anything<unknown>(),
} satisfies Table<Settlement>;

const REOPENING_ROWS = { reason, seen, effect: noEffect } satisfies Table<Reopening>;
const FORGETTING_ROWS = { reason, seen: seenWhole, effect: noEffect } satisfies Table<Forgetting>;

/** A settlement that was checked. */
export interface CheckedSettlement extends Omit<Settlement, 'response'> {
  readonly response: StorableResponse | null;
}

/** The record that is meant; a whole record may be given. Throws `OptionsError`. */
export function readId(given: RecordId): RecordId {
  const { scope, key } = (given ?? {}) as Partial<RecordId>;
  return readOptions('A record', ID_ROWS, { scope, key });
}

/** Throws `OptionsError`. */
export function readSettlement(given: Settlement): CheckedSettlement {
  const read = readOptions('settle', SETTLEMENT_ROWS, given);
  const response = settledAnswer('A settlement', read.to, read.response ?? null);
  const ofRetryable = (['because', 'callTimeMaxMs', 'effectResult'] as const).filter(
    (name) => read[name] !== undefined,
  );
  if (read.to !== 'retryable' && ofRetryable.length > 0)
    throw new OptionsError(
      `${ofRetryable.join(', ')} of settle go with to: "retryable"; it is to "${read.to}".`,
    );
  return { ...read, response } as CheckedSettlement;
}

/** Throws `OptionsError`. */
export function readReopening(given: Reopening): Reopening {
  return readOptions('reopen', REOPENING_ROWS, given) as Reopening;
}

/** Throws `OptionsError`. */
export function readForgetting(given: Forgetting): Forgetting {
  return readOptions('forget', FORGETTING_ROWS, given) as Forgetting;
}

const caller: Row<string, undefined> = row((given, path) => {
  if (typeof given === 'string') return given;
  throw new OptionsError(`${path} is a text; it is ${kindOf(given)}.`);
});

const LIST_ROWS = {
  states: listOf(oneOf(STATES)),
  operation: text(),
  scope: text(),
  caller,
  key: text(),
  createdBefore: row((given, path) => {
    if (typeof given === 'number' && Number.isFinite(given)) return given;
    throw new OptionsError(`${path} is a time in milliseconds since 1970; it is ${kindOf(given)}.`);
  }),
  limit: wholeNumber(1, LIST_LIMIT_MAX),
} satisfies Table<ListRequest>;

const AUDIT_ROWS = {
  scope: text(),
  key: text(),
  acts: listOf(oneOf(AUDIT_ACTS)),
  before: text(),
  limit: wholeNumber(1, LIST_LIMIT_MAX),
} satisfies Table<AuditRequest>;

const LETTERS_ROWS = {
  topic: text(),
  owner: nested(ID_ROWS),
  after: wholeNumber(0),
  limit: wholeNumber(1, LIST_LIMIT_MAX),
} satisfies Table<Omit<MessageListRequest, 'states'>>;

const BY_ROWS = { reason } satisfies Table<Pick<Act, 'reason'>>;
const ERASING_ROWS = { reason, limit: wholeNumber(1) } satisfies Table<
  Pick<Act, 'reason'> & { readonly limit?: number }
>;

/** Throws `OptionsError`. What is not given stays away. */
export function checkList(given: ListRequest): ListRequest {
  readOptions('list', LIST_ROWS, given);
  return given;
}

/** Throws `OptionsError`. */
export function checkAudit(given: AuditRequest): AuditRequest {
  readOptions('audit', AUDIT_ROWS, given);
  return given;
}

/** Throws `OptionsError`. */
export function checkLetters(given: Omit<MessageListRequest, 'states'>): Omit<MessageListRequest, 'states'> {
  readOptions('deadLetters', LETTERS_ROWS, given);
  return given;
}

/** Throws `OptionsError`. */
export function readErasing(given: { readonly reason: string; readonly limit?: number }): {
  readonly reason: string;
  readonly limit: number | undefined;
} {
  return readOptions('erase', ERASING_ROWS, given);
}

/** Ids of messages, and why. Throws `OptionsError`. */
export function readLetters(
  what: string,
  ids: readonly string[],
  given: Pick<Act, 'reason'>,
): { readonly ids: readonly string[]; readonly reason: string } {
  return { ids: listOf(text()).read(ids, `ids of ${what}`), ...readOptions(what, BY_ROWS, given) };
}

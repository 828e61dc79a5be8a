/** Messages as applications write them, checked before they are sent anywhere, and the ids they get. */

import { OptionsError, ValueError } from '../core/errors.ts';
import { jsonOf } from '../fingerprint/json-value.ts';
import { type NewMessage, PAYLOAD_MAX_BYTES } from './message.ts';
import {
  anything,
  byName,
  kindOf,
  readOptions,
  required,
  type Row,
  row,
  type Table,
  wholeNumber,
} from '../core/options.ts';
import type { FencedId } from './store.ts';
import type { World } from '../core/world.ts';

/** A message to enqueue. */
export interface OutboxMessage {
  /** Which handler of the worker gets it. At most 255 characters. */
  readonly topic: string;
  /** Any JSON value, up to 256 KiB. */
  readonly payload?: unknown;
  /** Messages of one group are delivered one after the other, in the order of their commits. At most 255 characters. */
  readonly group?: string;
  /** Texts that go with it: trace ids, content types. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Not delivered before so much has passed, counted from the statement that enqueues it; in milliseconds, default 0.
   */
  readonly delayMs?: number;
}

const NAME_LENGTH_MAX = 255;
const YEAR_MS = 366 * 24 * 60 * 60 * 1_000;

/** Checks it and gives it an id. Throws `OptionsError`, and `ValueError` for a payload that JSON cannot hold. */
export function newMessage(world: World, message: OutboxMessage, owner: FencedId | null = null): NewMessage {
  const { topic, group, headers, delayMs } = readOptions('A message', MESSAGE_ROWS, message);
  const lines = Object.entries(headers);
  return {
    id: world.newClaimId(),
    topic,
    group,
    payload: payloadOf(message.payload),
    headers: lines.length === 0 ? null : JSON.stringify(headers),
    delayMs,
    owner,
  };
}

const named: Row<string, undefined> = row((name, path) => {
  if (typeof name === 'string' && name !== '' && name.length <= NAME_LENGTH_MAX && !name.includes('\0'))
    return name;
  const found = typeof name === 'string' ? `has ${name.length}` : `is ${kindOf(name)}`;
  throw new OptionsError(`A message's ${path} is a text of 1 to ${NAME_LENGTH_MAX} characters; it ${found}.`);
});

const MESSAGE_ROWS = {
  topic: required(named),
  payload: anything<unknown>(),
  group: { ...named, absent: (): null => null },
  headers: {
    ...byName(
      row((value, path) => {
        if (typeof value === 'string') return value;
        throw new OptionsError(`Headers of a message are texts; ${path} is ${kindOf(value)}.`);
      }),
    ),
    absent: (): Readonly<Record<string, string>> => ({}),
  },
  delayMs: wholeNumber(0, YEAR_MS, 0),
} satisfies Table<OutboxMessage>;

function payloadOf(payload: unknown): string {
  const text = jsonOf("A message's payload", payload) ?? 'null';
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > PAYLOAD_MAX_BYTES) {
    throw new ValueError(
      'too-large',
      '',
      `A message's payload is at most ${PAYLOAD_MAX_BYTES} bytes of JSON; this has ${bytes}. Keep it in a table of yours, in ` +
        'the same transaction, and enqueue its id.',
    );
  }
  return text;
}

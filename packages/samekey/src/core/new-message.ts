/** Messages as applications write them, checked before they are sent anywhere, and the ids they get. */

import { OptionsError, ValueError } from './errors.ts';
import { jsonOf } from './json-value.ts';
import { type NewMessage, PAYLOAD_MAX_BYTES } from './message.ts';
import { refuseUnknown, wholeNumber } from './settings.ts';
import type { FencedId } from './store.ts';
import type { World } from './world.ts';

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
  /** Not delivered before so much has passed, counted from the statement that enqueues it; in milliseconds, default 0. */
  readonly delayMs?: number;
}

const NAMES: readonly string[] = ['topic', 'payload', 'group', 'headers', 'delayMs'];
const NAME_LENGTH_MAX = 255;
const YEAR_MS = 366 * 24 * 60 * 60 * 1_000;

/** Checks it and gives it an id. Throws `OptionsError`, and `ValueError` for a payload that JSON cannot hold. */
export function newMessage(world: World, message: OutboxMessage, owner: FencedId | null = null): NewMessage {
  refuseUnknown('A message', message, NAMES);
  const { topic, group = null, headers = {}, delayMs = 0 } = message;
  checkName('topic', topic);
  if (group !== null) checkName('group', group);
  const lines = Object.entries(headers);
  for (const [name, value] of lines) {
    if (typeof value !== 'string') {
      throw new OptionsError(`Headers of a message are texts; "${name}" is of type ${typeof value}.`);
    }
  }
  return {
    id: world.newClaimId(),
    topic,
    group,
    payload: payloadOf(message.payload),
    headers: lines.length === 0 ? null : JSON.stringify(headers),
    delayMs: wholeNumber('delayMs', delayMs, 0, YEAR_MS),
    owner,
  };
}

function checkName(what: string, name: unknown): void {
  if (typeof name === 'string' && name !== '' && name.length <= NAME_LENGTH_MAX && !name.includes('\0'))
    return;
  const found = typeof name === 'string' ? `has ${name.length}` : `is of type ${typeof name}`;
  throw new OptionsError(`A message's ${what} is a text of 1 to ${NAME_LENGTH_MAX} characters; it ${found}.`);
}

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

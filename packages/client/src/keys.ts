/**
 * Key makers. A key names one intended operation, so it is made once, when the operation is decided on (when the job is
 * enqueued, when the form is opened), and kept; a counter is no key: it starts again after a restore, and two machines
 * count the same.
 *
 * Sources: RFC 9562 §5.4 (version 4), §5.7 (version 7).
 */

import { must } from './client-error.ts';

/** A random UUID, version 4. */
export function uuidV4(): string {
  return crypto.randomUUID();
}

/** A UUID of version 7: `now` (milliseconds since 1970), then 74 random bits; keys made later sort later. */
export function uuidV7(now: number = Date.now()): string {
  const time = now.toString(16).padStart(12, '0');
  // Of version 4 the variant and its random bits are where version 7 has them.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${uuidV4().slice(15)}`;
}

/** Whether a key looks like a counter: digits alone, or after a word. */
export function looksLikeCounter(key: string): boolean {
  return /^(?:[a-z]+[-_:.]?)?\d{1,12}$/i.test(key);
}

/** Refuses what servers do not take; throws `OptionsError`, without the key. */
export function checkOwnKey(key: string): string {
  // What `checkKey` of core/key takes by default, without its words.
  must(/^(?=.*\S)[ -~]{1,255}$/.test(key), 'A key has 1–255 characters of ASCII.');
  return key;
}

/**
 * The key a client sends for one intended operation, once decoded: which texts are acceptable, and why not.
 *
 * Invariants: a key is compared as it is (`A` and `a` are two keys, F35), never trimmed, lower-cased or cut; the first
 * fault in the order of {@link checkKey} decides; the length is looked at first, so that a huge text costs nothing.
 * Browser-safe: no Node, no engine. Sources: contract §7.1; UUID by RFC 9562 §4; card numbers by ISO/IEC 7812-1 (Luhn).
 */
import { type KeyFault, OptionsError } from './errors.ts';
import { nested, oneOf, type Row, row, shown, type Table, trueOrFalse, wholeNumber } from './options.ts';

/** Which keys are taken. Every field has a default. */
export interface KeyOptions {
  /** `lenient` (default) also takes the bare form of the header; `strict` only the quoted RFC 9651 String. */
  readonly mode?: 'lenient' | 'strict';
  /** Longest key, in characters after decoding: 1–1024, default 255. */
  readonly lengthMax?: number;
  /** Shortest key, in characters after decoding: 1–`lengthMax`, default 1. */
  readonly lengthMin?: number;
  /**
   * Take only UUIDs of versions 1–8, or of version 4 or 7 alone, in either case; nil and max UUIDs are refused. Default
   * false.
   */
  readonly uuidOnly?: boolean | 4 | 7;
  /**
   * Refuse keys that look like an e-mail address or a card number. Default false: one numeric key in ten would be hit.
   */
  readonly refusePersonalData?: boolean;
}

/** The longest key taken unless `lengthMax` says otherwise, in characters. */
export const KEY_LENGTH_MAX = 255;
/** The shortest one, unless `lengthMin` does. */
const KEY_LENGTH_MIN = 1;

/** The largest `lengthMax` an application may ask for, in characters: every store can index it. */
export const LENGTH_MAX_BOUND = 1024;

// C0 controls and DEL. C1 controls are not ASCII and are named as that.
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const CONTROL = /[\x00-\x1f\x7f]/;
// oxlint-disable-next-line no-control-regex -- the range is ASCII, controls included
const NOT_ASCII = /[^\x00-\x7f]/;
// Version 1–8 and the RFC variant: the nil UUID is an uninitialised variable far more often than an operation.
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const UUID_VERSION_AT = 14;
const UUID_ANYWHERE = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
const DIGIT_RUN = /(?<![0-9A-Za-z])[0-9](?:[ -]?[0-9])*(?![0-9A-Za-z])/g;

const KEY_ROWS = {
  mode: oneOf(['lenient', 'strict'], 'lenient'),
  lengthMax: wholeNumber(1, LENGTH_MAX_BOUND, KEY_LENGTH_MAX),
  lengthMin: wholeNumber(1, LENGTH_MAX_BOUND, KEY_LENGTH_MIN),
  uuidOnly: row((given, path): boolean | 4 | 7 => {
    if (given === 4 || given === 7 || typeof given === 'boolean') return given;
    throw new OptionsError(`${path} is true, false, 4 or 7; it is ${shown(given)}.`);
  }, false),
  refusePersonalData: trueOrFalse(false),
} satisfies Table<KeyOptions>;

/** Key options as a member of others. */
export const KEY_ROW: Row<KeyOptions, undefined> = {
  ...nested(KEY_ROWS),
  read(given, path) {
    const key = nested(KEY_ROWS).read(given, path);
    const { lengthMin, lengthMax } = key;
    if (lengthMin > lengthMax)
      throw new OptionsError(
        `${path}.lengthMin is ${lengthMin}, more than lengthMax, which is ${lengthMax}.`,
      );
    return key;
  },
};

/**
 * The first fault of a decoded key, or null for an acceptable one. Order: empty, too long, control character, not
 * ASCII, blank, too short, not a UUID, personal data.
 */
export function checkKey(text: string, options: KeyOptions = {}): KeyFault | null {
  if (text.length === 0) return 'empty';
  if (text.length > (options.lengthMax ?? KEY_LENGTH_MAX)) return 'too-long';
  const character = checkCharacters(text);
  if (character !== null) return character;
  if (text.trim().length === 0) return 'blank';
  if (text.length < (options.lengthMin ?? KEY_LENGTH_MIN)) return 'too-short';
  const asked = options.uuidOnly ?? false;
  if (asked !== false && !isUuidAsAsked(text, asked)) return 'not-uuid';
  if (options.refusePersonalData === true && looksPersonal(text) !== null) return 'personal-data';
  return null;
}

function isUuidAsAsked(text: string, asked: true | 4 | 7): boolean {
  return UUID.test(text) && (asked === true || text.charAt(UUID_VERSION_AT) === String(asked));
}

/** Whether any instance, whatever its key options are, may have stored something under it. */
export function mayBeKey(value: unknown): value is string {
  return typeof value === 'string' && checkKey(value, { lengthMax: LENGTH_MAX_BOUND }) === null;
}

/** The fault of the first kind of character no key may have, or null. */
export function checkCharacters(text: string): 'control-character' | 'not-ascii' | null {
  if (CONTROL.test(text)) return 'control-character';
  return NOT_ASCII.test(text) ? 'not-ascii' : null;
}

/**
 * What a key looks like that should not be in one: an e-mail address, or a payment card number (13–19 digits, spaces
 * or dashes between them, Luhn sum). Null if nothing. UUIDs are never taken for cards, nor are numbers that start with
 * 0 or 1: no cards in use but one airline scheme, yet every timestamp of this century in milliseconds or finer.
 */
export function looksPersonal(text: string): 'email' | 'card' | null {
  if (text.includes('@') && /[^\s@"<>]@[^\s@.]+(?:\.[^\s@.]+)*\.[a-z]{2,}/i.test(text)) return 'email';
  // Nearly every key is decided here; what follows costs more than the rest of reading a key.
  if (countDigits(text) < CARD_DIGITS_MIN || UUID.test(text)) return null;
  for (const [run] of text.replaceAll(UUID_ANYWHERE, '_').matchAll(DIGIT_RUN)) {
    const digits = run.replaceAll(/[ -]/g, '');
    if (digits.length >= CARD_DIGITS_MIN && digits.length <= 19 && digits >= '2' && luhn(digits))
      return 'card';
  }
  return null;
}

/** What to tell the client about a fault, in words; never contains the key. */
export function describeKeyFault(fault: KeyFault, options: KeyOptions = {}): string {
  switch (fault) {
    case 'missing':
      return 'This operation needs an idempotency key: send one fresh key per intended operation.';
    case 'empty':
      return 'The idempotency key is empty: send one fresh key per intended operation.';
    case 'blank':
      return 'The idempotency key has only spaces: send one fresh key per intended operation.';
    case 'too-short':
      return `The idempotency key is too short: send at least ${options.lengthMin ?? KEY_LENGTH_MIN} characters.`;
    case 'too-long':
      return `The idempotency key is too long: send at most ${options.lengthMax ?? KEY_LENGTH_MAX} characters.`;
    case 'control-character':
      return 'The idempotency key has a control character: send printable ASCII only.';
    case 'not-ascii':
      return 'The idempotency key has a character outside of ASCII: send printable ASCII only.';
    case 'several':
      return 'There is more than one idempotency key: send exactly one, and put it in double quotes if it has a comma.';
    case 'grammar':
      return options.mode === 'strict'
        ? 'The idempotency key is not a Structured Field String (RFC 9651): put it in double quotes.'
        : 'The idempotency key is ambiguous: put it in double quotes, with \\" for " and \\\\ for \\.';
    case 'not-uuid':
      return typeof options.uuidOnly === 'number'
        ? `The idempotency key is not a UUID of version ${options.uuidOnly}: send a fresh one.`
        : 'The idempotency key is not a UUID: send a fresh UUID, such as one of version 4 or 7.';
    case 'personal-data':
      return 'The idempotency key looks like personal data: send a random one, such as a UUID.';
    default:
      return fault satisfies never;
  }
}

const CARD_DIGITS_MIN = 13;

function countDigits(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x30 && code <= 0x39) count++;
  }
  return count;
}

/** ISO/IEC 7812-1 annex B: doubling every second digit from the right, the digit sums add up to a multiple of ten. */
function luhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    const weighted = i % 2 === 0 ? digit : digit * 2;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

/**
 * The `Idempotency-Key` header: from field lines to one key, or the reason why not.
 *
 * Invariants: one key or none, never a guess: several lines and lists are refused and never joined (F33); the quoted
 * and the bare form of one text are one key (F34); no `detail` contains any of the header; the length is bounded before
 * anything is parsed. Browser-safe and pure.
 * Sources: RFC 9651 §3.3.3 and §4.2 (String, Item), RFC 9110 §5.5 (optional white space around a value is not part of
 * it), draft-ietf-httpapi-idempotency-key-header §2.1.
 */
import { parseItem } from 'structured-headers';
import type { KeyFault } from '../core/errors.ts';
import { checkCharacters, checkKey, describeKeyFault, KEY_LENGTH_MAX, type KeyOptions } from '../core/key.ts';

/** What the header's field lines hold; `detail` is a sentence for the client and never contains the key. */
export type KeyHeader =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'malformed'; readonly fault: KeyFault; readonly detail: string };

/** A String of characters that need no escape, and nothing after it (RFC 9651 §4.2.5). */
const PLAIN = /^"[\x20-\x21\x23-\x5b\x5d-\x7e]*"$/;

/** Room for parameters, which RFC 9651 allows and we ignore; in characters. */
const PARAMETERS_LENGTH_MAX = 1024;

/**
 * Reads the key from every field line of the header, as the runtime gave them. Lines that a runtime joined with ", "
 * (Fetch `Headers`) are found out as a list. `options` are those of {@link checkKey}.
 */
export function parseKeyHeader(lines: readonly string[], options: KeyOptions = {}): KeyHeader {
  const [line] = lines;
  if (line === undefined) return { kind: 'missing' };
  if (lines.length > 1) return malformed('several', options);
  // Every character of the key may be escaped, hence twice; two quotes around it.
  const rawLengthMax = 2 * (options.lengthMax ?? KEY_LENGTH_MAX) + 2 + PARAMETERS_LENGTH_MAX;
  if (line.length > rawLengthMax) return malformed('too-long', options);
  const raw = trimOws(line);
  if (raw === '') return malformed('empty', options);
  const character = checkCharacters(raw);
  if (character !== null) return malformed(character, options);
  const key = raw.startsWith('"') ? quoted(raw) : options.mode === 'strict' ? null : bare(raw);
  if (key === null) return malformed(hasSeveral(raw) ? 'several' : 'grammar', options);
  const fault = checkKey(key, options);
  return fault === null ? { kind: 'key', key } : malformed(fault, options);
}

/** Spaces and tabs only (RFC 9110 §5.6.3): `trim` would also take characters that must be refused. */
function trimOws(line: string): string {
  let start = 0;
  let end = line.length;
  while (start < end && isOws(line.charCodeAt(start))) start++;
  while (end > start && isOws(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isOws(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function quoted(raw: string): string | null {
  // Nearly every key: nothing to unescape and no parameters. The parser makes a text character by character.
  if (PLAIN.test(raw)) return raw.slice(1, -1);
  try {
    const [value] = parseItem(raw);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

/**
 * The form without quotes that providers document: any text without white space, comma, quote and semicolon. Those four
 * could each be read in two ways (a list, a String, a parameter), so the client is told to quote them.
 */
function bare(raw: string): string | null {
  return /[\s,";]/.test(raw) ? null : raw;
}

/** Whether a comma stands outside of quotes: a list, or lines joined by the runtime. */
function hasSeveral(raw: string): boolean {
  return raw.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').includes(',');
}

/** What a request is refused with that carries two different keys. */
export function severalKeys(options: KeyOptions): KeyHeader {
  return malformed('several', options);
}

function malformed(fault: KeyFault, options: KeyOptions): KeyHeader {
  return { kind: 'malformed', fault, detail: describeKeyFault(fault, options) };
}

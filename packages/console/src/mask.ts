/**
 * What a payload looks like without what it says: names of members and the kinds of their values. Names that look like
 * data (an address, a card's number) are hidden too.
 */

import type { Masked } from './api.ts';

const OUTLINE_LENGTH_MAX = 4_000;
const DEPTH_MAX = 8;
const MEMBERS_MAX = 50;
/** Looked into up to here: beyond it only the length is told. */
const PARSED_BYTES_MAX = 256 * 1024;
const NAME = /^[A-Za-z_][\w-]{0,40}$/;

/** Of bytes. */
export function maskBytes(bytes: Uint8Array): Masked {
  if (bytes.length > PARSED_BYTES_MAX) return { bytes: bytes.length, outline: null };
  return { bytes: bytes.length, outline: outlineOf(new TextDecoder().decode(bytes)) };
}

/** Of a text. */
export function maskText(text: string): Masked {
  const bytes = new TextEncoder().encode(text).length;
  return { bytes, outline: bytes > PARSED_BYTES_MAX ? null : outlineOf(text) };
}

/** Of a value of JSON. */
export function maskValue(value: unknown): string {
  return JSON.stringify(hidden(value, 0), null, 1).slice(0, OUTLINE_LENGTH_MAX);
}

function outlineOf(text: string): string | null {
  try {
    return maskValue(JSON.parse(text));
  } catch {
    return null;
  }
}

function hidden(value: unknown, depth: number): unknown {
  if (value === null) return null;
  if (typeof value === 'string') return `text, ${value.length}`;
  if (typeof value !== 'object') return typeof value;
  if (depth === DEPTH_MAX) return '…';
  if (Array.isArray(value)) {
    const first = value.slice(0, 1).map((each) => hidden(each, depth + 1));
    return value.length > 1 ? [...first, `… ${value.length} in all`] : first;
  }
  const members = Object.entries(value);
  const shown = members
    .slice(0, MEMBERS_MAX)
    .map(([name, each], i) => [NAME.test(name) ? name : `name ${i + 1}`, hidden(each, depth + 1)] as const);
  const rest = members.length > MEMBERS_MAX ? [['…', `${members.length} members in all`] as const] : [];
  return Object.fromEntries([...shown, ...rest]);
}

/** Bodies, inputs and payloads, for eyes that asked for them. */

import { harmless } from './print.ts';

/** Longer texts are cut: a terminal is no place for megabytes; `--json` has all of it. */
const SHOWN_MAX = 4_000;

/** As text where they are text, else as base64. */
export function bytesShown(bytes: Uint8Array): string {
  const { text, encoding } = bytesJson(bytes);
  return cut(encoding === 'utf8' ? text : `base64 ${text}`);
}

/** For programs: what the bytes are, without loss. */
export function bytesJson(bytes: Uint8Array): {
  readonly encoding: 'utf8' | 'base64';
  readonly text: string;
} {
  try {
    return {
      encoding: 'utf8',
      text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
    };
  } catch {
    return { encoding: 'base64', text: Buffer.from(bytes).toString('base64') };
  }
}

/** Cut to what a terminal can show, without what it would take for a command. */
export function cut(text: string): string {
  const harmed = harmless(text);
  return harmed.length <= SHOWN_MAX
    ? harmed
    : `${harmed.slice(0, SHOWN_MAX)} … (${harmed.length} characters)`;
}

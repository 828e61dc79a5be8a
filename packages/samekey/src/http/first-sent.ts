/**
 * When a request was first sent, as its client says (contract §4, row 3): a key that this server may have forgotten is
 * refused, and runs no second time. It is not signed, and so says nothing about who sends it.
 *
 * Invariant: what is let through was first sent at most `windowMs` ago, by its client's word, and its key is remembered
 * for longer (`windowMs + skewMs` ≤ `retentionMs`). Every retry says the same time.
 * Source: OASIS Repeatable Requests 1.0 (`Repeatability-First-Sent`); IMF-fixdate by RFC 9110 §5.6.7.
 */

import { OptionsError } from '../core/errors.ts';
import { nested, type Row, type Table, text, wholeNumber } from '../core/options.ts';
import type { Outcome } from '../core/outcome.ts';
import type { TimeFault } from '../core/signed-time.ts';
import type { HttpRequest } from './exchange.ts';
import { httpDate } from './headers.ts';

/** Requests must say when they were first sent. */
export interface FirstSentOptions {
  /** The header; default `Repeatability-First-Sent`. */
  readonly header?: string;
  /** How long ago a request may have been sent for the first time, in milliseconds; default 300,000. */
  readonly windowMs?: number;
  /** How far in the future that time may lie, in milliseconds; default 30,000. */
  readonly skewMs?: number;
}

const FIRST_SENT_ROWS = {
  header: text('Repeatability-First-Sent'),
  windowMs: wholeNumber(1_000, undefined, 300_000),
  skewMs: wholeNumber(0, undefined, 30_000),
} satisfies Table<FirstSentOptions>;

/** As a member of a route's options. */
export const FIRST_SENT_ROW: Row<Required<FirstSentOptions>, undefined> = nested(FIRST_SENT_ROWS);

/** Checks what hangs together. Throws `OptionsError`. */
export function compileFirstSent(
  options: Required<FirstSentOptions> | undefined,
  retentionMs: number,
): Required<FirstSentOptions> | null {
  if (options === undefined) return null;
  const { header, windowMs, skewMs } = options;
  if (windowMs + skewMs > retentionMs)
    throw new OptionsError(
      `firstSent accepts a request for ${windowMs + skewMs} ms and its key is remembered for ${retentionMs} ms: a retry could run again. Make retentionMs longer or windowMs shorter.`,
    );
  return { header: header.toLowerCase(), windowMs, skewMs };
}

/** What a request is told that was first sent outside of the window; null for one that was not. */
export function outsideWindow(
  { header, windowMs, skewMs }: Required<FirstSentOptions>,
  request: HttpRequest,
  now: number,
): Outcome | null {
  const lines = request.headerLines(header);
  if (lines.length !== 1) return invalid(lines.length === 0 ? 'missing' : 'several');
  const sent = (lines[0] ?? '').trim();
  const time = Date.parse(sent);
  // Nothing but IMF-fixdate: what parsers of dates take beside it is read in two ways.
  if (Number.isNaN(time) || httpDate(time) !== sent) return invalid('malformed');
  if (time - now > skewMs) return invalid('in-future');
  return now - time > windowMs ? { kind: 'request-too-old', windowMs } : null;
}

function invalid(fault: TimeFault): Outcome {
  return { kind: 'request-time-invalid', fault };
}

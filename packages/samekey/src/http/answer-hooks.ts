/**
 * What an application changes of answers: before they are stored (`redact`), and before they are told again
 * (`onReplay`). Both give up that a retry is told the same bytes; the record still decides that nothing runs.
 *
 * Invariants: a hook that throws, or gives what is no answer, never lets out what it stands in front of: nothing of the
 * answer is stored, and a retry is told to come again · no digest, tag or signature of other bytes goes with an answer
 * that a hook has changed · a hook gets copies: what it writes into them reaches nobody.
 * Sources: RFC 9530 §2, §3 (Content-Digest, Repr-Digest); RFC 3230 §4.3.2 (Digest); RFC 9110 §8.8.3 (ETag); RFC 9421
 * §4 (Signature).
 */

import type { ExchangeHost } from './exchange.ts';
import { unavailable } from '../engine/meeting.ts';
import { kindOf } from '../core/options.ts';
import type { Outcome } from '../core/outcome.ts';
import { type HeaderLine, response, sameBytes, type StoredResponse } from '../core/response.ts';
import { storable, storableByHand } from '../core/stored-response.ts';
import { textOfError } from '../core/listener.ts';

/** An answer as a hook gets it. */
interface GivenAnswer {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  /** As it goes out at the place of the protection; null: it is not kept (too large, streamed). */
  readonly body: Uint8Array | null;
}

/** What a retry is to be told. */
export interface GivenReplay extends GivenAnswer {
  /** The key, as the client sent it. */
  readonly key: string;
  /** Which attempt gave the answer. */
  readonly attempt: number;
  /** Until when it is told, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** What is stored in place of an answer. Its status stays. */
interface Redacted {
  readonly headers?: readonly HeaderLine[];
  /** Text is UTF-8. Default: none. */
  readonly body?: string | Uint8Array;
}

/** What a retry is told in place of the stored answer. */
export interface OtherAnswer extends Redacted {
  /** 200–599. */
  readonly status: number;
}

/** Changes what is stored; nothing: it stays as it is. At once, and the same for the same answer. */
export type RedactFunction = (answer: GivenAnswer) => Redacted | null | undefined;

/** What a retry is told; nothing: the stored answer. */
export type ReplayFunction<Native> = (
  replay: GivenReplay,
  request: Native,
) => OtherAnswer | null | undefined | Promise<OtherAnswer | null | undefined>;

type Replay = Extract<Outcome, { readonly kind: 'replay' }>;
/** Who is told that a hook has failed. */
type Host = Pick<ExchangeHost, 'misuse'>;

/** Header lines that are computed from the bytes of a body: with other bytes they would be wrong. */
const OF_THE_BYTES: ReadonlySet<string> = new Set([
  'content-digest',
  'repr-digest',
  'digest',
  'content-md5',
  'etag',
  'signature',
  'signature-input',
]);

/** What is stored of an answer. */
export function redacted(redact: RedactFunction, answer: StoredResponse, host: Host): StoredResponse {
  try {
    const given = redact(copyOf(answer)) ?? null;
    if (given === null) return answer;
    const stored = fitted(given, answer.status, answer);
    // A body that was not kept is not made up.
    return answer.body === null ? { ...stored, body: null } : stored;
  } catch (error) {
    host.misuse(
      'redact-failed',
      `redact failed (${textOfError(error)}): nothing of that answer is stored, and its retries are told so (410). Give { headers, body } (of a call { value }) at once, or nothing.`,
    );
    return { status: answer.status, headers: [], body: null };
  }
}

/** The outcome with what the application tells a retry, or that it is to come again. */
export async function otherReplay<Native>(
  host: Host,
  onReplay: ReplayFunction<Native>,
  native: Native,
  outcome: Replay,
  key: string,
): Promise<Outcome> {
  const { response: answer, attempt, expiresAt } = outcome;
  try {
    const given = (await onReplay({ ...copyOf(answer), key, attempt, expiresAt }, native)) ?? null;
    return given === null
      ? outcome
      : { ...outcome, response: storable(fitted(given, given.status, answer), false) };
  } catch (error) {
    host.misuse(
      'on-replay-failed',
      `onReplay failed (${textOfError(error)}): the request was answered 503, and its record is as it was. Give { status, headers, body } (of a call { value }), or nothing for the stored answer.`,
    );
    return unavailable('replay-hook');
  }
}

function copyOf({ status, headers, body }: StoredResponse): GivenAnswer {
  return {
    status,
    headers: headers.map(([name, value]): HeaderLine => [name, value]),
    // Not `slice`: of a Buffer that is a view of the same bytes.
    body: body === null ? null : Uint8Array.from(body),
  };
}

/** Throws for what is no answer. */
function fitted(given: Redacted, status: number, answer: StoredResponse): StoredResponse {
  if (typeof given !== 'object' || 'then' in given) throw new TypeError(`it gave ${kindOf(given)}`);
  const { headers = [], body } = given;
  const other = response(status, headers, body);
  // Checked only: what of it may be stored, the route says.
  storableByHand('What it gave', other);
  if (sameBytes(other.body, answer.body)) return other;
  return { ...other, headers: other.headers.filter(([name]) => !OF_THE_BYTES.has(name.toLowerCase())) };
}

/**
 * The signed time of a request: a header in which the client says when it sent the request, under a secret that it
 * shares with the server. A request that somebody recorded cannot be sent again later, not even once its key is
 * forgotten.
 *
 *     Samekey-Time: t=1767225600,k=partner-a,v1=<64 hex digits>
 *
 * `t` is seconds since 1970, `k` the name of the secret, `v1` HMAC-SHA-256 under it of these lines, joined by a line
 * feed: `samekey-time-v1`, t, method in upper case, path with query as sent, key.
 *
 * Invariants: none of the lines can hold a line feed, so no two requests are signed alike · the signature is compared
 * in a time that does not depend on where it differs · what is not signed by a known secret is told nothing about
 * clocks.
 * Sources: RFC 2104; the form follows https://docs.stripe.com/webhooks#verify-manually.
 */

import type { Digester } from './world.ts';

/** What is signed. */
interface SignedRequest {
  /** In seconds since 1970. */
  readonly time: number;
  readonly method: string;
  /** As sent, with `?` and the query if there is one. */
  readonly target: string;
  readonly key: string;
}

/** Named secrets of 16 bytes or more. */
export type TimeSecrets = Readonly<Record<string, Uint8Array>>;

/** Why a signed time was not accepted. */
export type TimeFault = 'missing' | 'several' | 'malformed' | 'not-signed' | 'in-future';

/** The header's default name. */
export const TIME_HEADER = 'Samekey-Time';

/** What a header says, or why it says nothing. */
type ParsedTime =
  | { readonly time: number; readonly secret: string; readonly signature: string }
  | { readonly fault: TimeFault };

/**
 * Twelve digits of seconds are enough for some thirty thousand years. No space stands behind a comma: platforms join
 * lines with ", ", and one line must never look like two (F80).
 */
const FORM = /^t=(\d{1,12}),k=([\w-]{1,40}),v1=([0-9a-f]{64})$/;

/** Reads the header's lines. */
export function parseTimeHeader(lines: readonly string[]): ParsedTime {
  const [line] = lines;
  if (line === undefined) return { fault: 'missing' };
  if (lines.length > 1) return { fault: 'several' };
  const [, time, secret, signature] = FORM.exec(line.trim()) ?? [];
  if (time === undefined || secret === undefined || signature === undefined) return { fault: 'malformed' };
  return { time: Number(time), secret, signature };
}

/** The header's value. */
export async function timeHeader(
  request: SignedRequest,
  name: string,
  secret: Uint8Array,
  digester: Pick<Digester, 'hmacSha256'>,
): Promise<string> {
  return `t=${request.time},k=${name},v1=${await signatureOf(request, secret, digester)}`;
}

/** Whether the signature is this request's under this secret. */
export async function isSigned(
  request: SignedRequest,
  signature: string,
  secret: Uint8Array,
  digester: Pick<Digester, 'hmacSha256'>,
): Promise<boolean> {
  return equalInConstantTime(await signatureOf(request, secret, digester), signature);
}

async function signatureOf(
  { time, method, target, key }: SignedRequest,
  secret: Uint8Array,
  digester: Pick<Digester, 'hmacSha256'>,
): Promise<string> {
  const lines = ['samekey-time-v1', String(time), method.toUpperCase(), target, key];
  return hexOf(await digester.hmacSha256(secret, new TextEncoder().encode(lines.join('\n'))));
}

/** Each character is looked at, whatever the ones before were. The lengths are no secret: 64. */
function equalInConstantTime(a: string, b: string): boolean {
  let different = a.length ^ b.length;
  for (let i = 0; i < a.length; i += 1) different |= a.charCodeAt(i) ^ (b.charCodeAt(i) || 0);
  return different === 0;
}

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Digesters give base64url; signatures are written in hex, as most tools print them. */
function hexOf(base64url: string): string {
  let hex = '';
  let bits = 0;
  let held = 0;
  for (const character of base64url) {
    held = (held << 6) | BASE64URL.indexOf(character);
    bits += 6;
    while (bits >= 4) {
      bits -= 4;
      hex += ((held >> bits) & 15).toString(16);
      held &= (1 << bits) - 1;
    }
  }
  // Whole bytes only: 43 characters carry 258 bits, of which 256 are the digest.
  return hex.slice(0, (hex.length >> 1) * 2);
}

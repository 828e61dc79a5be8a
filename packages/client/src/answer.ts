/**
 * What an answer says: its status, its code, its mark. What these mean is the table of `meanings.ts`; what is done
 * about it is `send.ts`.
 *
 * Invariant: a code counts only in the document that the server's profile writes it in: a problem document that names
 * itself (RFC 9457); those of others are read by a profile that the caller names, such as `stripe`.
 * Sources: contract §4; draft-ietf-httpapi-idempotency-key-header §2.7.
 */

import { isCode, type Meaning, meaningOf } from './meanings.ts';

/** An answer, read whole. A redirect that a browser hides has the status 0. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Whether it is a stored answer, by the headers of both profiles. */
export function isReplay({ headers }: Pick<Answer, 'headers'>): boolean {
  return (headers.get('idempotency-replayed') ?? headers.get('idempotent-replayed')) === 'true';
}

/** A document in an answer, as far as it is read here. */
interface Document {
  readonly code?: unknown;
  readonly status?: unknown;
  readonly type?: unknown;
  readonly title?: unknown;
  readonly retryable?: unknown;
  readonly originalStatus?: unknown;
  readonly error?: { readonly code?: unknown; readonly type?: unknown };
}

/** What a document says. */
interface Said {
  /** Of the codes of the table; any other says nothing. */
  readonly code: string;
  /** Whether asking again can change it; null: it does not say. */
  readonly retryable?: boolean | null;
  /** What is certain where the table has nothing: refused by a stored answer, or before anything began. */
  readonly means?: 'stored' | 'never-ran';
}

/** How a server speaks. */
export interface ClientProfile {
  /** Whether the key is sent as a quoted String (RFC 9651). */
  readonly quoted: boolean;
  /** What an answer of 202, or of 400 and more, says in its document. */
  read(answer: Answer, document: Document): Said;
}

/** What it means. */
export function judge(answer: Answer, profile: ClientProfile): Meaning {
  const { status, headers } = answer;
  const { code, retryable, means: certain } = profile.read(answer, documentOf(answer));
  const asksToWait = headers.has('retry-after');
  // RFC 9110 §15.3.3: accepted, and where or when to ask.
  const isAccepted = status === 202 && !isCode(code) && (asksToWait || headers.has('location'));
  const again =
    retryable === false ? 'final' : retryable === true || (status === 409 && asksToWait) ? 'again' : '';
  const means = meaningOf({
    status,
    code: isAccepted ? 'accepted' : code,
    mark: isReplay(answer) ? 'replayed' : headers.has('idempotency-key-expires') ? 'kept' : again,
  });
  return means === 'unproven' ? (certain ?? means) : means;
}

function documentOf({ status, body }: Answer): Document {
  try {
    if (status === 202 || status >= 400)
      return (JSON.parse(new TextDecoder().decode(body)) as Document | null) ?? {};
  } catch {
    // No JSON: the status and the marks speak.
  }
  return {};
}

/** Samekey's, and the draft's. */
export const ietf: ClientProfile = {
  quoted: true,
  read({ status, headers }, document) {
    const { code, type, title, originalStatus, retryable } = document;
    const media = headers.get('content-type') ?? '';
    if (!(status < 400 ? /json/i : /^application\/problem\+json/i).test(media)) return { code: '' };
    // The draft names no codes; its examples name the header in their titles.
    if (code === undefined && /idempotency-key/i.test(String(title)))
      return { code: status === 409 ? 'in-progress' : status === 422 ? 'key-reused' : '' };
    // It names itself as Samekey's does; a code of the application's own that happens to be spelt so does not.
    if (document.status !== status || !(type === 'about:blank' || String(type).endsWith(`#${String(code)}`)))
      return { code: '' };
    // A 408 says as little as a 5xx (contract §6).
    const isKnown = typeof originalStatus === 'number' && originalStatus !== 408;
    return {
      code: String(code) + (isKnown ? `-${Math.floor(originalStatus / 100)}xx` : ''),
      retryable: typeof retryable === 'boolean' ? retryable : null,
    };
  },
};

/** What `Retry-After` asks for, in milliseconds (RFC 9110 §10.2.3: seconds or a date); null if nothing readable. */
export function retryAfterMs(headers: Headers, now: number): number | null {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000;
  // What `Date.parse` makes of `-5` is a year.
  const date = /^[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

/**
 * What an answer means for the operation: final, still to come, or nothing at all. Pure; the loop that acts on it is
 * `send.ts`.
 *
 * Invariants: a *replayed* answer is final whatever its status · a mismatch, an unknown outcome and a 410 are told and
 * keep the key · a refusal frees the key only if it is certain that it speaks for every request sent under the key: it
 * is a replay, the server says until when the key is kept, or nothing was sent before. A 401 after a lost reply says
 * nothing of the first request.
 * Sources: contract §4; draft-ietf-httpapi-idempotency-key-header §2.7; RFC 9110 §15; Stripe's error object and
 * `Stripe-Should-Retry`.
 */

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** What it means. `first`, `replayed` and `refused` are final; `in-progress` and `later` are to be asked again. */
interface Verdict {
  readonly kind: 'first' | 'replayed' | 'refused' | 'unknown' | 'mismatch' | 'gone' | 'in-progress' | 'later';
  /** For `refused`: it does not say what became of earlier requests under the key. */
  readonly isKeyKept: boolean;
}

/** What Samekey, the draft and Stripe say in the body of an answer. */
interface Said {
  /** In Samekey's words, with dashes; empty if the answer names no case. */
  readonly code: string;
  readonly retryable: boolean | null;
}

/** Nobody looked at the key: who asks must log in first, and the operation goes on under the same key (F26). */
const NOT_LOGGED_IN: ReadonlySet<number> = new Set([401, 407]);
const RETRIED: ReadonlySet<number> = new Set([408, 425, 429]);

/** Whether it is a stored answer, by the headers of both profiles. */
export function isReplay({ headers }: Pick<Answer, 'headers'>): boolean {
  return (headers.get('idempotency-replayed') ?? headers.get('idempotent-replayed')) === 'true';
}

/** Judges one answer. `isCertain`: no other request was ever sent under the key. */
export function judge(answer: Answer, isCertain: boolean): Verdict {
  const kind = kindOf(answer);
  const { status, headers } = answer;
  // A 5xx does not say that nothing happened, not even a stored one (policy `stripe`): a new key is the user's
  // decision.
  const isKeyKept =
    kind === 'refused' &&
    (status >= 500 ||
      !(
        isReplay(answer) ||
        (!NOT_LOGGED_IN.has(status) && (isCertain || headers.has('idempotency-key-expires')))
      ));
  return { kind, isKeyKept };
}

function kindOf(answer: Answer): Verdict['kind'] {
  const { status, headers } = answer;
  if (isReplay(answer)) return status < 400 ? 'replayed' : 'refused';
  const { code, retryable } = readSaid(answer);
  if (code === 'outcome-unknown') return 'unknown';
  if (code === 'key-reused') return 'mismatch';
  if (status === 410 || code === 'key-expired') return 'gone';
  if (/^(in-progress|pending|idempotency-key-in-use)$/.test(code)) return 'in-progress';
  const asksToWait = headers.has('retry-after');
  if (status === 202 && asksToWait && headers.has('location')) return 'in-progress';
  if (status < 400) return 'first';
  if (status === 409 && (retryable ?? asksToWait)) return 'in-progress';
  // 501 and 505 stay what they are, however often one asks.
  return (retryable ?? (RETRIED.has(status) || (status >= 500 && status !== 501 && status !== 505)))
    ? 'later'
    : 'refused';
}

function readSaid({ status, headers, body }: Answer): Said {
  const should = headers.get('stripe-should-retry');
  let retryable = should === null ? null : should === 'true';
  let code = '';
  try {
    if (status === 202 || status >= 400) {
      const said = JSON.parse(new TextDecoder().decode(body)) as Spoken;
      const { error } = said;
      if (typeof said.code === 'string') {
        code = said.code;
        if (typeof said.retryable === 'boolean') retryable = said.retryable;
      } else if (error !== undefined) {
        // Stripe: 400 for other parameters, 409 (with a code) for a request that still runs.
        code =
          error.type === 'idempotency_error' && status === 400
            ? 'key-reused'
            : String(error.code).replaceAll('_', '-');
      } else if (/idempotency-key/i.test(String(said.title))) {
        // The draft names no codes; its examples name the header in their titles.
        code = { 409: 'in-progress', 422: 'key-reused' }[status] ?? '';
      }
    }
  } catch {
    // No JSON, or nothing in it: the status speaks.
  }
  return { code, retryable };
}

interface Spoken {
  readonly code?: unknown;
  readonly retryable?: unknown;
  readonly title?: unknown;
  readonly error?: { readonly code?: unknown; readonly type?: unknown };
}

/** What `Retry-After` asks for, in milliseconds (RFC 9110 §10.2.3: seconds or a date); null if nothing readable. */
export function retryAfterMs(headers: Headers, wallNow: number): number | null {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000;
  const date = text === '' ? Number.NaN : Date.parse(text);
  if (Number.isNaN(date)) return null;
  // Against the server's own clock where it tells it: the device's may be wrong by hours.
  const now = Date.parse(headers.get('date') ?? '');
  return Math.max(0, date - (Number.isNaN(now) ? wallNow : now));
}

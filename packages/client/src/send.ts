/**
 * Sends one request under one key until there is an answer that counts, within its bounds.
 *
 * Invariants: every request of the loop has the same key and the same bytes · nothing is sent before its row says so,
 * nor once the operation is too old, the time is spent or the caller has aborted · a server that asks for more
 * patience than is left gets no further request.
 * Sources: RFC 9110 §10.2.3 (Retry-After); exponential backoff with full jitter (every pause drawn anew, from zero).
 */

import { type Answer, judge, retryAfterMs } from './answer.ts';
import { cleared, Stopped } from './stopped.ts';
import type { Settings } from './options.ts';
import type { Meaning } from './meanings.ts';
import type { ReadRequest } from './request.ts';
import { type Told, unknown } from './results.ts';
import { inTime, pause } from './waiting.ts';
import { fromBase64 } from './base64.ts';
import { responseOf, type Row } from './row.ts';

/** What is to be sent. */
export interface Sending {
  readonly settings: Settings;
  readonly operation: string;
  readonly row: Pick<Row, 'key' | 'created' | 'page'>;
  readonly request: ReadRequest;
  /** Not null: the person was shown that it is open, and wants it to go on. */
  readonly onlyKey: string | null;
  /** On the monotonic clock. */
  readonly deadline: number;
  readonly signal: AbortSignal | null;
  /** Called before each request leaves; rejects with {@link Stopped} if it is not to be sent any more. */
  readonly beforeLeaving: () => Promise<void>;
  /** A request may have left under the key, now or earlier. */
  wasSent: boolean;
  readonly progress: { tries: number };
}

/** An answer that means something for good. */
export interface Judged {
  readonly means: Meaning;
  readonly answer: Answer;
  readonly retryAfterMs: number | null;
}

/** How it ended: with such an answer, or with what the caller is told. */
type Sent = Judged | { readonly told: Told };

/** An operation that is in progress is asked after no more often than this. */
const ASK_MIN_MS = 100;

/** Rejects with {@link Stopped}. */
export async function send(sending: Sending): Promise<Sent> {
  const { settings, operation, signal, deadline } = sending;
  const { world, emit, triesMax, tryTimeMaxMs, baseMs, capMs } = settings;
  const isAborted = (): boolean => signal?.aborted === true;
  let failed = 0;
  for (let pauses = 0; ; pauses++) {
    if ((globalThis as { navigator?: { onLine?: boolean } }).navigator?.onLine === false) {
      emit({ type: 'waiting', operation, because: 'offline' });
      await pause(world, deadline - world.monotonicNow(), signal, globalThis, 'online');
    }
    if (isAborted()) return { told: unknown('aborted', { error: signal?.reason as unknown }) };
    if (world.monotonicNow() >= deadline) return { told: unknown('no-answer') };
    const why = sending.wasSent ? tooOld(sending) : null;
    if (why !== null) return { told: unknown(why) };
    let because: 'in-progress' | 'answer' | 'lost' | 'timed-out' = 'lost';
    let error: unknown = null;
    const answer = await inTime(
      world,
      Math.min(tryTimeMaxMs, deadline - world.monotonicNow()),
      signal,
      TIMED_OUT,
      (ending) =>
        // Whether or not `fetch` listens to its signal.
        fetchWhole(sending, ending),
    ).catch((cause: unknown) => {
      if (cause instanceof Stopped) throw cause;
      error = cause;
      return null;
    });
    let asked: number | null = null;
    if (answer !== null) {
      settings.clock.see(answer);
      // Against the server's own clock: the device's may be wrong by hours.
      const now = settings.clock.now();
      asked = retryAfterMs(answer.headers, now.server ?? now.wall);
      const means = judge(answer, settings.profile);
      if (means !== 'in-progress' && means !== 'later') return { means, answer, retryAfterMs: asked };
      because = means === 'later' ? 'answer' : means;
    } else if (error === TIMED_OUT) because = 'timed-out';

    if (because !== 'in-progress') failed += 1;
    // All who were told the same time do not come at once (F85).
    const drawn = world.random() * Math.min(capMs, asked ?? baseMs * 2 ** pauses);
    const delayMs = Math.max(
      (asked ?? 0) + (asked === null ? drawn : drawn / 10),
      because === 'in-progress' ? ASK_MIN_MS : 0,
    );
    const isOver = failed >= triesMax || world.monotonicNow() + delayMs >= deadline;
    if (isOver && !isAborted()) {
      const response = answer && responseOf(answer);
      return {
        told: unknown(because === 'in-progress' ? because : 'no-answer', {
          response,
          error,
          retryAfterMs: asked,
        }),
      };
    }
    emit({ type: 'waiting', operation, because, status: answer?.status ?? null, delayMs });
    await pause(world, delayMs, signal);
  }
}

/** Why not to send what the server may have forgotten. What was never sent no server can have forgotten. */
function tooOld({ settings, operation, row, onlyKey }: Sending): 'aged-out' | 'age-unknown' | null {
  const ageMs = settings.clock.since(row.created, row.page === settings.page);
  const why =
    ageMs === null
      ? onlyKey === null && !settings.asked.has(row.key)
        ? 'age-unknown'
        : null
      : ageMs > settings.pendingAgeMaxMs
        ? 'aged-out'
        : null;
  if (why !== null) settings.emit({ type: 'aged-out', operation, ageMs });
  return why;
}

const TIMED_OUT = new Error('No answer in time.');

/** One request. */
async function fetchWhole(sending: Sending, signal: AbortSignal): Promise<Answer> {
  const { settings, operation, row, request } = sending;
  const { kept, headers: own, init } = request;
  const { body, credentials } = kept;
  const headers = new Headers(await settings.headers?.());
  for (const name of settings.decidingHeaders) headers.delete(name);
  for (const [name, value] of own) headers.set(name, value);
  // RFC 9651 §3.3.3: a String in double quotes. Of a key's characters JSON escapes the same two.
  headers.set('idempotency-key', settings.quoted ? JSON.stringify(row.key) : row.key);
  await sending.beforeLeaving();
  // Its time may be over meanwhile: then it has not left, and does not.
  signal.throwIfAborted();
  // So may its user's: a store can be late to say what it has written.
  if (settings.isCleared) throw cleared();
  sending.wasSent = true;
  const number = ++sending.progress.tries;
  settings.emit({ type: 'try', operation, number });
  const response = await settings.fetch(kept.url, {
    ...init,
    method: kept.method,
    headers,
    body: body === null ? null : fromBase64(body),
    // Where a redirect leads is no answer of the operation, and never gets its key, body or credentials (F83).
    redirect: 'manual',
    ...(credentials && { credentials }),
    signal,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: new Uint8Array(await response.arrayBuffer()),
  };
}

/**
 * Sends one request under one key until there is an answer that counts, within its bounds.
 *
 * Invariants: every request of the loop has the same key and the same bytes · nothing is sent before its row says so,
 * nor once the operation is too old, the time is spent or the caller has aborted · a server that asks for more
 * patience than is left gets no further request.
 * Sources: RFC 9110 §10.2.3 (Retry-After); exponential backoff with full jitter (every pause drawn anew, from zero).
 */

import { type Answer, judge, retryAfterMs } from './answer.ts';
import { NotKept } from './kept.ts';
import type { Settings } from './options.ts';
import type { Meaning } from './meanings.ts';
import type { ReadRequest } from './request.ts';
import { type Told, unknown } from './results.ts';
import { fromBase64, responseOf } from './row.ts';

/** What is to be sent. */
export interface Sending {
  readonly settings: Settings;
  readonly operation: string;
  readonly key: string;
  readonly createdAt: number;
  readonly request: ReadRequest;
  /** On the monotonic clock. */
  readonly deadline: number;
  readonly signal: AbortSignal | null;
  /** Called before each request leaves; false: it is not to be sent any more. */
  readonly mayLeave: () => Promise<boolean>;
  /** A request may have left under the key, now or earlier. */
  wasSent: boolean;
  tries: number;
}

/** How it ended: with an answer that means something for good, or with what the caller is told. */
type Sent = { readonly means: Meaning; readonly answer: Answer } | { readonly told: Told };

/** A clock that goes back by more has been set. */
const CLOCK_ERROR_MS = 60_000;

/** An operation that is in progress is asked after no more often than this. */
const ASK_MIN_MS = 100;

/** Rejects with {@link GONE}, and with `NotKept`. */
export async function send(sending: Sending): Promise<Sent> {
  const { settings, operation, signal, deadline } = sending;
  const { world, emit, triesMax, baseMs, capMs } = settings;
  const isAborted = (): boolean => signal?.aborted === true;
  let poll: string | null = null;
  let mayPoll = true;
  let failed = 0;
  for (let pauses = 0; ; pauses++) {
    if ((globalThis as { navigator?: { onLine?: boolean } }).navigator?.onLine === false) {
      emit({ type: 'waiting', operation, because: 'offline' });
      await pause(world, deadline - world.monotonicNow(), signal, globalThis, 'online');
    }
    if (isAborted()) return { told: unknown('aborted', { error: signal?.reason as unknown }) };
    if (world.monotonicNow() >= deadline) return { told: unknown('no-answer') };
    const ageMs = world.wallNow() - sending.createdAt;
    // What was never sent no server can have forgotten. Of what is from after now the age is not known.
    if (sending.wasSent && (ageMs > settings.pendingAgeMaxMs || ageMs < -CLOCK_ERROR_MS)) {
      emit({ type: 'aged-out', operation, ageMs });
      return { told: unknown('aged-out') };
    }
    let because: 'in-progress' | 'answer' | 'lost' | 'timed-out' = 'lost';
    let error: unknown = null;
    const answer = await tryOnce(sending, poll).catch((cause: unknown) => {
      if (cause === GONE || cause instanceof NotKept) throw cause;
      error = cause;
      return null;
    });
    const means = answer && judge(answer, settings);
    if (answer === null) {
      if (error === TIMED_OUT) because = 'timed-out';
    } else if (poll !== null && (means === 'redirected' || answer.status === 404 || isOfJob(means, answer))) {
      // The status resource knows nothing of it, leads elsewhere, or speaks for itself: the request is asked again.
      mayPoll = !isOfJob(means, answer);
      poll = null;
      because = 'in-progress';
    } else {
      if (means !== 'in-progress' && means !== 'later') return { means: means as Meaning, answer };
      because = means === 'later' ? 'answer' : means;
      const location = answer.status === 202 ? answer.headers.get('location') : null;
      if (location !== null && mayPoll) poll = sameOrigin(location, poll ?? sending.request.kept.url);
    }

    if (because !== 'in-progress') failed += 1;
    const asked = answer === null ? null : retryAfterMs(answer.headers, world.wallNow());
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

/** A success that has no mark of the operation: "processing" and "failed" are told with 200 as well. */
function isOfJob(means: Meaning | null, { headers }: Answer): boolean {
  return means === 'first' && !headers.has('idempotency-key-expires');
}

/** Somebody has cancelled it, or settled it. */
export const GONE: Error = new Error('Given up.');
const TIMED_OUT = new Error('No answer in time.');

/** One request, or one look at the status resource. It ends in time whether or not `fetch` listens to its signal. */
async function tryOnce(sending: Sending, poll: string | null): Promise<Answer> {
  const { settings, deadline, signal } = sending;
  const { world, tryTimeMaxMs } = settings;
  const control = new AbortController();
  const late = pause(world, Math.min(tryTimeMaxMs, deadline - world.monotonicNow()), signal, control.signal);
  try {
    return await Promise.race([
      fetchWhole(sending, poll, control.signal),
      late.then(() => {
        throw TIMED_OUT;
      }),
    ]);
  } finally {
    // Ends what is left of it: the request, or the timer.
    control.abort();
  }
}

async function fetchWhole(sending: Sending, poll: string | null, signal: AbortSignal): Promise<Answer> {
  const { settings, operation, key, request } = sending;
  const { kept, headers: own, init } = request;
  const headers = new Headers(await settings.headers?.());
  for (const [name, value] of own) headers.set(name, value);
  if (poll === null) headers.set('idempotency-key', settings.quoted ? quote(key) : key);
  else headers.delete('content-type');
  if (!(await sending.mayLeave())) throw GONE;
  // Its time may be over meanwhile: then it has not left, and does not.
  signal.throwIfAborted();
  sending.wasSent = true;
  sending.tries += 1;
  settings.emit({ type: 'try', operation, number: sending.tries });
  const response = await settings.fetch(poll ?? kept.url, {
    ...init,
    method: poll === null ? kept.method : 'GET',
    headers,
    body: poll !== null || kept.body === null ? null : fromBase64(kept.body),
    // Where a redirect leads is no answer of the operation, and never gets its key, body or credentials (F83).
    redirect: 'manual',
    ...(kept.credentials && { credentials: kept.credentials }),
    signal,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: new Uint8Array(await response.arrayBuffer()),
  };
}

/** RFC 9651 §3.3.3: a String in double quotes. */
function quote(key: string): string {
  return `"${key.replaceAll(/["\\]/g, '\\$&')}"`;
}

/**
 * The status resource, if credentials may go there; elsewhere the request is sent again, which is answered the same.
 */
function sameOrigin(location: string, from: string): string | null {
  try {
    const url = new URL(location, from);
    return url.origin === new URL(from).origin ? url.href : null;
  } catch {
    return null;
  }
}

/** Until then, or until the signal, or until `target` has an event. */
function pause(
  world: Settings['world'],
  delayMs: number,
  signal: AbortSignal | null,
  target?: EventTarget,
  event = 'abort',
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', end);
      target?.removeEventListener(event, end);
      resolve();
    };
    const timer = world.setTimer(Math.max(0, delayMs), end);
    signal?.addEventListener('abort', end);
    target?.addEventListener(event, end);
    if (signal?.aborted === true) end();
  });
}

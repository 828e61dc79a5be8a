/**
 * Runtimes that end work once the answer is given: there a record would be left half-written, so that nothing runs
 * unless the runtime's context can be told to wait.
 */

import { OptionsError } from '../core/errors.ts';

/** What the runtime gives beside the request, such as a Worker's `ctx`. */
export interface FetchContext {
  /** Keeps the runtime alive until the promise is settled. */
  waitUntil?(work: Promise<unknown>): void;
}

/** Whether this runtime is one: Cloudflare Workers or Vercel Edge. */
export function runtimeEndsWithAnswer(): boolean {
  const { navigator, EdgeRuntime } = globalThis as {
    navigator?: { userAgent?: string };
    EdgeRuntime?: unknown;
  };
  return navigator?.userAgent === 'Cloudflare-Workers' || EdgeRuntime !== undefined;
}

/** What is wrong when the context that could wait was not passed. */
export function noContext(): OptionsError {
  return new OptionsError(
    'This runtime ends work once the answer is given: pass its context, so that waitUntil can keep the record being written.',
  );
}

/**
 * `@samekey/client/refusals`: servers that do not say themselves by which answers nothing happened, and a caller who
 * knows.
 *
 * Invariant: it never outvotes what the server says, and speaks for a request alone that was alone under its key.
 */

import { type ClientProfile, ietf } from './answer.ts';
import { must } from './client-error.ts';
import { checkNames } from './options.ts';

/** An answer of 4xx that is certain to say that nothing happened. */
export interface Refusal {
  readonly status: number;
  /** The `code` of its body, or Stripe's `type`. Default: whatever it is. */
  readonly code?: string;
}

/** A profile that knows these too: `profile: withRefusals([{ status: 422 }])`. Throws `OptionsError`. */
export function withRefusals(refusals: readonly Refusal[], profile: ClientProfile = ietf): ClientProfile {
  for (const refusal of refusals) {
    checkNames(refusal, ['status', 'code']);
    must(refusal.status >= 400 && refusal.status < 500, 'Refusals have a status of 4xx.');
  }
  return {
    quoted: profile.quoted,
    read(answer, document) {
      const codes = [undefined, document.code, document.error?.code, document.error?.type];
      const isCertain = refusals.some(({ status, code }) => status === answer.status && codes.includes(code));
      return { ...(isCertain && { means: 'never-ran' }), ...profile.read(answer, document) };
    },
  };
}

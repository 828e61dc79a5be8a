/**
 * What a profile promises on the wire.
 *
 * Sources: draft-ietf-httpapi-idempotency-key-header-07 §2.7; https://docs.stripe.com/api/idempotent_requests,
 * https://docs.stripe.com/api/errors.
 */

/** The name of a profile. */
export type ProfileName = 'ietf' | 'stripe';

/** Status codes and forms. */
export interface Expectations {
  /** For a key that was used with another request. */
  readonly mismatchStatus: number;
  /** For a request that meets a running one; beside them, its answer may wait for the running one's. */
  readonly inProgressStatuses: readonly number[];
  readonly errors: 'problem' | 'stripe';
}

/** By name. */
export const EXPECTATIONS: Readonly<Record<ProfileName, Expectations>> = {
  ietf: { mismatchStatus: 422, inProgressStatuses: [409, 425, 202], errors: 'problem' },
  stripe: { mismatchStatus: 400, inProgressStatuses: [409], errors: 'stripe' },
};

/** All names of profiles. */
export const PROFILE_NAMES: readonly ProfileName[] = Object.keys(EXPECTATIONS) as ProfileName[];

/** Headers of the field that say "this is a replay", beside the one the user names. */
export const MARKERS: readonly string[] = [
  'idempotency-replayed',
  'idempotent-replayed',
  'x-idempotency-replayed',
  'x-idempotent-replayed',
  'idempotent-replay',
  'idempotency-replay',
  'x-idempotency-replay',
];

/**
 * A pointer: what stands under an identity of an operation where its record is kept under a former one. While a bridge
 * stands (`formerly`), a claim goes to the oldest identity, as old processes do, and every younger identity holds a
 * pointer before the claim is asked for. So whoever knows only the present identity finds the record too, and the
 * bridge may go.
 *
 * Invariants: a record never moves · a pointer is final from the moment it can be followed, so nobody runs under its
 * identity · it outlives the record that it leads to · it holds no part of any request: a scope and a digest.
 */

import { UNKNOWN_MAX_MS } from '../../store/machine/index.ts';
import { type Fingerprint, POINTER_CLAIM, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import type { StoredResponse } from '../../core/response.ts';
import type { OperationSettings } from '../../core/settings.ts';

/** Where a pointer leads: the record's id, and what it is bound to if it is bound to the pointer's own request. */
export interface Target {
  readonly id: RecordId;
  readonly fingerprint: Fingerprint;
}

/** Why a pointer is final, for people. */
export const KEPT_ELSEWHERE = 'kept-under-former-identity';

/** The claimId of a pointer, which tells it from any record of a request. */
export function pointerClaimId(claimId: string): string {
  return POINTER_CLAIM + claimId;
}

/** Whether it is a pointer that can be followed. */
export function isPointer({ state, claimId }: Pick<SamekeyRecord, 'state' | 'claimId'>): boolean {
  return state === 'completed' && claimId.startsWith(POINTER_CLAIM);
}

/** What a pointer holds, in the place of an answer: no client ever sees it. */
export function pointerTo({ id, fingerprint }: Target): StoredResponse {
  return {
    status: 308,
    headers: [
      ['scope', id.scope],
      ['label', fingerprint.label],
      ['digest', fingerprint.digest],
    ],
    body: null,
  };
}

/** Where it leads; null where that cannot be read here. */
export function targetOf({ key, response }: SamekeyRecord): Target | null {
  const values = new Map(response?.headers);
  const [scope, label, digest] = [values.get('scope'), values.get('label'), values.get('digest')];
  if (scope === undefined || label === undefined || digest === undefined) return null;
  return { id: { scope, key }, fingerprint: { label, digest } };
}

/** How long a pointer must still live when a record begins behind it, in milliseconds: as long as that may live. */
export function lifeNeededMs({
  retentionMs,
  replayMinMs,
  attemptTimeMaxMs,
}: Pick<OperationSettings, 'retentionMs' | 'replayMinMs' | 'attemptTimeMaxMs'>): number {
  return retentionMs + replayMinMs + attemptTimeMaxMs + UNKNOWN_MAX_MS;
}

/** How long a pointer lives: a key may be used again behind it for thirty days. */
export function pointerLifeMs(settings: Parameters<typeof lifeNeededMs>[0]): number {
  return lifeNeededMs(settings) + UNKNOWN_MAX_MS;
}

/**
 * Requests as rows of input, in the order of `input-columns.ts`. Text that identifies is refused when PostgreSQL would
 * refuse or alter it (NUL, halves of surrogate pairs): before anything is sent, so that no transaction is aborted by
 * it.
 */

import type { NewAuditRow } from '../../store/audit.ts';
import { checkEnds } from '../../store/ends.ts';
import type { SamekeyRecord } from '../../core/record.ts';
import type {
  CheckpointRequest,
  ClaimRequest,
  FencedId,
  FinishRequest,
  RenewRequest,
} from '../../store/store.ts';
import { auditValues } from '../sql/audit-row.ts';
import { exact, linesText, shown } from '../sql/record-row.ts';
import { Bodies, type Cell } from './parameters.ts';
import type { NewRecord, ReservedId } from '../../store/transaction.ts';
import type { Seen } from './seen.ts';

/** A row of `CLAIM_INPUT`. */
export function claimRow(request: ClaimRequest): readonly Cell[] {
  return [
    exact(request.scope),
    exact(request.key),
    exact(request.operation),
    exact(request.claimId),
    request.claimTtlMs,
    request.whenClaimEnds,
    exact(request.fingerprint.label),
    exact(request.fingerprint.digest),
    request.retentionMs,
    request.replayMinMs,
    request.attemptMax,
    request.tombstoneMs,
    request.formatVersion,
  ];
}

/** A row of `RESERVE_INPUT`. */
export function reserveRow({ scope, key, fingerprint }: ReservedId): readonly Cell[] {
  return [exact(scope), exact(key), exact(fingerprint.label), exact(fingerprint.digest)];
}

/** A row of `RECORD_INPUT`, and its body. */
export function recordRows({ claim, end }: NewRecord): RowsWithBodies {
  if (end !== null) checkEnds([end]);
  const bodies = new Bodies();
  const response = end?.response ?? null;
  const row = [
    ...claimRow(claim),
    end?.to ?? 'pending',
    1,
    end?.proof ?? null,
    shown(end?.reason ?? null),
    ...responseCells(response),
    ...bodies.add(response?.body ?? null),
    end?.extendMs ?? 0,
  ];
  return { rows: [row], bodies: bodies.bytes() };
}

function responseCells(response: FinishRequest['response']): readonly Cell[] {
  return [
    response?.status ?? null,
    response === null ? null : linesText(response.headers),
    response?.trailers === undefined ? null : linesText(response.trailers),
  ];
}

/** Rows of `CLAIM_WITH_INPUT`. */
export function claimWithInputRows(requests: readonly ClaimRequest[]): RowsWithBodies {
  const bodies = new Bodies();
  const rows = requests.map((request) => {
    const accept = request.entry === 'accept';
    return [
      ...claimRow(request),
      accept ? 'pending' : 'in_progress',
      accept ? 0 : 1,
      accept ? request.pendingTimeMaxMs : request.claimTtlMs,
      ...bodies.add(request.input),
    ];
  });
  return { rows, bodies: bodies.bytes() };
}

/** A row of `CHECKPOINT_INPUT`. */
export function checkpointRow(request: CheckpointRequest): readonly Cell[] {
  return [
    ...handOverRow(request),
    request.claimTtlMs,
    shown(request.recoveryPoint),
    request.steps,
    request.intentOpen ? (request.isSameIntent === true ? 2 : 1) : 0,
    request.renewals ?? null,
  ];
}

/** A row of `REFERRED_CHECKPOINT_INPUT`. */
export function referredCheckpointRow(request: CheckpointRequest): readonly Cell[] {
  const { reference, effect } = request.reference ?? { reference: null, effect: null };
  return [...checkpointRow(request), reference === null ? null : exact(reference), shown(effect)];
}

/** A row of `HAND_OVER_INPUT`. */
export function handOverRow({ scope, key, claimId, attempt }: FencedId): readonly Cell[] {
  return [exact(scope), exact(key), exact(claimId), attempt];
}

/** A row of `RENEW_INPUT`. */
export function renewRow(request: RenewRequest): readonly Cell[] {
  const { scope, key, claimId, attempt, claimTtlMs } = request;
  return [exact(scope), exact(key), exact(claimId), attempt, claimTtlMs];
}

/** Rows, and the bodies they point into. */
interface RowsWithBodies {
  readonly rows: readonly (readonly Cell[])[];
  readonly bodies: Uint8Array;
}

/** Rows of `FINISH_INPUT`. */
export function finishRows(requests: readonly FinishRequest[]): RowsWithBodies {
  checkEnds(requests);
  const bodies = new Bodies();
  const rows = requests.map((request) => {
    const { response } = request;
    return [
      exact(request.scope),
      exact(request.key),
      exact(request.claimId),
      request.attempt,
      request.to,
      request.proof,
      shown(request.reason),
      ...responseCells(response),
      ...bodies.add(response?.body ?? null),
      request.unbindFingerprint ? 1 : 0,
      request.extendMs,
      request.reconcileAfterMs,
      request.handedOver ? 1 : 0,
    ];
  });
  return { rows, bodies: bodies.bytes() };
}

/** A row of `SEEN_INPUT`. */
export function seenRow({ record, version }: Seen): readonly Cell[] {
  return [record.scope, record.key, version, record.claimId, record.attempt, record.state];
}

/** A row of `ACT_INPUT`; empty for a write that leaves no row in the audit. */
export function actCells(row: NewAuditRow | undefined): readonly Cell[] {
  return row === undefined ? [] : auditValues(row).slice(2);
}

/** Rows of `WRITE_INPUT`, with `ACT_INPUT` where the writes are audited. */
export function writeRows(
  writes: readonly {
    readonly seen: Seen;
    readonly write: SamekeyRecord;
    readonly audit: NewAuditRow | undefined;
  }[],
): RowsWithBodies {
  const bodies = new Bodies();
  const rows = writes.map(({ seen, write, audit }) => {
    const { fingerprint, response } = write;
    return [
      ...seenRow(seen),
      exact(write.operation),
      write.state,
      write.attempt,
      exact(write.claimId),
      write.lockedUntil,
      write.claimTtlMs,
      write.renewals,
      write.whenClaimEnds,
      fingerprint === null ? null : exact(fingerprint.label),
      fingerprint === null ? null : exact(fingerprint.digest),
      write.proof,
      shown(write.reason),
      response?.status ?? null,
      response === null ? null : linesText(response.headers),
      response?.trailers === undefined ? null : linesText(response.trailers),
      write.formatVersion,
      write.sealKeyId,
      write.reconcileAfter,
      write.inquiries,
      write.createdAt,
      write.finishedAt,
      write.expiresAt,
      write.replayMinMs,
      write.attemptMax,
      write.tombstoneMs,
      shown(write.recoveryPoint),
      write.steps,
      write.intentAt,
      ...bodies.add(response?.body ?? null),
      ...bodies.add(write.input),
      ...actCells(audit),
    ];
  });
  return { rows, bodies: bodies.bytes() };
}

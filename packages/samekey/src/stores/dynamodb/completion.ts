/** The end of an attempt inside the caller's own `TransactWriteItems`. */

import { decideFinish } from '../../store/machine/index.ts';
import type { FinishRequest, FinishResult } from '../../store/store.ts';
import { fitting, type TableBodies } from './bodies.ts';
import { transitionRow } from '../../store/audit.ts';
import type { DynamoAudit } from './audit.ts';
import type { StoreClock } from './clock.ts';
import { putOnto, type TransactPut } from './element.ts';
import { digestOf, itemOf, samePlaces } from './item.ts';
import type { Records } from './records.ts';
import type { Views } from './view.ts';

/** `item`: to be written with the others. Anything else: nothing is to be written, and this is why. */
export type CompletionItem =
  | { readonly kind: 'item'; readonly expiresAt: number; readonly item: TransactPut }
  | Exclude<FinishResult, { readonly kind: 'applied' }>
  | { readonly kind: 'already'; readonly expiresAt: number };

/** Makes it. Renewals in between do no harm; whatever ends the attempt otherwise cancels the transaction. */
export async function completionItem(
  parts: {
    readonly records: Records;
    readonly clock: StoreClock;
    readonly views: Views;
    readonly bodies: TableBodies | undefined;
    readonly tableName: string;
    readonly audit: DynamoAudit;
    readonly auditTransitions: boolean;
    readonly timeToLive: boolean;
  },
  request: FinishRequest,
): Promise<CompletionItem> {
  const stored = await parts.records.read(request);
  const times = await parts.clock.times();
  const { now } = times;
  const before = stored?.record ?? null;
  const { write, result } = decideFinish(before, request, parts.views.of(before, times));
  if (!write || before === null || result.kind !== 'applied') return result;
  const version = crypto.randomUUID();
  const row = parts.auditTransitions ? transitionRow(before, write) : undefined;
  // It goes into its place with the next writer of this record, or with the reaper.
  const notes = [...(stored?.notes ?? []), ...(row === undefined ? [] : [parts.audit.numbered(row, now)])];
  const wanted = itemOf(
    write,
    { version, leaseMs: null, notes, timeToLive: parts.timeToLive },
    stored?.item ?? null,
  );
  const fit = await fitting(
    wanted,
    parts.bodies,
    `${digestOf(request)}/${version}`,
    samePlaces(stored, write),
  );
  return {
    kind: 'item',
    expiresAt: result.expiresAt,
    item: putOnto(parts.tableName, fit.item, before),
  };
}

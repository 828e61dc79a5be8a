/**
 * A store without a clock of its own (SQLite) ends a claim only when this very process has seen it stand still for its
 * length. A run that ends at once has seen nothing: it stays as long as the longest claim that looks over, and looks
 * again.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { shortDuration } from '../operate/duration.ts';
import { counted, note } from '../operate/print.ts';
import type { Target } from '../operate/target.ts';

/** Longer claims are left to a janitor that stays. */
const WATCH_MAX_MS = 120_000;
/** Claims that are looked at. */
const LOOKED_AT_MAX = 500;
/** The watch began a moment after the claim was read. */
const MARGIN_MS = 100;

/** Waits and looks again, if there is something to wait for. */
export async function watchClaims(target: Target, look: () => Promise<unknown>): Promise<void> {
  if (target.store.capabilities.serverClock) return;
  const now = await target.now();
  const open = await target.operator.list({ states: ['in_progress'], limit: LOOKED_AT_MAX });
  const over = open.filter(({ lockedUntil }) => lockedUntil <= now);
  if (over.length === 0) return;
  const watchMs = Math.min(WATCH_MAX_MS, Math.max(...over.map(({ claimTtlMs }) => claimTtlMs))) + MARGIN_MS;
  note(
    `${counted(over.length, 'claim looks', 'claims look')} over. No clock but this machine's says so: watching for ${shortDuration(watchMs)} whether anybody renews.`,
  );
  await pause(watchMs);
  await look();
}

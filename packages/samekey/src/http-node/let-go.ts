/**
 * The end of a capture: every override is taken off the response, so that Node, the application and outer middleware
 * have it as it was.
 *
 * Invariant: a method that somebody patched after us stays theirs; ours beneath it then passes everything on.
 */
import { CAPTURE, type Capturable, type CaptureState, type Methods } from './capture-state.ts';
import { deliverClose } from './client-gone.ts';
import { undiscard } from './discard.ts';
import { markClosed, swapOnFinished } from './node-state.ts';
import { showSocket } from './socket-view.ts';

/** The overridden methods; the order is the order of the bits of `ownBefore`. */
export const OVERRIDDEN: readonly (keyof Methods)[] = [
  'writeHead',
  'write',
  'end',
  'flushHeaders',
  'addTrailers',
  'destroy',
  'emit',
];

/** Takes the overrides off. A client that hung up in between is now made known to the application. */
export function letGo(c: CaptureState): void {
  if (c.phase === 'over') return;
  if (c.phase === 'discarding') undiscard(c);
  c.phase = 'over';
  c.timer?.cancel();
  c.copy?.drop();
  const res = c.res as unknown as Record<string, unknown>;
  let all = true;
  for (let i = OVERRIDDEN.length - 1; i >= 0; i--) {
    const name = OVERRIDDEN[i] as keyof Methods;
    if (res[name] !== c.overrides[name]) all = false;
    else if (c.ownBefore & (1 << i)) res[name] = c.original[name];
    else delete res[name];
  }
  showSocket(c);
  if (c.outerOnFinished) swapOnFinished(c.res, c.outerOnFinished);
  if (c.gone) deliverClose(c);
  else if (c.goneBefore) markClosed(c.res);
  if (all) delete (c.res as Capturable)[CAPTURE];
}

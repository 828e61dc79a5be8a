/** Bridges across deploys: which stand, and whether an entry of `formerly` may be taken out. */

import { bridgeEnds } from 'samekey/operator';
import type { Check, Finding } from './finding.ts';

/** One finding for each bridge that the newest pointers tell of; nothing where none stands. */
export const bridges: Check = async ({ store, now, windows }) => {
  const found: Finding[] = [];
  for (const { operation, formerly, laidAt, pastAt, isKnown } of await bridgeEnds(store)) {
    const measured = { operation, formerly, laidAt, pastAt, mayGo: isKnown && (pastAt ?? 0) <= now };
    const where =
      formerly === operation
        ? `Records of "${operation}" are kept under a former scope`
        : `Records of "${operation}" are kept under its former name "${formerly}"`;
    if (!isKnown) {
      const retention = windows.retryMs === null ? 'one retention' : 'one retention and your retry window';
      found.push({
        check: 'bridges',
        level: 'note',
        what: `${where}: what old code has kept looks the same, so its end is not to be seen here.`,
        measured,
        remedy: `Take the entry of formerly out ${retention} after the last process without it has left, not sooner.`,
      });
    } else if (pastAt !== null && pastAt > now) {
      found.push({
        check: 'bridges',
        level: 'note',
        what: `${where}, and the last that only code without the bridge has kept is past on ${new Date(pastAt).toISOString()}.`,
        measured,
        remedy: 'Keep the entry of formerly until then, and until no process without it runs.',
      });
    } else {
      found.push({
        check: 'bridges',
        level: 'note',
        what: `${where}, and nothing is left that only code without the bridge has kept.`,
        measured,
        remedy: 'If no process without it runs any more, the entry of formerly may be taken out.',
      });
    }
  }
  return found;
};

/**
 * Seals in the newest records: content that somebody writes in clear while others seal it, and several keys at once.
 */

import { type Check, fine } from './finding.ts';

/** The check. */
export const seals: Check = ({ recent }) => {
  const content = recent.filter(({ hasContent }) => hasContent);
  const sealed = content.filter(({ sealKeyId }) => sealKeyId !== null);
  const keys = new Set(sealed.map(({ sealKeyId }) => sealKeyId)).size;
  const since = Math.min(...sealed.map(({ createdAt }) => createdAt));
  const clear = content.filter(({ sealKeyId, createdAt }) => sealKeyId === null && createdAt > since);
  const measured = { sealed: sealed.length, clear: clear.length, keys };
  if (sealed.length === 0) return [];
  if (clear.length === 0)
    return [
      fine(
        'seals',
        `The answers of the newest ${sealed.length} records are sealed, under ${keys} key(s).`,
        measured,
      ),
    ];
  return [
    {
      check: 'seals',
      level: 'warning',
      what: `${clear.length} records hold content in clear, and are newer than sealed ones: some process of yours writes without the seal.`,
      measured,
      remedy:
        'Find the process whose store is not wrapped in sealedStore (often a worker or an older deploy), and mend it; then erase or reseal what it wrote.',
    },
  ];
};

/** Lines of a timeline as they are shown: those that somebody looks for, equal ones that follow each other as one. */

import type { Moment } from '../api.ts';

/** A line, and how often it is there. */
export interface Folded extends Moment {
  readonly times: number;
  /** Of several: when the last one was. */
  readonly lastAt: number | null;
}

/** Folds what matches. A line that is alone keeps its id; of many each has another one. */
export function foldedMoments(
  moments: readonly Moment[],
  { text, isOnlyBad }: { readonly text: string; readonly isOnlyBad: boolean },
): readonly Folded[] {
  const wanted = text.trim().toLowerCase();
  const folded: Folded[] = [];
  for (const moment of moments) {
    if (isOnlyBad && !moment.isBad) continue;
    if (wanted !== '' && !wordsOf(moment).includes(wanted)) continue;
    const last = folded.at(-1);
    if (last !== undefined && isSame(last, moment))
      folded[folded.length - 1] = { ...last, id: null, times: last.times + 1, lastAt: moment.at };
    else folded.push({ ...moment, times: 1, lastAt: null });
  }
  return folded;
}

function wordsOf({ title, detail, id }: Moment): string {
  return [title, detail, id].join(' ').toLowerCase();
}

function isSame(one: Moment, other: Moment): boolean {
  return (
    one.at !== null &&
    other.at !== null &&
    one.kind === other.kind &&
    one.title === other.title &&
    one.detail === other.detail
  );
}

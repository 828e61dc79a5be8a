/** Small decisions of the page. */

import type { Scenario } from '../model/index.ts';

/** The sound version beside a broken one, and the other way round. */
export function counterpartOf({ variants: all }: Scenario, id: string): string {
  const isSound = all.find((variant) => variant.id === id)?.breaks === null;
  return (all.find(({ breaks }) => (breaks === null) !== isSound) ?? all[0])?.id ?? id;
}

/** Keys that whatever has the focus needs itself. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  // What scrolls is scrolled by its keys.
  if (target.matches('input, select, textarea, pre, .scroll, [tabindex="0"][role="group"]')) return true;
  return event.key === ' ' && target.matches('button, summary, a');
}

/**
 * `@samekey/client/react`: an operation as a hook. Double clicks, renders, StrictMode, reload and the back button have
 * one key, because the key is in the pending store and not in the component.
 *
 * Invariants: what is shown belongs to the intent, so another name never shows the result of the last one (F132) ·
 * nothing is sent because a component appeared: what an earlier page left is `open`, and the person is asked.
 */

import type { Client } from '../client.ts';
import { type Intent, intentOf, NOTHING, type Shown } from '../intent.ts';
import type { WhenDone } from '../options.ts';

/** The part of React (18 and newer) used here: pass `React` itself. */
export interface ReactLike {
  readonly useSyncExternalStore: <Value>(
    subscribe: (listener: () => void) => () => void,
    state: () => Value,
    stateOnServer: () => Value,
  ) => Value;
}

/** What the hook gives: what is shown, and what the person can do. */
export type Once = Shown & Omit<Intent, 'state' | 'subscribe'>;

/** The hook. `whenDone` defaults to `ask`. */
export type UseOnce = (client: Client, name: string, options?: { readonly whenDone?: WhenDone }) => Once;

/** `const useOnce = createUseOnce(React)`, once; then `useOnce(client, 'pay-invoice-42')` in components. */
export function createUseOnce({ useSyncExternalStore }: ReactLike): UseOnce {
  return function useOnce(client, name, options) {
    const { state, subscribe, run, goOn, cancel, discard, again } = intentOf(client, name, options);
    const shown = useSyncExternalStore(subscribe, state, () => NOTHING);
    return { ...shown, run, goOn, cancel, discard, again };
  };
}

/**
 * `@samekey/client/react`: an operation as a hook. Double clicks, renders, StrictMode, reload and the back button have
 * one key, because the key is in the pending store and not in the component.
 *
 * Invariants: what is shown belongs to the intent, so another name never shows the result of the last one (F132) ·
 * nothing is sent because a component appeared: what an earlier page left is `open`, and the person is asked.
 */

import type { Client, OpenOperation } from '../client.ts';
import type { WhenDone } from '../options.ts';
import type { ClientResult } from '../results.ts';

/** The part of React used here: pass `React` itself. */
export interface ReactLike {
  readonly useState: <Value>(initial: Value) => [Value, (next: Value | ((before: Value) => Value)) => void];
  readonly useEffect: (effect: () => void | (() => void), inputs: readonly unknown[]) => void;
  readonly useCallback: <Callback extends (...args: never[]) => unknown>(
    callback: Callback,
    inputs: readonly unknown[],
  ) => Callback;
}

/** What the hook gives. */
export interface Once {
  /**
   * `waiting`: a call is under way, or the pending store has not been read yet · `open`: an earlier page has left it ·
   * else what became of the last call.
   */
  readonly status: 'waiting' | 'open' | 'idle' | ClientResult['outcome'];
  /** What became of the last call; null before. */
  readonly result: ClientResult | null;
  /** What an earlier page has left: go on with it, cancel it (never sent) or discard it. */
  readonly open: OpenOperation | null;
  /** Calls, as `operation.fetch`. */
  readonly run: (url: string | URL, init?: RequestInit) => Promise<ClientResult>;
  /** Goes on with what is open; null if nothing is. */
  readonly goOn: () => Promise<ClientResult | null>;
  /** As of the operation; what was dropped is not shown any more. */
  readonly cancel: () => Promise<boolean>;
  readonly discard: (consent: { readonly consented: true }) => Promise<boolean>;
  readonly again: () => Promise<boolean>;
}

interface State {
  readonly client: Client;
  readonly name: string;
  readonly running: number;
  readonly result: ClientResult | null;
  readonly open: OpenOperation | null;
  readonly hasLooked: boolean;
}

/** The hook. `whenDone` defaults to `ask`. */
export type UseOnce = (client: Client, name: string, options?: { readonly whenDone?: WhenDone }) => Once;

type Change = (next: (before: State) => Partial<State>) => void;

/** What is shown of an intent: a call that ends when another one is shown changes nothing of that one. */
function useShown(
  { useState, useEffect, useCallback }: ReactLike,
  client: Client,
  name: string,
): { readonly state: State; readonly change: Change; readonly look: () => Promise<void> } {
  const nothing: State = { client, name, running: 0, result: null, open: null, hasLooked: false };
  const [kept, set] = useState<State>(nothing);
  const isOurs = (state: State): boolean => state.name === name && state.client === client;

  const change = useCallback<Change>(
    (next) => set((before) => (isOurs(before) ? { ...before, ...next(before) } : before)),
    [client, name],
  );

  const look = useCallback(async () => {
    // A store that cannot be read is told by the call itself.
    const [open = null] = await client.resume({ operations: [name] }).catch(() => []);
    change(() => ({ open, hasLooked: true }));
  }, [client, name]);

  useEffect(() => {
    set((before) => (isOurs(before) ? before : nothing));
    void look();
  }, [client, name]);

  return { state: isOurs(kept) ? kept : nothing, change, look };
}

/** `const useOnce = createUseOnce(React)`, once; then `useOnce(client, 'pay-invoice-42')` in components. */
export function createUseOnce(react: ReactLike): UseOnce {
  const { useCallback } = react;
  return function useOnce(client, name, { whenDone = 'ask' } = {}) {
    const { state, change, look } = useShown(react, client, name);
    const { running, result, open, hasLooked } = state;

    const during = useCallback(
      async <Result extends ClientResult | null>(call: () => Promise<Result>): Promise<Result> => {
        change((before) => ({ running: before.running + 1, open: null }));
        let ended: ClientResult | null = null;
        try {
          const now = await call();
          ended = now;
          return now;
        } finally {
          change((before) => ({ running: Math.max(0, before.running - 1), result: ended ?? before.result }));
        }
      },
      [change],
    );
    const operation = useCallback(() => client.operation(name, { whenDone }), [client, name, whenDone]);
    const run = useCallback<Once['run']>(
      (url, init) =>
        during(async () => {
          const now = await operation().fetch(url, init);
          // Only who is asked can go on with it: so ask.
          if (now.why === 'age-unknown') await look();
          return now;
        }),
      [operation],
    );
    const goOn = useCallback(() => during(async () => open && open.goOn()), [during, open]);

    const given = useCallback(
      async (up: Promise<boolean>): Promise<boolean> => {
        const isDropped = await up;
        if (isDropped) change(() => ({ result: null, open: null }));
        return isDropped;
      },
      [change],
    );
    const cancel = useCallback(() => given(operation().cancel()), [operation]);
    const discard = useCallback<Once['discard']>(
      (consent) => given(operation().discard(consent)),
      [operation],
    );
    const again = useCallback(() => given(operation().again()), [operation]);

    const known = open === null ? (result?.outcome ?? 'idle') : 'open';
    return {
      status: running > 0 || !hasLooked ? 'waiting' : known,
      result,
      open,
      run,
      goOn,
      cancel,
      discard,
      again,
    };
  };
}

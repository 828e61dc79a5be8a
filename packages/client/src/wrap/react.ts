/**
 * `@samekey/client/react`: an operation as a hook. Double clicks, renders, StrictMode, reload and the back button have
 * one key, because the key is in the pending store and not in the component; what is pending is gone on with when the
 * component appears.
 */

import type { Client } from '../client.ts';
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
  /** A call is under way. */
  readonly isRunning: boolean;
  /** What became of the last call, or of the one that was gone on with; null before. */
  readonly result: ClientResult | null;
  /** Calls, as `operation.fetch`. */
  readonly run: (url: string | URL, init?: RequestInit) => Promise<ClientResult>;
  /** The user means it again. */
  readonly startNew: () => Promise<void>;
}

interface State {
  readonly running: number;
  readonly result: ClientResult | null;
}

/** `const useOnce = createUseOnce(React)`, once; then `useOnce(client, 'pay-invoice-42')` in components. */
export function createUseOnce({
  useState,
  useEffect,
  useCallback,
}: ReactLike): (client: Client, name: string) => Once {
  return function useOnce(client, name) {
    const [{ running, result }, set] = useState<State>({ running: 0, result: null });

    useEffect(() => {
      let isShown = true;
      set({ running: 0, result: null });
      client.resume({ operations: [name] }).then(
        ([resumed]) => {
          if (isShown && resumed !== undefined) set((before) => ({ ...before, result: resumed }));
        },
        // A store that cannot be read is told by the call itself.
        () => undefined,
      );
      return () => {
        isShown = false;
      };
    }, [client, name]);

    const run = useCallback(
      async (url: string | URL, init?: RequestInit): Promise<ClientResult> => {
        set((before) => ({ ...before, running: before.running + 1 }));
        let ended: ClientResult | null = null;
        try {
          ended = await client.operation(name).fetch(url, init);
          return ended;
        } finally {
          set((before) => ({ running: Math.max(0, before.running - 1), result: ended ?? before.result }));
        }
      },
      [client, name],
    );

    const startNew = useCallback(async (): Promise<void> => {
      await client.operation(name).startNew();
      set((before) => ({ ...before, result: null }));
    }, [client, name]);

    return { isRunning: running > 0, result, run, startNew };
  };
}

/** What tests of engines wait for. */

import type { Ending } from 'samekey/internals/engine/attempt';
import { response, type StoredResponse } from 'samekey/internals/core/response';
import type { EngineHandler } from './node.ts';

/** Something that happens once and is waited for. */
export interface Signal {
  readonly sent: Promise<void>;
  send(): void;
}

/** Makes a signal. */
export function createSignal(): Signal {
  const listeners: (() => void)[] = [];
  const sent = new Promise<void>((resolve) => void listeners.push(resolve));
  return {
    sent,
    send() {
      for (const listener of listeners) listener();
    },
  };
}

/** A handler that is at work until it is told to end. */
export interface HeldHandler {
  readonly begun: Promise<void>;
  readonly handler: EngineHandler;
  end(): void;
}

/** Makes one; it ends as `answer` says, by default with 201 and the number of its run. */
export function heldHandler(
  bench: { count(): number },
  answer: (run: number) => StoredResponse | Ending = (run) =>
    response(201, [['content-type', 'application/json']], `{"run":${run}}`),
): HeldHandler {
  const begun = createSignal();
  const told = createSignal();
  return {
    begun: begun.sent,
    end: () => told.send(),
    async handler() {
      const run = bench.count();
      begun.send();
      await told.sent;
      return answer(run);
    },
  };
}

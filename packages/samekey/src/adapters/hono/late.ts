/**
 * A handler that is given up goes on, and its late answer is worth recording. But Hono takes a handler's answer only while the
 * context has none, and the context has ours by then. So the context is given back to the handler as soon as the framework
 * has taken our answer out: it looks at `finalized`, then at `res`, and looks at neither ever again.
 *
 * Invariant: until then everybody sees our answer. A handler that ends before gets nothing recorded; its outcome stays unknown.
 */

import type { Timer, World } from '../../core/world.ts';
import type { HonoContext } from './hono-context.ts';

/** Whether the context is the handler's again. */
export interface GivenUp {
  isBack: boolean;
}

/** Watches for it. Call it when our answer has been set. */
export function giveBack(c: HonoContext, world: World): GivenUp {
  const state: GivenUp = { isBack: false };
  const res = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(c), 'res');
  // A Hono that keeps its answer otherwise: late answers are lost, nothing else.
  if (res?.get === undefined || res.set === undefined) return state;
  let finalized = true;
  let isAsked = false;
  let timer: Timer | undefined;

  function back(): void {
    state.isBack = true;
    Reflect.deleteProperty(c, 'res');
    // Without this, the headers of our answer would be merged into the late one.
    c.res = undefined;
    Object.defineProperty(c, 'finalized', {
      value: false,
      writable: true,
      configurable: true,
      enumerable: true,
    });
  }

  Object.defineProperty(c, 'finalized', {
    configurable: true,
    get() {
      isAsked = true;
      return finalized;
    },
    set(value: boolean) {
      finalized = value;
    },
  });
  Object.defineProperty(c, 'res', {
    configurable: true,
    get(): unknown {
      timer?.cancel();
      // Middleware may look in the same way, in the same turn; the framework is the last to.
      if (isAsked) timer = world.setTimer(0, back);
      isAsked = false;
      return res.get?.call(c);
    },
    set(value: unknown) {
      res.set?.call(c, value);
    },
  });
  return state;
}

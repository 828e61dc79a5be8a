/**
 * Traps inside the API process: at the nth arrival at a probe point it kills itself, stops itself, or tells its parent and
 * waits there. Everything a test needs to know comes as a message or as the end of the process, never by waiting a while.
 */

import type { LedgerWriter } from './api-ledger.ts';
import type { FromApi, Trap, TrapPoint } from './api-protocol.ts';

/** The traps of one process. */
export interface Traps {
  arm(id: number, trap: Trap): void;
  disarm(): void;
  /** Lets the flow held by this trap go on. */
  go(id: number): void;
  /** The flow of `key` has come to `point`; the promise holds it there. Undefined when no trap cares. */
  at(point: TrapPoint, key: string): Promise<void> | undefined;
}

interface Armed {
  readonly id: number;
  readonly trap: Trap;
  left: number;
}

/** Makes the traps of this process. */
export function createTraps(ledger: LedgerWriter, tell: (message: FromApi) => Promise<void>): Traps {
  let armed: Armed[] = [];
  const held = new Map<number, () => void>();

  async function spring({ id, trap }: Armed, key: string): Promise<void> {
    if (trap.action === 'kill') {
      // Nothing asynchronous from here on: the process ends on this very line.
      ledger.append({ kind: 'dying', pid: process.pid });
      process.kill(process.pid, 'SIGKILL');
    }
    if (trap.action === 'stop') {
      await tell({ type: 'reached', id, key });
      process.kill(process.pid, 'SIGSTOP');
      return;
    }
    await new Promise<void>((resolve) => {
      held.set(id, resolve);
      void tell({ type: 'reached', id, key });
    });
  }

  return {
    arm: (id, trap) => void armed.push({ id, trap, left: trap.nth ?? 1 }),
    disarm() {
      armed = [];
    },
    go(id) {
      held.get(id)?.();
      held.delete(id);
    },
    at(point, key) {
      for (const one of armed) {
        if (one.trap.point !== point || (one.trap.key ?? key) !== key) continue;
        one.left -= 1;
        if (one.left > 0) continue;
        armed = armed.filter((other) => other !== one);
        return spring(one, key);
      }
      return undefined;
    },
  };
}

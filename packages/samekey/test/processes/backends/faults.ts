/** What any server, and any proxy in front of one, can suffer (`backend.ts`): each backend takes from here what its own allows. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultProxy, StatementFault } from '../../services/fault-proxy.ts';
import type { Fault } from './backend.ts';

/** A server of a test that can be killed and frozen. */
interface Mortal {
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Until the function that is given is called. */
  freeze(): () => void;
}

/** Of a server that keeps what it acknowledged. */
export function serverFaults(server: Mortal): { readonly crash: Fault; readonly freeze: Fault } {
  return {
    async crash() {
      await server.kill();
      await server.restart();
    },
    async freeze(random) {
      const thaw = server.freeze();
      // From shorter than a claim to longer than what a store may take.
      await sleep(100 + random() * 1_400);
      thaw();
    },
  };
}

/** Of connections, whatever goes over them. */
export function connectionFaults(proxy: FaultProxy): { readonly cut: Fault; readonly deaf: Fault } {
  return {
    cut: async () => proxy.cut(),
    deaf: async (random) => proxy.goDeaf(random() < 0.5 ? 'both' : undefined),
  };
}

/** Of a proxy that reads statements; `aimAt` says whose answer is lost. */
export function proxyFaults(
  proxy: FaultProxy,
  aimAt: (random: () => number) => Pick<StatementFault, 'statement' | 'nth'>,
): ReturnType<typeof connectionFaults> & { readonly 'lose-reply': Fault } {
  return {
    ...connectionFaults(proxy),
    async 'lose-reply'(random) {
      const armed = proxy.arm({
        ...aimAt(random),
        what: 'lose-reply',
        leaves: random() < 0.5 ? 'closed' : 'half-open',
      });
      // A statement of that kind need not come any more.
      await Promise.race([armed.happened, sleep(LOST_WITHIN_MS)]);
      armed.disarm();
    },
  };
}

const LOST_WITHIN_MS = 500;

/** One of several kinds of statements. */
export function oneOf(kinds: readonly RegExp[]): (random: () => number) => { readonly statement: RegExp } {
  return (random) => ({ statement: kinds[Math.floor(random() * kinds.length)] as RegExp });
}

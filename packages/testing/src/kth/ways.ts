/** The ways to run a handler, each as one small shop that counts what it did for each key. */

import { reply } from 'samekey/internals/ways/reply';
import { internalsOf } from 'samekey/internals/samekey';
import { pushDue } from 'samekey/internals/ways/completer';
import type { RunOutcome } from 'samekey/internals/ways/direct';
import type { EngineNode } from '../engine/bench.ts';

/** What was done for each key, as a provider outside would know it. */
export interface Ledger {
  /** One line for each thing done; the same line twice is a second effect. */
  readonly done: Map<string, string[]>;
  /** Payments under a provider's own idempotency keys. */
  readonly paid: Map<string, Set<string>>;
}

/** Makes an empty one. */
export function createLedger(): Ledger {
  return { done: new Map(), paid: new Map() };
}

/** One request in one way. */
export type Ask = (key: string) => Promise<RunOutcome<unknown>>;

/** A way: its operations are defined once for a process. */
export interface KthWay {
  readonly name: string;
  /** Fewer calls of the store it cannot make: a check of the test itself. */
  readonly callsMin: number;
  /** What the ledger holds of a key in the end. */
  readonly done: readonly string[];
  readonly payments: number;
  open(node: EngineNode, ledger: Ledger): Ask;
}

/** Long enough for a renewal, in milliseconds. */
const WORK_MS = 4_500;
const SCOPE = { scope: ['tenant-1'] } as const;

function note({ done }: Ledger, key: string, line: string): void {
  done.set(key, [...(done.get(key) ?? []), line]);
}

function pay({ paid }: Ledger, key: string, downstreamKey: string): void {
  paid.set(key, (paid.get(key) ?? new Set<string>()).add(downstreamKey));
}

export const KTH_WAYS: readonly KthWay[] = [
  {
    name: 'plain',
    callsMin: 3,
    done: ['ran'],
    payments: 0,
    open(node, ledger) {
      const operation = node.samekey.plain({
        name: 'plain',
        policy: 'payments',
        async run(key: string) {
          note(ledger, key, 'ran');
          await node.sleep(WORK_MS);
          return reply(201, { paid: key });
        },
      });
      return (key) => operation.run({ ...SCOPE, key, input: key });
    },
  },
  {
    name: 'run',
    callsMin: 2,
    done: ['ran'],
    payments: 0,
    open: (node, ledger) => (key) =>
      node.samekey.run({ ...SCOPE, key, operation: 'run', fingerprint: key, policy: 'payments' }, () => {
        note(ledger, key, 'ran');
        return reply(201, { paid: key });
      }),
  },
  {
    name: 'phased',
    callsMin: 7,
    done: ['reserved', 'sent'],
    payments: 1,
    open(node, ledger) {
      const operation = node.samekey.phased({
        name: 'phased',
        async run(key: string, attempt) {
          const done = (line: string): boolean => ledger.done.get(key)?.includes(line) === true;
          const inquired = (line: string) =>
            attempt.effect(line, async () => note(ledger, key, line), {
              rule: 'inquire',
              inquire: async () => (done(line) ? { result: undefined } : null),
            });
          await inquired('reserved');
          await node.sleep(WORK_MS);
          await attempt.effect('pay', (effect) => pay(ledger, key, effect.downstreamKey), {
            rule: 'downstreamKey',
            retentionMs: 3_600_000,
          });
          await inquired('sent');
          return reply(201, { paid: key });
        },
      });
      return (key) => operation.run({ ...SCOPE, key, input: key });
    },
  },
  {
    name: 'deferred, with a worker',
    callsMin: 4,
    done: ['ran'],
    payments: 0,
    open(node, ledger) {
      const operation = node.samekey.deferred(
        node.samekey.plain({
          name: 'deferred',
          policy: 'payments',
          async run(key: string) {
            note(ledger, key, 'ran');
            await node.sleep(WORK_MS);
            return reply(201, { paid: key });
          },
        }),
      );
      return async (key) => {
        await operation.run({ ...SCOPE, key, input: key });
        await pushDue(internalsOf(node.samekey), 10);
        return operation.run({ ...SCOPE, key, input: key });
      };
    },
  },
];

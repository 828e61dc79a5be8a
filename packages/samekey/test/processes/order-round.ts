/**
 * One round of orders whose key, line and answer are one transaction, on API processes of which some reserve the key
 * inside it and some before it, as during a deploy. At a stop of the operation a process is killed or frozen, or the
 * database is killed, while others are asked for the same key. In the end each key has one line and one answer.
 */

import type { ProbePoint } from 'samekey';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomOf } from './api-checks.ts';
import { checkOrdered } from './golden-checks.ts';
import { askForGood, type Payer, sendPay, wordOf } from './golden-client.ts';
import type { Golden, GoldenProcess } from './golden-cluster.ts';

/** What is passed by an order that is made, in order. */
export const ORDER_STOPS: readonly ProbePoint[] = [
  'claim.before',
  'claim.applied',
  'handler.before',
  'commit.before',
  'commit.sent',
  'commit.applied',
  'handler.after',
];

/** What happens there. */
export const ORDER_BLOWS = ['kill', 'freeze', 'database', 'race'] as const;

/** How many seeds go through all of it. */
export const ORDER_TURN: number = ORDER_STOPS.length * ORDER_BLOWS.length;

/** What one round does. */
export interface OrderRound {
  readonly seed: number;
  readonly stop: ProbePoint;
  readonly blow: (typeof ORDER_BLOWS)[number];
}

/** What came of it. */
export interface OrderResult {
  readonly failures: readonly string[];
  readonly keys: number;
  /** How often the process came to the stop. */
  readonly struck: number;
}

/** The round of a seed. */
export function orderRoundOf(seed: number): OrderRound {
  const stop = ORDER_STOPS[seed % ORDER_STOPS.length] as ProbePoint;
  const blow = ORDER_BLOWS[Math.floor(seed / ORDER_STOPS.length) % ORDER_BLOWS.length] ?? 'race';
  return { seed, stop, blow };
}

/** What a client may be told on its way. */
const MEANWHILE = new Set([
  'lost',
  'in-progress',
  'store-unavailable',
  // The handler lets through that its transaction was ended.
  '500',
  // A COMMIT that nobody answered in time.
  'outcome-unknown',
]);
/** What another request under a key that is taken may be told. */
const REFUSED = new Set(['key-reused', 'in-progress', 'store-unavailable', 'lost', 'outcome-unknown']);
const RACERS = 12;

/** Runs one round; afterwards the installation is whole again. */
export async function orderRound(golden: Golden, round: OrderRound): Promise<OrderResult> {
  const { seed, stop, blow } = round;
  const random = randomOf(seed);
  const failures: string[] = [];
  const fail = (what: string): void => void failures.push(`${JSON.stringify(round)}: ${what}`);
  const prefix = `o-${seed}-${Math.floor(performance.now())}-`;
  const payer = (name: string): Payer => ({
    key: `${prefix}${name}`,
    rule: 'order',
    amount: 100 + (seed % 900),
  });
  const [struck, beside] = [payer('struck'), payer('beside')];
  const place = Math.floor(random() * golden.apis.length);
  const victim = golden.apis[place] as GoldenProcess;
  let count = 0;
  let work: Promise<void> = Promise.resolve();
  if (blow !== 'race') {
    const action = blow === 'kill' ? 'kill' : blow === 'freeze' ? 'stop' : 'wait';
    const trap = await victim.arm({ point: stop, key: struck.key, action });
    if (blow === 'kill') void victim.ended.then(() => (count += 1));
    else
      void trap.reached.then(() => {
        count += 1;
        work = blow === 'freeze' ? thaw() : restartDatabase(trap);
      });
  }

  /** Longer than its claim, or for a moment. */
  async function thaw(): Promise<void> {
    const isLong = random() < 0.6;
    if (!isLong && ORDER_STOPS.indexOf(stop) > 0) {
      const other = golden.apis.find((process) => process !== victim && process.isUp());
      const word = wordOf(await sendPay(other?.port ?? 0, { ...struck, amount: struck.amount + 1 }));
      if (!REFUSED.has(word)) fail(`another request under its key was answered ${word}`);
    }
    await sleep(isLong ? 1.5 * golden.claimTtlMs : 50);
    victim.signal('SIGCONT');
  }

  async function restartDatabase(trap: { go(): Promise<void> }): Promise<void> {
    const killing = golden.server.kill();
    if (random() < 0.5) await trap.go();
    await killing;
    await sleep(random() * 300);
    await golden.server.restart();
    await trap.go();
  }

  const ask = async (one: Payer, first: GoldenProcess): Promise<void> => {
    const fault = await askForGood(golden, one, { first, isSilent: false, meanwhile: MEANWHILE, random });
    if (fault !== null) fail(`${one.key} ${fault}`);
  };
  const racers = blow === 'race' ? RACERS : 3;
  await Promise.all([
    ask(struck, victim),
    ...Array.from({ length: racers }, (_, i) =>
      ask(struck, golden.apis[(place + i) % golden.apis.length] as GoldenProcess),
    ),
    ask(beside, victim),
  ]);
  await work;
  await Promise.all(golden.apis.map((process) => process.disarm()));
  await golden.whole();
  for (const name of golden.fallen.splice(0)) fail(`${name} ended by itself`);
  await checkOrdered(golden, [struck, beside], fail);
  for (const { port } of golden.apis) {
    const word = wordOf(await sendPay(port, { ...struck, amount: struck.amount + 1 }));
    if (word !== 'key-reused' && word !== 'store-unavailable')
      fail(`another request under its key is answered ${word} in the end`);
  }
  return { failures, keys: 2, struck: count };
}

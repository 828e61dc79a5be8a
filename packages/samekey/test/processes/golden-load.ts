/**
 * The golden path without deaths: many equal payments at one moment against all processes, and a rolling restart of all of them, APIs
 * and workers, under load (F65).
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { randomOf } from './api-checks.ts';
import { checkDone } from './golden-checks.ts';
import { askForGood, type Payer, sendPay, wordOf } from './golden-client.ts';
import type { Golden } from './golden-cluster.ts';
import { RULES } from './golden-protocol.ts';

/** What came of it. */
export interface GoldenLoadResult {
  readonly failures: readonly string[];
  readonly keys: number;
}

/** Equal requests at one moment: each is answered 201 or told that it is in progress; one payment is made. */
export async function goldenRace(golden: Golden, seed: number, requests = 50): Promise<GoldenLoadResult> {
  const failures: string[] = [];
  const fail = (what: string): void => void failures.push(`race, seed ${seed}: ${what}`);
  const prefix = `race-${seed}-${Math.floor(performance.now())}-`;
  const payer: Payer = { key: `${prefix}0`, rule: RULES[seed % RULES.length] ?? 'inquire', amount: 5 };
  await golden.provider.setFaults({});
  await Promise.all(golden.workers.map((worker) => worker.work(true)));
  const words = await Promise.all(
    Array.from({ length: requests }, (_, i) =>
      sendPay(golden.apis[i % golden.apis.length]?.port ?? 0, payer),
    ),
  );
  const heard = new Set(words.map(wordOf));
  for (const word of heard) if (word !== '201' && word !== 'in-progress') fail(`somebody heard ${word}`);
  if (!heard.has('201')) fail('nobody was answered');
  await checkDone(golden, [payer], fail);
  const { calls } = await golden.provider.ledger(prefix);
  if (calls.length !== 2) fail(`the provider was called ${calls.length} times`);
  return { failures, keys: 1 };
}

const MEANWHILE = new Set(['lost', 'in-progress', 'closing', 'store-unavailable']);

/** Stops each process in order, of each role `places` at most, and waits for its successor, while clients pay; nothing may be left open. */
export async function goldenRestart(
  golden: Golden,
  seed: number,
  {
    clients = 4,
    places = Number.POSITIVE_INFINITY,
  }: { readonly clients?: number; readonly places?: number } = {},
): Promise<GoldenLoadResult> {
  const failures: string[] = [];
  const fail = (what: string): void => void failures.push(`restart, seed ${seed}: ${what}`);
  const random = randomOf(seed);
  const prefix = `restart-${seed}-${Math.floor(performance.now())}-`;
  const paid: Payer[] = [];
  const state = { isOn: true };
  // Answers may be late: then a stopping process has something to wait for.
  await Promise.all(golden.workers.map((worker) => worker.work(true)));
  await golden.provider.setFaults({ seed, share: 0.2, answerLateMs: 250, chargeLateMs: 100 });
  const pay = async (client: number): Promise<void> => {
    for (let i = 0; state.isOn; i += 1) {
      const payer: Payer = {
        key: `${prefix}${client}-${i}`,
        rule: random() < 0.5 ? 'inquire' : 'downstreamKey',
        amount: i,
      };
      const up = golden.apis.filter((process) => process.isUp());
      const first = up[Math.floor(random() * up.length)];
      if (first === undefined) return fail('no process is up');
      const fault = await askForGood(golden, payer, { first, isSilent: false, meanwhile: MEANWHILE, random });
      if (fault !== null) fail(`${payer.key} ${fault}`);
      paid.push(payer);
      await sleep(10);
    }
  };
  const all = Array.from({ length: clients }, (_, client) => pay(client));
  for (const process of [...golden.apis.slice(0, places), ...golden.workers.slice(0, places)]) {
    process.signal('SIGTERM');
    const { code, signal } = await process.ended;
    if (code !== 0) fail(`${process.name} ended with ${code ?? signal}, ${process.left()} left`);
    await golden.whole();
  }
  state.isOn = false;
  await Promise.all(all);
  for (const name of golden.fallen.splice(0)) fail(`${name} ended by itself`);
  await checkDone(golden, paid, fail);
  const open = await golden.database.openOf(prefix);
  if (open.length > 0) fail(`not completed: ${JSON.stringify(open)}`);
  return { failures, keys: paid.length };
}

/** What must hold of the keys of a golden round at its end, whoever died: of answers, business rows, the provider's ledger, records. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Golden } from './golden-cluster.ts';
import { type Payer, recordOf, sendPay, steadily, type Word, wordOf } from './golden-client.ts';
import { EFFECTS, type GoldenAnswer, PHASES } from './golden-operation.ts';
import type { ProviderLedger } from './payment-provider.ts';

type Fail = (what: string) => void;

/** A process whose database was away needs a moment to come back to it, and to store what it answered meanwhile (F3). */
const BACK_IN_MS = 15_000;
const UNTIL_BACK = new Set(['store-unavailable', 'in-progress', 'lost']);

/** Each order was answered for good, and written exactly once. */
export async function checkOrdered(golden: Golden, payers: readonly Payer[], fail: Fail): Promise<void> {
  for (const payer of payers) {
    const failKey = (what: string): void => fail(`${payer.key}: ${what}`);
    await checkAnswered(golden, payer, ['order'], failKey);
  }
}

/** One answer, wherever it is asked for, and one line of each phase, which it repeats. Null: there is none. */
async function checkAnswered(
  golden: Golden,
  payer: Payer,
  phases: readonly string[],
  failKey: Fail,
): Promise<GoldenAnswer | null> {
  const answers = new Set<string>();
  for (const { port } of golden.apis) {
    const word = await lastWord(port, payer);
    answers.add(word.kind === 'answer' ? `${word.status} ${word.body}` : 'lost');
    if (wordOf(word) !== '201') failKey(`is answered ${wordOf(word)} in the end`);
  }
  if (answers.size !== 1)
    failKey(`is answered in ${answers.size} ways in the end: ${[...answers].join(' | ')}`);
  const record = await steadily(() => recordOf(golden, payer.key));
  if (record?.state !== 'completed') failKey(`its record is ${JSON.stringify(record)}`);
  const [answer = ''] = answers;
  if (!answer.startsWith('201 ')) return null;
  const said = JSON.parse(answer.slice(4)) as GoldenAnswer;
  if (said.reference !== payer.key) failKey(`was answered for ${said.reference}`);
  const lines = await steadily(() => golden.database.linesOf(payer.key));
  const written = phases.map((phase) =>
    lines.filter((line) => line.phase === phase).map((line) => line.written),
  );
  if (JSON.stringify(written) !== JSON.stringify(said.written.map((one) => [one]))) {
    failKey(`wrote ${JSON.stringify(lines)} and was answered ${JSON.stringify(said.written)}`);
  }
  return said;
}

/** Each key was answered for good, and everything it stands for was done exactly once. */
export async function checkDone(golden: Golden, payers: readonly Payer[], fail: Fail): Promise<void> {
  for (const payer of payers) {
    const failKey = (what: string): void => fail(`${payer.key}: ${what}`);
    const said = await checkAnswered(golden, payer, PHASES, failKey);
    // After the last answer: until then payments may be under way.
    const ledger = await golden.provider.ledger(payer.key);
    checkAtMostOnce(ledger, payer, failKey);
    if (said === null) continue;
    const paid = EFFECTS.map((kind) => paymentsOf(ledger, payer.key, kind));
    if (JSON.stringify(paid) !== JSON.stringify(said.payments.map((one) => [one]))) {
      failKey(`paid ${JSON.stringify(paid)} and was answered ${JSON.stringify(said.payments)}`);
    }
  }
}

async function lastWord(port: number, payer: Payer): Promise<Word> {
  for (const until = performance.now() + BACK_IN_MS; ; await sleep(50)) {
    const word = await sendPay(port, payer);
    if (!UNTIL_BACK.has(wordOf(word)) || performance.now() > until) return word;
  }
}

/** No second charge, and never another downstream key: what must hold whatever became of the key. */
export function checkAtMostOnce(ledger: ProviderLedger, { key }: Payer, fail: Fail): void {
  for (const kind of EFFECTS) {
    const paid = paymentsOf(ledger, key, kind);
    if (paid.length > 1) fail(`was charged ${paid.length} times: ${kind}`);
    const calls = ledger.calls.filter((call) => call.reference === key && call.kind === kind);
    const keys = new Set(calls.map((call) => call.key));
    if (keys.size > 1) fail(`${kind} was called with ${keys.size} downstream keys`);
  }
}

/** The ids of the payments of one kind. */
export function paymentsOf({ payments }: ProviderLedger, key: string, kind: string): readonly string[] {
  return payments.filter((one) => one.reference === key && one.kind === kind).map(({ id }) => id);
}

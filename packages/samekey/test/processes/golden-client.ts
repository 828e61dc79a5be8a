/** A client of the golden path: one request; asking until there is an answer for good; or sending once and waiting for the record. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Golden, GoldenProcess } from './golden-cluster.ts';
import type { GoldenRecord } from './golden-database.ts';
import type { Rule } from './golden-protocol.ts';

/** What was answered; `lost`: nothing, or not all of it. */
export type Word =
  | { readonly kind: 'answer'; readonly status: number; readonly code: string | null; readonly body: string }
  | { readonly kind: 'lost' };

/** A payment that a client wants made. */
export interface Payer {
  readonly key: string;
  /** Of the payment's effects, or `order`: the operation of one transaction. */
  readonly rule: Rule | 'order';
  readonly amount: number;
}

const ANSWER_TIME_MAX_MS = 30_000;

/** Sends one request. */
export async function sendPay(port: number, { key, rule, amount }: Payer): Promise<Word> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/pay/${rule}`, {
      method: 'POST',
      signal: AbortSignal.timeout(ANSWER_TIME_MAX_MS),
      headers: {
        connection: 'close',
        'content-type': 'application/json',
        'idempotency-key': `"${key}"`,
        'x-tenant': 'tenant-a',
      },
      body: JSON.stringify({ reference: key, amount }),
    });
    const body = await response.text();
    const isProblem = response.headers.get('content-type') === 'application/problem+json';
    const code = isProblem ? (JSON.parse(body) as { code: string }).code : null;
    return { kind: 'answer', status: response.status, code, body };
  } catch {
    return { kind: 'lost' };
  }
}

/** How a client goes on after its first request. */
export interface Asking {
  readonly first: GoldenProcess;
  /** Asks nobody else. */
  readonly isFaithful?: boolean;
  /** It sends no more and waits for the record: somebody else must bring it to its end. */
  readonly isSilent: boolean;
  /** Answers that are allowed on the way to the last, in a word. */
  readonly meanwhile: ReadonlySet<string>;
  /** Words that end it too. */
  readonly until?: string;
  readonly random: () => number;
}

const KEY_TIME_MAX_MS = 25_000;
const RETRY_MS = 25;

/** Asks until 201, or the word of `until`; a silent one until the record is final. Resolves with what went wrong, or null. */
export async function askForGood(golden: Golden, payer: Payer, asking: Asking): Promise<string | null> {
  const { first, isFaithful = false, isSilent, meanwhile, until, random } = asking;
  const deadline = performance.now() + KEY_TIME_MAX_MS;
  let target = first;
  let heard = '';
  while (performance.now() < deadline) {
    const word = await sendPay(target.port, payer);
    heard = wordOf(word);
    if (heard === '201' || heard === until) return null;
    if (!meanwhile.has(heard))
      return `was answered ${heard} ${word.kind === 'answer' ? word.body.slice(0, 300) : ''}`;
    if (isSilent && (await wasFinished(golden, payer.key, until, deadline))) return null;
    await sleep(RETRY_MS * (0.5 + random()));
    const up = golden.apis.filter((process) => process.isUp());
    if (!isFaithful) target = up[Math.floor(random() * up.length)] ?? first;
  }
  return `is stuck; last heard ${heard}`;
}

/** What an answer says in a word: the code of a problem, else the status. */
export function wordOf(word: Word): string {
  return word.kind === 'lost' ? 'lost' : (word.code ?? String(word.status));
}

/** False as soon as there is no record that anybody could finish. */
async function wasFinished(
  golden: Golden,
  key: string,
  until: string | undefined,
  deadline: number,
): Promise<boolean> {
  while (performance.now() < deadline) {
    const record = await steadily(() => recordOf(golden, key));
    if (record === null) return false;
    if (record.state === 'completed' || (record.state === 'unknown' && until === 'outcome-unknown'))
      return true;
    await sleep(RETRY_MS);
  }
  return false;
}

/** The record of a key. */
export function recordOf(golden: Golden, key: string): Promise<GoldenRecord | null> {
  return golden.database.recordOf(key);
}

/** Until the database is there: for the harness's own questions while it is being killed. */
export async function steadily<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (const until = performance.now() + 10_000; ; await sleep(RETRY_MS)) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > until) throw error;
    }
  }
}

/** Asking again and again, as clients do, for tests on real processes. */

import { setTimeout as sleep } from 'node:timers/promises';
import { problemCodeOf } from '../processes/api-checks.ts';
import { type Answer, type ApiRequest, type NoAnswer, send } from '../processes/api-client.ts';
import type { ApiProcess } from '../processes/api-cluster.ts';

const TIME_MAX_MS = 15_000;

/** What an answer says in a word: the code of a problem, else the status. */
export function wordOf(answer: Answer | NoAnswer): string {
  return answer.kind === 'lost' ? 'lost' : (problemCodeOf(answer) ?? String(answer.status));
}

/** One request; throws when no answer came. */
export async function ask(process: ApiProcess, request: ApiRequest): Promise<Answer> {
  const answer = await send(process.port, request).answer;
  if (answer.kind === 'lost') throw new Error(`${process.name} did not answer: ${answer.reason}`);
  return answer;
}

/** Asks until the answer is `word`; on the way only `meanwhile` may be heard. */
export async function askUntil(
  process: ApiProcess,
  request: ApiRequest,
  word: string,
  meanwhile = 'in-progress',
): Promise<Answer> {
  const deadline = performance.now() + TIME_MAX_MS;
  while (performance.now() < deadline) {
    const answer = await ask(process, request);
    if (wordOf(answer) === word) return answer;
    if (wordOf(answer) !== meanwhile) throw new Error(`heard ${wordOf(answer)} while waiting for ${word}`);
    await sleep(30);
  }
  throw new Error(`never heard ${word} in ${TIME_MAX_MS} ms`);
}

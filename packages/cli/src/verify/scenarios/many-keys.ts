/** A key is remembered for its time, and not until others push it out; and what it is answered is its own. */

import { bytesOf } from '../options.ts';
import { pause } from '../pace.ts';
import { isSuccess, type Probe } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { fault, held, notJudged, type Verdict } from '../judgement.ts';

/**
 * More than a cache holds that somebody sized by hand, and few enough for a test environment. Where keys are remembered
 * for seconds, the many may take too long: then half as many are tried.
 */
const SIZES = [24, 12, 12] as const;

export const manyKeys: Scenario = {
  name: 'many-keys',
  title: 'a key that many others came after is still answered as before',
  level: 'MUST',
  source: 'draft-07 §2.3 (keys expire by a published policy), §2.6; F119',
  async run(probe) {
    let verdict = await after(probe, SIZES[0]);
    for (const size of SIZES.slice(1)) {
      if (verdict !== null) break;
      verdict = await after(probe, size);
    }
    return verdict ?? notJudged('not judged: a dozen other keys took longer than a key is remembered');
  },
};

/** Tries with so many; null if they took longer than a key is remembered. */
async function after(probe: Probe, size: number): Promise<Verdict | null> {
  const { refusedBody, expiresMs = Infinity } = probe.settings;
  const intent = probe.intent();
  const startedAt = performance.now();
  const replay = await probe.replayed(intent);
  const others = await probe.tellAll(Array.from({ length: size }, () => [probe.intent()] as const));
  // Last one of another status, for services that mix up what belongs to whom.
  if (refusedBody !== undefined) await probe.tell(probe.intent(bytesOf(refusedBody)));
  const done = others.filter((reply) => 'status' in reply && isSuccess(reply)).length;
  if (done < size / 2) return notJudged(`not judged: only ${done} of ${size} other keys succeeded`);
  const { retry, isReplay } = await probe.retry(intent, replay, {});
  if (isReplay) return held(`after ${done} other keys: what any retry gets`);
  const tookMs = performance.now() - startedAt;
  if (tookMs >= expiresMs) return null;
  if (expiresMs !== Infinity && (await isForgottenAlone(probe, tookMs)))
    return notJudged('not judged: a key is forgotten as soon without any other (see runs-once, expiry)');
  return fault(
    `answered ${retry.status} after ${done} other keys, and not as any other retry`,
    'On a busy day, whoever tries again a little later is charged again, or gets the answer of somebody else.',
  );
}

/**
 * Whether a key is not answered as before after the same time in which nothing else came: then it is no matter of how
 * many.
 */
async function isForgottenAlone(probe: Probe, tookMs: number): Promise<boolean> {
  const intent = probe.intent();
  const startedAt = performance.now();
  const replay = await probe.replayed(intent);
  await pause(tookMs - (performance.now() - startedAt));
  const { isReplay } = await probe.retry(intent, replay, {});
  return !isReplay;
}

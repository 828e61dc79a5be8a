/**
 * Claims against how long handlers take, and retention against how long keys are needed. Both from recent records: what
 * is configured counts less than what happens.
 *
 * Durations are from first use to the end of the first attempt; where a worker may have let it wait they are an upper
 * bound.
 */

import { shortDuration } from '../operate/duration.ts';
import type { Check, Finding, Sample } from './finding.ts';
import { groupBy, percentile } from './numbers.ts';

/** Fewer say nothing about a 99th percentile. */
const SAMPLE_MIN = 20;
/** A pause of the process, a slow disk, a failover: a claim shorter than this is lost to them. */
const CLAIM_TTL_LEAST_MS = 5_000;
/** Longer than this, a killed process keeps its keys waiting for no reason. */
const CLAIM_TTL_MUCH_MS = 60_000;

/** `claimTtlMs` against the measured 99th percentile: 2 to 3 times it. */
export const claimTtl: Check = ({ recent }) => {
  const ended = recent.filter(
    ({ attempt, finishedAt, isLiving }) => attempt === 1 && finishedAt !== null && isLiving,
  );
  const findings = [...groupBy(ended, ({ operation }) => operation)].flatMap(([operation, samples]) =>
    samples.length < SAMPLE_MIN ? [] : [judged(operation, samples)],
  );
  if (findings.length > 0) return findings;
  return [
    {
      check: 'claim-ttl',
      level: 'note',
      what: `No operation has ${SAMPLE_MIN} recent records: there is nothing to measure claims against yet.`,
      measured: { records: ended.length },
      remedy: null,
    },
  ];
};

function judged(operation: string, samples: readonly Sample[]): Finding {
  const p99Ms = percentile(
    samples.map(({ createdAt, finishedAt }) => Math.max(0, (finishedAt ?? createdAt) - createdAt)),
    0.99,
  );
  const claimTtlMs = Math.min(...samples.map((sample) => sample.claimTtlMs));
  const [fromMs, toMs] = [Math.max(CLAIM_TTL_LEAST_MS, 2 * p99Ms), Math.max(CLAIM_TTL_LEAST_MS, 3 * p99Ms)];
  const mayHaveWaited = samples.some((sample) => sample.mayHaveWaited);
  const measured = {
    operation,
    samples: samples.length,
    p99Ms,
    claimTtlMs,
    proposedFromMs: fromMs,
    proposedToMs: toMs,
    mayHaveWaited,
  };
  const proposal = `Set claimTtlMs of ${JSON.stringify(operation)} between ${fromMs} and ${toMs} (2 to 3 times the 99th percentile, at least ${CLAIM_TTL_LEAST_MS}).`;
  const facts = `${operation}: 99 % end within ${shortDuration(p99Ms)}${mayHaveWaited ? ' (waiting for a worker counted in)' : ''}, a claim is ${shortDuration(claimTtlMs)}`;
  if (claimTtlMs < fromMs && (claimTtlMs < CLAIM_TTL_LEAST_MS || claimTtlMs < 2 * p99Ms)) {
    const what = `${facts}: a process that pauses loses its claim.`;
    return {
      check: 'claim-ttl',
      level: mayHaveWaited ? 'note' : 'warning',
      what,
      measured,
      remedy: proposal,
    };
  }
  if (claimTtlMs > CLAIM_TTL_MUCH_MS && claimTtlMs > 10 * toMs) {
    const what = `${facts}: after a crash its key waits that long.`;
    return { check: 'claim-ttl', level: 'note', what, measured, remedy: proposal };
  }
  return { check: 'claim-ttl', level: 'ok', what: `${facts}.`, measured, remedy: null };
}

/** Retention against the time for which a key has to be known. */
export const retention: Check = ({ recent, windows }) => {
  const { retryMs, recoveryMs, auditMs } = windows;
  const given = [retryMs, recoveryMs, auditMs].filter((ms) => ms !== null);
  if (given.length === 0) {
    return [
      {
        check: 'retention',
        level: 'note',
        what: 'Whether keys are remembered long enough was not looked at: nobody said how long they are needed.',
        measured: { neededMs: null },
        remedy: 'Say it: samekey doctor --retry-window 24h --recovery-window 2h --audit-window 7d.',
      },
    ];
  }
  const neededMs = given.reduce((sum, ms) => sum + ms, 0);
  const living = recent.filter(({ isLiving }) => isLiving);
  return [...groupBy(living, ({ operation }) => operation)].map(([operation, samples]) => {
    const retentionMs = Math.min(...samples.map(({ createdAt, expiresAt }) => expiresAt - createdAt));
    const measured = { operation, retentionMs, neededMs };
    const facts = `${operation}: keys are remembered for ${shortDuration(retentionMs)}, and needed for ${shortDuration(neededMs)}`;
    return retentionMs < neededMs
      ? {
          check: 'retention',
          level: 'warning',
          what: `${facts}: a late retry runs again.`,
          measured,
          remedy: `Set retentionMs of ${JSON.stringify(operation)} to ${neededMs} or more; records that are there keep theirs.`,
        }
      : { check: 'retention', level: 'ok', what: `${facts}.`, measured, remedy: null };
  });
};

/** What `verify` found. */

import type { Level } from './judgement.ts';

/** What became of one scenario. */
export interface Finding {
  readonly scenario: string;
  readonly title: string;
  readonly level: Level;
  readonly source: string;
  readonly verdict: 'held' | 'fault' | 'not-judged';
  /** What was seen, or what to give. */
  readonly found: string;
  /** Who is hurt and how; null unless it is a fault. */
  readonly means: string | null;
  readonly durationMs: number;
}

/** The whole of it. Neither keys nor bodies nor credentials are in it. */
export interface VerifyReport {
  /** Without query, user and password. */
  readonly url: string;
  readonly method: string;
  readonly profile: string;
  /** Whether every MUST that could be judged holds. */
  readonly isClean: boolean;
  /** Whether every MUST that was asked could be judged. What cannot be judged on purpose is named in `skip`. */
  readonly isComplete: boolean;
  /** The MUSTs that were not asked, by `skip` or `only`. */
  readonly leftOut: readonly string[];
  readonly findings: readonly Finding[];
  readonly requests: number;
  readonly startedAt: string;
  readonly durationMs: number;
}

/** How many findings have each verdict. */
export function tally(report: VerifyReport): { held: number; faults: number; notJudged: number } {
  const count = (verdict: Finding['verdict']): number =>
    report.findings.filter((finding) => finding.verdict === verdict).length;
  return { held: count('held'), faults: count('fault'), notJudged: count('not-judged') };
}

/** One sentence that says it all. */
export function summary(report: VerifyReport): string {
  const { held, faults, notJudged } = tally(report);
  const which = (wanted: Finding['verdict']): string => {
    const { length } = mustsThatAre(report, wanted);
    return length === 0 ? '' : `, ${length} of a MUST`;
  };
  const parts = [
    `${held} held`,
    `${faults} ${faults === 1 ? 'fault' : 'faults'}${which('fault')}`,
    `${notJudged} not judged${which('not-judged')}`,
  ];
  return parts.join(', ');
}

/** The names of the MUSTs with one verdict. */
export function mustsThatAre({ findings }: VerifyReport, wanted: Finding['verdict']): readonly string[] {
  return findings
    .filter(({ level, verdict }) => level === 'MUST' && verdict === wanted)
    .map(({ scenario }) => scenario);
}

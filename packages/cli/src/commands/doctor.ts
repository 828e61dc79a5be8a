/**
 * `samekey doctor`: looks at a store and says what will hurt, with the value it measured and what mends it. Reads only.
 *
 * Exit codes: 0 fine · 2 warnings · 1 a failure was found, or it could not look.
 */

import { Command } from 'commander';
import { EXIT } from '../cli-error.ts';
import { examine } from '../doctor/examine.ts';
import type { Finding, Level } from '../doctor/finding.ts';
import { duration } from '../operate/duration.ts';
import { counted, say } from '../operate/print.ts';
import { onTarget, type TargetFlags, withTarget } from '../operate/target.ts';

interface DoctorFlags extends TargetFlags {
  readonly retryWindow?: number;
  readonly recoveryWindow?: number;
  readonly auditWindow?: number;
  readonly transactionMax?: number;
}

const SIGNS: Readonly<Record<Level, string>> = {
  failure: 'FAILURE',
  warning: 'WARNING',
  note: 'note   ',
  ok: 'ok     ',
};

/** The command. */
export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description(
      'Look at a store: schema, durability, clocks, claims, retention, keys, and what waits; changes nothing',
    )
    .option(
      '--retry-window <duration>',
      'how long clients retry, and queues deliver again: 24h, 7d',
      duration,
    )
    .option(
      '--recovery-window <duration>',
      'how long an outage of yours may last in which nobody can retry',
      duration,
    )
    .option('--audit-window <duration>', 'how long answers must be there for questions', duration)
    .option(
      '--transaction-max <duration>',
      'how long a transaction of anybody may be open (default: 10m)',
      duration,
    );
  return withTarget(command).action(run);
}

async function run(flags: DoctorFlags): Promise<void> {
  const { retryWindow, recoveryWindow, auditWindow, transactionMax, json } = flags;
  await onTarget(flags, null, async (target) => {
    const findings = await examine(target, {
      retryMs: retryWindow ?? null,
      recoveryMs: recoveryWindow ?? null,
      auditMs: auditWindow ?? null,
      transactionMs: transactionMax ?? null,
    });
    process.exitCode = exitCodeFor(findings);
    if (json === true) return say({ ...target.about, verdict: verdictOf(findings), findings });
    say(`Database: ${target.shown}`);
    for (const { level, check, what, remedy } of findings) {
      say(`${SIGNS[level]}  ${check.padEnd(10)}  ${what}`);
      if (remedy !== null) say(`${' '.repeat(21)}→ ${remedy}`);
    }
    say(
      `${counted(count(findings, 'failure'), 'failure', 'failures')}, ${counted(count(findings, 'warning'), 'warning', 'warnings')}.`,
    );
  });
}

function verdictOf(findings: readonly Finding[]): 'fine' | 'warnings' | 'failure' {
  if (count(findings, 'failure') > 0) return 'failure';
  return count(findings, 'warning') > 0 ? 'warnings' : 'fine';
}

function exitCodeFor(findings: readonly Finding[]): number {
  return { fine: 0, warnings: EXIT.refused, failure: EXIT.failed }[verdictOf(findings)];
}

function count(findings: readonly Finding[], level: Level): number {
  return findings.filter((finding) => finding.level === level).length;
}

/**
 * A failed history for its reader: what was violated, how to see it again, and everything that happened to the key.
 */

import { idText, type RecordId } from 'samekey/internals/core/record';
import type { Violation } from '../auditor.ts';
import type { TraceLine } from './context.ts';

/** What is told of a history. */
export interface ReportedHistory {
  readonly seed: number;
  readonly scenario: {
    readonly kind: string;
    readonly rates: unknown;
    /** What was done in it. */
    readonly operations: readonly unknown[];
  };
  readonly violations: readonly Violation[];
  readonly trace: readonly TraceLine[];
}

/** Lines of a history that are shown at most: the last ones, which led there. */
const LINES_MAX = 200;
const LINE_LENGTH_MAX = 400;

/** The command that runs one history again. */
export function replayCommand(seed: number, proof = 'simulator'): string {
  return `npm run prove -- --only ${proof} --seed ${seed} --histories 1`;
}

/** A failed history as text; give one that was traced. `command` runs it again. */
export function describeFailure(
  history: ReportedHistory,
  command: string = replayCommand(history.seed),
): string {
  const { seed, scenario, violations, trace } = history;
  const first = violations[0];
  if (first === undefined) return `seed ${seed}: no violation`;
  const { id } = first;
  const lines = trace.filter(
    (line) => line.at <= first.at && (id === null || line.id === null || sameId(line.id, id)),
  );
  return [
    `seed ${seed} (${scenario.kind}): ${violations.length} violation(s)`,
    ...violations
      .slice(0, 10)
      .map(
        ({ at, what, seen, id: on }) =>
          `  ${time(at)} ${seen}: ${what}${on === null ? '' : ` [${on.scope} ${on.key}]`}`,
      ),
    `Replay: ${command}`,
    `Rates: ${JSON.stringify(scenario.rates)}`,
    ...scenario.operations.map((operation) => `Operation: ${JSON.stringify(operation)}`),
    ...(lines.length > LINES_MAX ? [`… ${lines.length - LINES_MAX} lines before`] : []),
    ...lines
      .slice(-LINES_MAX)
      .map(({ at, id: on, text }) =>
        `${time(at)} ${on === null ? '' : `${on.key} `}${text}`.slice(0, LINE_LENGTH_MAX),
      ),
  ].join('\n');
}

function sameId(a: RecordId, b: RecordId): boolean {
  return idText(a) === idText(b);
}

function time(ms: number): string {
  return ms.toFixed(0).padStart(7);
}

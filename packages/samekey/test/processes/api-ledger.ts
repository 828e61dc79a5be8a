/**
 * The independent ledger of executions: one line per execution, appended to a file of its own and flushed to disk before the
 * handler goes on. Several processes append to one file; the order of its lines is the order of what happened. A process
 * that is about to kill itself writes that down too, so "only after the first was dead" can be read from the order.
 */

import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/** One execution of a handler. */
export interface Execution {
  readonly kind: 'execution';
  readonly tenant: string;
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
  /** Names the execution; it is part of the answer. */
  readonly effect: string;
}

/** A process kills itself on the next line. */
export interface Dying {
  readonly kind: 'dying';
  readonly pid: number;
}

/** A line of the ledger. */
export type LedgerLine = Execution | Dying;

/** Appends to a ledger. */
export interface LedgerWriter {
  append(line: LedgerLine): void;
  close(): void;
}

/** Opens a ledger for appending; each line is on disk when `append` returns. */
export function openLedger(path: string): LedgerWriter {
  const file = openSync(path, 'a');
  return {
    append(line) {
      // One write of a short line to a file opened with O_APPEND: lines of several processes never mix.
      writeSync(file, `${JSON.stringify(line)}\n`);
      fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
}

/** All whole lines, oldest first; of a line that crosses a page a reader may see the first half only. */
export function readLedger(path: string): LedgerLine[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text) as LedgerLine);
}

/** The executions of one key of one tenant, oldest first. */
export function executionsOf(lines: readonly LedgerLine[], key: string, tenant: string): Execution[] {
  return lines.filter(
    (line): line is Execution => line.kind === 'execution' && line.key === key && line.tenant === tenant,
  );
}

/** Whether each execution but the first began after the process of the one before had written that it dies. */
export function eachAfterTheDeathBefore(
  lines: readonly LedgerLine[],
  executions: readonly Execution[],
): boolean {
  return executions.every((execution, i) => {
    const before = executions[i - 1];
    if (before === undefined) return true;
    const between = lines.slice(lines.indexOf(before), lines.indexOf(execution));
    return between.some((line) => line.kind === 'dying' && line.pid === before.pid);
  });
}

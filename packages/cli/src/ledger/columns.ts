/** Which column of a file is what: from the flags of the command to what `compareLedgers` compares. */

import type { LedgerLine } from 'samekey/reconcile';
import { CliError } from '../cli-error.ts';
import type { FileRecord } from './file-records.ts';

const PARTS = ['reference', 'amount', 'currency', 'state'] as const;
type Part = (typeof PARTS)[number];

/** The column of each part; reference and amount are always there. */
export interface Columns {
  readonly reference: string;
  readonly amount: string;
  readonly currency?: string;
  readonly state?: string;
}

/** Reads `reference=id,amount=gross,…`; parts that are not named are those of `defaults`. Throws `CliError`. */
export function parseColumns(flag: string, text: string, defaults: Columns): Columns {
  const columns: Record<string, string> = { ...defaults };
  for (const [part, column] of parsePairs(flag, text)) {
    if (!PARTS.includes(part as Part))
      throw new CliError(`${flag} knows ${PARTS.join(', ')}; "${part}" is none of them.`);
    columns[part] = column;
  }
  return columns as unknown as Columns;
}

/** Reads `a=b,c=d`. Throws `CliError`. */
export function parsePairs(flag: string, text: string): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=');
    const [left, right] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (at < 1 || left === '' || right === '')
      throw new CliError(`${flag} is a list such as a=b,c=d; "${pair}" is no such pair.`);
    if (pairs.has(left)) throw new CliError(`${flag} names "${left}" twice.`);
    pairs.set(left, right);
  }
  return pairs;
}

/**
 * Makes a record into a line; `named` are the parts whose columns were asked for, `states` translates words of this
 * side, others stay as they are.
 */
export function lineOf(
  path: string,
  columns: Columns,
  named: ReadonlySet<string>,
  states: ReadonlyMap<string, string>,
): (record: FileRecord) => LedgerLine {
  return ({ line, values }) => {
    const value = (part: Part): string | null => {
      const column = columns[part];
      if (column === undefined) return null;
      const found = values.get(column);
      if (found !== undefined) return found;
      // Currency and state are compared if the file has them, unless they were asked for by name.
      if (!named.has(part) && (part === 'currency' || part === 'state')) return null;
      throw new CliError(
        `Line ${line} of ${path} has no column "${column}" for ${part}: it has ${[...values.keys()].slice(0, 30).join(', ')}. Name it with --columns ${part}=…`,
      );
    };
    const state = value('state');
    return {
      line,
      reference: value('reference') ?? '',
      amount: value('amount') ?? '',
      currency: value('currency'),
      state: state === null ? null : (states.get(state) ?? state),
    };
  };
}

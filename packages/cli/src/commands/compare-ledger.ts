/**
 * `samekey compare-ledger`: compares our books with the provider's export, both sorted by reference.
 *
 * Exit codes: 0 equal · 2 they differ · 4 neither side has a line, so nothing was judged · 1 it failed: a file cannot
 * be read, or a line cannot be compared. After 1 nothing is known.
 */

import { extname } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { compareLedgers, type LedgerDifference, type LedgerSide, type ShownLine } from 'samekey/reconcile';
import { CliError, EXIT } from '../cli-error.ts';
import { type Columns, lineOf, parseColumns, parsePairs } from '../ledger/columns.ts';
import { type LedgerFormat, readRecords } from '../ledger/file-records.ts';
import { isJudged, totalsText } from '../ledger/totals-text.ts';
import { harmless, oneLine } from '../operate/print.ts';

const EXIT_DIFFERENT = 2;

const DEFAULTS: Columns = { reference: 'reference', amount: 'amount', currency: 'currency', state: 'state' };

interface CompareFlags {
  readonly ours: string;
  readonly theirs: string;
  readonly columns?: string;
  readonly oursColumns?: string;
  readonly theirsColumns?: string;
  readonly states?: string;
  readonly oursDecimals: number;
  readonly theirsDecimals: number;
  readonly format?: LedgerFormat;
  readonly delimiter: string;
  readonly maxDifferences: number;
  readonly json?: true;
}

/** The command. */
export function compareLedgerCommand(): Command {
  return new Command('compare-ledger')
    .description("Compare our books with the provider's export; both sorted by reference, by bytes")
    .requiredOption('--ours <file>', 'our books: CSV with a header line, or NDJSON')
    .requiredOption('--theirs <file>', "the provider's export")
    .option(
      '--columns <list>',
      'which column is what, on both sides: reference=id,amount=gross,currency=cur,state=status (default: of these names)',
    )
    .option('--ours-columns <list>', 'the same for our side only')
    .option('--theirs-columns <list>', "the same for the provider's side only")
    .option('--states <list>', "the provider's words for ours: succeeded=completed,void=failed")
    .option(
      '--ours-decimals <n>',
      'digits behind a point that is not written: 2 for cents',
      wholeNumber(12),
      0,
    )
    .option('--theirs-decimals <n>', "the same for the provider's side", wholeNumber(12), 0)
    .addOption(
      new Option('--format <name>', 'of both files (default: by their endings)').choices(['csv', 'ndjson']),
    )
    .option('--delimiter <text>', 'between the columns of CSV', ',')
    .option('--max-differences <n>', 'print so many and count the others', wholeNumber(), 100)
    .option('--json', 'one line of JSON for each difference, and one for the totals')
    .action(run);
}

async function run(flags: CompareFlags): Promise<void> {
  const states =
    flags.states === undefined ? new Map<string, string>() : parsePairs('--states', flags.states);
  const ours = openSide('ours', flags, new Map());
  const theirs = openSide('theirs', flags, states);
  const differences = compareLedgers(ours.records, theirs.records, {
    map: { ours: ours.line, theirs: theirs.line },
    decimals: { ours: flags.oursDecimals, theirs: flags.theirsDecimals },
  });
  const { json, maxDifferences } = flags;
  for (let count = 0; ; count += 1) {
    const next = await differences.next();
    if (next.done !== true) {
      if (count < maxDifferences)
        await say(json === true ? JSON.stringify(next.value) : sentence(next.value));
      continue;
    }
    const leftOut = Math.max(0, count - maxDifferences);
    await say(
      json === true
        ? JSON.stringify({ kind: 'totals', ...next.value, isJudged: isJudged(next.value), leftOut })
        : totalsText(next.value, leftOut, maxDifferences),
    );
    if (!isJudged(next.value)) process.exitCode = EXIT.notJudged;
    else if (!next.value.equal) process.exitCode = EXIT_DIFFERENT;
    return;
  }
}

function openSide(side: LedgerSide, flags: CompareFlags, states: ReadonlyMap<string, string>) {
  const path = flags[side];
  const own = flags[`${side}Columns`];
  const both = flags.columns === undefined ? DEFAULTS : parseColumns('--columns', flags.columns, DEFAULTS);
  const columns = own === undefined ? both : parseColumns(`--${side}-columns`, own, both);
  const named = new Set(
    [flags.columns, own].flatMap((list) =>
      list === undefined ? [] : [...parsePairs('--columns', list).keys()],
    ),
  );
  return {
    records: readRecords(path, flags.format ?? formatOf(path), flags.delimiter),
    line: lineOf(path, columns, named, states),
  };
}

function formatOf(path: string): LedgerFormat {
  const ending = extname(path).toLowerCase();
  if (ending === '.csv' || ending === '.tsv') return 'csv';
  if (ending === '.ndjson' || ending === '.jsonl') return 'ndjson';
  throw new CliError(
    `${path} ends neither in .csv nor in .ndjson or .jsonl: say --format csv or --format ndjson.`,
  );
}

function sentence(difference: LedgerDifference): string {
  const { kind, reference } = difference;
  const name = JSON.stringify(reference);
  switch (kind) {
    case 'missing-here':
      return `missing here        ${name}: theirs ${shown(difference.theirs)}`;
    case 'missing-there':
      return `missing there       ${name}: ours ${shown(difference.ours)}`;
    case 'duplicate':
      return `duplicate           ${name}: ${difference.side} ${shown(difference.first)}, and again ${shown(difference.again)}`;
    case 'different-currency':
    case 'different-amount':
    case 'different-state':
      return `${kind.replace('-', ' ').padEnd(19)} ${name}: ours ${shown(difference.ours)}, theirs ${shown(difference.theirs)}`;
    default:
      return difference satisfies never;
  }
}

function shown({ line, amount, currency, state }: ShownLine): string {
  const words = oneLine([amount, currency, state].filter((word) => word !== null).join(' '));
  return `${words} (line ${line})`;
}

/**
 * Waits for whoever reads: a pipe that is slow must not fill the memory. Of JSON, only characters that mean the same
 * are escaped.
 */
async function say(line: string): Promise<void> {
  const { stdout } = process;
  if (stdout.write(`${harmless(line)}\n`) || stdout.destroyed) return;
  await new Promise<void>((resolve) => {
    // Who read may have left: nobody drains it then.
    for (const event of ['drain', 'close', 'error']) stdout.once(event, () => resolve());
  });
}

function wholeNumber(most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    if (/^\d{1,15}$/.test(text) && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError('It must be a whole number, 0 or more.');
  };
}

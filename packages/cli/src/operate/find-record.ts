/**
 * The record that a person means. A key is unique within its scope only: the same text may stand for several operations
 * and callers, and then nothing is guessed.
 */

import { type Command, InvalidArgumentError } from 'commander';
import { hashKey, type SamekeyRecord } from 'samekey';
import { isPointer, type Operator } from 'samekey/operator';
import { CliError, RefusedError } from '../cli-error.ts';

/** What names a record on the command line. */
export interface RecordFlags {
  readonly scope?: string;
  readonly operation?: string;
  readonly hash?: string;
}

/** How many candidates are shown. */
const CANDIDATES_MAX = 20;
/** Records that are read to find one by its hash: newest first. */
const HASHED_MAX = 1_000_000;
const PAGE = 1_000;

/** Adds the options that name a record, beside the key. */
export function withRecord(command: Command): Command {
  return command
    .option(
      '--scope <scope>',
      'the caller as inspect --show-keys shows it, or the whole scope with its operation',
    )
    .option('--operation <name>', 'the operation, as in "POST /payments"')
    .option(
      '--hash <hash>',
      'instead of the key: its hash, as in log lines and in what inspect prints',
      hash,
    );
}

/** Finds it. Throws `RefusedError` when there is none or more than one. */
export async function findRecord(
  operator: Operator,
  key: string | undefined,
  flags: RecordFlags,
): Promise<SamekeyRecord> {
  if ((key === undefined) === (flags.hash === undefined))
    throw new CliError('Name one record: by its key, or by --hash.');
  const all =
    key === undefined
      ? await byHash(operator, flags)
      : await operator.list({ key, ...filterOf(flags), limit: CANDIDATES_MAX + 1 });
  // Where a bridge stands, a pointer has the same key: it is no record, and nobody acts on it.
  const found = all.filter((one) => !isPointer(one));
  const [record] = found;
  if (record === undefined && all.length > 0)
    throw new RefusedError(
      'A pointer stands there: the record is kept under a former name or scope of the operation. Name it by its key alone.',
    );
  if (record === undefined) {
    throw new RefusedError(
      'There is no such record: it was never stored here, has expired and been deleted, or belongs to another scope, operation or database.',
    );
  }
  if (found.length > 1) throw new RefusedError(several(found));
  return record;
}

/** The filter of a list: `--scope` with an operation in it is the whole scope, else the caller. */
export function filterOf({ scope, operation }: RecordFlags): {
  readonly scope?: string;
  readonly caller?: string;
  readonly operation?: string;
} {
  return {
    ...(scope === undefined ? {} : scope.includes('|') ? { scope } : { caller: scope }),
    ...(operation === undefined ? {} : { operation }),
  };
}

async function byHash(operator: Operator, flags: RecordFlags): Promise<readonly SamekeyRecord[]> {
  let createdBefore: number | undefined;
  for (let read = 0; read < HASHED_MAX; read += PAGE) {
    const page: readonly SamekeyRecord[] = await operator.list({
      ...filterOf(flags),
      ...(createdBefore === undefined ? {} : { createdBefore }),
      limit: PAGE,
    });
    const found = page.find((record) => hashKey(record) === flags.hash);
    if (found !== undefined) return [found];
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return [];
    // A page that ends among records of one moment: the rest of that moment comes with the next, unless it is the whole
    // page.
    createdBefore = page[0]?.createdAt === last.createdAt ? last.createdAt : last.createdAt + 1;
  }
  throw new RefusedError(
    `It is not among the newest ${HASHED_MAX} records: narrow it down with --scope or --operation.`,
  );
}

function several(found: readonly SamekeyRecord[]): string {
  const shown = found.slice(0, CANDIDATES_MAX);
  const lines = shown.map(
    (record) =>
      `  ${record.state.padEnd(11)}  --operation ${JSON.stringify(record.operation)}  --hash ${hashKey(record)}`,
  );
  const more = found.length > CANDIDATES_MAX ? '\n  … and more' : '';
  return `The key stands for ${found.length > CANDIDATES_MAX ? 'many' : found.length} records: name one with --scope, --operation or --hash.\n${lines.join('\n')}${more}`;
}

function hash(text: string): string {
  const bare = text.startsWith('#') ? text.slice(1) : text;
  if (/^[\w-]{16}$/.test(bare)) return bare;
  throw new InvalidArgumentError('It is the 16 characters behind # in what inspect prints.');
}

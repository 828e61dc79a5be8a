/** `samekey audit`: what was done by hand, and what contradicted itself; newest first. Reads only. */

import { Command, InvalidArgumentError } from 'commander';
import { AUDIT_ACTS, type AuditAct } from 'samekey/operator';
import { CliError } from '../cli-error.ts';
import { someOf, wholeNumber } from '../operate/arguments.ts';
import { findRecord, type RecordFlags, withRecord } from '../operate/find-record.ts';
import { say } from '../operate/print.ts';
import { auditLines, forPrograms } from '../operate/show-audit.ts';
import { onTarget, type TargetFlags, withTarget } from '../operate/target.ts';

interface AuditFlags extends TargetFlags, RecordFlags {
  readonly act?: readonly AuditAct[];
  readonly before?: string;
  readonly limit?: number;
  readonly showKeys?: true;
}

const LIMIT = 50;
const LIMIT_MAX = 1_000;

/** The command. */
export function auditCommand(): Command {
  const command = new Command('audit')
    .description('Show what was done by hand and what contradicted itself, by whom and why; newest first')
    .argument('[key]', 'only of this record; it must still be there, else name its whole --scope')
    .option('--act <acts>', `only these, with commas: ${AUDIT_ACTS.join(', ')}`, someOf(AUDIT_ACTS))
    .option('--before <seq>', 'only rows before this one, for paging', seq)
    .option(
      '--limit <count>',
      `at most so many (default: ${LIMIT}, at most ${LIMIT_MAX})`,
      wholeNumber(1, LIMIT_MAX),
    )
    .option('--show-keys', 'show keys and callers as they are; else as hashes');
  return withTarget(withRecord(command)).action(run);
}

async function run(key: string | undefined, flags: AuditFlags): Promise<void> {
  await onTarget(flags, null, async (target) => {
    const { operator, shown, about } = target;
    const rows = await operator.audit({
      ...(await idOf()),
      ...(flags.act === undefined ? {} : { acts: flags.act }),
      ...(flags.before === undefined ? {} : { before: flags.before }),
      limit: flags.limit ?? LIMIT,
    });
    if (flags.json === true)
      return say({ ...about, rows: rows.map((row) => forPrograms(row, flags.showKeys === true)) });
    say(`Database: ${shown}`);
    if (rows.length === 0) return say('No such rows.');
    for (const line of auditLines(rows, flags.showKeys === true)) say(line);
    const last = rows.at(-1);
    if (last !== undefined && rows.length >= (flags.limit ?? LIMIT))
      say(`The newest ${rows.length}; there may be more (--before ${last.seq}).`);

    /** A record that is gone has rows still: they are found by its whole scope. */
    async function idOf(): Promise<{ readonly scope?: string; readonly key?: string }> {
      if (key === undefined && flags.hash === undefined) {
        if (flags.scope === undefined) return {};
        if (!flags.scope.includes('|'))
          throw new CliError(
            'Without a key, --scope is a whole scope with its operation: "acme/alice|POST /payments".',
          );
        return { scope: flags.scope };
      }
      if (key !== undefined && flags.scope?.includes('|') === true) return { scope: flags.scope, key };
      const record = await findRecord(operator, key, flags);
      return { scope: record.scope, key: record.key };
    }
  });
}

function seq(text: string): string {
  if (/^\d{1,19}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the SEQ of a row.');
}

/**
 * `samekey migrate`: brings Samekey's tables up to date, prints the SQL instead, or says how far they are.
 *
 * Exit codes: 0 done, or up to date · 1 it failed, or an application could not start on it · 3 a migration is missing
 * (`--status`).
 */

import { Command, InvalidArgumentError } from 'commander';
import { CliError } from '../cli-error.ts';
import { type Address, findAddress, isSql, kindName, type SqlAddress } from '../database/address.ts';
import { openSchema, schemaSql } from '../database/open-schema.ts';
import type { DatabaseSchema, SchemaChoices, SchemaStatus } from '../database/database-schema.ts';

/**
 * What `--status` ends with when `samekey migrate` has something to do; told apart from a failure (1) by deploy
 * scripts.
 */
const EXIT_MISSING = 3;

/** What is done instead where there are no tables of ours to make. */
const NO_TABLES = {
  redis:
    'Redis has no tables: there is nothing to migrate. Keys are made by the first request, and `await store.ready()` checks how the server is set.',
  dynamodb:
    'A table of DynamoDB is made with what createTableInput(name) of samekey/stores/dynamodb gives (infrastructure as code, or createTable of the SDK), and never changed by this command.',
} as const;

interface MigrateFlags {
  readonly service?: string;
  readonly newIdentity?: true;
  readonly database?: string;
  readonly schema?: string;
  readonly print?: true;
  readonly from?: number;
  readonly status?: true;
  readonly json?: true;
  readonly auditTransitions?: boolean;
  readonly engine?: string;
  readonly partitions?: number;
}

/** The command. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description("Create or update Samekey's tables; safe from any number of processes at once")
    .option(
      '--database <url>',
      'postgres://…, mysql://… or the path of an SQLite file (default: SAMEKEY_DATABASE_URL, then DATABASE_URL)',
    )
    .option(
      '--service <name>',
      'whose keys the tables hold, as the application names itself; needed where they are made',
    )
    .option(
      '--new-identity',
      'for a restored copy, before anything is started on it: a name of its own for the database, which is then of --service',
    )
    .option('--schema <name>', 'PostgreSQL: the schema the tables are in (default: public)')
    .option('--print', 'print the SQL and change nothing; the database is not opened')
    .option('--from <version>', 'with --print: only what comes after this version', version)
    .option(
      '--status',
      `say how far the tables are and change nothing; exit code ${EXIT_MISSING} if a migration is missing`,
    )
    .option(
      '--audit-transitions',
      'PostgreSQL, MySQL: install the triggers that write each change of a record into the audit',
    )
    .option('--no-audit-transitions', 'PostgreSQL, MySQL: remove them (default: leave them as they are)')
    .option(
      '--engine <name>',
      'citus, cockroachdb, yugabytedb or other: the tables of distributedPostgresStore, for an engine that speaks PostgreSQL',
    )
    .option(
      '--partitions <number>',
      'PostgreSQL: make the table of records in so many hash partitions; one that is there stays as it is',
      wholeNumber,
    )
    .option('--json', 'say it as one line of JSON')
    .action(run);
}

async function run(flags: MigrateFlags): Promise<void> {
  checkTogether(flags);
  const address = findAddress(flags.database);
  if (!isSql(address)) throw new CliError(NO_TABLES[address.kind]);
  if (flags.schema !== undefined && address.kind !== 'postgres') {
    throw new CliError(
      address.kind === 'sqlite'
        ? '--schema goes with PostgreSQL; an SQLite file has no schemas.'
        : '--schema goes with PostgreSQL; in MySQL name the database in the URL.',
    );
  }
  if (flags.partitions !== undefined && (address.kind !== 'postgres' || flags.engine !== undefined))
    throw new CliError('--partitions goes with a postgres:// URL, and not with --engine.');
  if (flags.engine !== undefined && (address.kind !== 'postgres' || flags.auditTransitions !== undefined)) {
    throw new CliError(
      '--engine goes with a postgres:// URL, and not with --audit-transitions, which those engines do not have.',
    );
  }
  if (flags.auditTransitions !== undefined && address.kind === 'sqlite') {
    throw new CliError(
      '--audit-transitions goes with PostgreSQL and MySQL; for an SQLite file it is an option of sqliteStore, in each process.',
    );
  }
  if (flags.print === true) return print(address, flags);
  const schema = await openSchema(address, choicesOf(flags));
  try {
    await (flags.status === true ? look(address, schema, flags) : migrate(address, schema, flags));
  } finally {
    await schema.close();
  }
}

function checkTogether({ print: printed, from, status, json, service, newIdentity }: MigrateFlags): void {
  if (printed === true && status === true)
    throw new CliError('--print and --status are two questions: ask one.');
  if (from !== undefined && printed !== true) throw new CliError('--from goes with --print.');
  if (json === true && printed === true)
    throw new CliError('--json goes with --status or alone; --print prints SQL.');
  if (printed === true && (from ?? 0) === 0 && service === undefined)
    throw new CliError('--print needs --service <name>: the SQL writes down whose tables they are.');
  if (newIdentity === true && (printed === true || status === true || service === undefined))
    throw new CliError(
      '--new-identity goes with --service <name>, whose database it will be, and not with --print or --status.',
    );
}

function choicesOf({ service, schema, auditTransitions, engine, partitions }: MigrateFlags): SchemaChoices {
  return { service, schema, auditTransitions, engine, partitions };
}

async function print({ kind }: SqlAddress, flags: MigrateFlags): Promise<void> {
  const { from = 0 } = flags;
  const sql = await schemaSql(kind, choicesOf(flags), from);
  // Only SQL goes to stdout, so that it can be piped on.
  if (sql === '') process.stderr.write(`samekey: there is no migration after version ${from}.\n`);
  process.stdout.write(sql);
}

async function look(
  address: Address,
  schema: DatabaseSchema,
  { json, service = '<name>', schema: name, auditTransitions, engine }: MigrateFlags,
): Promise<void> {
  const status = await schema.status();
  const upToDate = status.missing.length === 0;
  // Tables may be there and not fit: a lost index, a privilege, a server that forgets.
  if (upToDate) await schema.ready();
  else process.exitCode = EXIT_MISSING;
  const whose = status.version === 0 ? null : await schema.identity();
  if (json === true) return say({ ...about(address), ...whose, ...status, upToDate });
  const triggers =
    auditTransitions === undefined ? '' : ` --${auditTransitions ? '' : 'no-'}audit-transitions`;
  const tables = engine === undefined ? '' : ` --engine ${engine}`;
  const owner = whose === null ? ` --service ${service}` : '';
  const command = `npx samekey migrate${owner}${tables}${name === undefined ? '' : ` --schema ${name}`}${triggers}`;
  say(`Database: ${described(address)}`);
  if (whose !== null) say(`Service: ${whose.service}`);
  say(`Version found: ${status.version === 0 ? 'none' : status.version}, needed: ${status.needed}`);
  say(upToDate ? 'Up to date.' : `Missing: ${status.missing.join(', ')}. Run: ${command}`);
}

async function migrate(
  address: Address,
  schema: DatabaseSchema,
  { json, newIdentity }: MigrateFlags,
): Promise<void> {
  const before: SchemaStatus = await schema.status();
  await schema.migrate({ newIdentity: newIdentity === true });
  const after = await schema.status();
  const { service } = await schema.identity();
  if (json === true)
    return say({ ...about(address), service, was: before.version, ...after, applied: before.missing });
  say(`Database: ${described(address)}`);
  // Another process may have done the same at the same moment: what is true now is said, not who did it.
  say(
    before.missing.length === 0
      ? `Up to date: version ${after.version}. There was nothing to do.`
      : `Migrated: version ${after.version} (was ${before.version === 0 ? 'none' : before.version}): ${before.missing.join(', ')}.`,
  );
}

function about({ kind, shown, from }: Address): object {
  return { kind, database: shown, from };
}

function described({ kind, shown, from }: Address): string {
  return `${kindName(kind)} ${shown} (${from})`;
}

function say(what: string | object): void {
  process.stdout.write(`${typeof what === 'string' ? what : JSON.stringify(what)}\n`);
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}

function version(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be the number of a version, 0 or more.');
}

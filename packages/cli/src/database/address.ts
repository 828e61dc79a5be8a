/**
 * Which database is meant: read from the option or the environment, told apart by its form. Nothing is opened here.
 *
 * Invariant: a password never gets into a message, also when the URL is malformed: what cannot be read is not repeated.
 */

import { fileURLToPath } from 'node:url';
import { CliError } from '../cli-error.ts';
import { dynamodbAddress, redisAddress, type StoreAddress } from './store-address.ts';

/** A database, and where its name was found. */
export type Address = {
  /** `--database`, or the name of the environment variable. */
  readonly from: string;
  /** How it may be shown: host and database, or the path. */
  readonly shown: string;
} & (
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'mysql'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly path: string }
  | StoreAddress
);

/** One with tables. */
export type SqlAddress = Extract<Address, { readonly kind: 'postgres' | 'mysql' | 'sqlite' }>;

/** Whether it is one with tables, which are migrated and can be asked in SQL. */
export function isSql(address: Address): address is SqlAddress {
  return address.kind !== 'redis' && address.kind !== 'dynamodb';
}

/** Where it is looked for, in this order, if `--database` is not given. */
const VARIABLES = ['SAMEKEY_DATABASE_URL', 'DATABASE_URL'] as const;

const FORMS =
  'postgres://user@host/database, mysql://user@host/database (also mariadb:), redis://host:6379/0?service=orders (also rediss:, valkey:, valkeys:), ' +
  'dynamodb://table?region=eu-central-1, or the path of an SQLite file (also as sqlite: or file:)';

/** How it is named to people. */
export function kindName(kind: Address['kind']): string {
  const names = {
    postgres: 'PostgreSQL',
    mysql: 'MySQL',
    sqlite: 'SQLite',
    redis: 'Redis',
    dynamodb: 'DynamoDB',
  };
  return names[kind];
}

/** Finds it. Throws `CliError` when none is named or it cannot be read. */
export function findAddress(
  option: string | undefined,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Address {
  if (option !== undefined) return addressOf(option, '--database');
  for (const name of VARIABLES) {
    const text = env[name];
    if (text !== undefined && text !== '') return addressOf(text, name);
  }
  throw new CliError(
    `No database is named: pass --database <url>, or set ${VARIABLES.join(' or ')}. It is ${FORMS}.`,
  );
}

function addressOf(text: string, from: string): Address {
  if (text !== text.trim() || /^["'`]|["'`]$/.test(text)) {
    throw new CliError(
      `${from} has blanks or quotation marks around the address, which some files of variables keep (it is not repeated here, as it may hold a password): take them away.`,
    );
  }
  // One letter is a drive of Windows.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      if (looksLikeUrl(text)) throw unreadable(from);
      return sqlite(text, text, from);
    case 'file':
    case 'sqlite':
      return sqlite(text, pathOf(text, scheme, from), from);
    case 'postgres':
    case 'postgresql':
      return onServer('postgres', text, from);
    case 'mysql':
    case 'mariadb':
      return onServer('mysql', text.replace(/^mariadb:/i, 'mysql:'), from);
    case 'redis':
    case 'rediss':
    case 'valkey':
    case 'valkeys':
      return { ...redisAddress(text, from), from };
    case 'dynamodb':
      return { ...dynamodbAddress(text, from), from };
    default:
      // Without slashes it may be a user, and what follows a password.
      if (!/^[a-z]+:\/\//i.test(text)) throw unreadable(from);
      throw new CliError(`${from} has the scheme "${scheme}:", which is not known here. It is ${FORMS}.`);
  }
}

/** Not a path: the colon of its scheme is missing, or all of it, and a user with a password is in it. */
function looksLikeUrl(text: string): boolean {
  return /^(?:postgres(?:ql)?|mysql|mariadb|redis|rediss|valkeys?|dynamodb|sqlite|file)\/\/|^\/\/[^/]*@|:\/\/|^[^/\\]*:[^/\\]*@/i.test(
    text,
  );
}

function unreadable(from: string): CliError {
  return new CliError(
    `${from} looks like a URL that cannot be read (it is not repeated here, as it may hold a password): check its scheme and the colon behind it. It is ${FORMS}.`,
  );
}

function sqlite(text: string, path: string, from: string): Address {
  if (path === '' || path === ':memory:') {
    throw new CliError(
      `${from} is ${JSON.stringify(text)}: a database in memory has nothing to migrate. Name a file.`,
    );
  }
  return { kind: 'sqlite', path, shown: path, from };
}

/** `sqlite:keys.db`, `sqlite:///var/keys.db`, `file:./keys.db`, `file:///var/keys.db`. */
function pathOf(text: string, scheme: string, from: string): string {
  const rest = text.slice(scheme.length + 1);
  if (/[?#]/.test(rest)) {
    throw new CliError(
      `${from} has parameters behind the path of the file, which are not supported: leave them out.`,
    );
  }
  try {
    if (rest.startsWith('///')) return fileURLToPath(`file:${rest}`);
    return decodeURIComponent(rest.startsWith('//') ? rest.slice(2) : rest);
  } catch {
    throw new CliError(
      `${from} is not a path that can be read: write % as %25, or pass the path without ${scheme}:.`,
    );
  }
}

function onServer(kind: 'postgres' | 'mysql', text: string, from: string): Address {
  const url = parsed(text);
  // Without a user and with an @ further on, a / or ? of a password has ended the host too early.
  const isAstray = url !== null && url.username === '' && /[@:]/.test(url.pathname);
  if (url === null || url.hash !== '' || isAstray || (url.username === '' && /@/.test(text))) {
    throw new CliError(
      `${from} is not a ${kindName(kind)} URL that can be read (it is not repeated here, as it may hold a password). Its form is ` +
        `${kind === 'postgres' ? 'postgres://user:password@host:5432/database' : 'mysql://user:password@host:3306/database'}, with # / ? @ : and % in the password written as %23 %2F %3F %40 %3A %25.`,
    );
  }
  const host = url.host === '' ? (url.searchParams.get('host') ?? 'localhost') : url.host;
  const database = url.pathname.replace(/^\/+/, '') || url.username;
  return { kind, url: text, shown: `${host}/${database}`, from };
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

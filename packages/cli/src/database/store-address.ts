/**
 * Addresses of stores that are no database with tables: Redis (and Valkey), and DynamoDB. What an application passes to
 * its store, and what cannot be read from the server, stands in the address.
 *
 * Invariant: a password never gets into a message.
 */

import { CliError } from '../cli-error.ts';

/** Where such a store is. */
export type StoreAddress = RedisAddress | DynamoDbAddress;

/** A server of Redis or Valkey, and whose records are meant. */
export interface RedisAddress {
  readonly kind: 'redis';
  readonly shown: string;
  /** Without parameters; its scheme is `redis:` or `rediss:`. */
  readonly url: string;
  readonly service: string;
  readonly prefix: string;
  /** Undefined: as the server says. */
  readonly shards: number | undefined;
}

/** A table of DynamoDB. Credentials are the SDK's business: the environment, a profile, a role. */
export interface DynamoDbAddress {
  readonly kind: 'dynamodb';
  readonly shown: string;
  readonly table: string;
  /** Undefined: the SDK's, from `AWS_REGION` or a profile. */
  readonly region: string | undefined;
  readonly endpoint: string | undefined;
}

const REDIS_FORM = 'redis://user:password@host:6379/0?service=orders';
const DYNAMODB_FORM = 'dynamodb://table?region=eu-central-1';
const PREFIX = 'samekey';
const SHARDS_MAX = 1_024;

/** Reads it. Throws `CliError`. */
export function redisAddress(text: string, from: string): RedisAddress {
  const url = parsed(text.replace(/^valkey/i, 'redis'));
  // An @ that is left over: a / or ? in the password has cut it in two.
  const isAstray =
    url !== null &&
    (url.search.includes('@') || (url.username === '' && url.password === '' && text.includes('@')));
  if (url === null || url.hash !== '' || url.hostname === '' || isAstray || !/^\/?\d*$/.test(url.pathname)) {
    throw new CliError(
      `${from} is not a Redis URL that can be read (it is not repeated here, as it may hold a password). Its form is ${REDIS_FORM}, ` +
        'with # / ? @ : and % in the password written as %23 %2F %3F %40 %3A %25.',
    );
  }
  const given = parametersOf(url, from, ['service', 'prefix', 'shards']);
  const service = given.get('service');
  if (service === undefined || service === '') {
    throw new CliError(
      `${from} names no service: a Redis server holds the keys of several. Add it as the application names itself: ?service=orders.`,
    );
  }
  const shards = given.get('shards');
  if (
    shards !== undefined &&
    !(/^\d{1,4}$/.test(shards) && Number(shards) > 0 && Number(shards) <= SHARDS_MAX)
  )
    throw new CliError(`${from}: shards is a whole number from 1 to ${SHARDS_MAX}, as in the application.`);
  url.search = '';
  return {
    kind: 'redis',
    url: url.href,
    shown: `${url.host}/${url.pathname.replace(/^\/+/, '') || '0'} ${service}`,
    service,
    prefix: given.get('prefix') ?? PREFIX,
    shards: shards === undefined ? undefined : Number(shards),
  };
}

/** Reads it. Throws `CliError`. */
export function dynamodbAddress(text: string, from: string): DynamoDbAddress {
  const url = parsed(text);
  const table = url?.host ?? '';
  const isAstray = url?.username !== '' || url.password !== '';
  if (url === null || isAstray || !/^[\w.-]{3,255}$/.test(table) || !/^\/?$/.test(url.pathname)) {
    throw new CliError(
      `${from} is not an address of a DynamoDB table (it is not repeated here, as it may hold a secret). Its form is ${DYNAMODB_FORM}, with ` +
        '&endpoint=http://localhost:8000 for a stand-in. Credentials come from the environment, as of every tool of AWS.',
    );
  }
  const given = parametersOf(url, from, ['region', 'endpoint']);
  const endpoint = given.get('endpoint');
  if (endpoint !== undefined && !/^https?:\/\//.test(endpoint))
    throw new CliError(`${from}: endpoint is an http or https URL, such as http://localhost:8000.`);
  const region = given.get('region');
  return {
    kind: 'dynamodb',
    shown: region === undefined ? table : `${region}/${table}`,
    table,
    region,
    endpoint,
  };
}

/** Only those that are known: an option of a driver would be taken in silence, and change what is asked. */
function parametersOf(url: URL, from: string, known: readonly string[]): ReadonlyMap<string, string> {
  const unknown = [...url.searchParams.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    // Anything but a name may be a part of a password.
    const name = /^[a-z]+$/i.test(unknown) ? JSON.stringify(unknown) : 'of another name';
    throw new CliError(`${from} has a parameter ${name} that nothing reads; there are ${known.join(', ')}.`);
  }
  return new Map(url.searchParams);
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

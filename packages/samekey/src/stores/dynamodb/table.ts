/**
 * The table: one for everything. Records spread over partitions by the digest of scope and key; both indexes hold keys
 * only and are sharded, because a partition takes some 1,000 writes a second and a hot tenant must not fill one.
 *
 * - `pk`, `sk`: `r|<digest>`, `-` for records; `a|<shard>`, `<seq>` for the audit; `m`, `clock` for the shared time;
 *   `m`, `identity` for whose the table is.
 * - index `samekey_open` (`open`, `open_at`): sparse, only what somebody must look after. Written when an attempt
 *   begins and ends.
 * - index `samekey_caller` (`caller`, `created_at`): a caller's records, newest first. Written once in a record's life.
 * - `ttl`: epoch seconds, on final records only, an hour behind the end of their life.
 *
 * Both indexes are eventually consistent: their entries are hints, and every one is read again from the table.
 */

import { SchemaError } from '../../core/errors.ts';
import type { Calls } from './calls.ts';

export const OPEN_INDEX = 'samekey_open';
export const CALLER_INDEX = 'samekey_caller';
export const TTL_ATTRIBUTE = 'ttl';
/** Shards of each index and of the audit; fixed, because entries are found by them. */
export const SHARDS = 8;

/**
 * The input of `createTable` for a table that this store can use, billed by request. Switch on its TTL afterwards
 * (`timeToLiveInput`).
 */
export function createTableInput(tableName: string): CreateTableInput {
  return {
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: 'pk', AttributeType: 'S' },
      { AttributeName: 'sk', AttributeType: 'S' },
      { AttributeName: 'open', AttributeType: 'S' },
      { AttributeName: 'open_at', AttributeType: 'N' },
      { AttributeName: 'caller', AttributeType: 'S' },
      { AttributeName: 'created_at', AttributeType: 'N' },
    ],
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    GlobalSecondaryIndexes: [
      indexOf(OPEN_INDEX, 'open', 'open_at'),
      indexOf(CALLER_INDEX, 'caller', 'created_at'),
    ],
  };
}

/** An index with keys only. */
function indexOf(
  name: string,
  hash: string,
  range: string,
): CreateTableInput['GlobalSecondaryIndexes'][number] {
  return {
    IndexName: name,
    KeySchema: [
      { AttributeName: hash, KeyType: 'HASH' },
      { AttributeName: range, KeyType: 'RANGE' },
    ],
    Projection: { ProjectionType: 'KEYS_ONLY' },
  };
}

interface KeyElement {
  AttributeName: string;
  KeyType: 'HASH' | 'RANGE';
}

/** As `createTable` of the SDK takes it. */
export interface CreateTableInput {
  TableName: string;
  BillingMode: 'PAY_PER_REQUEST';
  AttributeDefinitions: { AttributeName: string; AttributeType: 'S' | 'N' }[];
  KeySchema: KeyElement[];
  GlobalSecondaryIndexes: {
    IndexName: string;
    KeySchema: KeyElement[];
    Projection: { ProjectionType: 'KEYS_ONLY' };
  }[];
}

/** The input of `updateTimeToLive`. */
export function timeToLiveInput(tableName: string): {
  TableName: string;
  TimeToLiveSpecification: { Enabled: true; AttributeName: string };
} {
  return { TableName: tableName, TimeToLiveSpecification: { Enabled: true, AttributeName: TTL_ATTRIBUTE } };
}

/**
 * Throws `SchemaError` unless the table has the keys and indexes above, complete, and its TTL, if wanted, and stands in
 * one region, or somebody has said that it is written from one.
 */
export async function checkTable(
  calls: Calls,
  { timeToLive, oneWriterRegion }: { readonly timeToLive: boolean; readonly oneWriterRegion: boolean },
): Promise<void> {
  const { Table } = (await calls.readPatiently('describeTable', {})) as { Table?: Described };
  const wanted = createTableInput(calls.table);
  if (keysOf(Table?.KeySchema) !== keysOf(wanted.KeySchema)) {
    throw fault('does not have the keys pk and sk', 'create one with createTableInput(name)');
  }
  for (const { IndexName, KeySchema } of wanted.GlobalSecondaryIndexes) {
    const found = Table?.GlobalSecondaryIndexes?.find((index) => index.IndexName === IndexName);
    if (keysOf(found?.KeySchema) !== keysOf(KeySchema)) {
      throw fault(
        `has no index ${IndexName} with the keys ${keysOf(KeySchema)}`,
        'add it as in createTableInput(name)',
      );
    }
    // Filled in the background: until then a sweep misses what it does not hold yet.
    if (found?.IndexStatus !== undefined && found.IndexStatus !== 'ACTIVE') {
      throw fault(`has an index ${IndexName} that is ${found.IndexStatus}`, 'wait until it is ACTIVE');
    }
  }
  const replicas = Table?.Replicas?.length ?? 0;
  if (replicas > 0 && !oneWriterRegion) {
    throw fault(
      `is a global table with ${replicas} replicas, and two regions can both grant a claim of one key`,
      'send each caller to one region and pass oneWriterRegion: true, or use a table of one region',
    );
  }
  if (!timeToLive) return;
  const { TimeToLiveDescription: found } = (await calls.readPatiently('describeTimeToLive', {})) as {
    TimeToLiveDescription?: { TimeToLiveStatus?: string; AttributeName?: string };
  };
  const isOn = found?.TimeToLiveStatus === 'ENABLED' || found?.TimeToLiveStatus === 'ENABLING';
  if (!isOn || found?.AttributeName !== TTL_ATTRIBUTE) {
    throw fault(
      `does not delete items by the attribute ${TTL_ATTRIBUTE}`,
      'call updateTimeToLive(timeToLiveInput(name)), or pass timeToLive: false and let the janitor reap',
    );
  }
}

interface Described {
  readonly Replicas?: readonly unknown[];
  readonly KeySchema?: readonly Partial<KeyElement>[];
  readonly GlobalSecondaryIndexes?: readonly {
    readonly IndexName?: string;
    readonly IndexStatus?: string;
    readonly KeySchema?: readonly Partial<KeyElement>[];
  }[];
}

function keysOf(schema: readonly Partial<KeyElement>[] | undefined): string {
  return (schema ?? []).map(({ AttributeName, KeyType }) => `${AttributeName} ${KeyType}`).join(', ');
}

function fault(what: string, remedy: string): SchemaError {
  return new SchemaError(`The DynamoDB table ${what}: ${remedy}.`);
}

/**
 * What tests of DynamoDB share: a table for each test, and a client around the real one in which a test makes faults, and which holds
 * every call to two rules, whatever is tested: reads of the table are consistent, and no record is written without a condition.
 */

import assert from 'node:assert/strict';
import type { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import {
  type DynamoDbStore,
  type DynamoDbStoreOptions,
  dynamodbStore,
} from '../../src/stores/dynamodb/index.ts';
import {
  type DynamoDbServer,
  type DynamoDbSource,
  dynamoClient,
  startDynamoDb,
} from '../services/dynamodb.ts';

/** What happens to a call: `run` makes it. */
export type Meet = (operation: string, input: unknown, run: () => Promise<unknown>) => Promise<unknown>;

interface AnyInput {
  readonly ConsistentRead?: boolean;
  readonly IndexName?: string;
  readonly ConditionExpression?: string;
  readonly Item?: { readonly pk?: { readonly S?: string } };
  readonly Key?: { readonly pk?: { readonly S?: string } };
}

const OPERATIONS = [
  'getItem',
  'putItem',
  'updateItem',
  'deleteItem',
  'query',
  'scan',
  'describeTable',
  'describeTimeToLive',
  'transactWriteItems',
] as const;

/** The client, with each call checked and given to `meet`. */
export function checkedClient<Client extends DynamoDB>(client: Client, meet: Meet): Client {
  const wrapped = Object.fromEntries(
    OPERATIONS.map((operation) => [
      operation,
      (input: AnyInput, told: unknown) => {
        check(operation, input);
        return meet(operation, input, () =>
          (client[operation] as (...all: unknown[]) => Promise<unknown>).call(client, input, told),
        );
      },
    ]),
  );
  return Object.assign(Object.create(client) as Client, wrapped);
}

function check(operation: string, input: AnyInput): void {
  if (operation === 'getItem') assert.equal(input.ConsistentRead, true, 'getItem reads consistently');
  if (operation === 'query' || operation === 'scan') {
    const wanted = input.IndexName === undefined ? true : undefined;
    assert.equal(input.ConsistentRead, wanted, `${operation} of the table reads consistently`);
  }
  const pk = input.Item?.pk?.S ?? input.Key?.pk?.S ?? '';
  if (operation !== 'getItem' && pk.startsWith('r|')) {
    assert.ok(input.ConditionExpression !== undefined, `${operation} of a record has a condition`);
  }
}

/** A test's table and what it does with calls. */
export interface DynamoBench {
  readonly server: DynamoDbServer;
  readonly client: DynamoDB;
  readonly tableName: string;
  /** What happens to calls of the stores that `open` makes; by itself they are made. */
  meet: Meet;
  /** Names of the calls so far. */
  readonly made: string[];
  /** Lets calls through again. */
  pass(): void;
  open(options?: Partial<DynamoDbStoreOptions>): DynamoDbStore;
  /** Another table with the same items, and a name of its own as a copy needs it; resolves with what it is called. */
  copyTable(): Promise<string>;
  /** The client that the stores have. */
  readonly checked: DynamoDB;
}

const passOn: Meet = (_operation, _input, run) => run();

function there<T>(value: T | undefined): T {
  return value ?? assert.fail('the server has not started yet');
}

/** For the `describe` it is called in: one server for all of its tests, a table for each. */
export function dynamoBench(source: DynamoDbSource): DynamoBench {
  let server: DynamoDbServer | undefined;
  let client: DynamoDB | undefined;
  let tableName = '';
  const made: string[] = [];
  const bench: DynamoBench = {
    get server() {
      return there(server);
    },
    get client() {
      return there(client);
    },
    get tableName() {
      return tableName;
    },
    meet: passOn,
    made,
    copyTable,
    pass() {
      bench.meet = passOn;
    },
    get checked() {
      return checkedClient(there(client), (operation, input, run) => {
        made.push(operation);
        return bench.meet(operation, input, run);
      });
    },
    open: (options = {}) =>
      dynamodbStore({
        service: 'test',
        client: bench.checked,
        tableName,
        timeToLive: false,
        random: () => 0,
        ...options,
      }),
  };
  async function copyTable(): Promise<string> {
    const copy = await bench.server.createTable();
    const { Items = [] } = await bench.client.scan({ TableName: tableName });
    for (const item of Items)
      if (item['pk']?.S !== 'm' || item['sk']?.S !== 'identity')
        await bench.client.putItem({ TableName: copy, Item: item });
    return copy;
  }
  beforeAll(async () => {
    server = await startDynamoDb(source);
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    tableName = await bench.server.createTable();
    client = dynamoClient(bench.server.url);
    bench.pass();
    made.length = 0;
  });
  afterEach(() => client?.destroy());
  return bench;
}

/** An error by its name, as the SDK throws it. */
export function named(name: string, more: object = {}): Error {
  return Object.assign(new Error('made by a test'), { name, ...more });
}

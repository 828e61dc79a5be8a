/** What the guide tells people to make is the table that the store wants, and what the guide says is absent is absent. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createLimits } from '../../src/guard/index.ts';
import {
  createTableInput,
  type DynamoDbClient,
  dynamodbStore,
  timeToLiveInput,
} from '../../src/stores/dynamodb/index.ts';

const GUIDE = readFileSync(new URL('../../../../docs/guides/dynamodb.md', import.meta.url), 'utf8');

function never(): never {
  return expect.fail('nothing is sent');
}

function block(language: string): string {
  const found = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(GUIDE)?.[1];
  return found ?? expect.fail(`the guide has no block in ${language}`);
}

/** `a=b,c=[{d=e}]` of the AWS CLI, as JSON. */
function shorthand(text: string): unknown {
  const quoted = text.replaceAll(/[\w-]+/g, '"$&"').replaceAll('=', ':');
  return JSON.parse(`{${quoted}}`);
}

describe('the guide to DynamoDB', () => {
  const { BillingMode, ...wanted } = createTableInput('samekey');

  it('has a template of CloudFormation that makes the table', () => {
    const { Resources } = parse(block('yaml')) as {
      Resources: { SamekeyTable: { Properties: Record<string, unknown> } };
    };
    const {
      TimeToLiveSpecification,
      PointInTimeRecoverySpecification: _,
      ...made
    } = Resources.SamekeyTable.Properties;
    expect(made).toEqual({ BillingMode, ...wanted });
    expect(TimeToLiveSpecification).toEqual(timeToLiveInput('samekey').TimeToLiveSpecification);
  });

  it('has a command that makes it', () => {
    const [create = '', , ttl = ''] = block('sh').replaceAll('\\\n', '').trim().split('\n');
    const options = Object.fromEntries(
      create
        .split(' --')
        .slice(1)
        .map((option) => {
          const [name = '', ...values] = option.split(/\s+/).filter((word) => word !== '');
          return [name, values.map((value) => value.replaceAll("'", ''))];
        }),
    );
    expect(options['table-name']).toEqual([wanted.TableName]);
    expect(options['billing-mode']).toEqual([BillingMode]);
    expect(options['attribute-definitions']?.map(shorthand)).toEqual(wanted.AttributeDefinitions);
    expect(options['key-schema']?.map(shorthand)).toEqual(wanted.KeySchema);
    expect(options['global-secondary-indexes']?.map(shorthand)).toEqual(wanted.GlobalSecondaryIndexes);
    expect(ttl).toContain(
      `Enabled=true,AttributeName=${timeToLiveInput('x').TimeToLiveSpecification.AttributeName}`,
    );
  });

  it('has a module of Terraform with the same keys and indexes', () => {
    const hcl = block('hcl');
    for (const { IndexName, KeySchema } of wanted.GlobalSecondaryIndexes) {
      const index = new RegExp(`global_secondary_index \\{\\s+name\\s+= "${IndexName}"([^}]*)`).exec(
        hcl,
      )?.[1];
      expect(index).toMatch(new RegExp(`hash_key\\s+= "${KeySchema[0]?.AttributeName}"`));
      expect(index).toMatch(new RegExp(`range_key\\s+= "${KeySchema[1]?.AttributeName}"`));
      expect(index).toContain('KEYS_ONLY');
    }
    for (const { AttributeName, AttributeType } of wanted.AttributeDefinitions) {
      expect(hcl).toContain(`${AttributeName} = "${AttributeType}"`);
    }
  });

  it('permits what is called, and nothing else', () => {
    const policy = JSON.parse(block('json')) as { Statement: { Action: string[] }[] };
    expect(policy.Statement[0]?.Action.toSorted()).toEqual(
      [
        'ConditionCheckItem',
        'DeleteItem',
        'DescribeTable',
        'DescribeTimeToLive',
        'GetItem',
        'PutItem',
        'Query',
        'Scan',
        'UpdateItem',
      ].map((action) => `dynamodb:${action}`),
    );
  });
});

describe('what the DynamoDB store does not keep', () => {
  const client = { putItem: never, query: never } as unknown as DynamoDbClient;
  const store = dynamodbStore({ service: 'test', client, tableName: 'samekey' });

  it('counts of keys: limits by them are refused at start', () => {
    expect(store.counters).toBeUndefined();
    expect(() => createLimits({ activeKeys: { store, max: 10 } })).toThrow(/dynamodb/);
  });

  it('messages: there is no outbox, and one that is put in all the same fails before anything is sent', async () => {
    expect('messages' in store).toBe(false);
    const handle = {
      isItemTransaction: true as const,
      write: never,
      onEnd: never,
      limit: () => undefined,
    };
    const within = store.within(handle);
    await within.enqueue([]);
    await expect(within.enqueue([{} as never])).rejects.toMatchObject({ applied: 'no', transient: false });
    expect(() => store.within({})).toThrow(/fromDynamodb/);
  });
});

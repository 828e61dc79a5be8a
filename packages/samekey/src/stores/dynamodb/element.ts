/** The conditions of a record's write, by itself and as an element of `TransactWriteItems`. */

import type { SamekeyRecord } from '../../core/record.ts';
import type { Item } from './client.ts';
import type { Stored } from './item.ts';

/** One element of `TransactItems`. */
export interface TransactPut {
  readonly Put: {
    readonly TableName: string;
    readonly Item: Item;
    readonly ConditionExpression: string;
    readonly ExpressionAttributeNames: Readonly<Record<string, string>>;
    readonly ExpressionAttributeValues: Item;
  };
}

/**
 * Writes `item` onto the record that `before` shows: still this attempt's, and in this state. Renewals in between do no
 * harm, unless `version` is given: then nobody may have written since.
 */
export function putOnto(tableName: string, item: Item, before: SamekeyRecord, version?: string): TransactPut {
  return {
    Put: {
      TableName: tableName,
      Item: item,
      ConditionExpression: `claim_id = :claimId AND attempt = :attempt AND #state = :state${version === undefined ? '' : ' AND w = :was'}`,
      ExpressionAttributeNames: { '#state': 'state' },
      ExpressionAttributeValues: {
        ':claimId': { S: before.claimId },
        ':attempt': { N: String(before.attempt) },
        ':state': { S: before.state },
        ...(version === undefined ? {} : { ':was': { S: version } }),
      },
    },
  };
}

/** The condition of a write on what was read: nothing there, or this very version under this very fence. */
export function conditionOf(before: Stored | null): Record<string, unknown> {
  if (before === null) return { ConditionExpression: 'attribute_not_exists(pk)' };
  const values: Record<string, unknown> = { ':was': { S: before.version } };
  let condition = 'w = :was';
  if (before.record !== null) {
    condition += ' AND claim_id = :claimId AND attempt = :attempt';
    values[':claimId'] = { S: before.record.claimId };
    values[':attempt'] = { N: String(before.record.attempt) };
  }
  return { ConditionExpression: condition, ExpressionAttributeValues: values };
}

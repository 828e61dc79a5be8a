/** The write of a record as an element of `TransactWriteItems`. */

import type { SamekeyRecord } from '../../core/record.ts';
import type { Item } from './dynamodb-client.ts';

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
 * Writes `item` onto the record that `before` shows: still this attempt's, and in this state. Renewals in between do no harm, unless
 * `version` is given: then nobody may have written since.
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

/**
 * Rows of the audit that are inside a record go into their place, and the record no longer waits for that: its TTL and
 * its entry for the reaper are as they would be without.
 */

import type { DynamoAudit } from './audit.ts';
import type { Calls } from './calls.ts';
import type { Item } from './client.ts';
import { openAttributes, type Stored, ttlOf } from './item.ts';
import { TTL_ATTRIBUTE } from './table.ts';

/** Makes what does it; again is no harm, and a record that has moved on is left to whoever moved it. */
export function createSettleNotes(
  calls: Calls,
  audit: Pick<DynamoAudit, 'put'>,
  timeToLive: boolean,
): (stored: Stored) => Promise<void> {
  return async ({ notes, version, item, record }) => {
    await audit.put(notes);
    const key = { pk: item['pk'], sk: item['sk'] };
    const condition = {
      ConditionExpression: 'w = :w',
      ExpressionAttributeValues: { ':w': { S: version } } as Item,
    };
    if (record === null) {
      await calls.write('deleteItem', { Key: key, ...condition });
      return;
    }
    const ttl = ttlOf(record);
    const entry = openAttributes(record, { notes: [], timeToLive });
    const set: Record<string, Item[string] | undefined> = {
      [TTL_ATTRIBUTE]: ttl === undefined ? undefined : { N: String(ttl) },
      open: entry['open'],
      open_at: entry['open_at'],
    };
    const sets = Object.keys(set).filter((name) => set[name] !== undefined);
    const removes = Object.keys(set).filter((name) => set[name] === undefined);
    await calls.write('updateItem', {
      Key: key,
      ConditionExpression: condition.ConditionExpression,
      UpdateExpression: [
        ...(sets.length > 0 ? [`SET ${sets.map((name) => `#${name} = :${name}`).join(', ')}`] : []),
        `REMOVE notes${removes.map((name) => `, #${name}`).join('')}`,
      ].join(' '),
      ExpressionAttributeNames: Object.fromEntries(Object.keys(set).map((name) => [`#${name}`, name])),
      ExpressionAttributeValues: {
        ...condition.ExpressionAttributeValues,
        ...Object.fromEntries(sets.map((name) => [`:${name}`, set[name]])),
      },
    });
  };
}

/** Reads through what a query or a scan finds, page by page, within a bound. */

import { StoreError } from '../../core/errors.ts';
import type { Calls } from './calls.ts';
import type { Input, Item } from './client.ts';

/** Pages of one reading at most: at 1 MB a page a gigabyte. */
const PAGES_MAX = 1_000;

/** Items one by one. Throws `StoreError` past the bound: whoever asked must ask for less. */
export async function* pagesOf(
  calls: Calls,
  operation: 'query' | 'scan',
  input: Input,
): AsyncGenerator<Item> {
  let from: Item | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = (await calls.readPatiently(operation, {
      ...input,
      ...(from === undefined ? {} : { ExclusiveStartKey: from }),
    })) as { Items?: readonly Item[]; LastEvaluatedKey?: Item };
    yield* answer.Items ?? [];
    from = answer.LastEvaluatedKey;
    if (from === undefined) return;
  }
  throw new StoreError(
    'There is more to read than one call may: ask for one caller, or for a shorter time.',
    {
      applied: 'no',
      transient: false,
    },
  );
}

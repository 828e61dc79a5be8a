/** Which records an operator asked for (`ListRequest`), for stores that look at records and not at columns. */

import type { SamekeyRecord } from '../core/record.ts';
import { callerOf } from '../core/scope.ts';
import type { ListRequest } from './store.ts';

/** Whether the record is among those. Order and limit are the store's. */
export function isListed(record: SamekeyRecord, request: ListRequest): boolean {
  return (
    (request.states === undefined || request.states.includes(record.state)) &&
    (request.operation === undefined || record.operation === request.operation) &&
    (request.scope === undefined || record.scope === request.scope) &&
    (request.caller === undefined || callerOf(record.scope) === request.caller) &&
    (request.key === undefined || record.key === request.key) &&
    (request.createdBefore === undefined || record.createdAt < request.createdBefore)
  );
}

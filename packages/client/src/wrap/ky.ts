/** `@samekey/client/ky`: settings for a call of ky that goes through an operation. */

import type { ClientOperation } from '../named-operation.ts';
import { asFetch, type OperationFetch } from './as-fetch.ts';

/** What ky takes. Its own retries and time-out are off: the operation has its own. */
export interface KySettings {
  readonly fetch: OperationFetch;
  readonly retry: 0;
  readonly timeout: false;
}

/** `ky.post(url, { json, ...kyOnce(operation) })`. */
export function kyOnce(operation: ClientOperation): KySettings {
  return { fetch: asFetch(operation), retry: 0, timeout: false };
}

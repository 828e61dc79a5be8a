/** `@samekey/client/axios`: settings for a call of Axios (1.12 and newer) that goes through an operation. */

import type { ClientOperation } from '../named-operation.ts';
import { asFetch, type OperationFetch } from './as-fetch.ts';

/** What Axios takes. */
export interface AxiosSettings {
  readonly adapter: 'fetch';
  readonly env: { readonly fetch: OperationFetch };
}

/**
 * `axios.post(url, data, axiosOnce(operation))`. Rejects with Axios' own errors by status, whose `cause` may be
 * `UnsettledError`.
 */
export function axiosOnce(operation: ClientOperation): AxiosSettings {
  // Axios follows no rules of its own then: address, headers and body are given to fetch as they are.
  return { adapter: 'fetch', env: { fetch: asFetch(operation), Request: null } as AxiosSettings['env'] };
}

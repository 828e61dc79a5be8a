/**
 * An operation in the shape of `fetch`, for libraries that take one: what is done or refused resolves with its answer;
 * what is not known rejects with an {@link UnsettledError}, also where there was an answer, because that one proves
 * nothing. Turn the library's own retries off: the operation tries by itself.
 */

import { ClientError } from '../client-error.ts';
import type { ClientOperation } from '../named-operation.ts';
import type { ClientResult } from '../results.ts';

/** There is no answer to give: `result.outcome` and `result.why` say why. */
export class UnsettledError extends ClientError {
  readonly result: ClientResult;

  constructor(result: ClientResult) {
    super(
      'Unsettled',
      `The operation has no answer to give (${result.outcome}: ${result.why}): next is ${result.next}.`,
    );
    this.result = result;
  }
}

/** `fetch` under the operation's key. */
export type OperationFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Makes it. */
export function asFetch(operation: ClientOperation): OperationFetch {
  return async (input, init) => {
    const result =
      input instanceof Request
        ? await operation.fetch(input.url, await readInit(new Request(input, init)))
        : await operation.fetch(input, init);
    if (result.outcome !== 'unknown' && result.response !== null) return result.response;
    throw new UnsettledError(result);
  };
}

async function readInit(request: Request): Promise<RequestInit> {
  // Without `redirect`: every Request says `follow`, whether or not anybody has chosen it (F83).
  const { method, credentials, signal, cache } = request;
  const body = request.body === null ? null : await request.arrayBuffer();
  return { method, headers: request.headers, body, credentials, signal, cache };
}

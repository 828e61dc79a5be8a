/** What the HTTP flow is given for an operation that Samekey runs itself. */

import type { StoredResponse } from '../core/response.ts';
import type { Issue, StandardSchema } from '../core/schema.ts';
import type { Handler, Work } from '../engine/work.ts';

/** An operation that Samekey runs itself, from the request's body to a reply, instead of the framework's handler. */
export interface Wrapped<Native> {
  /**
   * Makes the handler of one request, before any claim. A `NotExecutedError` refuses the request: it cannot be read.
   */
  prepare(request: Native, body: Uint8Array, schema: StandardSchema | null): Promise<Prepared | Invalid>;
  /** As {@link Work.mayBeUnseen}: asked also for a request whose body is not read. */
  readonly mayBeUnseen: boolean;
  /** What the first client is answered in place of what is stored; null, or absent: the same. */
  firstAnswer?(): StoredResponse | null;
  /** Where the client can ask how a request stands that is left to a worker; null for none. */
  location(request: Native, key: string): string | null;
}

/** A handler, and the input that is kept with the record for workers. */
export interface Prepared
  extends Pick<Work, 'input' | 'entry' | 'pendingTimeMaxMs' | 'takesSteps' | 'mayBeUnseen'> {
  readonly handler: Handler;
}

/** What its schema says is wrong with a request: it is looked up and never claimed. */
export interface Invalid
  extends Pick<Work, 'input' | 'entry' | 'pendingTimeMaxMs' | 'takesSteps' | 'mayBeUnseen'> {
  readonly invalid: readonly Issue[];
}

/**
 * What a door gives to be fuzzed: one application of its framework, served with Samekey and without it.
 *
 * Invariant: the two differ in the protection alone; whatever else the application has, both have.
 */

import type { ServerResponse } from 'node:http';
import type { PolicyName } from 'samekey/internals/core/policy';
import type { Samekey } from 'samekey/internals/samekey';
import type { Served } from '../adapter/harness.ts';
import type { Speech, ValuePlan } from './plan.ts';

/** Options of a protected route, beside its scope, which is one caller's. */
export interface FuzzOptions {
  readonly policy: PolicyName;
  readonly responseSizeMaxBytes?: number;
  readonly requestSizeMaxBytes?: number;
  readonly storeSetCookie?: boolean;
  readonly required?: boolean;
}

/** One route; every method but those of its own is for the framework to answer. */
export interface FuzzRoute {
  readonly path: string;
  readonly options: FuzzOptions;
}

/**
 * What handlers are to answer, by the request's `x-plan`. To be asked once for each run of the handler, after it has
 * read the body.
 */
export interface Answers {
  /** Plays the answer on this response; null: the plan is a value, to be answered in the framework's own way. */
  begin(id: string | undefined, body: Uint8Array): ValuePlan | ((res: ServerResponse) => Promise<void>);
}

/** A door under test. */
export interface FuzzDoor {
  readonly name: string;
  readonly speech: Speech;
  /** Whether the door hands the application's own calls to Node, so that framing and reason stay to the byte. */
  readonly isByteTrue: boolean;
  /** Whether a handler's throw reaches the door itself, and no page that the framework has made of it. */
  readonly hearsThrows: boolean;
  /** Whether its answers are `Headers`: names in an order of its own, lines of one name joined (RFC 9110 §5.3). */
  readonly joinsLines?: boolean;
  /** Statuses whose body the framework leaves out wherever it sends it itself (RFC 9110 §15.3.6), as retries are. */
  readonly emptyStatuses?: readonly number[];
  /** Statuses that it answers at once, whatever body it was given: a stream that breaks off then breaks nothing. */
  readonly dropsBodiesOf?: readonly number[];
  /** The status that a response has before anybody has said one; default 200, as Node has it. Null: it is always said. */
  readonly unsaidStatus?: number | null;
  /** The type that its server gives to a body, also an empty one, whose answer names none; retries of those have none. */
  readonly typesEmptyBodies?: string;
  /**
   * Whether the framework sends some empty answers without a length and leaves the connection open, so that what follows
   * on it is lost. The protected one frames them (RFC 9112 §6.3).
   */
  readonly leavesUnframed?: boolean;
  /** Serves `POST`, `PATCH`, `PUT` and `DELETE` of each route, and `GET /probe` with the text `probe`. */
  serve(samekey: Samekey | null, routes: readonly FuzzRoute[], answers: Answers): Promise<Served>;
}

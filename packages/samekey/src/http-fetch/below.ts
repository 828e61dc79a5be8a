/**
 * What a server offers below its `Request` and `Response` objects, so that neither has to be made whole: a real one
 * with its streams and signals costs more than all of the engine. Whatever is not known here is asked of the objects
 * themselves, so a server that changes inside gets slower, never wrong.
 */

import type { Attempt } from '../engine/attempt.ts';

/** A body that is known. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** What came of reading a body below its request. */
export type RawBody =
  | { readonly kind: 'body'; readonly raw: Bytes }
  | { readonly kind: 'consumed' }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'unreadable'; readonly detail: string };

/** One request of such a server. */
export interface Below {
  /** Reads the whole body; undefined where only the request itself can. */
  readBody(sizeMaxBytes: number): Promise<RawBody> | undefined;
  /** The request as the handler sees it: its body unread, cancelled by the attempt. */
  ownRequest(body: Bytes, attempt: Pick<Attempt, 'signal'>): Request;
  /** The bytes of an answer that is whole in memory; undefined where only the answer itself can tell. */
  bytesOf(answer: Response): Bytes | null | undefined;
}

/** Why a body cannot be read. */
export const BROKEN_BODY = 'The body ended early, or its content coding is broken.';

/** Statuses whose answer has no body (Fetch §2.2.3, null body status). */
export const NULL_BODY: readonly number[] = [101, 103, 204, 205, 304];

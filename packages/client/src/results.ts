/**
 * What became of a call, as one union on `kind`. Every answer is read whole; `response` is a fresh `Response` over its
 * bytes.
 *
 * Invariant: after every kind but `first`, `replayed` and a `refused` with `isKeyKept: false` the key is still kept,
 * and the same call goes on under it; only `operation.startNew()` gives it up.
 */

/** Of which operation, under which key (null if none could be kept), after how many requests. */
export interface OfOperation {
  readonly operation: string;
  readonly key: string | null;
  readonly tries: number;
}

/** The outcome of `operation.fetch` and of each resumed operation. */
export type ClientResult = OfOperation &
  (
    | {
        /**
         * The operation ran for this call. `isStored: false`: the server could not record it, so it cannot replay it.
         */
        readonly kind: 'first';
        readonly response: Response;
        readonly isStored: boolean;
      }
    | {
        /** It had run before: the stored answer of the server, or the answer kept here, without a request. */
        readonly kind: 'replayed';
        readonly response: Response;
        readonly from: 'server' | 'kept';
      }
    | {
        /**
         * A final error. `isKeyKept`: it does not say what became of earlier requests, so the next call keeps the key.
         */
        readonly kind: 'refused';
        readonly response: Response;
        readonly isReplayed: boolean;
        readonly isKeyKept: boolean;
      }
    | {
        /** An earlier request may have taken effect; the server is finding out. Call again later. */
        readonly kind: 'unknown';
        readonly response: Response;
        readonly retryAfterMs: number | null;
      }
    | {
        /** The server knows the key with another request. A fault of a program: never retried. */
        readonly kind: 'mismatch';
        readonly response: Response;
      }
    | {
        /** The server has forgotten the answer (410): look up what became of it. `location` if it said where. */
        readonly kind: 'gone';
        readonly response: Response;
        readonly location: string | null;
      }
    | {
        /** Still running when the time was spent. `response` is null if another tab held the operation. */
        readonly kind: 'in-progress';
        readonly response: Response | null;
        readonly retryAfterMs: number | null;
      }
    | {
        /** No final answer could be had: the network, time-outs, or errors that may pass. */
        readonly kind: 'unreachable';
        readonly response: Response | null;
        readonly error: unknown;
        readonly retryAfterMs: number | null;
      }
    | {
        /** Another request is pending under this operation. Nothing was sent. */
        readonly kind: 'other-request';
      }
    | {
        /**
         * The pending operation is older than `pendingAgeMaxMs`: the server may have forgotten the key. Nothing was
         * sent.
         */
        readonly kind: 'aged-out';
        readonly ageMs: number;
      }
    | {
        /** The caller's signal. A request may be under way. */
        readonly kind: 'aborted';
        readonly reason: unknown;
      }
    | {
        /** The pending store failed or holds what this version cannot read. Nothing was sent. */
        readonly kind: 'not-kept';
        readonly error: unknown;
      }
  );

/** The part of a result that its kind decides. */
export type Told = ClientResult extends infer Result
  ? Result extends OfOperation
    ? Omit<Result, keyof OfOperation>
    : never
  : never;

/** What the client tells `onEvent`. Never a key, an address or a body. */
export type ClientEvent = { readonly operation: string } & (
  | { readonly type: 'key-made' }
  | { readonly type: 'joined' }
  | { readonly type: 'try'; readonly number: number }
  | {
      readonly type: 'waiting';
      readonly because: 'lost' | 'timed-out' | 'answer' | 'in-progress';
      readonly status: number | null;
      readonly delayMs: number;
    }
  | { readonly type: 'waiting'; readonly because: 'offline' }
  | { readonly type: 'settled'; readonly kind: 'first' | 'replayed' | 'refused'; readonly status: number }
  | { readonly type: 'aged-out'; readonly ageMs: number }
  | { readonly type: 'other-request' }
  | { readonly type: 'started-new'; readonly dropped: 'pending' | 'settled' }
  | { readonly type: 'pending-store-error'; readonly error: unknown }
);

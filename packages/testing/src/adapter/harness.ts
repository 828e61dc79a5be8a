/**
 * What an adapter gives to be tested: a real server for routes that are described without naming any framework.
 *
 * Invariant: the harness converts and adds nothing; scopes, handlers and authorisation are the contract's.
 */

import type { Attempt } from 'samekey/internals/engine/attempt';
import type { HeaderLine } from 'samekey/internals/core/response';
import type { FormerIdentity } from 'samekey/internals/http/former';
import type { NamedPlace } from 'samekey/internals/http/key-place';
import type { ReplayFunction } from 'samekey/internals/http/answer-hooks';
import type { RouteOptions } from 'samekey/internals/http/route';
import type { Samekey } from 'samekey/internals/samekey';

/** A request, as far as a scope function, an authorisation check or a handler of the contract looks at it. */
export interface ContractRequest {
  /** A header by its lower-case name; undefined if it is absent. */
  header(name: string): string | undefined;
}

/** A request that reached the handler. */
export interface ContractCall extends ContractRequest {
  readonly method: string;
  /** The whole body, read by the framework's own means, after Samekey. */
  readonly body: Uint8Array;
  /** The attempt it runs under; null when the request is not protected. */
  readonly attempt: Attempt | null;
}

/** What a handler answers. */
export interface ContractAnswer {
  readonly status: number;
  readonly headers?: readonly HeaderLine[];
  /** Default: no body. */
  readonly body?: Uint8Array | string;
  /** Chunks written one by one, each when it comes, instead of `body`. */
  readonly stream?: AsyncIterable<Uint8Array>;
  /** One of the harness's ways to answer; default its first. */
  readonly way?: string;
}

/** The handler of a route; what it throws is thrown by the framework's handler. */
export type ContractHandler = (call: ContractCall) => ContractAnswer | Promise<ContractAnswer>;

/** What a scope function may give back, and what it should not. */
export type ContractScope = (request: ContractRequest) => unknown;

/** One route. */
export interface ContractRoute {
  /** `ALL` for a route that takes every method; `USE`: the protection stands before the router (`use`), the handler takes every method. */
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE' | 'ALL' | 'USE';
  /** Where the router stands that has the route: `/v1`, or empty. */
  readonly mount: string;
  /** Mounts of routers within that one, from the outside in; default none. */
  readonly within?: readonly string[];
  /** What stands at `mount`: a router (default), an application of its own, or a function that hides the router. */
  readonly mounted?: 'router' | 'app' | 'function';
  /** Asked of the framework beyond its defaults: that letter case counts; that a slash at the end counts, or does not. */
  readonly matching?: { readonly caseSensitive?: boolean; readonly strict?: boolean };
  /** Such as `/payments/:id`. */
  readonly pattern: string;
  /** The adapter's options, but for the scope. */
  readonly options: Omit<
    RouteOptions<never>,
    'scope' | 'onOutcome' | 'freshness' | 'bindTo' | 'formerly' | 'keyIn' | 'skip' | 'onReplay'
  > & {
    /** The contract's functions do not look at the request. */
    readonly keyIn?: NamedPlace | (() => string);
    readonly skip?: () => boolean;
    readonly onReplay?: ReplayFunction<unknown>;
    readonly formerly?: readonly (string | Omit<FormerIdentity<never>, 'scope' | 'bindTo'>)[];
  };
  /** The scope function, called with the request in the contract's form. */
  readonly scope: ContractScope;
  /** Runs before Samekey; false is answered with 403 and `refused`. */
  readonly isAllowed: (request: ContractRequest) => boolean;
  /** Whether something before Samekey reads the body and keeps nothing of it (F31). */
  readonly isBodyTaken: boolean;
  readonly handler: ContractHandler;
}

/** A server that listens on 127.0.0.1. */
export interface Served {
  readonly port: number;
  /** Closes every connection and the server. */
  close(): Promise<void>;
}

/** How a framework matches routes where nobody has asked for more. */
export interface Routing {
  /** Whether `/Charge` is taken for `/charge`; else it is not found. */
  readonly foldsCase: boolean;
  /** Whether `/charge/` is taken for `/charge`; else it is not found. */
  readonly foldsSlash: boolean;
  /** Whether the framework takes a slash off the end of a route's pattern. Default: it does not. */
  readonly stripsSlash?: boolean;
  /** Whether it can be asked for that: `matching` with `strict: false`. */
  readonly canFoldSlash: boolean;
}

/** An adapter under test. */
export interface AdapterHarness {
  readonly name: string;
  /** The ways a handler can answer that differ for the adapter, such as `end`, `pipe`, `sendFile`; at least one. */
  readonly ways: readonly string[];
  /** Whether the framework tells the adapter which route it has matched. */
  readonly hasRoutePatterns: boolean;
  readonly routing: Routing;
  /** Whether repeated lines of one name stay apart (`Set-Cookie` always does); Fetch joins them (RFC 9110 §5.3). */
  readonly hasRepeatedLines: boolean;
  /** Whether the platform tells the lines of a request's field apart; where it joins them, what may be two is refused (F80). */
  readonly tellsRequestLines: boolean;
  /** Whether a request of a connection begins before the one in front of it is answered. Default: it does. */
  readonly hasPipelining?: boolean;
  /** Whether answers can leave in parts, as they come. Default: they can. */
  readonly hasStreams?: boolean;
  /** Whether bodies come whole, as data: nothing in front can take one (F31), and none ends early. Default: they do not. */
  readonly hasWholeBodies?: boolean;
  /** How the platform joins the lines of a field where it does not tell them apart; default `, `. */
  readonly joinsLinesWith?: ',';
  /** Whether the framework tells for which method a route was made. Default: if it tells the route. */
  readonly tellsRouteMethods?: boolean;
  /** Listens with these routes. An error that Samekey hands to the framework is answered with 500. */
  serve(samekey: Samekey, routes: readonly ContractRoute[]): Promise<Served>;
  /** Calls the adapter as a user does at start, with these options and nothing else; for what must be refused. */
  protect(samekey: Samekey, options: unknown): unknown;
}

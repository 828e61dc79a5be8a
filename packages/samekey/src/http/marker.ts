/**
 * What tells a protected handler from any other: a mark on the function that an adapter returns, for whoever lists an
 * application's routes (`samekey/coverage`). Nothing at run time looks at it.
 *
 * Invariant: registered symbols, so that marks of one copy of this package are seen by another.
 */

import type { Route } from './route.ts';

/** What the options of a route say of it, for whoever describes it (`samekey/openapi`). */
export interface Door extends DoorOfRoute {
  /** Of a served operation: whether it is left to a worker, and whether its input is checked; absent: a handler's. */
  readonly served?: { readonly isDeferred: boolean; readonly isChecked: boolean };
}

type DoorOfRoute = Pick<
  Route<never>,
  | 'settings'
  | 'uniqueFor'
  | 'required'
  | 'header'
  | 'headerName'
  | 'otherHeaders'
  | 'keyIn'
  | 'key'
  | 'fingerprinter'
  | 'schema'
  | 'freshness'
  | 'firstSent'
  | 'bindTo'
  | 'onReplay'
  | 'profile'
  | 'requestSizeMaxBytes'
>;

/** How a function protects the requests that go through it. */
export interface Protection {
  /** In upper case; other methods pass through. */
  readonly methods: ReadonlySet<string>;
  /**
   * Those of `methods` that are asked for a key wherever the function stands; default all of them. The others are asked
   * only on a route that it is put on with its method.
   */
  readonly asked?: ReadonlySet<string>;
  /** Whether a request without a key is refused. */
  readonly required: boolean;
  /** Whether it answers by itself; else the handler stands behind it, and without one nothing is protected. */
  readonly answers: boolean;
  /** What who lists the routes is told of it; default nothing. */
  readonly remark?: string | null;
  /** Asked by who describes the route; null while nobody knows its options. Default nobody ever does. */
  readonly door?: () => Door | null;
}

const PROTECTS: unique symbol = Symbol.for('samekey.protects');

/**
 * Marks a function that protects what goes through it, and gives it back. A whole route beside it says all that there
 * is to say of its door.
 */
export function markProtected<Fn extends object>(fn: Fn, protection: Protection | (Protection & Door)): Fn {
  const { methods, asked = methods, required, answers, remark = null } = protection;
  const { door = () => ('profile' in protection ? protection : null) } = protection;
  const value = Object.freeze({ methods, asked, required, answers, remark, door });
  return Object.defineProperty(fn, PROTECTS, { value, configurable: true });
}

/** The mark of a function; null for one that protects nothing. */
export function protectionOf(fn: unknown): Protection | null {
  return (fn as { readonly [PROTECTS]?: Protection } | null | undefined)?.[PROTECTS] ?? null;
}

/**
 * What tells a protected handler from any other: a mark on the function that an adapter returns, for whoever lists an
 * application's routes (`samekey/coverage`). Nothing at run time looks at it.
 *
 * Invariant: registered symbols, so that marks of one copy of this package are seen by another.
 */

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
}

const PROTECTS: unique symbol = Symbol.for('samekey.protects');

/** Marks a function that protects what goes through it, and gives it back. */
export function markProtected<Fn extends object>(fn: Fn, protection: Protection): Fn {
  const { methods, asked = methods, required, answers, remark = null } = protection;
  const value = Object.freeze({ methods, asked, required, answers, remark });
  return Object.defineProperty(fn, PROTECTS, { value, configurable: true });
}

/** The mark of a function; null for one that protects nothing. */
export function protectionOf(fn: unknown): Protection | null {
  return (fn as { readonly [PROTECTS]?: Protection } | null | undefined)?.[PROTECTS] ?? null;
}

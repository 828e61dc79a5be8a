/**
 * What the stacks of Express 4 and 5 say of mounts: `app.router.stack`, `app._router.stack`, `router.stack`.
 *
 * Sources: express 4.22 lib/router, express 5.3 lib/application.js (`use`), router 2.3 lib/layer.js.
 */

/** One entry of a stack: a route, a router, or a function. */
export interface Layer {
  readonly name?: string;
  readonly handle?: { readonly stack?: readonly Layer[]; readonly length?: number };
  readonly route?: ExpressRoute;
  /** Express 5, since router 2.3. */
  readonly rawPath?: ExpressPath;
  /** Express 5: mounted at `/`. */
  readonly slash?: boolean;
  /** Express 4. */
  readonly regexp?: RegExp & { readonly fast_slash?: boolean };
  readonly keys?: readonly { readonly name: string | number }[];
}

/** A route: a path, and what stands there for its methods. */
export interface ExpressRoute {
  readonly path: ExpressPath;
  readonly methods: Readonly<Record<string, boolean>>;
  /** `method` is undefined for what `all` has put there. */
  readonly stack: readonly { readonly method?: string; readonly handle: { readonly length: number } }[];
}

/** A path as routes and mounts take it. */
type ExpressPath = string | RegExp | readonly (string | RegExp)[];

const ROUTER_4 = '_router';

interface ExpressApp {
  readonly stack?: readonly Layer[];
  readonly router?: { readonly stack?: readonly Layer[] };
  /** Express 4. */
  readonly [ROUTER_4]?: { readonly stack?: readonly Layer[] };
}

/** The stack of an application or a router; null for anything else. */
export function expressStack(app: unknown): readonly Layer[] | null {
  const candidate = app as ExpressApp | null;
  if (typeof candidate !== 'function' && typeof candidate !== 'object') return null;
  if (Array.isArray(candidate?.stack)) return candidate.stack;
  const router4 = candidate?.[ROUTER_4]?.stack;
  if (Array.isArray(router4)) return router4;
  // Express 4 throws at `router`, and has no `_router` before its first route.
  if (typeof (candidate as { lazyrouter?: unknown } | null)?.lazyrouter === 'function') return [];
  return Array.isArray(candidate?.router?.stack) ? candidate.router.stack : null;
}

/** Where a layer is mounted; null: not to be known, so what stands there counts for nothing else. */
export function mountsOf(layer: Layer): readonly (string | null)[] {
  if (layer.slash === true || layer.regexp?.fast_slash === true) return [''];
  if (layer.rawPath !== undefined)
    return [layer.rawPath].flat().map((path) => (typeof path === 'string' ? path : null));
  return [layer.regexp === undefined ? null : mountOfRegexp(layer.regexp, layer.keys ?? [])];
}

/** Express 4 keeps only the expression that it made of the mount. */
function mountOfRegexp(regexp: RegExp, keys: NonNullable<Layer['keys']>): string | null {
  const [, pattern] = /^\^(.*)\\\/\?\(\?=\\\/\|\$\)$/.exec(regexp.source) ?? [];
  if (pattern === undefined) return null;
  let key = 0;
  const path = pattern
    .replaceAll('(?:\\/([^/]+?))', () => `/:${keys[key++]?.name ?? '?'}`)
    .replaceAll(/\\([/.-])/g, '$1');
  return /[\\()[\]{}|^$+*?]/.test(path) ? null : path;
}

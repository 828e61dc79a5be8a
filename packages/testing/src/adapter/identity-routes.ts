/** Routes for the two tables of operation identity: of one moment (`identity.ts`), and of a deploy (`identity-deploys.ts`). */

import type { AdapterHarness, ContractRoute } from './harness.ts';
import type { App, Bench } from './kit.ts';

export type Route = Partial<ContractRoute>;

export const STANDARD = { policy: 'standard' } as const;
export const CALLER: Route = { options: { ...STANDARD, keyUniqueFor: 'caller' } };

/** `POST /charge` below a mount. */
export function charge(mount: string, more: Route = {}): Route {
  return { mount, pattern: '/charge', ...more };
}

/** A name of its own. */
export function named(operation: string, options: Partial<Route['options']> = {}): Route {
  return { options: { ...STANDARD, operation, ...options } };
}

/** Where nothing is known of routes, each operation has a name. */
function fitted(route: Route, { hasRoutePatterns }: AdapterHarness): Route {
  const options = { ...STANDARD, ...route.options };
  if (hasRoutePatterns || options.operation !== undefined) return { ...route, options };
  const whole = [route.mount, ...(route.within ?? []), route.pattern].join('');
  return { ...route, options: { ...options, operation: `POST ${whole}` } };
}

/** Starts an application with them. */
export function start(t: Bench, routes: readonly Route[]): Promise<App> {
  return t.start({ routes: routes.map((route) => fitted(route, t.harness)) });
}

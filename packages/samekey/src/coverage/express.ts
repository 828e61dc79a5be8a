/**
 * Routes of Express 4 and 5, out of their stacks. Middleware counts for what is registered behind
 * it below its mount, as Express itself goes through the stack.
 *
 * An application that is mounted in another is hidden behind a function of its parent's; it is looked into if it is
 * passed beside it.
 */

import { type ExpressRoute, expressStack, type Layer, mountsOf } from '../adapters/express/layers.ts';
import { protectionOf } from '../http/marker.ts';
import { exemptionOf } from './exempt.ts';
import {
  CHANGING,
  covers,
  joined,
  judge,
  mayAnswerItself,
  type Route,
  type Routes,
  type UnseenPart,
} from './listed-route.ts';

interface ExpressApp {
  readonly parent?: unknown;
  readonly mountpath?: string | readonly string[];
}

interface Active {
  readonly mount: string;
  readonly fn: unknown;
  /** Whether a route stands behind it. */
  isPassed: boolean;
}

/**
 * Lists them. `mounted`: applications that are used in this one. `asks`: whether functions in front of routes are told
 * of as well.
 */
export function expressRoutes(root: unknown, mounted: readonly unknown[], asks = true): Routes {
  const routes: Route[] = [];
  const unseen: UnseenPart[] = [];
  const functions: Active[] = [];
  walk(root, '', []);
  for (const { mount, fn, isPassed } of functions) {
    if (!mayAnswer(fn)) continue;
    if (!isPassed && hasPath(mount)) unseen.push({ where: mount, why: ANSWERS, fn });
    else if (asks && !unseen.some((part) => part.fn === fn)) unseen.push(mayAnswerItself(fn, mount));
  }
  return { routes, unseen };

  function walk(owner: unknown, prefix: string, inherited: readonly Active[]): void {
    const apps = mounted.filter((each) => (each as ExpressApp | null)?.parent === owner);
    walkStack(expressStack(owner) ?? [], prefix, inherited, apps);
  }

  function walkStack(
    stack: readonly Layer[],
    prefix: string,
    inherited: readonly Active[],
    apps: readonly unknown[],
  ): void {
    const active = [...inherited];
    for (const layer of stack) {
      if (layer.route !== undefined) addRoute(layer.route, prefix, active);
      else for (const mount of mountsOf(layer)) addMounted(layer, mount, prefix, active, apps);
    }
  }

  function addMounted(
    layer: Layer,
    mount: string | null,
    prefix: string,
    active: Active[],
    apps: readonly unknown[],
  ): void {
    const at = joined(prefix, mount ?? UNKNOWN);
    if (layer.handle?.stack !== undefined) walkStack(layer.handle.stack, at, active, apps);
    else if (layer.name === 'mounted_app') {
      const app = apps.find((each) => [(each as ExpressApp).mountpath].flat().includes(mount ?? UNKNOWN));
      if (app !== undefined) return walk(app, at, active);
      unseen.push({
        where: at,
        why: 'An application is mounted here, and hides its routes: pass it as "mounted", or use a Router.',
      });
    } else {
      const one: Active = { mount: at, fn: layer.handle, isPassed: false };
      functions.push(one);
      // From a mount that cannot be read nothing follows for others.
      if (mount !== null) active.push(one);
    }
  }

  function addRoute(route: ExpressRoute, prefix: string, active: readonly Active[]): void {
    const named = Object.keys(route.methods).map((method) => method.toUpperCase());
    const methods = named.includes('_ALL') ? CHANGING : named;
    for (const path of [route.path].flat()) {
      const whole = joined(prefix, typeof path === 'string' ? path : String(path));
      const passed = active.filter(({ mount }) => covers(mount, whole));
      for (const each of passed) each.isPassed = true;
      const before = passed.map(({ fn }) => fn);
      for (const method of methods) {
        const layers = route.stack
          .filter((layer) => layer.method === undefined || layer.method.toUpperCase() === method)
          // Error handlers answer for others.
          .filter((layer) => layer.handle.length !== 4);
        const behind = layers.map((layer) => layer.handle);
        const own = layers.filter((layer) => layer.method !== undefined).map((layer) => layer.handle);
        routes.push(judge(method, whole, [...before, ...behind], own));
      }
    }
  }
}

const ANSWERS =
  'A function is mounted here, with no route behind it: what it answers cannot be seen. Exempt its path, or make it a route.';

/**
 * What leads to no route, or stands in front of some. Files are only read, error handlers come last, and two are
 * Express's own.
 */
function mayAnswer(fn: unknown): boolean {
  const { name = '', length } = fn as { readonly name?: string; readonly length?: number };
  const isSaid = protectionOf(fn) !== null || exemptionOf(fn) !== null;
  return length !== 4 && !HARMLESS.has(name) && !isSaid;
}

const HARMLESS: ReadonlySet<string> = new Set(['serveStatic', 'query', 'expressInit']);

function hasPath(mount: string): boolean {
  return mount !== '' && mount !== '/';
}

/** A mount that cannot be read: an expression, or a version that does not keep it. */
const UNKNOWN = '/(?)';

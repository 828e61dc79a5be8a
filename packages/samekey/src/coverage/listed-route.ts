/** What a list of routes is made of, and how one is judged by the functions that its requests go through. */

import { type Protection, protectionOf } from '../http/marker.ts';
import { exemptionOf } from './exempt.ts';

/** Where a protected route keeps what protects it: for who describes it (`samekey/openapi`), and in no report. */
export const MARK: unique symbol = Symbol.for('samekey.coverage.mark');

/** A route of an application. */
export interface Route {
  readonly [MARK]?: Protection;
  /** In upper case. */
  readonly method: string;
  /** As the framework spells it, mounts included. */
  readonly path: string;
  readonly protectedBy: 'samekey' | 'exempt' | null;
  /** Why it is exempt, why it is not protected although it looks so, or what to know of its protection; else null. */
  readonly reason: string | null;
}

/** A part of an application that could not be looked into. */
export interface Unseen {
  /** A path, or what stands there. */
  readonly where: string;
  readonly why: string;
}

/** The same, with the function that is not known to pass requests on. */
export interface UnseenPart extends Unseen {
  readonly fn?: unknown;
}

/** A function in front of routes, of which nobody can tell whether it answers some requests by itself (F115). */
export function mayAnswerItself(fn: unknown, mount: string): UnseenPart {
  const { name } = fn as { readonly name?: unknown };
  const called = typeof name === 'string' && name !== '' ? `"${name}"` : 'without a name';
  const at = mount === '' || mount === '/' ? '' : ` at ${mount}`;
  return {
    where: `middleware ${called}${at}`,
    why: 'It may answer requests by itself, before or beside every route: if it only passes them on, name it in "passes".',
    fn,
  };
}

/** What was found. */
export interface Routes {
  readonly routes: readonly Route[];
  /** Each counts as not protected. */
  readonly unseen: readonly UnseenPart[];
}

/** The methods whose requests change something; others are not asked for protection. */
export const CHANGING: readonly string[] = ['POST', 'PATCH', 'PUT', 'DELETE'];

/**
 * Judges a route by its chain: the functions that a request goes through, in order, the last one answering. `own`:
 * those that the route has been given with its method, and not for all methods. `mayGoOn`: whether a request can get
 * behind a function that is in front.
 */
export function judge(
  method: string,
  path: string,
  chain: readonly unknown[],
  own: readonly unknown[] = [],
  mayGoOn: (fn: unknown) => boolean = () => true,
): Route {
  let reason: string | null = null;
  for (const [i, fn] of chain.entries()) {
    const protection = protectionOf(fn);
    if (protection === null) {
      if (i === chain.length - 1 || mayGoOn(fn) || exemptionOf(fn) !== null) continue;
      // A twin of the route, registered before: it is the one that answers (F115).
      const twin =
        'Something in front of it answers, so that Samekey is never asked: look for a route of the same path before it.';
      return { method, path, protectedBy: null, reason: reason ?? twin };
    }
    if (!protection.methods.has(method)) {
      reason = `Samekey passes ${method} here: add it to "methods".`;
    } else if (protection.asked?.has(method) === false && !own.includes(fn)) {
      reason = `A ${method} without a key passes here: put idempotent() on the route, or add ${method} to "methods".`;
    } else if (!protection.answers && i === chain.length - 1) {
      reason = 'Nothing stands behind idempotent().';
    } else {
      const optional = protection.required ? [] : ['A request without a key runs (required: false).'];
      const told = [...optional, protection.remark ?? ''].join(' ').trim();
      return { method, path, protectedBy: 'samekey', reason: told === '' ? null : told, [MARK]: protection };
    }
  }
  for (const fn of chain) {
    // Behind an answer no exemption is reached either.
    const exemption = exemptionOf(fn);
    if (exemption !== null) return { method, path, protectedBy: 'exempt', reason: exemption };
  }
  return { method, path, protectedBy: null, reason };
}

/** A path behind a mount. */
export function joined(mount: string, path: string): string {
  const tail = path === '/' ? '' : path;
  const head = mount.endsWith('/') ? mount.slice(0, -1) : mount;
  return head + (tail === '' || tail.startsWith('/') ? tail : `/${tail}`) || '/';
}

/** Whether what is mounted at `mount` sees all requests of a path: by whole segments, parameters by their names. */
export function covers(mount: string, path: string): boolean {
  const head = mount.endsWith('/') ? mount.slice(0, -1) : mount;
  return head === '' || path === head || path.startsWith(`${head}/`);
}

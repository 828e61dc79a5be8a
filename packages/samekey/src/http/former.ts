/**
 * What a route was before a deploy: entries of `formerly`, oldest first. Each says what it was called, how its scope
 * was made, what was compared, and where it stood; what an entry does not say is as it is now.
 */

import { OptionsError } from '../core/errors.ts';
import {
  createFingerprinter,
  FINGERPRINT_ROW,
  type Fingerprinter,
  type FingerprintOptions,
  type FingerprintSecrets,
  withSecrets,
} from '../fingerprint/fingerprint.ts';
import { faultOfMove, readRoute, type RoutePattern } from '../engine/bridge/moved-path.ts';
import { isRoute, nameGiven } from '../core/operation.ts';
import { aFunction, kindOf, listOf, nested, type Row, row, shown, type Table } from '../core/options.ts';
import type { Digester } from '../core/world.ts';
import type { BindFunction, ScopeFunction } from './scope-function.ts';

/** A route as it was; at least one member. */
export interface FormerIdentity<Native> {
  /**
   * What the operation was called: a name of its own, `POST /v1/payments/:id`, or `*` for protection that stood for all
   * routes (`use`).
   */
  readonly name?: string;
  /** How the scope was made. */
  readonly scope?: ScopeFunction<Native>;
  /** What was compared, in full as it was. */
  readonly fingerprint?: FingerprintOptions;
  /**
   * Where it stood: `/v1/payments/:id`, or with its method `POST /v1/payments/:id`. Parameters by the names they have
   * now.
   */
  readonly path?: string;
  /** What a key was bound to; its former value is compared as well. */
  readonly bindTo?: BindFunction<Native>;
}

/** An entry, checked. Null: as it is now. */
export interface Former<Native> {
  readonly name: string | null;
  readonly pattern: RoutePattern | null;
  readonly scope: ScopeFunction<Native> | null;
  readonly fingerprinter: Fingerprinter | null;
  readonly bindTo: BindFunction<Native> | null;
}

/** A name that an application gives its operation. */
export const operationName: Row<string, undefined> = row((name, path) => {
  if (typeof name !== 'string' || name === '')
    throw new OptionsError(`${path} names an operation by a text that is not empty; it is ${shown(name)}.`);
  return name;
});

const pathPattern: Row<string, undefined> = row((given, path) => {
  if (typeof given === 'string' && readRoute(given) !== null) return given;
  throw new OptionsError(
    `${path} is a path pattern such as "/v1/payments/:id" or "POST /v1/payments/:id"; it is ${shown(given)}.`,
  );
});

const ENTRY: Row<FormerIdentity<never>, undefined> = nested({
  name: operationName,
  scope: aFunction<ScopeFunction<never>>(),
  fingerprint: FINGERPRINT_ROW,
  path: pathPattern,
  bindTo: aFunction<BindFunction<never>>(),
} satisfies Table<FormerIdentity<never>>);

/** Entries as members of options: a text is the name. */
export const FORMERLY_ROW: Row<readonly FormerIdentity<never>[], readonly FormerIdentity<never>[]> = listOf<
  FormerIdentity<never>
>(
  row((given, path) => {
    if (typeof given === 'string') return { name: operationName.read(given, path) };
    const entry = ENTRY.read(given, path);
    if (Object.keys(entry).length > 0) return entry;
    throw new OptionsError(`${path} says nothing of what it was; it is ${kindOf(given)} without members.`);
  }),
  [],
);

/**
 * Checks entries against the route as it is: `now` is its own name as the application gave it, null where the framework
 * will tell. Throws `OptionsError`.
 */
export function compileFormer<Native>(
  entries: readonly FormerIdentity<Native>[],
  now: string | null,
  isBound: boolean,
  digester: Digester,
  secrets: FingerprintSecrets | null,
): readonly Former<Native>[] {
  const present = now === null ? null : readRoute(now);
  return entries.map(({ name, path, scope, fingerprint, bindTo }, index) => {
    const pattern = readRoute(path ?? name ?? '');
    if (present !== null && pattern !== null) {
      const fault = faultOfMove(present, pattern);
      if (fault !== null) throw new OptionsError(describeFault(index, fault));
    }
    return {
      name: name === undefined ? null : nameGiven(name),
      pattern:
        pattern === null || path === undefined || name === undefined || !isRoute(name)
          ? pattern
          : { ...pattern, method: pattern.method ?? readRoute(name)?.method ?? null },
      scope: scope ?? null,
      fingerprinter:
        fingerprint === undefined
          ? null
          : createFingerprinter(withSecrets(fingerprint, secrets), digester, isBound || bindTo !== undefined),
      bindTo: bindTo ?? null,
    };
  });
}

/** What to say where no way leads to a former pattern. */
export function describeFault(index: number, fault: string): string {
  return `formerly[${index}] cannot be compared with the route as it is, because ${fault}.`;
}

/**
 * What clients can be told before a request, since a lost answer carries no header: a header of any answer and of
 * OPTIONS, a well-known document, and the retention alone. Functions that give texts: where they are sent is the
 * application's to say.
 *
 * No standard has a name for either; these are Samekey's. The header is a List of methods with parameters (RFC 9651
 * §3.1), as `Accept-Patch` is one of media types (RFC 5789 §3.1).
 */

import { MARK, type Route } from '../coverage/listed-route.ts';
import { templateOf } from '../coverage/templates.ts';
import { described, doorOf, doorOfRoute, type Idempotency } from './described.ts';
import { isoDuration } from './words.ts';

/** Where the document stands: `/.well-known/idempotency`. */
export const WELL_KNOWN_PATH = '/.well-known/idempotency';

/** What the well-known document says. */
export interface WellKnown {
  readonly operations: readonly (Idempotency & { readonly method: string; readonly path: string })[];
}

/**
 * The header of a path, as the framework spells it: for every answer of the path, and for its OPTIONS. No header where
 * none of its routes takes a key. Throws `OptionsError` where the options of one are not known.
 */
export function acceptedKeys(
  { routes }: { readonly routes: readonly Route[] },
  path: string,
): Readonly<Record<string, string>> {
  const here = routes.filter(
    (route) => route[MARK] !== undefined && templateOf(route.path) === templateOf(path),
  );
  if (here.length === 0) return {};
  return { 'Accept-Idempotency-Key': here.map(member).join(', ') };
}

function member(route: Route): string {
  const door = doorOfRoute(route);
  const { required, key } = described(door);
  const parameters = [
    ...(required ? ['required'] : []),
    // Whole seconds, and never longer than it is remembered.
    `retention=${Math.floor(door.settings.retentionMs / 1_000)}`,
    ...(key.in === 'elsewhere' ? [] : [`in=${key.in}`]),
    ...('name' in key ? [`name=${quoted(key.name)}`] : []),
    ...('member' in key ? [`member=${quoted(key.member)}`] : []),
  ];
  return [route.method, ...parameters].join(';');
}

/** RFC 9651 §4.1.6. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** The well-known document, as JSON. Throws `OptionsError` where the options of a protected route are not known. */
export function wellKnown({ routes }: { readonly routes: readonly Route[] }): WellKnown {
  return {
    operations: routes
      .filter((route) => route[MARK] !== undefined)
      .map((route) => ({
        method: route.method,
        path: templateOf(route.path),
        ...described(doorOfRoute(route)),
      })),
  };
}

/**
 * How long keys of a protected function are remembered, as ISO 8601 has it: `PT30M`, which Iceberg's catalogs tell as
 * `idempotency-key-lifetime`. Throws `OptionsError` for what is not protected.
 */
export function retentionOf(fn: unknown): string {
  return isoDuration(doorOf(fn).settings.retentionMs);
}

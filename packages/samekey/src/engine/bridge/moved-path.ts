/**
 * A path under the present route as it was under a former one: `/v2/u/7/pay` → `/v1/users/7/pay`, so that a retry is
 * compared as the former code would have compared it.
 *
 * Invariants (F113): values go from one pattern to the other by the names of their parameters; by position only where
 * nothing but names has changed (F59) · whether two patterns have such a way is decided by the patterns alone, so it is
 * found at start where both are known then · a value is never dropped, so two requests never become one.
 */

import { eraseNames, isSimple, matchSegment, withoutSlash } from '../../core/operation.ts';

/** Method and pattern, as the application spells them. */
export interface RoutePattern {
  /** Null: the same as now. */
  readonly method: string | null;
  /** Parameter names erased. */
  readonly erased: string;
  readonly segments: readonly Segment[];
  readonly endsWithSlash: boolean;
}

interface Segment {
  readonly text: string;
  readonly names: readonly string[];
}

/** Reads `METHOD /pattern` or `/pattern`; null for any other text. */
export function readRoute(text: string): RoutePattern | null {
  const [, method, pattern] = /^(?:([A-Z]+) )?(\/.*)$/s.exec(text) ?? [];
  if (pattern === undefined) return null;
  const names: string[] = [];
  const whole = eraseNames(pattern, names);
  const erased = withoutSlash(whole);
  let at = 0;
  // An optional group that starts with a slash is a segment of its own: `/pay{/:}` is `/pay` and `{/:}`.
  const segments = (erased.match(/\{?\/(?:(?!\{?\/).)*/g) ?? []).map((one) => {
    const count = one.match(/[:*]/g)?.length ?? 0;
    at += count;
    return { text: one, names: names.slice(at - count, at) };
  });
  return { method: method ?? null, erased, segments, endsWithSlash: whole.length > 1 && whole.endsWith('/') };
}

/** Why no way leads from the present pattern to the former one, as the end of "…, because"; null: there is one. */
export function faultOfMove(now: RoutePattern, former: RoutePattern): string | null {
  if (now.erased === former.erased) return null;
  const { from, to } = withoutCommonEnd(now, former);
  if (![...from, ...to].every(({ text }) => isSimple(text)))
    return 'a part that has moved is more than literals and parameters';
  const [mine, theirs] = [namesIn(from), namesIn(to)];
  if ([...mine, ...theirs].includes(''))
    return 'a parameter has no name: give the former pattern with the names that its parameters have now';
  if (new Set(mine).size !== mine.length) return 'a name stands for two parameters';
  if (mine.length !== theirs.length || mine.some((name) => !theirs.includes(name)))
    return `the parameters of what has moved are ${listed(mine)} now and ${listed(theirs)} in the former pattern: where only their names have changed, give those of now; where one was added or left out, keep the former route beside the new one until its keys are past`;
  return null;
}

/** The path as it was; null if it is none of the present pattern's. Only for patterns without a fault. */
export function movedPath(path: string, now: RoutePattern, former: RoutePattern): string | null {
  if (now.erased === former.erased) return withSlashOf(path, now, former);
  const { from, to } = withoutCommonEnd(now, former);
  const given = path.match(/\/[^/]*/g) ?? [];
  const values = new Map<string, string>();
  for (const [index, { text, names }] of from.entries()) {
    const found = matchSegment(text, given[index]);
    if (found === null || found.length !== names.length) return null;
    for (const [i, name] of names.entries()) values.set(name, found[i] ?? '');
  }
  const moved = to.map(({ text, names }) => filled(text, names, values)).join('');
  const rest = given.slice(from.length).join('');
  return withSlashOf(moved + rest === '' ? '/' : moved + rest, now, former);
}

/** A slash at the end of a pattern is one of the path as its route spells it. */
function withSlashOf(path: string, now: RoutePattern, former: RoutePattern): string {
  if (now.endsWithSlash === former.endsWithSlash) return path;
  if (former.endsWithSlash) return path.endsWith('/') ? path : `${path}/`;
  return withoutSlash(path);
}

function withoutCommonEnd(
  now: RoutePattern,
  former: RoutePattern,
): { readonly from: readonly Segment[]; readonly to: readonly Segment[] } {
  let [from, to] = [now.segments, former.segments];
  // What both patterns end with needs no rewriting, whatever optional groups and wildcards it has.
  for (;;) {
    const [a, b] = [from.at(-1), to.at(-1)];
    if (a === undefined || b === undefined || a.text !== b.text) break;
    if (a.names.some((name, i) => name !== b.names[i])) break;
    [from, to] = [from.slice(0, -1), to.slice(0, -1)];
  }
  return { from, to };
}

function namesIn(segments: readonly Segment[]): readonly string[] {
  return segments.flatMap(({ names }) => names);
}

function filled(text: string, names: readonly string[], values: ReadonlyMap<string, string>): string {
  return text
    .split(':')
    .map((literal, i) => (i === 0 ? literal : (values.get(names[i - 1] ?? '') ?? '') + literal))
    .join('');
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map((name) => `"${name}"`).join(', ');
}

/**
 * The operation: a name given by the application, or method and route pattern with parameter names erased.
 *
 * Invariants: renaming a route parameter or changing its constraint keeps the name; a record is kept under the *oldest*
 * name, so that during a deploy the old code (which knows only that name) and the new code share it; a moved mount point
 * gives the same path to the fingerprint (F59).
 * Sources: semantics §2 and §7; path-to-regexp 0.1 (Express 4) and 8 (Express 5), find-my-way (Fastify), Hono, OpenAPI.
 */

/** An operation, and the names it had before, oldest first. */
export interface Operation {
  readonly name: string;
  readonly formerly?: readonly string[];
}

// In order of trial at each place of a pattern:
const PIECES = new RegExp(
  [
    String.raw`(?<kept>\\.|\(\?:)`, // an escaped character stands for itself; `(?:` is no parameter
    '(?<colon>::)', // Fastify: a literal colon
    String.raw`:(?:[\p{ID_Start}$_][\p{ID_Continue}$]*|"(?:[^"\\]|\\.)*")(?<open>[({]?)`, // :id, :"any name", :id(\\d+), :id{[0-9]+}
    String.raw`(?<many>\*)(?:[\p{ID_Start}$_][\p{ID_Continue}$]*|"(?:[^"\\]|\\.)*")?`, // *splat, *
    String.raw`(?<=\/)(?:\{(?<brace>[\w.-]+\+?)\}|\[(?<bracket>[\w.-]+)\])(?=\/|$)`, // OpenAPI {id}, {proxy+}; Next [id], [...slug]
  ].join('|'),
  'uy',
);

/**
 * The operation's name for a method and a route pattern: `POST /payments/:` for `post` and `/payments/:id`. Parameter
 * names and their constraints are erased; optional groups, modifiers and wildcards stay.
 */
export function operationOf(method: string, routePattern: string): string {
  return `${method.toUpperCase()} ${eraseNames(routePattern === '' ? '/' : routePattern)}`;
}

function eraseNames(pattern: string): string {
  let out = '';
  for (let at = 0; at < pattern.length; ) {
    PIECES.lastIndex = at;
    const piece = PIECES.exec(pattern);
    if (piece === null) {
      out += pattern.charAt(at);
      at++;
      continue;
    }
    const { kept, colon, open, many, brace, bracket } = piece.groups ?? {};
    at += piece[0].length;
    if (kept !== undefined) out += kept;
    else if (colon !== undefined) out += '\\:';
    else if (many !== undefined || brace?.endsWith('+') === true || bracket?.startsWith('...') === true)
      out += '*';
    else {
      out += ':';
      if (open !== undefined && open !== '') at = afterConstraint(pattern, at - 1);
    }
  }
  return out;
}

/** Where the constraint that opens at `at` ends; `at` itself if it is no constraint but an optional group of Express 5. */
function afterConstraint(pattern: string, at: number): number {
  const open = pattern.charAt(at);
  const close = open === '(' ? ')' : '}';
  let depth = 0;
  for (let i = at; i < pattern.length; i++) {
    const character = pattern.charAt(i);
    if (character === '\\') i++;
    else if (character === open) depth++;
    else if (character === close && --depth === 0) {
      // `:file{.:ext}` is a group with a parameter in it; `:date{[0-9]+}` is Hono's constraint.
      const isGroup = open === '{' && /^[./-].*[:*][\p{ID_Start}$_"]/u.test(pattern.slice(at + 1, i));
      return isGroup ? at : i + 1;
    }
  }
  return at;
}

/** The name records are kept under: the oldest former name, else the name. */
export function identityOf(operation: Operation): string {
  return operation.formerly?.[0] ?? operation.name;
}

const NO_NAMES: readonly string[] = [];

/** Most operations never had another name. */
function isFirstName({ formerly }: Operation): boolean {
  return formerly === undefined || formerly.length === 0;
}

/** The names to look up as well: all that are not the identity, the present one first, then the younger former ones. */
export function otherNames(operation: Operation): readonly string[] {
  if (isFirstName(operation)) return NO_NAMES;
  const names = new Set([operation.name, ...(operation.formerly ?? []).toReversed()]);
  names.delete(identityOf(operation));
  return [...names];
}

/** What a key is unique for: one operation of a caller, or all operations of a caller together. */
export type KeyUniqueFor = 'operation' | 'caller';

/** What a key is unique for, and what it was unique for while records from before a change may still be met. */
export interface KeyUniqueness {
  readonly uniqueFor: KeyUniqueFor;
  /** Null: it was never anything else. */
  readonly wasUniqueFor: KeyUniqueFor | null;
}

/** Names of records as scopes take them: null where a key is unique for the caller, so that no operation is part of the scope. */
export interface RecordNames {
  /** Where records are kept: as the oldest code that still runs keeps them. */
  readonly identity: string | null;
  /** Where records may be found as well, in the order of looking. */
  readonly others: readonly (string | null)[];
}

const OF_CALLER: RecordNames = { identity: null, others: [] };

/** The names under which records of an operation are kept and looked up. */
export function recordNames(operation: Operation, { uniqueFor, wasUniqueFor }: KeyUniqueness): RecordNames {
  const kept = wasUniqueFor ?? uniqueFor;
  const isBridged = wasUniqueFor !== null && wasUniqueFor !== uniqueFor;
  if (kept === 'caller')
    return isBridged
      ? { identity: null, others: [operation.name, ...(operation.formerly ?? []).toReversed()] }
      : OF_CALLER;
  const others = otherNames(operation);
  return { identity: identityOf(operation), others: isBridged ? [...others, null] : others };
}

/**
 * A concrete path of the present pattern as it was under the identity's pattern: `/v2/payments/7` → `/v1/payments/7`, so
 * that the fingerprint stays equal when a mount point moved. The path is returned unchanged if either name is not of the
 * form `METHOD /pattern`, methods or numbers of parameters differ, optional parts differ, or the path does not fit.
 */
export function rewritePath(path: string, operation: Operation): string {
  if (isFirstName(operation) && path.startsWith('/')) return path;
  const from = routeOf(operation.name);
  const to = routeOf(identityOf(operation));
  if (from === null || to === null || from.method !== to.method) return path;
  // What both patterns end with needs no rewriting, whatever optional groups and wildcards it has.
  while (from.segments.length > 0 && from.segments.at(-1) === to.segments.at(-1)) {
    from.segments.pop();
    to.segments.pop();
  }
  const pathSegments = path.match(/\/[^/]*/g) ?? [];
  const values: string[] = [];
  for (const [index, segment] of from.segments.entries()) {
    const found = matchSegment(segment, pathSegments[index]);
    if (found === null) return path;
    values.push(...found);
  }
  const rewritten = fill(to.segments.join(''), values);
  return rewritten === null ? path : rewritten + pathSegments.slice(from.segments.length).join('');
}

function routeOf(name: string): { method: string; segments: string[] } | null {
  const [, method, pattern] = /^([!#$%&'*+.^_`|~\w-]+) (\/.*)$/.exec(name) ?? [];
  if (method === undefined || pattern === undefined) return null;
  // An optional group that starts with a slash is a segment of its own: `/pay{/:}` is `/pay` and `{/:}`.
  return { method, segments: pattern.match(/\{?\/(?:(?!\{?\/).)*/g) ?? [] };
}

/** Literals and `:` only: of these the values of a path are known without backtracking. */
function isSimple(text: string): boolean {
  return !/[\\{}()[\]?*+]|::/.test(text);
}

/** The values a path segment gives to the `:`s of a pattern segment, shortest first; null if it does not fit. */
function matchSegment(segment: string, text: string | undefined): string[] | null {
  if (text === undefined || !isSimple(segment)) return null;
  // Routers match letter case loosely by default, and this route has matched already.
  const [head = '', ...literals] = lowerAscii(segment).split(':');
  const lower = lowerAscii(text);
  if (!lower.startsWith(head)) return null;
  let at = head.length;
  const values: string[] = [];
  for (const [index, literal] of literals.entries()) {
    const isLast = index === literals.length - 1;
    const end = isLast ? text.length - literal.length : lower.indexOf(literal, at + 1);
    if (end <= at || !lower.startsWith(literal, end)) return null;
    values.push(text.slice(at, end));
    at = end + literal.length;
  }
  return at === text.length ? values : null;
}

/** Keeps the length, which `toLowerCase` does not for every letter. */
function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function fill(pattern: string, values: readonly string[]): string | null {
  const literals = pattern.split(':');
  if (!isSimple(pattern) || literals.length !== values.length + 1) return null;
  return literals.map((literal, index) => literal + (values[index] ?? '')).join('');
}

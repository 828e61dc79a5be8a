/**
 * The operation: a name given by the application, or method and route pattern with parameter names erased.
 *
 * Invariants: renaming a route parameter or changing its constraint keeps the name; a record is kept under the *oldest*
 * name, so that during a deploy the old code (which knows only that name) and the new code share it; a moved mount
 * point gives the same path to the fingerprint (F59). What a framework routes as one is one identity, however a client
 * spells it (F74): an identity may be too coarse (the fingerprint then tells two requests apart: 422), never too fine
 * (a second run). What only a client has spelt is in no name that people see (F96).
 * Sources: contract §7.3; path-to-regexp 0.1 (Express 4) and 8 (Express 5), find-my-way (Fastify), Hono, OpenAPI.
 */

import { normalisePath } from './percent.ts';
import { shortHash } from './short-hash.ts';

/** An operation, and the names it had before, oldest first. */
export interface Operation {
  readonly name: string;
  readonly formerly?: readonly string[];
  /** Both as the application spells them, parameters with their names. */
  readonly spelt?: { readonly name: string; readonly formerly: readonly string[] };
}

/** The route that a framework has matched, as far as it tells. */
export interface MatchedRoute {
  /** Its pattern, such as `/payments/:id`; with that of its mounts, unless `mount` has their path. */
  readonly pattern: string;
  /** The path of its mounts as the client spelt it, where their patterns are not known; else empty. */
  readonly mount: string;
  /**
   * Whether the request's path is an instance of mount and pattern as they stand: nothing has rewritten it in between,
   * and the pattern is no expression and no list.
   */
  readonly fitsPath: boolean;
  /** Whether the framework may take two spellings that differ in letter case for one route. */
  readonly foldsCase: boolean;
  /** Whether the protection was put there for the request's method, and not for all methods (`use`, `all`). */
  readonly isForMethod: boolean;
}

/**
 * What a request is part of: the name that people see, the name that records are kept under, and the path that is
 * compared.
 */
export interface OperationOfRequest {
  /** For events, metrics and records; never holds what only a client has spelt. */
  readonly label: string;
  readonly name: string;
  /** Whether the application has given a name that is no route: it may then stand at several paths. */
  readonly isNamed: boolean;
  readonly path: string;
  /** Method and pattern, parameters with their names; null where neither framework nor application tells. */
  readonly route: string | null;
}

/**
 * The operation of a request whose route the framework does not tell: the path then counts by the fingerprint alone.
 */
export const ANY_OPERATION = '*';
/** In the place of mounts whose pattern is not known. */
const ANY_MOUNT = '*';

/** What a request is part of. `name`: the application's own name for the operation, instead of method and route. */
export function operationOfRequest(
  name: string | null,
  { method, path: asReceived }: { readonly method: string; readonly path: string },
  matched: MatchedRoute | null,
  given: string | null = null,
): OperationOfRequest {
  const path = matched === null || !matched.fitsPath ? asReceived : canonicalPath(asReceived, matched);
  const label = name ?? (matched === null ? ANY_OPERATION : labelOf(method, matched));
  const isNamed = name !== null && !isRoute(name);
  // Where the mount's pattern is not known, its path stands for it.
  const route =
    matched?.fitsPath === true
      ? `${method.toUpperCase()} ${matched.mount}${matched.pattern}`
      : isNamed
        ? null
        : given;
  if (matched === null || !matched.foldsCase) return { label, name: label, isNamed, path, route };
  const own = name ?? (matched.mount === '' ? label : identityOfRoute(method, matched));
  return { label, name: foldCase(own), isNamed, path, route };
}

/** Whether a name has the form `METHOD /pattern`. */
export function isRoute(name: string): boolean {
  return /^[A-Z]+ \//.test(name);
}

function labelOf(method: string, { pattern, mount }: MatchedRoute): string {
  const { name } = readPattern(pattern);
  return `${method.toUpperCase()} ${mount === '' ? name || '/' : `/${ANY_MOUNT}${name}`}`;
}

function identityOfRoute(method: string, { pattern, mount }: MatchedRoute): string {
  return `${method.toUpperCase()} ${mountIdentity(mount)}${readPattern(pattern).name}`;
}

interface ReadPattern {
  /** Parameter names erased, without a slash at its end. */
  readonly name: string;
  /** Its segments; null if one of them is more than literals and parameters. */
  readonly segments: readonly string[] | null;
}

/** Patterns are the application's, and few. */
const readPatterns = new Map<string, ReadPattern>();
/** An application that makes patterns as it goes must not be remembered without end. */
const READ_PATTERNS_MAX = 2_000;

function readPattern(pattern: string): ReadPattern {
  const known = readPatterns.get(pattern);
  if (known !== undefined) return known;
  const name = withoutSlash(eraseNames(pattern));
  const segments = segmentsOf(name);
  const read = { name, segments: segments.every(isSimple) ? segments : null };
  if (readPatterns.size >= READ_PATTERNS_MAX) readPatterns.clear();
  readPatterns.set(pattern, read);
  return read;
}

/** Encoded: a scope has no room for whatever a client may send. */
const MOUNT_LENGTH_MAX = 200;

/** One text for all spellings that a framework may take for one mount; others may meet in it as well. */
function mountIdentity(mount: string): string {
  if (mount === '') return '';
  let text = mount;
  try {
    text = decodeURIComponent(mount);
  } catch {
    // As it came: no framework gives two spellings of it one meaning.
  }
  const folded = text.toLowerCase().replaceAll(/\/{2,}/g, '/');
  // Mounts with one hash are told apart by the fingerprint.
  return encodeURIComponent(folded).length > MOUNT_LENGTH_MAX ? `/~${shortHash(folded)}` : folded;
}

/** A name of the form `METHOD /pattern` with its pattern in lower case; other names are the application's own. */
export function foldCase(name: string): string {
  return isRoute(name) ? name.replace(/ .*$/s, (pattern) => pattern.toLowerCase()) : name;
}

/**
 * A path with its literal segments as the route spells them, and its trailing slash, since the framework has taken both
 * for one; what parameters hold is kept as it is (F27). Unchanged where that cannot be told: too fine is a 422, too
 * coarse a mix-up.
 */
export function canonicalPath(
  path: string,
  { pattern, mount }: Pick<MatchedRoute, 'pattern' | 'mount'>,
): string {
  if (!path.startsWith(mount)) return path;
  const { segments } = readPattern(pattern);
  const given = segmentsOf(withoutSlash(normalisePath(path.slice(mount.length))));
  if (segments === null || given.length !== segments.length) return path;
  let out = mount;
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index] ?? '';
    const text = given[index] ?? '';
    if (segment.includes(':')) out += text;
    else if (segment === text || lowerAscii(segment) === lowerAscii(text)) out += segment;
    else return path;
  }
  return pattern.length > 1 && pattern.endsWith('/') ? `${out}/` : out === '' ? '/' : out;
}

/**
 * Whether a path is an instance of a mount's pattern, in any letter case; false for patterns that are more than
 * literals and parameters.
 */
export function fitsMount(pattern: string, path: string): boolean {
  const { segments } = readPattern(pattern);
  const given = segmentsOf(withoutSlash(normalisePath(path)));
  return (
    segments !== null &&
    given.length === segments.length &&
    segments.every((segment, index) => matchSegment(segment, given[index]) !== null)
  );
}

/** The segments of a path, each with its slash. */
function segmentsOf(path: string): readonly string[] {
  return path.match(/\/[^/]*/g) ?? [];
}

// In order of trial at each place of a pattern:
const PIECES = new RegExp(
  [
    String.raw`(?<kept>\\.|\(\?:)`, // an escaped character stands for itself; `(?:` is no parameter
    '(?<colon>::)', // Fastify: a literal colon
    // :id, :"any name", :id(\\d+), :id{[0-9]+}
    String.raw`:(?:[\p{ID_Start}$_][\p{ID_Continue}$]*|"(?:[^"\\]|\\.)*")(?<open>[({]?)`,
    String.raw`(?<many>\*)(?:[\p{ID_Start}$_][\p{ID_Continue}$]*|"(?:[^"\\]|\\.)*")?`, // *splat, *
    // OpenAPI {id}, {proxy+}; Next [id], [...slug]
    String.raw`(?<=\/)(?:\{(?<brace>[\w.-]+\+?)\}|\[(?<bracket>[\w.-]+)\])(?=\/|$)`,
  ].join('|'),
  'uy',
);

/**
 * The operation's name for a method and a route pattern: `POST /payments/:` for `post` and `/payments/:id`. Parameter
 * names and their constraints are erased; optional groups, modifiers and wildcards stay.
 */
export function operationOf(method: string, routePattern: string): string {
  return `${method.toUpperCase()} ${withoutSlash(eraseNames(routePattern)) || '/'}`;
}

/**
 * A name that the application has given: of the form `METHOD /pattern` it is that route's name, any other stays as it
 * is.
 */
export function nameGiven(name: string): string {
  const [, method, pattern] = /^([A-Z]+) (\/.*)$/.exec(name) ?? [];
  return method === undefined || pattern === undefined ? name : operationOf(method, pattern);
}

/** A slash at the end of a pattern is none of its name: frameworks take both spellings, unless they are told not to. */
export function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** `names` takes those of the parameters, in their order; a wildcard's is empty. */
export function eraseNames(pattern: string, names: string[] = []): string {
  let out = '';
  for (let at = 0; at < pattern.length; ) {
    PIECES.lastIndex = at;
    const piece = PIECES.exec(pattern);
    if (piece === null) {
      const character = pattern.charAt(at);
      // Erased already.
      if (character === ':') names.push('');
      out += character;
      at++;
      continue;
    }
    const { kept, colon, open, many, brace, bracket } = piece.groups ?? {};
    at += piece[0].length;
    if (kept !== undefined) out += kept;
    else if (colon !== undefined) out += '\\:';
    else if (many !== undefined || brace?.endsWith('+') === true || bracket?.startsWith('...') === true) {
      out += '*';
      names.push('');
    } else {
      out += ':';
      names.push(brace ?? bracket ?? /^:"?([^"({]*)/.exec(piece[0])?.[1] ?? '');
      if (open !== undefined && open !== '') at = afterConstraint(pattern, at - 1);
    }
  }
  return out;
}

/**
 * Where the constraint that opens at `at` ends; `at` itself if it is no constraint but an optional group of Express 5.
 */
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

/** All names of an operation, oldest first and the present one last, each once. */
export function namesOldestFirst({ name, formerly = [] }: Operation): readonly string[] {
  return formerly.length === 0 ? [name] : [...new Set([...formerly.filter((one) => one !== name), name])];
}

/** What a key is unique for: one operation of a caller, or all operations of a caller together. */
export type KeyUniqueFor = 'operation' | 'caller';

/** What a key is unique for, and what it was unique for while records from before a change may still be met. */
export interface KeyUniqueness {
  readonly uniqueFor: KeyUniqueFor;
  /** Null: it was never anything else. */
  readonly wasUniqueFor: KeyUniqueFor | null;
}

/** Literals and `:` only: of these the values of a path are known without backtracking. */
export function isSimple(text: string): boolean {
  return !/[\\{}()[\]?*+]|::/.test(text);
}

/** The values a path segment gives to the `:`s of a pattern segment, shortest first; null if it does not fit. */
export function matchSegment(segment: string, text: string | undefined): string[] | null {
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

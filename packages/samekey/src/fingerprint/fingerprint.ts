/**
 * The fingerprint: a digest of what must be equal on a retry, under a label that says how it was made.
 *
 * Invariants: the encoding is injective over method, operation, path, query, content and chosen headers, so two
 * requests that differ in any of them never meet (F27); the label changes with everything that changes the encoding, so
 * a record of other code is recognised (503) and never mistaken for another request (422, F59). Every byte is encoded
 * once and digested once; with a synchronous digester nothing here is asynchronous.
 * Sources: contract §7.5; HMAC by RFC 2104 and FIPS 180-4, both in the {@link Digester}.
 */
import {
  type ByteWriter,
  byteWriter,
  writeBytes,
  writeCount,
  writeText,
  writeTexts,
  written,
} from './byte-writer.ts';
import { NotExecutedError, OptionsError } from '../core/errors.ts';
import { type Comparable, comparableBytes } from './digest.ts';
import { type BodySelection, bodySelection, writeBody } from './fingerprint-body.ts';
import {
  aFunction,
  byName,
  kindOf,
  listOf,
  nested,
  orNull,
  required,
  type Row,
  row,
  type Table,
  text,
} from '../core/options.ts';
import { pathTree, pointersOf } from './path-tree.ts';
import { normalisePath, pairsOf } from '../core/percent.ts';
import { shortHash } from '../core/short-hash.ts';
import type { Digester } from '../core/world.ts';

/** What counts for a retry, and how it is digested. Every field has a default. */
export interface FingerprintOptions {
  /** A name for this option set; change it whenever `path` or `of` changes what it does. Default ''. */
  readonly version?: string;
  /** Members of a JSON body, or form fields, that a retry may change: JSON Pointers (`/a/b`) or top-level names. */
  readonly omit?: readonly string[];
  /** The only members or form fields that count. A body that is neither JSON nor a form counts whole. */
  readonly pick?: readonly string[];
  /** Headers that count too, by name. Default none. */
  readonly headers?: readonly string[];
  /**
   * What counts in place of query, body and headers: a pure function of the request as it was sent, which gives JSON or
   * bytes. Method, path and operation count as ever. It needs a `version`, and stands in place of `omit`, `pick` and
   * `headers`.
   */
  readonly of?: (request: FingerprintRequest) => Comparable;
  /** Maps the path before it counts. It must be pure; it has no part in the label but that it is there. */
  readonly path?: (path: string) => string;
  /** Named secrets of 16 bytes or more for HMAC-SHA-256; a name is never used for another secret. Default SHA-256. */
  readonly secrets?: {
    readonly current: string;
    readonly keys: Readonly<Record<string, Uint8Array>>;
  };
  /** Option sets that records may still carry from before a deploy, each as it was in full. */
  readonly formerly?: readonly FingerprintOptions[];
}

/** A request, as a function gets it that says what counts. */
export interface FingerprintRequest {
  readonly method: string;
  /** As received, without the query. */
  readonly path: string;
  /** As received, without its `?`; empty if there is none. */
  readonly query: string;
  readonly contentType: string | undefined;
  /** The whole body, its content coding removed. A copy. */
  readonly body: Uint8Array;
  /** The body as JSON; undefined for an empty one. Throws for any other body: the request is answered 400. */
  readonly json: () => unknown;
  /** Every line of a header; empty if it is absent. */
  readonly headers: (name: string) => readonly string[];
}

/** Secrets for all digests of an instance. */
export interface FingerprintSecrets {
  /**
   * The name of the one that new records are made with; null: none yet, they are only known. For the first deploy to
   * several processes, because one that does not know the name answers 503.
   */
  readonly current: string | null;
  /** By name (1–40 letters, digits, `_`, `-`), 16 bytes or more each; a name is never used for another secret. */
  readonly keys: Readonly<Record<string, Uint8Array>>;
}

const secretsByName = byName(
  row((given, path) => {
    if (given instanceof Uint8Array) return given;
    throw new OptionsError(`${path} is a secret, a Uint8Array; it is ${kindOf(given)}.`);
  }),
);

const FINGERPRINT_ROWS = {
  version: row((given, path) => {
    if (typeof given === 'string') return given;
    throw new OptionsError(`${path} is a text; it is ${kindOf(given)}.`);
  }),
  omit: listOf(text()),
  pick: listOf(text()),
  headers: listOf(text()),
  of: aFunction(),
  path: aFunction(),
  secrets: nested({ current: required(text()), keys: required(secretsByName) }),
  formerly: listOf({
    read: (given: unknown, path: string): FingerprintOptions => FINGERPRINT_ROW.read(given, path),
    absent: () => undefined,
  }),
} satisfies Table<FingerprintOptions>;

/** Fingerprint options as a member of others. */
export const FINGERPRINT_ROW: Row<FingerprintOptions, undefined> = nested(FINGERPRINT_ROWS);

/** Secrets of an instance as a member of its options. */
export const SECRETS_ROW: Row<FingerprintSecrets, undefined> = nested({
  current: required(orNull(text())),
  keys: required(secretsByName),
} satisfies Table<FingerprintSecrets>);

/** A request, as the fingerprint sees it. */
export interface FingerprintInput {
  readonly method: string;
  /** The operation's identity (see operation.ts). */
  readonly operation: string;
  /** The path as received, without the query. */
  readonly path: string;
  /** The query as received, without its `?`. */
  readonly query: string;
  /** Every value of a header, by lower-case name; empty if it is absent. */
  readonly headers: (name: string) => readonly string[];
  readonly contentType: string | undefined;
  /** The whole body, its content coding removed. */
  readonly body: Uint8Array;
  /** What of the caller it is bound to; needed by a bound fingerprinter. */
  readonly binding?: string;
  /**
   * Whether the operation has a name that is no route: another method or path then proves no other request, and has a
   * digest of its own behind a dot (F113). So has what it is bound to.
   */
  readonly isNamed?: boolean;
}

/** A compiled set of {@link FingerprintOptions}. Digests are promises only if the digester's are. */
export interface Fingerprinter {
  /** The label of new records: scheme, option set, and the secret's name if there is one; at most 64 characters. */
  readonly label: string;
  /** What it was made of, for who describes it. */
  readonly options: FingerprintOptions;
  /** The digest under `label`. */
  compute(input: FingerprintInput): string | Promise<string>;
  /** The digest under the label of a record; undefined if this process does not know how it was made. */
  computeFor(label: string, input: FingerprintInput): string | Promise<string> | undefined;
}

interface Way {
  readonly label: string;
  readonly selection: BodySelection;
  readonly headers: readonly string[];
  readonly of: FingerprintOptions['of'];
  readonly path: ((path: string) => string) | undefined;
  readonly secret: Uint8Array | undefined;
  readonly bound: boolean;
}

/** Names the encoding itself: changed with any change to what {@link encode} writes. */
const SCHEME = 'sk1';
const utf8 = new TextDecoder();
const SECRET_BYTES_MIN = 16;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Compiles options once, at start; throws {@link OptionsError} for those that cannot work. `bound`: the input's
 * `binding` counts too; records from before it did are still known.
 */
export function createFingerprinter(
  options: FingerprintOptions,
  digester: Digester,
  bound = false,
): Fingerprinter {
  const [current, ...others] = [...waysOf(options, bound), ...(bound ? waysOf(options, false) : [])];
  if (current === undefined) throw new OptionsError('A fingerprint needs a way to be made.');
  const ways = new Map([[current.label, current]]);
  for (const way of others) {
    const known = ways.get(way.label);
    if (known !== undefined && (known.path !== way.path || known.of !== way.of)) {
      throw new OptionsError(
        `Two option sets of the fingerprint differ in their functions only (${way.label}): give each its own version.`,
      );
    }
    if (known === undefined) ways.set(way.label, way);
  }
  return Object.freeze({
    label: current.label,
    options,
    compute: (input: FingerprintInput) => digest(current, input, digester),
    computeFor(label: string, input: FingerprintInput) {
      const way = ways.get(label);
      if (way?.of === undefined || way === current) return way && digest(way, input, digester);
      try {
        return digest(way, input, digester);
      } catch {
        // A function of another version that cannot take this request proves nothing of it.
        return undefined;
      }
    },
  });
}

/**
 * The same option set under an instance's secrets; one with secrets of its own stays as it is. What was made without,
 * and what an earlier set made with or without, is still known.
 */
export function withSecrets(
  options: FingerprintOptions,
  secrets: FingerprintSecrets | null,
): FingerprintOptions {
  if (secrets === null || options.secrets !== undefined) return options;
  const { formerly = [], ...own } = options;
  const [first] = Object.keys(secrets.keys);
  const current = secrets.current ?? first;
  const keyed = (one: FingerprintOptions): FingerprintOptions =>
    one.secrets !== undefined || current === undefined
      ? one
      : { ...one, secrets: { current, keys: secrets.keys } };
  const before = formerly.flatMap((one) => (one.secrets === undefined ? [keyed(one), one] : [one]));
  return secrets.current === null
    ? { ...own, formerly: [keyed(own), ...before] }
    : { ...keyed(own), formerly: [own, ...before] };
}

/** The ways of an option set, the current secret's first, then those of its former secrets and option sets. */
function waysOf(options: FingerprintOptions, bound: boolean): [Way, ...Way[]] {
  if (options.of !== undefined) checkOf(options);
  const omit = options.omit && pointersOf(options.omit);
  const pick = options.pick && pointersOf(options.pick);
  const headers = headerNames(options.headers ?? []);
  const parts: unknown[] = [
    options.version ?? '',
    omit ?? [],
    pick ?? null,
    headers,
    options.path !== undefined,
  ];
  if (options.of !== undefined) parts.push('of');
  if (bound) parts.push('bound');
  const common = {
    label: `${SCHEME}.${shortHash(JSON.stringify(parts))}`,
    selection: bodySelection({ omit: pathTree(omit), pick: pathTree(pick) }),
    headers,
    of: options.of,
    path: options.path,
    secret: undefined,
    bound,
  };
  const former = (options.formerly ?? []).flatMap((set) => waysOf(set, bound));
  if (options.secrets === undefined) return [common, ...former];
  const { current, keys } = options.secrets;
  const withSecret = (name: string): Way => ({
    ...common,
    label: `${common.label}.${name}`,
    secret: secretOf(name, Object.hasOwn(keys, name) ? keys[name] : undefined),
  });
  const rest = Object.keys(keys).filter((name) => name !== current);
  return [withSecret(current), ...rest.map(withSecret), ...former];
}

function checkOf({ version = '', omit, pick, headers }: FingerprintOptions): void {
  if (version === '')
    throw new OptionsError(
      'fingerprint.of is a function, which has no name that a record could carry: give a version, and another one whenever it compares otherwise.',
    );
  if ((omit ?? pick ?? headers) !== undefined)
    throw new OptionsError('fingerprint.of says alone what counts: leave out omit, pick and headers.');
}

function headerNames(names: readonly string[]): readonly string[] {
  for (const name of names) {
    if (TOKEN.test(name)) continue;
    throw new OptionsError(
      `${JSON.stringify(name)} is no header name: name headers as RFC 9110 §5.1 has them.`,
    );
  }
  return [...new Set(names.map((name) => name.toLowerCase()))].toSorted();
}

/** A copy of a secret that may be used. Throws {@link OptionsError}. */
export function secretOf(name: string, bytes: Uint8Array | undefined): Uint8Array {
  if (!/^[\w-]{1,40}$/.test(name)) {
    throw new OptionsError(
      'The name of a fingerprint secret must be 1–40 letters, digits, "_" or "-": rename it.',
    );
  }
  if (bytes === undefined)
    throw new OptionsError(`The fingerprint secret "${name}" is not among the keys: add it.`);
  if (bytes.length < SECRET_BYTES_MIN) {
    throw new OptionsError(
      `The fingerprint secret "${name}" has ${bytes.length} bytes: use ${SECRET_BYTES_MIN} random bytes or more.`,
    );
  }
  // A copy: a caller that wipes its own afterwards would change every digest.
  return Uint8Array.from(bytes);
}

/** What differs in the part behind the dot only is perhaps the same request (`bridge.ts`). */
function digest(way: Way, input: FingerprintInput, digester: Digester): string | Promise<string> {
  const main = digestOf(way, input, digester, encode);
  if (input.isNamed !== true && !way.bound) return main;
  const aside = digestOf(way, input, digester, encodeAside);
  if (typeof main === 'string' && typeof aside === 'string') return `${main}.${aside}`;
  return Promise.all([main, aside]).then((both) => both.join('.'));
}

function digestOf(
  way: Way,
  input: FingerprintInput,
  digester: Digester,
  write: typeof encode,
): string | Promise<string> {
  // Taken for as long as it is used: a path function may make a fingerprint of its own.
  const writer = spare ?? byteWriter(SPARE_BYTES);
  spare = null;
  writer.length = 0;
  write(writer, way, input);
  const bytes = written(writer);
  const made = way.secret === undefined ? digester.sha256(bytes) : digester.hmacSha256(way.secret, bytes);
  // A promise may still read the bytes.
  if (typeof made === 'string' && writer.bytes.length <= SPARE_BYTES_MAX) spare = writer;
  return made;
}

/** Buffers of more than a few bytes are dear to make and to collect, and fingerprints are made one after another. */
let spare: ByteWriter | null = null;
const SPARE_BYTES = 4_096;
const SPARE_BYTES_MAX = 65_536;

function encode(writer: ByteWriter, way: Way, input: FingerprintInput): void {
  const { isNamed = false } = input;
  writeText(writer, way.label);
  if (!isNamed) writeText(writer, input.method);
  writeText(writer, input.operation);
  if (!isNamed) writeText(writer, pathOf(way, input));
  if (way.of !== undefined)
    return writeBytes(writer, comparableBytes('What fingerprint.of gave', way.of(requestOf(input))));
  writeTexts(writer, pairsOf(input.query));
  writeBody(writer, input.contentType, input.body, way.selection);
  writeCount(writer, way.headers.length);
  for (const name of way.headers) {
    const values = input.headers(name);
    writeText(writer, name);
    // Several lines are one list (RFC 9110 §5.3): some runtimes join them before we see them. Absent is not empty.
    writeTexts(writer, values.length === 0 ? [] : [values.join(', ')]);
  }
}

function requestOf({
  method,
  path,
  query,
  contentType,
  body,
  headers,
}: FingerprintInput): FingerprintRequest {
  const copy = Uint8Array.from(body);
  return {
    method,
    path,
    query,
    contentType,
    body: copy,
    headers: (name) => [...headers(name.toLowerCase())],
    json() {
      if (copy.length === 0) return undefined;
      try {
        return JSON.parse(utf8.decode(copy)) as unknown;
      } catch (cause) {
        throw new NotExecutedError('The request’s body is not JSON.', { cause });
      }
    },
  };
}

function pathOf({ path: mapped }: Way, { path }: FingerprintInput): string {
  return normalisePath(mapped === undefined ? path : mapped(path));
}

/** Another text than any that {@link encode} begins with. */
const ASIDE = '.aside';

function encodeAside(writer: ByteWriter, way: Way, input: FingerprintInput): void {
  writeText(writer, way.label + ASIDE);
  writeTexts(writer, input.isNamed === true ? [input.method, pathOf(way, input)] : []);
  writeText(writer, way.bound ? (input.binding ?? '') : '');
}

/** A protected route: its options, checked once at start. */

import { OptionsError } from '../core/errors.ts';
import {
  createFingerprinter,
  FINGERPRINT_ROW,
  type Fingerprinter,
  type FingerprintOptions,
  type FingerprintSecrets,
  withSecrets,
} from '../fingerprint/fingerprint.ts';
import { KEY_LENGTH_MAX, KEY_ROW, type KeyOptions } from '../core/key.ts';
import {
  aFunction,
  listOf,
  oneOf,
  readOptions,
  required,
  type Row,
  row,
  shown,
  type Table,
  trueOrFalse,
  wholeNumber,
} from '../core/options.ts';
import { type KeyUniqueFor, type KeyUniqueness, nameGiven } from '../core/operation.ts';
import type { Outcome } from '../core/outcome.ts';
import { classOfStatus } from '../core/policy.ts';
import { SCHEMA_ROW, type StandardSchema } from '../core/schema.ts';
import { isSingleTenant, type singleTenant } from '../core/scope.ts';
import {
  OPERATION_ROWS,
  type OperationOptions,
  type OperationSettings,
  resolveSettings,
} from '../core/settings.ts';
import type { Digester } from '../core/world.ts';
import { type Dialect, dialectRow, spoken } from './dialect.ts';
import type { RedactFunction, ReplayFunction } from './answer-hooks.ts';
import { compileFormer, FORMERLY_ROW, type Former, type FormerIdentity, operationName } from './former.ts';
import { compileFirstSent, FIRST_SENT_ROW, type FirstSentOptions } from './first-sent.ts';
import { compileFreshness, type Freshness, FRESHNESS_ROW, type FreshnessOptions } from './freshness.ts';
import { compileKeyPlace, type CompiledPlace, KEY_PLACE_ROW, type KeyPlace, labelOf } from './key-place.ts';
import { PROFILE_ROW, type ProfileName } from './named-profile.ts';
import { KEY_HEADER } from './problem.ts';
import type { Profile } from './profile.ts';
import type { BindFunction, ScopeFunction } from './scope-function.ts';

/** Options of a protected route. */
export interface RouteOptions<Native> extends OperationOptions {
  /** Whom a key is unique for: a function of the authenticated request, or `singleTenant()`. No default. */
  readonly scope: ScopeFunction<Native> | ReturnType<typeof singleTenant>;
  /** The operation's name; default: method and route pattern, as far as the framework tells them. */
  readonly operation?: string;
  /**
   * What the route was before deploys whose records may still be met, oldest first: a name, or an entry that says what
   * it was called, how its scope was made, what was compared, and where it stood. It may go one retention after the
   * last process without it.
   */
  readonly formerly?: readonly (string | FormerIdentity<Native>)[];
  /**
   * What a key is unique for: an `operation` of a caller (default), or the `caller`: a key that was used for another
   * operation of the caller is then refused, as Stripe does.
   */
  readonly keyUniqueFor?: KeyUniqueFor;
  /**
   * What `keyUniqueFor` was before a change: records stay where they were kept, so that old and new code share them,
   * and those of the other kind are looked up too. Kept while code from before the change runs, and its records live.
   */
  readonly keyWasUniqueFor?: KeyUniqueFor;
  /** Whether a request without a key is refused (default), or simply runs. */
  readonly required?: boolean;
  /**
   * Methods that are protected and asked for a key; others pass. Default: POST, PATCH, PUT and DELETE of the route that
   * the protection is put on with its method. Where it stands for all methods (`use`, an application, a Fetch handler),
   * POST and PATCH are asked for a key, PUT and DELETE are protected if they bring one.
   */
  readonly methods?: readonly string[];
  /**
   * The header that carries the key; default `Idempotency-Key`. Several: the key may come in any of them, and a request
   * whose headers carry different keys is refused.
   */
  readonly header?: string | readonly string[];
  /**
   * Where else a key may come: `{ body: '/idempotency_key' }`, a member of the JSON body by its name or JSON Pointer;
   * `{ query: 'requestId' }`, a parameter of the query; `{ header, member }`, a member of JSON that a header carries in
   * Base64; or a pure function of the request. Headers are still looked at, and a request that brings two different
   * keys is refused. Default: in headers only.
   */
  readonly keyIn?: KeyPlace<Native>;
  /**
   * Requests that pass unprotected: a pure function of the request that gives true for them, asked before its key. The
   * first one is told of (`misuse`, code `request-skipped`). If it throws, the request is refused.
   */
  readonly skip?: (request: Native) => boolean;
  /** What keys are accepted. */
  readonly key?: KeyOptions;
  /** What must be equal on a retry. */
  readonly fingerprint?: FingerprintOptions;
  /**
   * What the body, as JSON, must be; a served operation: what its input must be, which is what the schema makes of it.
   * Of Zod, Valibot, ArkType or any library that speaks Standard Schema. What is invalid is answered 400, claims
   * nothing and binds nothing to the key.
   */
  readonly schema?: StandardSchema;
  /** Requests must say when they were sent, signed; default not. A recorded request is then of no use later. */
  readonly freshness?: FreshnessOptions<Native>;
  /**
   * Requests must say when they were first sent, unsigned; default not. A retry that comes when its key may be
   * forgotten is refused, and runs no second time.
   */
  readonly firstSent?: FirstSentOptions;
  /**
   * What of the caller a key is bound to, such as its session: part of what must be equal on a retry, so the same key
   * from another session is refused and never runs. Nothing (null, undefined, an empty text): the request is refused as
   * anonymous.
   */
  readonly bindTo?: BindFunction<Native>;
  /**
   * The API that is spoken as it is known, of `samekey/dialects`. What it states is given nowhere else: an option
   * beside it that says something else is refused.
   */
  readonly dialect?: Dialect;
  /** How outcomes look on the wire: `ietf` (default), `stripe`, or a profile made by `ietf(options)`. */
  readonly profile?: ProfileName | Profile;
  /** Largest request body, decoded, in bytes; default 1 MiB. */
  readonly requestSizeMaxBytes?: number;
  /** Largest answer whose body is stored, in bytes; default 1 MiB. Larger ones stream through. */
  readonly responseSizeMaxBytes?: number;
  /** How long an answer is held after its head before it streams through, in milliseconds; default 1,000. */
  readonly bufferTimeMaxMs?: number;
  /** Whether `Set-Cookie` is stored and replayed; default false. */
  readonly storeSetCookie?: boolean;
  /**
   * Changes what is stored of an answer: retries get what it gives, the first client the whole answer. If it throws,
   * nothing of the answer is stored (410 on a retry). Default: the answer as it is.
   */
  readonly redact?: RedactFunction;
  /**
   * What a retry is told in place of the stored answer, such as the state of today. Nothing runs whatever it gives; if
   * it throws, the retry is answered 503. Default: the stored answer, to the byte.
   */
  readonly onReplay?: ReplayFunction<Native>;
  /** Called with each request and what it met, before it is answered: for logs. What it throws disturbs nothing. */
  readonly onOutcome?: (request: Native, outcome: Outcome) => void;
}

/** A protected route with every default in place. */
export interface Route<Native> extends KeyUniqueness {
  readonly settings: OperationSettings;
  readonly scope: ScopeFunction<Native>;
  readonly operation: string | null;
  /** The same as the application spells it, parameters with their names. */
  readonly given: string | null;
  readonly formerly: readonly Former<Native>[];
  readonly required: boolean;
  /** Protected if they bring a key. */
  readonly methods: ReadonlySet<string>;
  /** Asked for a key wherever the protection stands; the other methods only on a route of their own. */
  readonly asked: ReadonlySet<string>;
  /** In lower case. */
  readonly header: string;
  /** The same as the application spells it, for people. */
  readonly headerName: string;
  /** Others that may carry the key, in lower case. */
  readonly otherHeaders: readonly string[];
  /** Null: in headers only. */
  readonly keyIn: CompiledPlace<Native> | null;
  readonly skip: ((request: Native) => boolean) | null;
  /** Its whole form: what is more than grammar is a rule for fresh keys. */
  readonly key: KeyOptions;
  readonly keyGrammar: KeyOptions;
  readonly fingerprinter: Fingerprinter;
  readonly schema: StandardSchema | null;
  readonly freshness: Freshness<Native> | null;
  readonly firstSent: Required<FirstSentOptions> | null;
  readonly bindTo: BindFunction<Native> | null;
  /** What who lists the routes is told of this one. */
  readonly remark: string | null;
  readonly profile: Profile;
  readonly requestSizeMaxBytes: number;
  readonly responseSizeMaxBytes: number;
  readonly bufferTimeMaxMs: number;
  readonly redact: RedactFunction | null;
  readonly onReplay: ReplayFunction<Native> | null;
  readonly onOutcome: ((request: Native, outcome: Outcome) => void) | null;
}

/** Whether an answer of this status ends the record for good, whatever the handler does afterwards. */
export function isFinalStatus({ settings }: Pick<Route<never>, 'settings'>, status: number): boolean {
  const verdict = settings.policy.verdicts[classOfStatus(status)];
  return verdict === 'completed' || verdict === 'failed';
}

const NO_SCOPE =
  'A protected route needs a scope: a function that names the authenticated caller, such as (req) => [req.user.tenantId, req.user.id], or singleTenant().';
const MIB = 1024 * 1024;
/** The longest a timer of the platform can wait; beyond, it fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;
/** Names of methods and header fields (RFC 9110 §5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What changes something (RFC 9110 §9.3). */
export const CHANGING_METHODS: ReadonlySet<string> = new Set(['POST', 'PATCH', 'PUT', 'DELETE']);
/**
 * PUT and DELETE are made to be repeated, so that what stands for all methods must not refuse those that exist already
 * (F99).
 */
const ASKED_METHODS: ReadonlySet<string> = new Set(['POST', 'PATCH']);
/** Safe methods are never protected (RFC 9110 §9.2.1). */
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'TRACE'];

/** Checks a route's options and puts the defaults in place; `secrets` are the instance's. Throws `OptionsError`. */
export function compileRoute<Native>(
  defaults: OperationOptions,
  given: RouteOptions<Native>,
  digester: Digester,
  secrets: FingerprintSecrets | null = null,
): Route<Native> {
  if (typeof given !== 'object' || given === null) {
    throw new OptionsError('A protected route needs options: at least a policy and a scope.');
  }
  const options =
    given.dialect === undefined ? given : spoken(given, OWN_ROWS.dialect.read(given.dialect, 'dialect'));
  const own = readOptions('A protected route', ROWS, options);
  const { storeSetCookie } = own;
  const settings = Object.freeze({ ...resolveSettings(defaults, options), storeSetCookie });
  if (options.freshness !== undefined && !own.required) {
    throw new OptionsError(
      'freshness needs a key in every request: with required: false one without a key would run unsigned.',
    );
  }
  return Object.freeze({
    settings,
    scope: scopeFunction(options.scope),
    operation: own.operation === null ? null : nameGiven(own.operation),
    given: own.operation,
    formerly: compileFormer(
      own.formerly as readonly FormerIdentity<Native>[],
      own.operation,
      options.bindTo !== undefined,
      digester,
      secrets,
    ),
    ...keyUniqueness(own),
    required: own.required,
    methods: own.methods === null ? CHANGING_METHODS : new Set(own.methods),
    asked: own.methods === null ? ASKED_METHODS : new Set(own.methods),
    ...keyHeaders(own.header),
    ...keyPlace(options),
    skip: options.skip ?? null,
    key: own.key ?? {},
    keyGrammar: grammarOf(own.key ?? {}),
    fingerprinter: createFingerprinter(
      withSecrets(own.fingerprint ?? {}, secrets),
      digester,
      options.bindTo !== undefined,
    ),
    schema: own.schema ?? null,
    freshness:
      own.freshness === undefined
        ? null
        : compileFreshness(own.freshness as Required<FreshnessOptions<Native>>, settings.retentionMs),
    firstSent: compileFirstSent(own.firstSent, settings.retentionMs),
    bindTo: options.bindTo ?? null,
    remark: options.dialect?.remark ?? null,
    profile: own.profile,
    requestSizeMaxBytes: own.requestSizeMaxBytes,
    responseSizeMaxBytes: own.responseSizeMaxBytes,
    bufferTimeMaxMs: own.bufferTimeMaxMs,
    redact: options.redact ?? null,
    onReplay: options.onReplay ?? null,
    onOutcome: options.onOutcome ?? null,
  });
}

/** Grammar, and the length that any route may have taken before (F118). */
function grammarOf({ mode, lengthMax = KEY_LENGTH_MAX }: KeyOptions): KeyOptions {
  return { ...(mode !== undefined && { mode }), lengthMax: Math.max(lengthMax, KEY_LENGTH_MAX) };
}

function scopeFunction<Native>(scope: RouteOptions<Native>['scope'] | undefined): ScopeFunction<Native> {
  if (typeof scope === 'function') return scope;
  // Only the declared single tenant: a constant list would put all callers into one scope unnoticed.
  if (isSingleTenant(scope)) return () => scope;
  throw new OptionsError(NO_SCOPE);
}

const token: Row<string, undefined> = row((value, path) => {
  if (typeof value === 'string' && TOKEN.test(value)) return value;
  throw new OptionsError(`${path} takes names as RFC 9110 §5.6.2 has them; it is ${shown(value)}.`);
});

/** One name, or a list of several. */
const headerNames: Row<string | readonly string[], undefined> = row((given, path) => {
  if (!Array.isArray(given)) return token.read(given, path);
  if (given.length === 0) throw new OptionsError(`${path} is empty: name at least one, or leave it out.`);
  return listOf(token).read(given, path);
});

function keyHeaders(
  names: string | readonly string[],
): Pick<Route<never>, 'header' | 'headerName' | 'otherHeaders'> {
  const list = typeof names === 'string' ? [names] : names;
  const [header = '', ...otherHeaders] = new Set(list.map((name) => name.toLowerCase()));
  return { header, headerName: list[0] ?? '', otherHeaders };
}

/** What people are told to send is the member, unless a header is named too. */
function keyPlace<Native>({
  keyIn,
  header,
}: RouteOptions<Native>): Pick<Route<Native>, 'keyIn'> & Partial<Pick<Route<Native>, 'headerName'>> {
  if (keyIn === undefined) return { keyIn: null };
  const place = compileKeyPlace(keyIn);
  const label = header === undefined ? labelOf(keyIn) : null;
  return label === null ? { keyIn: place } : { keyIn: place, headerName: label };
}

function keyUniqueness({
  keyUniqueFor: uniqueFor,
  keyWasUniqueFor: wasUniqueFor = null,
}: {
  readonly keyUniqueFor: KeyUniqueFor;
  readonly keyWasUniqueFor?: KeyUniqueFor | null | undefined;
}): KeyUniqueness {
  if (wasUniqueFor === uniqueFor)
    throw new OptionsError(
      `keyWasUniqueFor says what keyUniqueFor was before a change, and both are "${uniqueFor}": leave it out.`,
    );
  return { uniqueFor, wasUniqueFor };
}

const UNIQUE_FOR: readonly KeyUniqueFor[] = ['operation', 'caller'];

function protectedMethods(given: unknown, path: string): readonly string[] {
  const upper = listOf(token)
    .read(given, path)
    .map((method) => method.toUpperCase());
  for (const method of upper) {
    if (SAFE_METHODS.includes(method)) {
      throw new OptionsError(
        `${method} cannot be protected: it changes nothing by definition, so it passes untouched.`,
      );
    }
  }
  if (upper.length === 0) throw new OptionsError(`${path} is empty: name at least one, or leave it out.`);
  return upper;
}

const PLAIN_ROWS = {
  scope: required(
    row((given) => scopeFunction(given as RouteOptions<never>['scope'])),
    NO_SCOPE,
  ),
  keyUniqueFor: oneOf(UNIQUE_FOR, 'operation'),
  keyWasUniqueFor: oneOf(UNIQUE_FOR),
  required: trueOrFalse(true),
  methods: { read: protectedMethods, absent: (): null => null },
  header: { ...headerNames, absent: (): string => KEY_HEADER },
  keyIn: KEY_PLACE_ROW,
  skip: aFunction(),
  key: KEY_ROW,
  fingerprint: FINGERPRINT_ROW,
  schema: SCHEMA_ROW,
  freshness: FRESHNESS_ROW,
  firstSent: FIRST_SENT_ROW,
  bindTo: aFunction(),
  profile: PROFILE_ROW,
  requestSizeMaxBytes: wholeNumber(0, undefined, MIB),
  responseSizeMaxBytes: wholeNumber(0, undefined, MIB),
  bufferTimeMaxMs: wholeNumber(0, TIMER_MAX_MS, 1_000),
  storeSetCookie: trueOrFalse(false),
  redact: aFunction(),
  onReplay: aFunction(),
  onOutcome: aFunction(),
  formerly: FORMERLY_ROW,
} satisfies Table<Omit<HttpOptions, 'dialect'>>;

const OWN_ROWS = {
  ...PLAIN_ROWS,
  dialect: dialectRow(OPERATION_ROWS, PLAIN_ROWS),
} satisfies Table<HttpOptions>;

const ROWS = {
  ...OPERATION_ROWS,
  ...OWN_ROWS,
  operation: { ...operationName, absent: (): null => null },
} satisfies Table<RouteOptions<never>>;

type HttpOptions = Omit<RouteOptions<never>, keyof OperationOptions | 'operation'>;

/**
 * The rows of a route's options without those of its operation: a served operation has said those itself, but for what
 * its door was.
 */
export const HTTP_ROWS: Table<HttpOptions> = OWN_ROWS;

/** The rows of {@link RouteOptions}, for the tables of whatever takes them too. */
export const ROUTE_ROWS: Table<RouteOptions<never>> = ROWS;

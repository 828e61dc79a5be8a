/**
 * A protected route: its options, checked once at start.
 */

import { OptionsError } from '../core/errors.ts';
import {
  createFingerprinter,
  type Fingerprinter,
  type FingerprintOptions,
  type FingerprintSecrets,
  withSecrets,
} from '../core/fingerprint.ts';
import { checkKeyOptions, type KeyOptions } from '../core/key.ts';
import { operationOf } from '../core/operation.ts';
import type { Outcome } from '../core/outcome.ts';
import { classOfStatus } from '../core/policy.ts';
import { isSingleTenant, type singleTenant } from '../core/scope.ts';
import {
  OPERATION_OPTIONS,
  type OperationOptions,
  type OperationSettings,
  refuseUnknown,
  resolveSettings,
  wholeNumber,
} from '../core/settings.ts';
import type { Digester } from '../core/world.ts';
import { compileFreshness, type Freshness, type FreshnessOptions } from './freshness.ts';
import { ietf } from './profiles/ietf.ts';
import type { Profile } from './profile.ts';
import { stripe } from './profiles/stripe.ts';

/**
 * Whom a key is unique for, from the authenticated request: texts such as tenant and principal, or one text. Nothing
 * (null, undefined, an empty text or list) means that the caller is not known: the request is refused.
 */
export type ScopeFunction<Native> = (
  request: Native,
) => readonly string[] | string | null | undefined | Promise<readonly string[] | string | null | undefined>;

/** Options of a protected route. */
export interface RouteOptions<Native> extends OperationOptions {
  /** Whom a key is unique for: a function of the authenticated request, or `singleTenant()`. No default. */
  readonly scope: ScopeFunction<Native> | ReturnType<typeof singleTenant>;
  /** The operation's name; default: method and route pattern, as far as the framework tells them. */
  readonly operation?: string;
  /** Earlier names of the operation, oldest first (`POST /v1/payments/:` for a route); kept while its records live. */
  readonly formerly?: readonly string[];
  /** Whether a request without a key is refused (default), or simply runs. */
  readonly required?: boolean;
  /** Methods that are protected; others pass. Default POST and PATCH. */
  readonly methods?: readonly string[];
  /** The header that carries the key; default `Idempotency-Key`. */
  readonly header?: string;
  /** What keys are accepted. */
  readonly key?: KeyOptions;
  /** What must be equal on a retry. */
  readonly fingerprint?: FingerprintOptions;
  /** Requests must say when they were sent, signed; default not. A recorded request is then of no use later. */
  readonly freshness?: FreshnessOptions<Native>;
  /**
   * What of the caller a key is bound to, such as its session: part of what must be equal on a retry, so the same key from
   * another session is refused and never runs. Nothing (null, undefined, an empty text): the request is refused as anonymous.
   */
  readonly bindTo?: (request: Native) => string | null | undefined | Promise<string | null | undefined>;
  /** How outcomes look on the wire: `ietf` (default), `stripe`, or a profile made by `ietf(options)`. */
  readonly profile?: 'ietf' | 'stripe' | Profile;
  /** Largest request body, decoded, in bytes; default 1 MiB. */
  readonly requestSizeMaxBytes?: number;
  /** Largest answer whose body is stored, in bytes; default 1 MiB. Larger ones stream through. */
  readonly responseSizeMaxBytes?: number;
  /** How long an answer is held after its head before it streams through, in milliseconds; default 1,000. */
  readonly bufferTimeMaxMs?: number;
  /** Whether `Set-Cookie` is stored and replayed; default false. */
  readonly storeSetCookie?: boolean;
  /** Called with each request and what it met, before it is answered: for logs. What it throws disturbs nothing. */
  readonly onOutcome?: (request: Native, outcome: Outcome) => void;
}

/** A protected route with every default in place. */
export interface Route<Native> {
  readonly settings: OperationSettings;
  readonly scope: ScopeFunction<Native>;
  readonly operation: string | null;
  readonly formerly: readonly string[];
  readonly required: boolean;
  readonly methods: ReadonlySet<string>;
  /** In lower case. */
  readonly header: string;
  readonly key: KeyOptions;
  readonly fingerprinter: Fingerprinter;
  readonly freshness: Freshness<Native> | null;
  readonly bindTo: NonNullable<RouteOptions<Native>['bindTo']> | null;
  readonly profile: Profile;
  readonly requestSizeMaxBytes: number;
  readonly responseSizeMaxBytes: number;
  readonly bufferTimeMaxMs: number;
  readonly onOutcome: ((request: Native, outcome: Outcome) => void) | null;
}

/** Whether an answer of this status ends the record for good, whatever the handler does afterwards. */
export function isFinalStatus({ settings }: Pick<Route<never>, 'settings'>, status: number): boolean {
  const verdict = settings.policy.verdicts[classOfStatus(status)];
  return verdict === 'completed' || verdict === 'failed';
}

const ROUTE_OPTIONS: readonly string[] = [
  ...OPERATION_OPTIONS,
  'scope',
  'operation',
  'formerly',
  'required',
  'methods',
  'header',
  'key',
  'fingerprint',
  'freshness',
  'bindTo',
  'profile',
  'requestSizeMaxBytes',
  'responseSizeMaxBytes',
  'bufferTimeMaxMs',
  'storeSetCookie',
  'onOutcome',
];
const MIB = 1024 * 1024;
/** The longest a timer of the platform can wait; beyond, it fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;
/** Names of methods and header fields (RFC 9110 §5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Safe methods are never protected (RFC 9110 §9.2.1). */
const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'TRACE'];

/** Checks a route's options and puts the defaults in place; `secrets` are the instance's. Throws `OptionsError`. */
export function compileRoute<Native>(
  defaults: OperationOptions,
  options: RouteOptions<Native>,
  digester: Digester,
  secrets: FingerprintSecrets | null = null,
): Route<Native> {
  if (typeof options !== 'object' || options === null) {
    throw new OptionsError('A protected route needs options: at least a policy and a scope.');
  }
  refuseUnknown('A protected route', options, ROUTE_OPTIONS);
  const storeSetCookie = yesOrNo('storeSetCookie', options.storeSetCookie ?? false);
  const settings = Object.freeze({ ...resolveSettings(defaults, options), storeSetCookie });
  if (options.freshness !== undefined && options.required === false) {
    throw new OptionsError(
      'freshness needs a key in every request: with required: false one without a key would run unsigned.',
    );
  }
  const keyOptions = options.key ?? {};
  checkKeyOptions(keyOptions);
  return Object.freeze({
    settings,
    scope: scopeFunction(options.scope),
    operation: options.operation === undefined ? null : operationName('operation', options.operation),
    formerly: listOf('formerly', options.formerly ?? []).map((name) => operationName('formerly', name)),
    required: yesOrNo('required', options.required ?? true),
    methods: protectedMethods(options.methods ?? ['POST', 'PATCH']),
    header: token('header', options.header ?? 'Idempotency-Key').toLowerCase(),
    key: keyOptions,
    fingerprinter: createFingerprinter(
      withSecrets(options.fingerprint ?? {}, secrets),
      digester,
      options.bindTo !== undefined,
    ),
    freshness:
      options.freshness === undefined ? null : compileFreshness(options.freshness, settings.retentionMs),
    bindTo: listener('bindTo', options.bindTo),
    profile: resolveProfile(options.profile ?? 'ietf'),
    requestSizeMaxBytes: wholeNumber('requestSizeMaxBytes', options.requestSizeMaxBytes ?? MIB, 0),
    responseSizeMaxBytes: wholeNumber('responseSizeMaxBytes', options.responseSizeMaxBytes ?? MIB, 0),
    bufferTimeMaxMs: wholeNumber('bufferTimeMaxMs', options.bufferTimeMaxMs ?? 1_000, 0, TIMER_MAX_MS),
    onOutcome: listener('onOutcome', options.onOutcome),
  });
}

function scopeFunction<Native>(scope: RouteOptions<Native>['scope'] | undefined): ScopeFunction<Native> {
  if (typeof scope === 'function') return scope;
  // Only the declared single tenant: a constant list would put all callers into one scope unnoticed.
  if (isSingleTenant(scope)) return () => scope;
  throw new OptionsError(
    'A protected route needs a scope: a function that names the authenticated caller, such as (req) => [req.user.tenantId, req.user.id], or singleTenant().',
  );
}

/** A name of the form `METHOD /pattern` has its parameter names erased, as those of frameworks have. */
function operationName(option: string, name: unknown): string {
  if (typeof name !== 'string' || name === '') {
    throw new OptionsError(`${option} names an operation by a text that is not empty; it has ${show(name)}.`);
  }
  const [, method, pattern] = /^([A-Z]+) (\/.*)$/.exec(name) ?? [];
  return method === undefined || pattern === undefined ? name : operationOf(method, pattern);
}

function protectedMethods(methods: unknown): ReadonlySet<string> {
  const upper = listOf('methods', methods).map((method) => token('methods', method).toUpperCase());
  for (const method of upper) {
    if (SAFE_METHODS.includes(method)) {
      throw new OptionsError(
        `${method} cannot be protected: it changes nothing by definition, so it passes untouched.`,
      );
    }
  }
  if (upper.length === 0)
    throw new OptionsError('methods is empty: name at least one, or leave it out for POST and PATCH.');
  return new Set(upper);
}

function listener<Listener>(name: string, value: Listener | undefined): Listener | null {
  if (value === undefined) return null;
  if (typeof value !== 'function') throw new OptionsError(`${name} is a function; it is ${show(value)}.`);
  return value;
}

function listOf(option: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new OptionsError(`${option} is a list; it is ${show(value)}.`);
}

function token(option: string, value: unknown): string {
  if (typeof value === 'string' && TOKEN.test(value)) return value;
  throw new OptionsError(`${option} takes names as RFC 9110 §5.6.2 has them; it has ${show(value)}.`);
}

function yesOrNo(option: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new OptionsError(`${option} is true or false; it is ${show(value)}.`);
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function resolveProfile(profile: 'ietf' | 'stripe' | Profile): Profile {
  if (profile === 'ietf') return ietf();
  if (profile === 'stripe') return stripe();
  if (typeof profile?.render !== 'function') {
    throw new OptionsError(
      typeof profile === 'function'
        ? 'profile is a function: call it, as in profile: stripe(), or name it, as in profile: "stripe".'
        : `Unknown profile ${show(profile)}: use "ietf", "stripe", or ietf({ … }).`,
    );
  }
  return profile;
}

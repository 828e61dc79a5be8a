/**
 * Errors: what cannot be an outcome. Each has a stable `code` (held equal to docs/reference/errors.md by
 * tools/check-errors) and a message in the order: what happened, which value, what to do. No message carries a key, a
 * body or SQL text. Recognise them by `code`, never by `instanceof`: two copies of a package exist in real trees.
 */

/** The codes of every error Samekey throws, in alphabetical order. */
export type ErrorCode =
  | 'ERR_SAMEKEY_FENCE_LOST'
  | 'ERR_SAMEKEY_INVARIANT'
  | 'ERR_SAMEKEY_KEY'
  | 'ERR_SAMEKEY_LEDGER'
  | 'ERR_SAMEKEY_MOVED'
  | 'ERR_SAMEKEY_NOT_EXECUTED'
  | 'ERR_SAMEKEY_OPTIONS'
  | 'ERR_SAMEKEY_OUTCOME_UNKNOWN'
  | 'ERR_SAMEKEY_SCHEMA'
  | 'ERR_SAMEKEY_STEP'
  | 'ERR_SAMEKEY_STORE'
  | 'ERR_SAMEKEY_UNSETTLED'
  | 'ERR_SAMEKEY_VALUE'
  | 'ERR_SAMEKEY_VERIFY';

/**
 * Where the documentation is served: the one setting. `.example` is nobody's (RFC 2606 §3). A link to a name that
 * anybody may buy would lead readers of a payment's error to a stranger. tools/check-site holds what is printed to it.
 */
const DOCS_URL = 'https://samekey.example';

let docsUrl: string = DOCS_URL;

/**
 * Says where you serve these pages, such as `https://docs.shop.example/samekey`: links of errors, answers and findings
 * lead there. For the whole process; call it first.
 */
export function docsAt(url: string): void {
  if (!/^https?:\/\/[^\s?#<>"]+$/.test(url))
    throw new OptionsError(
      'docsAt takes an http or https URL without query, such as https://docs.shop.example.',
    );
  docsUrl = url.replace(/\/+$/, '');
}

/** A page of the documentation. */
export function docsPage(path: string): string {
  return `${docsUrl}/${path}`;
}

/** The page that explains a code, of an error or of a problem. */
export function helpOf(code: string): string {
  return docsPage(`errors#${code.toLowerCase().replaceAll('_', '-')}`);
}

/** The base of every error Samekey throws. `help` is the page that explains the code. */
export class SamekeyError extends Error {
  readonly code: ErrorCode;
  readonly help: string;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.help = helpOf(code);
  }
}

/** An option is missing, unknown or out of range. Thrown at start, before any request is taken. */
export class OptionsError extends SamekeyError {
  constructor(message: string) {
    super('ERR_SAMEKEY_OPTIONS', message);
  }
}

/** Why a key was refused; each is its own problem code on the wire (contract §4, rows 1 and 2). */
export type KeyFault =
  | 'missing'
  | 'empty'
  | 'blank'
  | 'too-short'
  | 'too-long'
  | 'control-character'
  | 'not-ascii'
  | 'several'
  | 'grammar'
  | 'not-uuid'
  | 'personal-data';

/** A key given to `samekey.run` is not acceptable. Over HTTP the same faults are outcomes (400), not errors. */
export class KeyError extends SamekeyError {
  readonly fault: KeyFault;

  constructor(fault: KeyFault, message: string) {
    super('ERR_SAMEKEY_KEY', message);
    this.fault = fault;
  }
}

/**
 * A line of a ledger cannot be compared, or stands before the one before it. Nothing behind it was compared. The
 * message names side and line, never what stands there.
 */
export class LedgerError extends SamekeyError {
  readonly side: 'ours' | 'theirs';
  readonly line: number;

  constructor(side: 'ours' | 'theirs', line: number, message: string) {
    super('ERR_SAMEKEY_LEDGER', message);
    this.side = side;
    this.line = line;
  }
}

/** What is known of a {@link StoreError}. */
interface StoreErrorOptions {
  readonly applied: 'no' | 'unknown';
  /** Default true. */
  readonly transient?: boolean;
  /** Default false. */
  readonly busy?: boolean;
  /** Default null: not known. */
  readonly retryAfterMs?: number | null;
  readonly cause?: unknown;
}

/**
 * The store could not answer. `applied: 'no'` means the write certainly did not happen; `'unknown'` means its reply was
 * lost and only repeating the same conditional write can tell. `transient` says whether asking again later can help; a
 * fault of the request itself (a value the store cannot hold) is not transient. `busy`: the store is up, and something
 * holds it (F54). `retryAfterMs`: when asking again may help, in milliseconds, if that is known.
 */
export class StoreError extends SamekeyError {
  readonly applied: 'no' | 'unknown';
  readonly transient: boolean;
  readonly busy: boolean;
  readonly retryAfterMs: number | null;

  constructor(message: string, options: StoreErrorOptions) {
    super('ERR_SAMEKEY_STORE', message, options.cause === undefined ? undefined : { cause: options.cause });
    this.applied = options.applied;
    this.transient = options.transient ?? true;
    this.busy = options.busy ?? false;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** The attempt no longer owns its record: another attempt, an operator or the sweeper has moved it on. */
export class FenceLostError extends SamekeyError {
  constructor(
    message = 'The claim of this attempt is over: stop working, nothing it writes will be accepted.',
  ) {
    super('ERR_SAMEKEY_FENCE_LOST', message);
  }
}

/**
 * Thrown by a handler to declare that nothing happened (contract §6.2): the record becomes `retryable` with proof
 * `declared`. With `correctable` the fingerprint is unbound too, so the client may correct the body under the same key.
 */
export class NotExecutedError extends SamekeyError {
  readonly correctable: boolean;

  constructor(message: string, options: { correctable?: boolean; cause?: unknown } = {}) {
    super(
      'ERR_SAMEKEY_NOT_EXECUTED',
      message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.correctable = options.correctable ?? false;
  }
}

/**
 * Thrown by a handler that does not know whether it took effect (contract §6.2): the record becomes `unknown` whatever
 * the policy says, and is asked about at once. `reason` is kept with the record, for people.
 */
export class OutcomeUnknownError extends SamekeyError {
  readonly reason: string;

  constructor(reason: string, options: { cause?: unknown } = {}) {
    super(
      'ERR_SAMEKEY_OUTCOME_UNKNOWN',
      'The handler does not know whether it took effect. Its reason is kept with the record.',
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.reason = reason;
  }
}

/** One thing about a store's tables that is not as it must be, and what mends it. */
export interface SchemaFault {
  readonly what: string;
  readonly mend: string;
}

/** The store's tables or settings are not what this version needs. The message names the command that mends it. */
export class SchemaError extends SamekeyError {
  /** Each by itself, where tables differ from what the migrations make; else empty, and the message says it all. */
  readonly faults: readonly SchemaFault[];

  constructor(message: string, faults: readonly SchemaFault[] = []) {
    super('ERR_SAMEKEY_SCHEMA', message);
    this.faults = faults;
  }
}

/**
 * A phase or an effect is used in a way that would not be safe (nested, twice, not awaited), or the attempt has stopped
 * at one: let it through. The message names the fix.
 */
export class StepError extends SamekeyError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('ERR_SAMEKEY_STEP', message, options.cause === undefined ? undefined : { cause: options.cause });
  }
}

/**
 * Why a value cannot be compared, stored or handed on. `not-json`: JSON would lose a part of it. `cycle`, `too-deep`,
 * `too-large`: more than is kept. `unreadable`: one of its members threw, or stored bytes are no JSON.
 */
export type ValueFault = 'not-json' | 'cycle' | 'too-deep' | 'too-large' | 'unreadable';

/**
 * A value cannot be what it is given as: a fingerprint, an input, an answer, the result of a step, a message. `path`
 * leads to the member that is at fault (`items[2].price`), and is empty where that is the value itself.
 */
export class ValueError extends SamekeyError {
  readonly fault: ValueFault;
  readonly path: string;

  constructor(fault: ValueFault, path: string, message: string, options: { cause?: unknown } = {}) {
    super('ERR_SAMEKEY_VALUE', message, options.cause === undefined ? undefined : { cause: options.cause });
    this.fault = fault;
    this.path = path;
  }
}

/** A bug in Samekey or in a store: a state that must not exist was met. Nothing further was written. */
export class InvariantError extends SamekeyError {
  constructor(message: string) {
    super(
      'ERR_SAMEKEY_INVARIANT',
      `Invariant broken: ${message}. Please report it with the store's name and version.`,
    );
  }
}

/** The `code` of a thrown value if it is one of ours, else undefined. */
export function errorCode(error: unknown): ErrorCode | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && code.startsWith('ERR_SAMEKEY_') ? (code as ErrorCode) : undefined;
}

/** Whether a thrown value is a {@link StoreError}, also one from another copy of this package. */
export function isStoreError(error: unknown): error is StoreError {
  return errorCode(error) === 'ERR_SAMEKEY_STORE';
}

/** Whether a thrown value is a {@link NotExecutedError}, also one from another copy of this package. */
export function isNotExecutedError(error: unknown): error is NotExecutedError {
  return errorCode(error) === 'ERR_SAMEKEY_NOT_EXECUTED';
}

/** Whether a thrown value is a {@link ValueError}, also one from another copy of this package. */
export function isValueError(error: unknown): error is ValueError {
  return errorCode(error) === 'ERR_SAMEKEY_VALUE';
}

/** Whether a thrown value is an {@link OutcomeUnknownError}, also one from another copy of this package. */
export function isOutcomeUnknownError(error: unknown): error is OutcomeUnknownError {
  return errorCode(error) === 'ERR_SAMEKEY_OUTCOME_UNKNOWN';
}

/**
 * Structured log lines of events, by a logger that is passed in: pino, or anything with its methods.
 *
 * Invariants: no key, no caller, no text of an application's or a driver's error: ids are hashed, errors are their name
 * and code, and of other texts only those named here pass · what is below the logger's level is not even made.
 */

import { HASH_SECRET_ROW } from './labels.ts';
import { OptionsError } from '../core/errors.ts';
import type { SamekeyEvent } from '../engine/events.ts';
import { hashCaller, hashKey } from '../store/redact.ts';
import { aFunction, oneOf, readOptions, type Table } from '../core/options.ts';
import type { JanitorEvent } from '../janitor/janitor-events.ts';
import type { ReconcileEvent } from '../reconcile/reconcile-events.ts';
import type { WorkerEvent } from '../worker/worker-events.ts';
import { LOG_LEVELS, LOG_LINES, type LoggedType, type LogLevel, OUTCOME_LEVELS } from './log-lines.ts';

/** The part of a logger that is used; `pino()` and `console` have it. */
export interface LoggerLike {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** What is not enabled is not made. */
  isLevelEnabled?(level: string): boolean;
}

/** An event of which the type is known, and may be one of a later version: those are let pass. */
interface AnyEvent {
  readonly type: string;
}

/** Options of `logEvents`. */
export interface LogOptions {
  /** Nothing below; default `info`. At `debug` each request has several lines. */
  readonly levelMin?: LogLevel;
  /** Keys the hashes: without it whoever knows a caller can try keys out. 16 bytes or more. */
  readonly secret?: Uint8Array;
  /**
   * What to write of an error, as the field `error`; default nothing but its name and code. Errors of drivers may hold
   * values.
   */
  readonly errorOf?: (error: unknown) => unknown;
}

/** Listeners that log. */
export interface Logs {
  readonly samekey: (event: SamekeyEvent) => void;
  readonly worker: (event: WorkerEvent) => void;
  readonly janitor: (event: JanitorEvent) => void;
  readonly reconciler: (event: ReconcileEvent) => void;
}

const LOG_ROWS = {
  levelMin: oneOf(LOG_LEVELS, 'info'),
  secret: HASH_SECRET_ROW,
  errorOf: aFunction<NonNullable<LogOptions['errorOf']>>(),
} satisfies Table<LogOptions>;

/** Makes listeners that log. Throws `OptionsError`. */
export function logEvents(logger: LoggerLike, options: LogOptions = {}): Logs {
  const { levelMin, secret, errorOf } = readOptions('logEvents', LOG_ROWS, options);
  const least = LOG_LEVELS.indexOf(levelMin);
  for (const level of LOG_LEVELS) {
    if (typeof logger?.[level] !== 'function')
      throw new OptionsError(`logEvents takes a logger like pino's; it has no method ${level}.`);
  }

  const listen = (source: string) => (event: AnyEvent) => {
    const [usual, message] = LOG_LINES[event.type as LoggedType] ?? ['info', 'Something happened.'];
    const level = levelOf(event, usual);
    if (LOG_LEVELS.indexOf(level) < least || logger.isLevelEnabled?.(level) === false) return;
    logger[level]({ event: event.type, source, ...fieldsOf(event, secret, errorOf) }, message);
  };
  return Object.freeze<Logs>({
    samekey: listen('engine'),
    worker: listen('worker'),
    janitor: listen('janitor'),
    reconciler: listen('reconciler'),
  });
}

function levelOf(event: AnyEvent, usual: LogLevel): LogLevel {
  const { kind, to } = event as { readonly kind?: unknown; readonly to?: unknown };
  if (event.type === 'outcome') return OUTCOME_LEVELS[kind as keyof typeof OUTCOME_LEVELS] ?? usual;
  // Somebody has to find out what it did.
  if (event.type === 'swept-record' && to === 'unknown') return 'warn';
  return usual;
}

/** Texts that are words of Samekey or of the application's code, never of a client. */
const WORDS: ReadonlySet<string> = new Set([
  'applied',
  'by',
  'cause',
  'code',
  'ending',
  'entry',
  'found',
  'from',
  'keyId',
  'kind',
  'operation',
  'part',
  'proof',
  'reason',
  'to',
  'topic',
  'traceparent',
  'verb',
  'wanted',
]);

function fieldsOf(
  event: AnyEvent,
  secret: Uint8Array | undefined,
  errorOf: LogOptions['errorOf'],
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(event)) {
    if (typeof value === 'number' || typeof value === 'boolean') fields[name] = value;
    else if (WORDS.has(name) && (typeof value === 'string' || value === null)) fields[name] = value;
    else if (name === 'error') {
      Object.assign(fields, aboutError(value));
      if (errorOf !== undefined) fields['error'] = errorOf(value);
    } else if (name === 'id' && typeof value === 'string') fields['messageId'] = value;
    else if (name === 'record' && typeof value === 'string') fields['recordState'] = value;
    else if (isId(value)) {
      fields['keyHash'] = hashKey(value, secret);
      fields['callerHash'] = hashCaller(value.scope, secret);
    } else if (name === 'outcome') fields['kind'] = (value as { readonly kind?: unknown } | null)?.kind;
    else if (name === 'resumed' && value !== null) {
      const { proof, reason } = value as { readonly proof: unknown; readonly reason: unknown };
      Object.assign(fields, { resumedProof: proof, resumedReason: reason });
    }
  }
  return fields;
}

function isId(value: unknown): value is { readonly scope: string; readonly key: string } {
  const { scope, key } = (value ?? {}) as { readonly scope?: unknown; readonly key?: unknown };
  return typeof scope === 'string' && typeof key === 'string';
}

function aboutError(error: unknown): { errorName: string; errorCode?: string } {
  if (typeof error !== 'object' || error === null) return { errorName: typeof error };
  const { name, code } = error as { readonly name?: unknown; readonly code?: unknown };
  return {
    errorName: typeof name === 'string' ? name : 'object',
    ...(typeof code === 'string' && { errorCode: code }),
  };
}

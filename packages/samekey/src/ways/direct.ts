/**
 * Requests without HTTP: from scope, key and a value to compare, to the engine's work and back to the handler's value.
 */

import type { Engine } from '../core/engine.ts';
import type { Comparable } from '../core/digest.ts';
import { KeyError, OptionsError } from '../core/errors.ts';
import { checkKey, describeKeyFault, LENGTH_MAX_BOUND } from '../core/key.ts';
import { identityOf, type Operation as OperationNames, otherNames } from '../core/operation.ts';
import type { Outcome } from '../core/outcome.ts';
import { valueOf } from '../core/reply.ts';
import type { Issue } from '../core/schema.ts';
import { encodeScope } from '../core/scope.ts';
import type { OperationSettings } from '../core/settings.ts';
import type { Handler, Work } from '../core/work.ts';

/** What `run` resolves with: the outcome, and the handler's value where there is one. */
export type RunOutcome<Value> =
  | (Extract<Outcome, { kind: 'executed' | 'replay' }> & { readonly value: Value })
  | Exclude<Outcome, { kind: 'executed' | 'replay' }>;

/** Whose request it is, and under which key. */
export interface DirectRequest {
  /** Whom the key is unique for: tenant, principal; or `singleTenant()`. */
  readonly scope: readonly string[];
  readonly key: string;
  /** What must be equal on a retry: plain JSON, or bytes. `null` for nothing. */
  readonly fingerprint: Comparable;
}

/** The same, with what is compared taken from it. */
export interface TakenRequest extends Pick<DirectRequest, 'scope' | 'key'> {
  readonly compared: Uint8Array;
}

/** Runs a handler for one request. What the handler threw is thrown after the record was settled. */
export async function runDirect<Value>(
  engine: Engine,
  names: OperationNames,
  settings: OperationSettings,
  request: TakenRequest,
  handler: Handler,
  how: Pick<Work, 'input' | 'entry' | 'pendingTimeMaxMs'> = AT_ONCE,
): Promise<RunOutcome<Value>> {
  const outcome = await engine.run(await workOf(engine, names, settings, request, how), handler);
  // The record is settled; whoever called gets what its handler threw.
  if (outcome.kind === 'executed' && outcome.error !== null) throw outcome.error.thrown;
  return valued(outcome);
}

/** What a request meets whose input is not valid: a record that is there answers as always. */
export async function meetInvalid<Value>(
  engine: Engine,
  names: OperationNames,
  settings: OperationSettings,
  request: TakenRequest,
  issues: readonly Issue[],
  { entry, pendingTimeMaxMs }: Pick<Work, 'entry' | 'pendingTimeMaxMs'> = AT_ONCE,
): Promise<RunOutcome<Value>> {
  const work = await workOf(engine, names, settings, request, { input: null, entry, pendingTimeMaxMs });
  return valued<Value>(await engine.meetInvalid(work, issues));
}

function valued<Value>(outcome: Outcome): RunOutcome<Value> {
  if (outcome.kind !== 'executed' && outcome.kind !== 'replay') return outcome;
  return { ...outcome, value: valueOf(outcome.response) as Value };
}

async function workOf(
  engine: Engine,
  names: OperationNames,
  settings: OperationSettings,
  request: TakenRequest,
  { input, entry, pendingTimeMaxMs }: Pick<Work, 'input' | 'entry' | 'pendingTimeMaxMs'>,
): Promise<Work> {
  // As long as any route may allow: the key of a request may be one that came over HTTP.
  const fault = faultOf(request.key);
  if (fault !== null) throw fault;
  const idOf = (name: string): { scope: string; key: string } => ({
    scope: encodeScope(request.scope, name),
    key: request.key,
  });
  return {
    operation: names.name,
    id: idOf(identityOf(names)),
    otherIds: otherNames(names).map(idOf),
    fingerprint: await engine.values.compute(request.compared),
    refingerprint: (label) => engine.values.computeFor(label, request.compared),
    settings,
    input,
    entry,
    pendingTimeMaxMs,
  };
}

/** A request as callers without types may give it. Throws `OptionsError`. */
export function requestObject(what: string, request: unknown): object {
  if (typeof request === 'object' && request !== null) return request;
  throw new OptionsError(
    `${what} takes an object: { scope, key, … }; it is ${request === null ? 'null' : typeof request}.`,
  );
}

/** As callers without types may give it, too. */
function faultOf(key: unknown): KeyError | null {
  if (key === undefined || key === null)
    return new KeyError('missing', `The key is ${String(key)}: give one text per intended operation.`);
  if (typeof key !== 'string') {
    return new KeyError(
      'grammar',
      `The key is a text; it is of type ${typeof key}: make one text of it, always in the same way.`,
    );
  }
  const fault = checkKey(key, KEY_OPTIONS);
  return fault === null ? null : new KeyError(fault, describeKeyFault(fault, KEY_OPTIONS));
}

const KEY_OPTIONS = { lengthMax: LENGTH_MAX_BOUND };

/** Run by whoever asks, nothing kept for others. */
const AT_ONCE = { input: null, entry: 'run', pendingTimeMaxMs: 0 } as const;

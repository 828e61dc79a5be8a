/**
 * Requests without HTTP: from scope, key and a value to compare, to the engine's work and back to the handler's value.
 */

import type { Engine } from '../engine/engine.ts';
import type { Comparable } from '../fingerprint/digest.ts';
import { KeyError, OptionsError } from '../core/errors.ts';
import { checkKey, describeKeyFault, LENGTH_MAX_BOUND } from '../core/key.ts';
import { namesOldestFirst, type Operation as OperationNames } from '../core/operation.ts';
import { listOf, nested, row, type Table, text } from '../core/options.ts';
import type { Outcome } from '../core/outcome.ts';
import { valueOf } from './reply.ts';
import type { Issue } from '../core/schema.ts';
import { encodeScope } from '../core/scope.ts';
import type { OperationSettings } from '../core/settings.ts';
import type { RecordId } from '../core/record.ts';
import { type Handler, NO_PLACES, type Work } from '../engine/work.ts';

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
  /**
   * What the operation was called and whom its keys were unique for, before deploys whose records may still be met;
   * oldest first. An entry may go one retention after the last process without it.
   */
  readonly formerly?: readonly (string | FormerRequest)[] | undefined;
}

/** A request as it was; what it does not say is as it is now. */
interface FormerRequest {
  readonly name?: string;
  readonly scope?: readonly string[];
}

const FORMER_ROWS = { name: text(), scope: listOf(text()) } satisfies Table<FormerRequest>;

/** Entries of `formerly` as a request gives them. Throws `OptionsError`. */
export function formerRequests(given: unknown): readonly FormerRequest[] {
  if (given === undefined) return NO_FORMER;
  if (!Array.isArray(given)) throw new OptionsError(`formerly is a list: it is of type ${typeof given}.`);
  return FORMERLY.read(given, 'formerly');
}

const FORMERLY = listOf<FormerRequest>(
  row((entry, path) => {
    if (typeof entry === 'string') return { name: text().read(entry, path) };
    const { name, scope } = nested(FORMER_ROWS).read(entry, path);
    // Not the copy: a declared single tenant is told by its list.
    const parts = scope === undefined ? undefined : (entry as FormerRequest).scope;
    return { ...(name !== undefined && { name }), ...(parts !== undefined && { scope: parts }) };
  }),
);
const NO_FORMER: readonly FormerRequest[] = [];

/** The same, with what is compared taken from it. */
interface TakenRequest extends Pick<DirectRequest, 'scope' | 'key'> {
  readonly compared: Uint8Array;
  readonly formerly: readonly FormerRequest[];
}

/** How the work enters the store, and what it keeps for others. */
type How = Pick<Work, 'input' | 'entry' | 'pendingTimeMaxMs' | 'takesSteps' | 'mayBeUnseen'>;

/** Runs a handler for one request. What the handler threw is thrown after the record was settled. */
export async function runDirect<Value>(
  engine: Engine,
  names: OperationNames,
  settings: OperationSettings,
  request: TakenRequest,
  handler: Handler,
  how: How = AT_ONCE,
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
  entry: Omit<How, 'input'> = AT_ONCE,
): Promise<RunOutcome<Value>> {
  const work = await workOf(engine, names, settings, request, { ...entry, input: null });
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
  how: How,
): Promise<Work> {
  // As long as any route may allow: the key of a request may be one that came over HTTP.
  const fault = faultOf(request.key);
  if (fault !== null) throw fault;
  const { values } = engine;
  const { scope, key, compared, formerly } = request;
  const fingerprint = await values.compute(compared);
  const refingerprint = (label: string): ReturnType<typeof values.computeFor> =>
    values.computeFor(label, compared);
  const [id, ...others] = idsOf(names, scope, key, formerly) as [RecordId, ...RecordId[]];
  return {
    operation: names.name,
    id,
    fingerprint,
    refingerprint,
    younger:
      others.length === 0 ? NO_PLACES : others.map((other) => ({ id: other, fingerprint, refingerprint })),
    settings,
    ...how,
  };
}

/** Where records of the request are or were kept, oldest first and the present place last, each once. */
function idsOf(
  names: OperationNames,
  scope: readonly string[],
  key: string,
  formerly: readonly FormerRequest[],
): readonly RecordId[] {
  const scopes = namesOldestFirst(names).map((name) => encodeScope(scope, name));
  if (formerly.length > 0) {
    const oldest = names.formerly?.[0] ?? names.name;
    scopes.unshift(...formerly.map((was) => encodeScope(was.scope ?? scope, was.name ?? oldest)));
  }
  const now = scopes.at(-1) as string;
  return [...new Set([...scopes.filter((one) => one !== now), now])].map((one) => ({ scope: one, key }));
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

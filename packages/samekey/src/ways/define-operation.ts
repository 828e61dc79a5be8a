/**
 * Operations that Samekey runs itself, from an input to a reply (contract §5.1): plain, transactional, phased,
 * deferred. Wrapped, never pass-through: they may run again, and nothing may leave before the record stands for it.
 */

import { comparableBytes, type Comparable } from '../fingerprint/digest.ts';
import type { Engine } from '../engine/engine.ts';
import { OptionsError } from '../core/errors.ts';
import { nameGiven, type Operation as OperationNames } from '../core/operation.ts';
import { anything, having, listOf, refuseOthers, required, type Table, text } from '../core/options.ts';
import { OPERATION_ROWS, type OperationOptions, type OperationSettings } from '../core/settings.ts';
import type { Handler, Work } from '../engine/work.ts';
import { type Issue, SCHEMA_ROW, type StandardSchema, validate } from '../core/schema.ts';
import {
  type DirectRequest,
  formerRequests,
  meetInvalid,
  requestObject,
  type RunOutcome,
  runDirect,
} from './direct.ts';
import type { InputCodec } from './input.ts';

/** What every definition of an operation says. Options of {@link OperationOptions} are its own. */
export interface Definition extends OperationOptions {
  /** The operation's name, unique in the application and kept for ever: records are found by it. */
  readonly name: string;
  /** Earlier names, oldest first; each may go one retention after the last process without this list. */
  readonly formerly?: readonly string[];
  /**
   * What the input must be, of any library that speaks Standard Schema; the handler gets what the schema makes of it.
   * What is invalid claims nothing and binds nothing to the key: outcome `request-invalid`. Inputs that a worker finds
   * stored were checked when they came.
   */
  readonly schema?: StandardSchema;
}

/** The rows that every definition has, beside its `run`. */
export const DEFINITION_ROWS: Table<Definition & { readonly input?: InputCodec<never> }> = {
  ...OPERATION_ROWS,
  name: required(text(), 'An operation is named by a text that is not empty: give it a name.'),
  formerly: listOf(text()),
  schema: SCHEMA_ROW,
  input: having(['encode', 'decode'], 'a codec: { encode(input): Uint8Array, decode(bytes): input }'),
};

/** One request for an operation without HTTP. */
export interface OperationRequest<Input> extends Omit<DirectRequest, 'fingerprint'> {
  readonly input: Input;
  /** What must be equal on a retry: plain JSON, or bytes; default the input. */
  readonly fingerprint?: Comparable;
}

const REQUEST_ROWS = {
  scope: required(anything<readonly string[]>()),
  key: required(anything<string>()),
  input: anything<unknown>(),
  fingerprint: anything<Comparable>(),
  formerly: anything<NonNullable<DirectRequest['formerly']>>(),
} satisfies Table<OperationRequest<unknown>>;

/** A defined operation. Over HTTP it is served by the adapters' `serve`. */
export interface Operation<Input, Value> {
  readonly name: string;
  /** Runs it once for this key; every matching retry gets the same value. Throws what the handler threw. */
  run(request: OperationRequest<Input>): Promise<RunOutcome<Value>>;
}

// Registered: an adapter may come from another copy of this package.
const OPERATION: unique symbol = Symbol.for('samekey.operation');

/** What adapters use of an operation. */
export interface OperationInternals<Input> {
  readonly engine: Engine;
  readonly names: OperationNames;
  readonly settings: OperationSettings;
  readonly codec: InputCodec<Input>;
  readonly schema: StandardSchema | null;
  /** Whether the input is kept with the record, so that a worker can push the operation on. */
  readonly keepsInput: boolean;
  /** Left to a worker: how long it may wait to be begun, in milliseconds; null: run by whoever asks. */
  readonly pendingTimeMaxMs: number | null;
  /** Whether its handler goes on from recorded steps. */
  readonly takesSteps: boolean;
  /** The handler for one request's input. */
  handler(input: Input): Handler;
  /** As {@link Work.mayBeUnseen}. */
  readonly mayBeUnseen: boolean;
  /** By which door its requests come: each compares something else, so a record of one is none for the other (F120). */
  door?: 'serve' | 'run';
}

/** Throws `OptionsError` for an operation whose requests come by the other door. */
export function takeDoor(
  internals: Pick<OperationInternals<never>, 'door' | 'names'>,
  door: 'serve' | 'run',
): void {
  if (internals.door === door) return;
  if (internals.door !== undefined)
    throw new OptionsError(
      `The operation "${internals.names.name}" is served over HTTP and is also called by run: a served request is compared with method, path, query and body, one of run with its input, so neither finds the other's record. Define two operations, or send the calls of run to the served one.`,
    );
  internals.door = door;
}

/** Makes the operation's public side. */
export function createOperation<Input, Value>(internals: OperationInternals<Input>): Operation<Input, Value> {
  const { engine, names, settings } = internals;
  const operation: Operation<Input, Value> & { readonly [OPERATION]: OperationInternals<Input> } = {
    [OPERATION]: internals,
    name: names.name,
    async run(given) {
      const what = `A request for "${names.name}"`;
      refuseOthers(what, REQUEST_ROWS, requestObject(what, given));
      takeDoor(internals, 'run');
      const { scope, key, input, fingerprint, formerly } = given;
      const compared =
        fingerprint === undefined
          ? comparableBytes('The input', input === undefined ? null : input)
          : comparableBytes('The fingerprint', fingerprint);
      const request = { scope, key, compared, formerly: formerRequests(formerly) };
      // Without a schema nothing is waited for: the input is kept as it is at this moment.
      const checked = internals.schema === null ? { value: input } : await checkInput(internals, input, null);
      if ('issues' in checked) {
        return meetInvalid<Value>(engine, names, settings, request, checked.issues, entryOf(internals));
      }
      const kept = keptInput(internals, checked.value);
      const how = { input: kept.bytes, ...entryOf(internals) };
      return runDirect<Value>(engine, names, settings, request, internals.handler(kept.input), how);
    },
  };
  return Object.freeze(operation);
}

/** What the operation's schema makes of an input, and the route's if there is one; or what is wrong with it. */
export async function checkInput<Input>(
  { schema }: OperationInternals<Input>,
  input: Input,
  ofRoute: StandardSchema | null,
): Promise<{ readonly value: Input } | { readonly issues: readonly Issue[] }> {
  let value: unknown = input;
  for (const one of [ofRoute, schema]) {
    if (one === null) continue;
    const checked = await validate(one, value);
    if ('issues' in checked) return checked;
    value = checked.value;
  }
  return { value: value as Input };
}

/** The input as every attempt sees it, be it the first or one that reads it from the record; null bytes: not kept. */
export function keptInput<Input>(
  { codec, keepsInput }: OperationInternals<Input>,
  input: Input,
): { readonly input: Input; readonly bytes: Uint8Array | null } {
  if (!keepsInput) return { input, bytes: null };
  const bytes = codec.encode(input);
  return { input: codec.decode(bytes), bytes };
}

/** How requests for the operation enter the store. */
export function entryOf({
  pendingTimeMaxMs,
  takesSteps,
  mayBeUnseen,
}: Pick<OperationInternals<never>, 'pendingTimeMaxMs' | 'takesSteps' | 'mayBeUnseen'>): Entry {
  return pendingTimeMaxMs === null
    ? { entry: 'run', pendingTimeMaxMs: 0, takesSteps, mayBeUnseen }
    : { entry: 'accept', pendingTimeMaxMs, takesSteps };
}

/** How a request enters the store. */
type Entry = Pick<Work, 'entry' | 'pendingTimeMaxMs' | 'takesSteps' | 'mayBeUnseen'>;

/** The inside of an operation, for adapters. Throws `OptionsError` for anything else. */
export function operationInternals<Input>(operation: Operation<Input, unknown>): OperationInternals<Input> {
  const internals = (operation as { [OPERATION]?: OperationInternals<Input> } | undefined)?.[OPERATION];
  if (internals === undefined) {
    throw new OptionsError(
      'This is not an operation: pass what samekey.plain, samekey.transactional, samekey.phased or samekey.deferred returned.',
    );
  }
  return internals;
}

/** The names of a definition that has been read. */
export function namesOf({ name, formerly = [] }: Definition): OperationNames {
  return { name: nameGiven(name), formerly: formerly.map(nameGiven), spelt: { name, formerly } };
}

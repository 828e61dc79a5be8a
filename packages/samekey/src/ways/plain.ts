/** `samekey.plain`: the plain way as a defined operation, from an input to a reply. */

import type { Attempt } from '../engine/attempt.ts';
import type { Engine } from '../engine/engine.ts';
import { aFunction, readOptions, required, type Table } from '../core/options.ts';
import type { ReplyValue } from './reply.ts';
import { type OperationOptions, resolveSettings } from '../core/settings.ts';
import type { Handler } from '../engine/work.ts';
import { type InputCodec, inputCodec } from './input.ts';
import {
  createOperation,
  type Definition,
  DEFINITION_ROWS,
  namesOf,
  type Operation,
} from './define-operation.ts';
import { outright } from './outright.ts';

/** A plain operation; it must name its policy. */
export interface PlainDefinition<Input, Returned> extends Definition {
  /** Returns a JSON value or `reply(status, value)`. */
  readonly run: (input: Input, attempt: Attempt) => Returned | Promise<Returned>;
  /** How the input is kept when the operation is deferred; default JSON. */
  readonly input?: InputCodec<Input>;
}

const ROWS = { ...DEFINITION_ROWS, run: required(aFunction()) } satisfies Table<
  PlainDefinition<never, unknown>
>;

/** Defines it. Throws `OptionsError`. */
export function definePlain<Input, Returned>(
  engine: Engine,
  defaults: OperationOptions,
  definition: PlainDefinition<Input, Returned>,
): Operation<Input, ReplyValue<Returned>> {
  readOptions('samekey.plain', ROWS, definition);
  return createOperation({
    engine,
    names: namesOf(definition),
    settings: resolveSettings(defaults, definition),
    codec: inputCodec(definition.input),
    schema: definition.schema ?? null,
    keepsInput: false,
    pendingTimeMaxMs: null,
    takesSteps: false,
    mayBeUnseen: false,
    handler: (input): Handler => outright((attempt) => definition.run(input, attempt)),
  });
}

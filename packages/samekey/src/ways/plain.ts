/** `samekey.plain`: the plain way as a defined operation, from an input to a reply. */

import type { Attempt } from '../core/attempt.ts';
import type { Engine } from '../core/engine.ts';
import { OptionsError } from '../core/errors.ts';
import type { ReplyValue } from '../core/reply.ts';
import {
  OPERATION_OPTIONS,
  type OperationOptions,
  refuseUnknown,
  resolveSettings,
} from '../core/settings.ts';
import type { Handler } from '../core/work.ts';
import { type InputCodec, inputCodec } from './input.ts';
import { createOperation, type Definition, namesOf, type Operation } from './operation.ts';
import { outright } from './outright.ts';

/** A plain operation; it must name its policy. */
export interface PlainDefinition<Input, Returned> extends Definition {
  /** Returns a JSON value or `reply(status, value)`. */
  readonly run: (input: Input, attempt: Attempt) => Returned | Promise<Returned>;
  /** How the input is kept when the operation is deferred; default JSON. */
  readonly input?: InputCodec<Input>;
}

const OPTIONS: readonly string[] = [...OPERATION_OPTIONS, 'name', 'formerly', 'run', 'input'];

/** Defines it. Throws `OptionsError`. */
export function definePlain<Input, Returned>(
  engine: Engine,
  defaults: OperationOptions,
  definition: PlainDefinition<Input, Returned>,
): Operation<Input, ReplyValue<Returned>> {
  refuseUnknown('samekey.plain', definition, OPTIONS);
  if (typeof definition.run !== 'function') {
    throw new OptionsError(`run is the handler, a function; it is ${typeof definition.run}.`);
  }
  return createOperation({
    engine,
    names: namesOf(definition),
    settings: resolveSettings(defaults, definition),
    codec: inputCodec(definition.input),
    keepsInput: false,
    pendingTimeMaxMs: null,
    handler: (input): Handler => outright((attempt) => definition.run(input, attempt)),
  });
}

/** An operation of an OpenAPI 3.1 document, as far as Samekey answers for it. */

import { KEY_HEADER } from '../http/problem.ts';
import type { Door } from '../http/marker.ts';
import { casesOf, headerPart, type HeaderPart, type ResponsePart, responsesOf } from './answers.ts';
import { described, doorOf, formInWords, type Idempotency, placeInWords, timeHeaders } from './described.ts';
import { headerSchema, type Schema, textSchema } from './key-schema.ts';

/** A parameter. */
export interface ParameterPart {
  name: string;
  in: 'header' | 'query';
  required: boolean;
  description: string;
  schema: Schema;
}

/** What Samekey does of an operation. */
export interface OperationPart {
  parameters: ParameterPart[];
  responses: Record<string, ResponsePart>;
  'x-idempotency': Idempotency;
}

/** The name of the extension. */
export const EXTENSION = 'x-idempotency';

/**
 * The part of an operation that a protected function answers for: what `idempotent` or `serve` of any door returned.
 * Throws `OptionsError` for anything else.
 */
export function operationOf(fn: unknown): OperationPart {
  return partOf(doorOf(fn));
}

/** The same of a door. */
export function partOf(door: Door): OperationPart {
  const responses = responsesOf(casesOf(door));
  return {
    parameters: parametersOf(door),
    responses: {
      '2XX': {
        description: 'The answer of the operation, given now or to an earlier request with the same key.',
        headers: answerHeaders(door),
      },
      ...responses,
    },
    [EXTENSION]: described(door),
  };
}

/** Headers of the handler's answers, first or replayed. */
export function answerHeaders({ profile }: Door): Record<string, HeaderPart> {
  const added = profile.answerHeaders?.({ status: 200, isFinal: true, key: 'key' }) ?? [];
  return Object.fromEntries([
    ...profile.replayHeaders.map(([name, value]) => [name, headerPart(name, value)] as const),
    ...['Idempotency-Key-Expires', 'Idempotency-Stored'].map((name) => [name, headerPart(name)] as const),
    ...added.map(([name]) => [name, headerPart(name)] as const),
  ]);
}

function parametersOf(door: Door): ParameterPart[] {
  const { key } = described(door);
  const description = `The idempotency key: ${formInWords(door)}. New for each intended operation, the same for each retry of it.`;
  const times = timeHeaders(door).map(
    (name): ParameterPart => ({
      name,
      in: 'header',
      required: door.required,
      description: 'When the request was sent; without it the request is refused.',
      schema: { type: 'string' },
    }),
  );
  if (key.in === 'query')
    return [
      { name: key.name, in: 'query', required: door.required, description, schema: textSchema(door.key) },
      ...times,
    ];
  if (key.in === 'body') return times;
  if (key.in === 'elsewhere')
    // What the function gives is not known, and a header is taken too.
    return [
      {
        name: door.headerName === '' ? KEY_HEADER : door.headerName,
        in: 'header',
        required: false,
        description,
        schema: headerSchema(door.key),
      },
      ...times,
    ];
  if ('member' in key)
    return [
      {
        name: key.name,
        in: 'header',
        required: door.required,
        description: `Its key is ${placeInWords(key)}.`,
        schema: { type: 'string' },
      },
      ...times,
    ];
  const names = [key.name, ...(key.otherNames ?? [])];
  return [
    ...names.map((name) => ({
      name,
      in: 'header' as const,
      // Of several none is needed for itself.
      required: door.required && names.length === 1 && door.keyIn === null,
      description: names.length === 1 ? description : `${description} In one of ${names.join(', ')}.`,
      schema: headerSchema(door.key),
    })),
    ...times,
  ];
}

/**
 * A schema from samples. Each comes twice, with other values in it: what differs between the two may be anything of its
 * type, what does not is one of the values that were seen.
 */

import type { Schema } from './key-schema.ts';

type Pair = readonly [unknown, unknown];

/** Names and codes; sentences are for people, and may be put better one day. */
const NAME = /^[\w.:/#@+-]+$/;

/** The schema that all samples fit. Members that none of them has are allowed. */
export function schemaOf(pairs: readonly Pair[]): Schema {
  const values = pairs.flat().filter((value) => value !== undefined);
  const types = [...new Set(values.map(typeOf))].toSorted();
  const [type = 'null'] = types;
  if (types.length > 1) return { type: types };
  if (type === 'object') return objectSchema(pairs, values as Readonly<Record<string, unknown>>[]);
  if (type === 'array') return { type, items: schemaOf(itemsOf(pairs)) };
  const isSame = pairs.every(([a, b]) => a === b);
  const isNamed =
    type === 'integer' || (type === 'string' && (values as string[]).every((value) => NAME.test(value)));
  if (!isSame || !isNamed) return { type };
  return { type, enum: [...new Set(values as (string | number)[])] };
}

function objectSchema(pairs: readonly Pair[], all: readonly Readonly<Record<string, unknown>>[]): Schema {
  const names = [...new Set(all.flatMap(Object.keys))];
  const required = names.filter((name) => all.every((each) => each[name] !== undefined));
  const properties = Object.fromEntries(
    names.map((name) => {
      const ofName = pairs.map(([a, b]): Pair => [memberOf(a, name), memberOf(b, name)]);
      return [name, schemaOf(ofName.filter(([a, b]) => a !== undefined || b !== undefined))];
    }),
  );
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

function memberOf(value: unknown, name: string): unknown {
  return (value as Readonly<Record<string, unknown>> | undefined)?.[name];
}

function itemsOf(pairs: readonly Pair[]): readonly Pair[] {
  return pairs.flatMap(([a, b]) => {
    const [first, second] = [a, b].map((value) => (value ?? []) as readonly unknown[]) as [
      unknown[],
      unknown[],
    ];
    return Array.from(
      { length: Math.max(first.length, second.length) },
      (_, i): Pair => [first[i], second[i]],
    );
  });
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

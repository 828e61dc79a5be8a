/**
 * Many rows as few parameters: one array literal per column, and one run of bytes for all bodies. Literals are made
 * here and not by the drivers, which quote arrays in ways of their own (and bytes as hexadecimal text, twice the size).
 *
 * Source: https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO.
 */

import type { SqlValue } from './client.ts';

/** A value of one column of one row, as text the column's type reads. */
export type Cell = string | number | null;

/** A column of the rows that a statement is given. */
export interface InputColumn {
  readonly name: string;
  /** No boolean: postgres.js takes every text for false. */
  readonly type: 'text' | 'int' | 'bigint';
}

/** `many` rows travel as arrays, `one` as plain values. */
export type Arity = 'one' | 'many';

/** `q`: the rows a statement is given, as something to select from. Parameters are numbered from 1. */
export function inputRows(columns: readonly InputColumn[], arity: Arity): string {
  const names = columns.map(({ name }) => name).join(', ');
  if (arity === 'one') {
    return `(VALUES (${columns.map(({ type }, i) => `$${i + 1}::${type}`).join(', ')})) AS q (${names})`;
  }
  return `unnest(${columns.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ')}) AS q (${names})`;
}

/** The parameters for {@link inputRows}: one per column. `rows` hold their cells in the columns' order. */
export function inputValues(rows: readonly (readonly Cell[])[], width: number, arity: Arity): SqlValue[] {
  if (arity === 'one') return (rows[0] ?? []).map((cell) => (cell === null ? null : String(cell)));
  return Array.from({ length: width }, (_, column) => arrayLiteral(rows, column));
}

/** A list of texts as one parameter. */
export function textArray(texts: readonly string[]): string {
  return arrayLiteral(
    texts.map((text) => [text]),
    0,
  );
}

function arrayLiteral(rows: readonly (readonly Cell[])[], column: number): string {
  let text = '{';
  let last: Cell | undefined;
  let element = '';
  for (let i = 0; i < rows.length; i++) {
    const cell = rows[i]?.[column] ?? null;
    // Rows of one operation differ in a few columns only.
    if (cell !== last) {
      last = cell;
      element = elementOf(cell);
    }
    text += i === 0 ? element : `,${element}`;
  }
  return `${text}}`;
}

function elementOf(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (typeof cell !== 'string') return String(cell);
  return SPECIAL.test(cell) ? `"${cell.replaceAll(ALL_SPECIAL, '\\$&')}"` : `"${cell}"`;
}

const SPECIAL = /["\\]/;
const ALL_SPECIAL = /["\\]/g;

/** Bodies, one after the other, and where each begins (counted from 1, as `substring` does) and how long it is. */
export class Bodies {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  /** The two cells that find this body again; both null for none. */
  add(body: Uint8Array | null): readonly [from: number | null, length: number | null] {
    if (body === null) return [null, null];
    const from = this.#length + 1;
    this.#parts.push(body);
    this.#length += body.length;
    return [from, body.length];
  }

  /** All of them as one parameter. */
  bytes(): Uint8Array {
    if (this.#parts.length === 1) return this.#parts[0] as Uint8Array;
    const all = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}

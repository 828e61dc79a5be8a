/** Where a database is not what the migrations make, and what mends each: the same for every SQL store (F151). */

import { type SchemaFault, SchemaError } from '../../core/errors.ts';
import { type ColumnShape, type IndexShape, PRIMARY, type TableShape } from './schema-shape.ts';

/** Something on one of the tables that no migration made: a trigger, a rule, a constraint. */
export interface Stranger {
  readonly table: string;
  /** `trigger`, `rule` … */
  readonly kind: string;
  readonly name: string;
  /** What it may do to records. */
  readonly harm: string;
  /** What takes it away. */
  readonly mend: string;
}

/** How mends are written for one kind of database. */
export interface Mends {
  /** As texts name it: `PostgreSQL`. */
  readonly database: string;
  /** What prints the SQL that makes the schema. */
  readonly printed: string;
  /** Brings a column to what it must be; absent: this kind cannot change tables. */
  readonly column?: (table: TableShape, column: ColumnShape) => string;
  /** Takes a unique index away. */
  dropIndex(table: TableShape, index: string): string;
}

/** What was found. */
export interface Found {
  readonly tables: readonly TableShape[];
  readonly strangers: readonly Stranger[];
  /** The schema is of newer code, which may have added to it: what is more than wanted is then no fault. */
  readonly isNewer: boolean;
}

/** Throws `SchemaError` with every fault. */
export function checkShape(wanted: readonly TableShape[], found: Found, mends: Mends): void {
  const faults = driftOf(wanted, found, mends);
  if (faults.length === 0) return;
  const told = faults.map(({ what, mend }) => `${what}: ${mend}`).join('; ');
  throw new SchemaError(`The ${mends.database} schema is not what the migrations made. ${told}.`, faults);
}

/** Throws `SchemaError` when tables are missing, which other checks would stumble over. */
export function checkThere(missing: readonly string[], mends: Mends): void {
  const faults = missing.map((name) => ({
    what: `the table ${name} is missing`,
    mend: `restore it from a backup, or make it anew with its part of the SQL that ${mends.printed} prints; migrating again does not, because the version says that it is there`,
  }));
  if (faults.length === 0) return;
  const told = faults.map(({ what, mend }) => `${what}: ${mend}`).join('; ');
  throw new SchemaError(`The ${mends.database} schema is not what the migrations made. ${told}.`, faults);
}

/** The faults, in the order of the migrations. */
function driftOf(wanted: readonly TableShape[], found: Found, mends: Mends): readonly SchemaFault[] {
  const restore = `restore it with the SQL that ${mends.printed} prints`;
  const faults = wanted.flatMap((table) => {
    const there = found.tables.find(({ name }) => name === table.name);
    if (there === undefined) return [{ what: `the table ${table.name} is missing`, mend: restore }];
    return [
      ...columnFaults(table, there, restore, mends),
      ...indexFaults(table, there, mends, restore),
      ...(found.isNewer ? [] : moreFaults(table, there, mends)),
    ];
  });
  if (found.isNewer) return faults;
  const strangers = found.strangers.map(({ table, kind, name, harm, mend }) => ({
    what: `the ${kind} ${name} on ${table} ${harm}`,
    mend,
  }));
  return [...faults, ...strangers];
}

function columnFaults(
  table: TableShape,
  there: TableShape,
  restore: string,
  mends: Mends,
): readonly SchemaFault[] {
  return table.columns.flatMap((column) => {
    const name = `the column ${table.name}.${column.name}`;
    const has = there.columns.find((one) => one.name === column.name);
    if (has === undefined)
      return [
        {
          what: `${name} is missing`,
          mend: `ALTER TABLE ${table.sqlName} ADD COLUMN ${column.definition}; its values are lost, so look first who dropped it`,
        },
      ];
    const mend = mends.column?.(table, column) ?? restore;
    const differ = (what: string, is: string, must: string): readonly SchemaFault[] =>
      is === must ? [] : [{ what: `${name} ${what} ${is || 'nothing'}, not ${must || 'nothing'}`, mend }];
    return [
      ...differ('is of the type', has.type, column.type),
      ...differ('is', nullity(has.isNullable), nullity(column.isNullable)),
      ...(column.collation === '' ? [] : differ('has the collation', has.collation, column.collation)),
      ...differ('is computed as', has.generated, column.generated),
      ...(column.fallback === '' ? [] : differ('has the default', has.fallback, column.fallback)),
    ];
  });
}

function nullity(isNullable: boolean): string {
  return isNullable ? 'NULL' : 'NOT NULL';
}

function same(a: IndexShape, b: IndexShape): boolean {
  return a.isUnique === b.isUnique && a.columns === b.columns && a.where === b.where;
}

function indexFaults(
  table: TableShape,
  there: TableShape,
  mends: Mends,
  restore: string,
): readonly SchemaFault[] {
  return table.indexes
    .filter((index) => !there.indexes.some((one) => same(one, index) && isKey(one) >= isKey(index)))
    .map((index) => {
      const isNamed = there.indexes.some(({ name }) => name === index.name && name !== PRIMARY);
      const what = index.name === PRIMARY ? `the primary key of ${table.name}` : `the index ${index.name}`;
      const first = isNamed ? `${mends.dropIndex(table, index.name)}; ` : '';
      return {
        what: `${what} is missing, invalid or another one`,
        mend:
          index.definition.startsWith('CREATE') || mends.column !== undefined
            ? `${first}${index.definition}`
            : restore,
      };
    });
}

/** Whether it is the primary key, as a number: a primary key serves for an index, and not the other way round. */
function isKey({ name }: IndexShape): number {
  return name === PRIMARY ? 1 : 0;
}

/** What somebody added, and what would refuse our rows. */
function moreFaults(table: TableShape, there: TableShape, mends: Mends): readonly SchemaFault[] {
  const unique = there.indexes.filter(
    (index) => index.isUnique && !table.indexes.some((one) => same(one, index)),
  );
  const columns = there.columns.filter(
    ({ name, isNullable, fallback, generated }) =>
      !isNullable && fallback === '' && generated === '' && !table.columns.some((one) => one.name === name),
  );
  return [
    ...unique.map(({ name }) => ({
      what: `the unique index ${name} on ${table.name} is not ours and refuses rows`,
      mend: mends.dropIndex(table, name),
    })),
    ...columns.map(({ name }) => ({
      what: `the column ${table.name}.${name} is not ours and refuses rows that leave it out`,
      mend: `ALTER TABLE ${table.sqlName} DROP COLUMN ${name}, or give it a default`,
    })),
  ];
}

/** What the migrations make of a file, and what is there: held against each other by `ready()` (F151). */

import { checkShape, checkThere, type Found, type Mends, type Stranger } from '../sql/schema-drift.ts';
import {
  type ColumnShape,
  type IndexShape,
  indexOf,
  PRIMARY,
  plainSql,
  shapesOf,
  type TableShape,
} from '../sql/schema-shape.ts';
import { MIGRATIONS } from './migrations/index.ts';
import type { Connection } from './client.ts';

const typeName = (type: string): string => type.toUpperCase();

/** SQLite cannot change a column, a key or a constraint of a table that is there. */
const MENDS: Mends = {
  database: 'SQLite',
  printed: 'sqliteMigrations()',
  dropIndex: (_, index) => `DROP INDEX ${index}`,
};

/** What the migrations make. */
export function wantedShapes(): readonly TableShape[] {
  return shapesOf(
    MIGRATIONS.flatMap(({ statements }) => statements),
    typeName,
  );
}

/** Throws `SchemaError` with every difference. */
export function checkTables(connection: Connection, isNewer: boolean): void {
  const wanted = wantedShapes();
  const found = foundIn(connection, wanted);
  const there = new Set(found.tables.map(({ name }) => name));
  checkThere(
    wanted.map(({ name }) => name).filter((name) => !there.has(name)),
    MENDS,
  );
  checkShape(wanted, { ...found, isNewer }, MENDS);
}

function foundIn(connection: Connection, wanted: readonly TableShape[]): Omit<Found, 'isNewer'> {
  const tables = wanted.flatMap(({ name }) => {
    const [row] = connection.all(`SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?`, name);
    return row === undefined ? [] : [tableOf(connection, name, String(row['sql']))];
  });
  return { tables, strangers: wanted.flatMap(({ name }) => strangersOn(connection, name)) };
}

function tableOf(connection: Connection, name: string, sql: string): TableShape {
  const rows = connection.all('SELECT * FROM pragma_table_xinfo(?)', name);
  const columns = rows.map((row): ColumnShape => {
    const isKey = Number(row['pk']) > 0;
    return {
      name: String(row['name']),
      type: typeName(String(row['type'])),
      isNullable: Number(row['notnull']) === 0 && !isKey,
      collation: '',
      generated:
        isKey && /AUTOINCREMENT/i.test(sql) ? 'identity' : Number(row['hidden']) > 1 ? 'computed' : '',
      fallback: typeof row['dflt_value'] === 'string' ? plainSql(row['dflt_value']) : '',
      definition: '',
    };
  });
  const key = rows
    .filter((row) => Number(row['pk']) > 0)
    .toSorted((a, b) => Number(a['pk']) - Number(b['pk']))
    .map((row) => String(row['name']));
  const primary =
    key.length === 0
      ? []
      : [{ name: PRIMARY, isUnique: true, columns: plainSql(key.join()), where: '', definition: '' }];
  return { name, sqlName: name, columns, indexes: [...primary, ...indexesOf(connection, name)] };
}

function indexesOf(connection: Connection, table: string): readonly IndexShape[] {
  const rows = connection.all(
    `SELECT l.name AS name, l.origin AS origin, m.sql AS sql,
      (SELECT group_concat(x.name) FROM pragma_index_info(l.name) AS x) AS columns
     FROM pragma_index_list(?) AS l LEFT JOIN sqlite_master AS m ON m.type = 'index' AND m.name = l.name WHERE l.origin <> 'pk'`,
    table,
  );
  return rows.flatMap((row): readonly IndexShape[] => {
    if (row['origin'] === 'c') return shapeOf(String(row['sql']));
    return [
      {
        name: String(row['name']),
        isUnique: true,
        columns: plainSql(String(row['columns'])),
        where: '',
        definition: '',
      },
    ];
  });
}

function shapeOf(sql: string): readonly IndexShape[] {
  const index = indexOf(sql);
  return index === undefined ? [] : [index.shape];
}

/** There are none of ours: this store writes the audit itself. */
function strangersOn(connection: Connection, table: string): readonly Stranger[] {
  const triggers = connection.all(
    `SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?
     UNION ALL SELECT name FROM sqlite_temp_master WHERE type = 'trigger' AND tbl_name = ?`,
    table,
    table,
  );
  const keys = connection.all(
    `SELECT DISTINCT m.name AS name FROM sqlite_master AS m JOIN pragma_foreign_key_list(m.name) AS f
     WHERE m.type = 'table' AND f."table" = ?`,
    table,
  );
  const checked = connection.all(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name = ? AND sql GLOB '*[ ,)]CHECK*(*'`,
    table,
  );
  return [
    ...triggers.map(({ name }) => ({
      table,
      kind: 'trigger',
      name: String(name),
      harm: 'may change or swallow what is written',
      mend: `DROP TRIGGER ${String(name)}`,
    })),
    ...keys.map(({ name }) => ({
      table,
      kind: 'foreign key of',
      name: String(name),
      harm: 'refuses to let its rows go',
      mend: `take the foreign key out of ${String(name)}`,
    })),
    ...checked.map(() => ({
      table,
      kind: 'constraint',
      name: 'CHECK',
      harm: 'may refuse what is written',
      mend: `restore it with the SQL that ${MENDS.printed} prints`,
    })),
  ];
}

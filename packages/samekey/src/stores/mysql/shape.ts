/** What the migrations make of a database, and what is there: held against each other by `ready()` (F151). */

import { checkShape, checkThere, type Mends, type Stranger } from '../sql/schema-drift.ts';
import {
  type ColumnShape,
  type IndexShape,
  PRIMARY,
  plainSql,
  shapesOf,
  type TableShape,
} from '../sql/schema-shape.ts';
import { decoded, textOf } from './literals.ts';
import { MIGRATIONS, metaStatement } from './migrations/index.ts';
import type { Ask, SqlRow } from './client.ts';
import type { Tables } from './tables.ts';
import { TRANSITIONS } from './transitions.ts';

/** Display widths of whole numbers come and go between servers and mean nothing. */
const typeName = (type: string): string =>
  type.toLowerCase().replace(/^((?:tiny|small|medium|big)?int)\(\d+\)/, '$1');

const MENDS: Mends = {
  database: 'MySQL',
  printed: 'mysqlMigrations()',
  column: ({ sqlName }, { definition }) => `ALTER TABLE ${sqlName} MODIFY COLUMN ${definition}`,
  dropIndex: ({ sqlName }, index) =>
    `ALTER TABLE ${sqlName} DROP ${index === PRIMARY ? 'PRIMARY KEY' : `INDEX ${index}`}`,
};

/** What the migrations make. */
export function wantedShapes(tables: Tables): readonly TableShape[] {
  return shapesOf(
    [metaStatement(tables), ...MIGRATIONS.flatMap((migration) => migration.statements(tables))],
    typeName,
  );
}

/** Throws `SchemaError` with every difference. */
export async function checkShapes(ask: Ask, tables: Tables, isNewer: boolean): Promise<void> {
  const wanted = wantedShapes(tables);
  const database = tables.database === undefined ? 'DATABASE()' : textOf(tables.database);
  const names = wanted.map(({ name }) => `'${name}'`).join(', ');
  const at = (schema: string, table: string): string => `${schema} = ${database} AND ${table} IN (${names})`;
  const read = async (sql: string): Promise<readonly SqlRow[]> =>
    (await ask(sql)).map((row) => row.map((value) => (value === null ? null : decoded(value))));
  const columns = await read(
    'SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLLATION_NAME, EXTRA, GENERATION_EXPRESSION, COLUMN_DEFAULT ' +
      `FROM information_schema.COLUMNS WHERE ${at('TABLE_SCHEMA', 'TABLE_NAME')}`,
  );
  const indexes = await read(
    'SELECT TABLE_NAME, INDEX_NAME, MAX(NON_UNIQUE), ' +
      "GROUP_CONCAT(CONCAT(COLUMN_NAME, COALESCE(CONCAT('#', SUB_PART), '')) ORDER BY SEQ_IN_INDEX) " +
      `FROM information_schema.STATISTICS WHERE ${at('TABLE_SCHEMA', 'TABLE_NAME')} GROUP BY TABLE_NAME, INDEX_NAME`,
  );
  const triggers = await read(
    `SELECT 'trigger', EVENT_OBJECT_TABLE, TRIGGER_NAME FROM information_schema.TRIGGERS WHERE ${at('EVENT_OBJECT_SCHEMA', 'EVENT_OBJECT_TABLE')}`,
  );
  const constraints = await read(
    "SELECT CASE CONSTRAINT_TYPE WHEN 'CHECK' THEN 'constraint' ELSE 'foreign key' END, TABLE_NAME, CONSTRAINT_NAME " +
      `FROM information_schema.TABLE_CONSTRAINTS WHERE ${at('TABLE_SCHEMA', 'TABLE_NAME')} AND CONSTRAINT_TYPE IN ('CHECK', 'FOREIGN KEY')`,
  );
  const references = await read(
    `SELECT 'foreign key', TABLE_NAME, CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE ${at('UNIQUE_CONSTRAINT_SCHEMA', 'REFERENCED_TABLE_NAME')}`,
  );
  const found = [...new Set(columns.map(([table]) => String(table)))].map(
    (name): TableShape => ({
      name,
      sqlName: name,
      columns: columns.filter(([table]) => table === name).map(columnOf),
      indexes: indexes.filter(([table]) => table === name).map(indexShapeOf),
    }),
  );
  const strangers = [...triggers, ...constraints, ...references].flatMap(strangerOf);
  checkShape(wanted, { tables: found, strangers, isNewer }, MENDS);
}

/** Throws `SchemaError` when a table is missing, or this user may see none of it. */
export async function checkTablesThere(ask: Ask, tables: Tables): Promise<void> {
  const database = tables.database === undefined ? 'DATABASE()' : textOf(tables.database);
  const rows = await ask(`SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ${database}`);
  const there = new Set(rows.map(([name]) => String(decoded(name))));
  checkThere(
    wantedShapes(tables)
      .map(({ name }) => name)
      .filter((name) => !there.has(name)),
    MENDS,
  );
}

function columnOf([, name, type, isNullable, collation, extra, expression, fallback]: SqlRow): ColumnShape {
  const isNumbered = /auto_increment/i.test(String(extra));
  const isComputed = /(STORED|VIRTUAL|PERSISTENT) GENERATED|^PERSISTENT/i.test(String(extra));
  return {
    name: String(name),
    type: typeName(String(type)),
    isNullable: isNullable === 'YES',
    collation: typeof collation === 'string' ? collation : '',
    generated: isNumbered ? 'identity' : isComputed ? plainSql(String(expression)) : '',
    // MariaDB says NULL in words.
    fallback: typeof fallback !== 'string' || fallback === 'NULL' ? '' : plainSql(fallback),
    definition: '',
  };
}

function indexShapeOf([, name, isNotUnique, columns]: SqlRow): IndexShape {
  return {
    name: String(name),
    isUnique: Number(isNotUnique) === 0,
    columns: plainSql(String(columns)),
    where: '',
    definition: '',
  };
}

const HARM: Readonly<Record<string, string>> = {
  trigger: 'may change or refuse what is written',
  constraint: 'may refuse what is written',
  'foreign key': 'may refuse what is written or deleted',
};

/** Not ours, by its name: what ours do is looked at where they are wanted. */
function strangerOf([kind, table, name]: SqlRow): readonly Stranger[] {
  const [what, on, called] = [String(kind), String(table), String(name)];
  if (what === 'trigger' && TRANSITIONS.has(called)) return [];
  const drop = what === 'constraint' ? 'CONSTRAINT' : 'FOREIGN KEY';
  return [
    {
      table: on,
      kind: what,
      name: called,
      harm: HARM[what] ?? '',
      mend: what === 'trigger' ? `DROP TRIGGER ${called}` : `ALTER TABLE ${on} DROP ${drop} ${called}`,
    },
  ];
}

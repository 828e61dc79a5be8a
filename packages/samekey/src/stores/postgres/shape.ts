/** What the migrations make of a schema, and what is there: held against each other by `ready()` (F151). */

import { checkShape, checkThere, type Mends, type Stranger } from '../sql/schema-drift.ts';
import {
  type ColumnShape,
  type IndexShape,
  indexOf,
  PRIMARY,
  plainSql,
  shapesOf,
  type TableShape,
} from '../sql/schema-shape.ts';
import { type Ask, plain, type SqlRow } from './client.ts';
import type { Tables } from './tables.ts';
import { TRANSITIONS } from './transitions.ts';
import type { Migration } from './migrations/migration.ts';

const TYPES: Readonly<Record<string, string>> = { integer: 'int4', bigint: 'int8', boolean: 'bool' };
const typeName = (type: string): string => TYPES[type.toLowerCase()] ?? type.toLowerCase();

function mendsOf({ schema }: Tables): Mends {
  return {
    database: 'PostgreSQL',
    printed: 'postgresMigrations()',
    column: ({ sqlName }, { name, type, isNullable, collation, fallback, definition }) => {
      const collated = collation === '' ? '' : ` COLLATE "${collation}"`;
      const parts = [
        `ALTER COLUMN ${name} TYPE ${type}${collated}`,
        `ALTER COLUMN ${name} ${isNullable ? 'DROP' : 'SET'} NOT NULL`,
        ...(fallback === ''
          ? []
          : [`ALTER COLUMN ${name} SET DEFAULT ${/DEFAULT (\S+)/.exec(definition)?.[1]}`]),
      ];
      return `ALTER TABLE ${sqlName} ${parts.join(', ')}`;
    },
    dropIndex: (_, index) => `DROP INDEX IF EXISTS ${schema}.${index}`,
  };
}

/** The tables, and the partitions of the records: what is put on one of those stands in the way as well. */
const OURS = `ours AS (
  SELECT oid, oid AS of FROM unnest($1::text[]::regclass[]) AS t (oid)
  UNION SELECT h.inhrelid, h.inhparent FROM pg_inherits h WHERE h.inhparent = ANY ($1::text[]::regclass[]))`;

const THERE = `SELECT c.relname, c.relkind::text FROM unnest($1::text[]) AS t (name) JOIN pg_class c ON c.oid = to_regclass(t.name)`;

const COLUMNS = `SELECT c.relname, a.attname, y.typname, a.attnotnull::text, coalesce(k.collname, ''),
  CASE WHEN a.attidentity <> '' THEN 'identity' WHEN a.attgenerated <> '' THEN 'computed' ELSE '' END,
  coalesce(pg_get_expr(d.adbin, d.adrelid), '')
FROM unnest($1::text[]::regclass[]) AS t (oid) JOIN pg_class c ON c.oid = t.oid
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type y ON y.oid = a.atttypid LEFT JOIN pg_collation k ON k.oid = a.attcollation
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum`;

const INDEXES = `SELECT c.relname, i.indisprimary::text, pg_get_indexdef(i.indexrelid)
FROM unnest($1::text[]::regclass[]) AS t (oid) JOIN pg_class c ON c.oid = t.oid
JOIN pg_index i ON i.indrelid = c.oid AND i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate`;

const STRANGERS = `WITH ${OURS}
SELECT 'trigger', c.oid::regclass::text, quote_ident(t.tgname) FROM ours o JOIN pg_class c ON c.oid = o.oid
  JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D'
UNION ALL SELECT 'rule', c.oid::regclass::text, quote_ident(w.rulename) FROM ours o JOIN pg_class c ON c.oid = o.oid AND c.relkind IN ('r', 'p')
  JOIN pg_rewrite w ON w.ev_class = c.oid AND w.ev_enabled <> 'D'
UNION ALL SELECT 'constraint', n.conrelid::regclass::text, quote_ident(n.conname) FROM pg_constraint n
  WHERE n.conrelid IN (SELECT oid FROM ours) AND n.contype IN ('c', 'x')
UNION ALL SELECT 'foreign key', n.conrelid::regclass::text, quote_ident(n.conname) FROM pg_constraint n
  WHERE n.contype = 'f' AND (n.conrelid IN (SELECT oid FROM ours) OR n.confrelid IN (SELECT oid FROM ours))
ORDER BY 1, 2, 3`;

const HARM: Readonly<Record<string, string>> = {
  trigger: 'may change or swallow what is written',
  rule: 'may swallow or turn what is written',
  constraint: 'may refuse what is written',
  'foreign key': 'may refuse what is written or deleted',
};

/** What the migrations make. */
export function wantedShapes(tables: Tables, migrations: readonly Migration[]): readonly TableShape[] {
  return shapesOf(
    migrations.flatMap((migration) => [
      ...migration.statements(tables),
      ...Object.entries(migration.indexes?.(tables) ?? {}).map(([name, on]) => `CREATE INDEX ${name} ${on}`),
    ]),
    typeName,
  );
}

/** Throws `SchemaError` with every difference. */
export async function checkShapes(
  ask: Ask,
  tables: Tables,
  migrations: readonly Migration[],
  isNewer: boolean,
): Promise<void> {
  const wanted = wantedShapes(tables, migrations);
  const there = await ask(plain(THERE), [arrayOf(wanted.map(({ sqlName }) => sqlName))]);
  const names = new Set(
    there.filter(([, kind]) => kind === 'r' || kind === 'p').map(([name]) => String(name)),
  );
  const oids = arrayOf(wanted.filter(({ name }) => names.has(name)).map(({ sqlName }) => sqlName));
  const [columns, indexes, strangers] = [
    await ask(plain(COLUMNS), [oids]),
    await ask(plain(INDEXES), [oids]),
    await ask(plain(STRANGERS), [oids]),
  ];
  const found = [...names].map(
    (name): TableShape => ({
      name,
      sqlName: name,
      columns: columns.filter(([table]) => table === name).map(columnOf),
      indexes: indexes.filter(([table]) => table === name).flatMap(indexShapeOf),
    }),
  );
  checkShape(wanted, { tables: found, strangers: strangers.flatMap(strangerOf), isNewer }, mendsOf(tables));
}

/** Throws `SchemaError` when a table is missing. */
export async function checkTablesThere(
  ask: Ask,
  tables: Tables,
  migrations: readonly Migration[],
): Promise<void> {
  const wanted = wantedShapes(tables, migrations);
  const rows = await ask(
    plain('SELECT name FROM unnest($1::text[]) AS t (name) WHERE to_regclass(name) IS NULL'),
    [arrayOf(wanted.map(({ sqlName }) => sqlName))],
  );
  const missing = new Set(rows.map(([name]) => String(name)));
  checkThere(
    wanted.filter(({ sqlName }) => missing.has(sqlName)).map(({ name }) => name),
    mendsOf(tables),
  );
}

function arrayOf(names: readonly string[]): string {
  return `{${names.map((name) => JSON.stringify(name)).join(',')}}`;
}

function columnOf([, name, type, isRequired, collation, generated, fallback]: SqlRow): ColumnShape {
  return {
    name: String(name),
    type: String(type),
    isNullable: isRequired !== 'true',
    collation: String(collation),
    generated: String(generated),
    fallback: plainSql(String(fallback)),
    definition: '',
  };
}

function indexShapeOf([, isPrimary, sql]: SqlRow): readonly IndexShape[] {
  const shape = indexOf(String(sql))?.shape;
  if (shape === undefined) return [];
  return [isPrimary === 'true' ? { ...shape, name: PRIMARY } : shape];
}

/** Not ours, by its name: what ours do is looked at where they are wanted. */
function strangerOf([kind, table, name]: SqlRow): readonly Stranger[] {
  if (kind === 'trigger' && TRANSITIONS.has(String(name))) return [];
  const what = String(kind);
  return [
    {
      table: String(table),
      kind: what,
      name: String(name),
      harm: HARM[what] ?? '',
      mend:
        what === 'trigger' || what === 'rule'
          ? `DROP ${what.toUpperCase()} ${String(name)} ON ${String(table)}`
          : `ALTER TABLE ${String(table)} DROP CONSTRAINT ${String(name)}`,
    },
  ];
}

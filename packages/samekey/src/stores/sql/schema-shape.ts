/**
 * What the migrations make, read from their own statements, so that there is no second list that somebody forgets to
 * change: tables with their columns, keys and indexes. `ready()` holds a database against it whole (F151).
 *
 * The statements are ours and of a few forms; one of another form is an error, which the first test that migrates
 * meets.
 */

/** A column as it must be. Texts are plain: see {@link plainSql}. */
export interface ColumnShape {
  readonly name: string;
  /** As the store names types in both of its readings. */
  readonly type: string;
  readonly isNullable: boolean;
  /** Empty: not named. */
  readonly collation: string;
  /** `identity`, the expression it is computed by, or empty. */
  readonly generated: string;
  /** What it is where nothing is given; empty: nothing. */
  readonly fallback: string;
  /** What makes it, as the migration says it; empty where it was read from a database. */
  readonly definition: string;
}

/** An index, or the primary key, which is called `PRIMARY`. It is found by what it is, not by its name. */
export interface IndexShape {
  readonly name: string;
  readonly isUnique: boolean;
  readonly columns: string;
  /** The condition of a partial one. */
  readonly where: string;
  /** What makes it; empty where it was read from a database. */
  readonly definition: string;
}

/** A table. */
export interface TableShape {
  readonly name: string;
  /** As statements name it. */
  readonly sqlName: string;
  readonly columns: readonly ColumnShape[];
  readonly indexes: readonly IndexShape[];
}

/**
 * How a store's types are named: of `BIGINT UNSIGNED` in a migration and of `bigint(20) unsigned` in a catalogue the
 * same.
 */
type TypeName = (type: string) => string;

interface Growing extends TableShape {
  readonly columns: ColumnShape[];
  readonly indexes: IndexShape[];
}

const TABLE = /^CREATE TABLE (?:IF NOT EXISTS )?((?:"[^"]*"|`[^`]*`|[^\s(])+)\s*\(/;
const INDEX =
  /^CREATE (UNIQUE )?INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?(\S+) ON (?:ONLY )?((?:"[^"]*"|`[^`]*`|[^\s(])+) (?:USING \w+ )?\((.*?)\)(?:\s+WHERE\s+(.*))?$/s;
const KEY = /^(?:CONSTRAINT \S+ )?(?:(PRIMARY) |(UNIQUE) )?KEY (\S+ )?\((.*)\)$/s;
const ADDED = /^ALTER TABLE (\S+) ADD COLUMN (?:IF NOT EXISTS )?(.*)$/s;
const TYPE_ENDS = /\s(?:NOT NULL|DEFAULT|PRIMARY KEY|GENERATED|COLLATE|CHARACTER SET|AUTO_INCREMENT)\b/i;

/** Reads the statements of migrations. */
export function shapesOf(statements: readonly string[], typeName: TypeName): readonly TableShape[] {
  const tables = new Map<string, Growing>();
  for (const statement of statements) {
    if (/^(INSERT|UPDATE|DELETE) /.test(statement)) continue;
    const [begin, sqlName] = TABLE.exec(statement) ?? [];
    if (begin !== undefined && sqlName !== undefined) {
      const table: Growing = { name: bare(sqlName), sqlName, columns: [], indexes: [] };
      for (const part of partsOf(statement.slice(begin.length))) addTo(table, part, typeName);
      tables.set(table.name, table);
      continue;
    }
    const index = indexOf(statement);
    const added = ADDED.exec(statement);
    const table = tables.get(index?.table ?? bare(added?.[1] ?? ''));
    if (table === undefined) throw new Error('A migration has a statement that is not understood.');
    if (index !== undefined) table.indexes.push({ ...index.shape, definition: statement });
    else addTo(table, added?.[2] ?? '', typeName);
  }
  return [...tables.values()];
}

/** Reads what makes an index; undefined where it is something else. */
export function indexOf(
  statement: string,
): { readonly table: string; readonly shape: IndexShape } | undefined {
  const [, unique, name, table, columns, where] = INDEX.exec(statement) ?? [];
  if (name === undefined || table === undefined) return undefined;
  return {
    table: bare(table),
    shape: {
      name: bare(name),
      isUnique: unique !== undefined,
      columns: plainSql(columns ?? ''),
      where: plainSql(where ?? ''),
      definition: '',
    },
  };
}

/** One column, or one key within the table's statement. */
function addTo(table: Growing, part: string, typeName: TypeName): void {
  const [, primary, unique, name, columns] = KEY.exec(part) ?? [];
  if (columns !== undefined) {
    const shape = {
      name: primary === undefined ? bare(name?.trim() ?? '') : PRIMARY,
      isUnique: primary !== undefined || unique !== undefined,
      columns: plainSql(columns),
      where: '',
    };
    table.indexes.push({ ...shape, definition: `ALTER TABLE ${table.sqlName} ADD ${part}` });
    return;
  }
  const column = columnOf(part, typeName);
  table.columns.push(column);
  if (!/PRIMARY KEY/i.test(part)) return;
  table.indexes.push({
    name: PRIMARY,
    isUnique: true,
    columns: plainSql(column.name),
    where: '',
    definition: `ALTER TABLE ${table.sqlName} ADD PRIMARY KEY (${column.name})`,
  });
}

/** What the primary key is called among indexes. */
export const PRIMARY = 'PRIMARY';

function columnOf(part: string, typeName: TypeName): ColumnShape {
  const [, name = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(part) ?? [];
  const end = TYPE_ENDS.exec(rest)?.index ?? rest.length;
  const isNumbered = /AUTO_?INCREMENT|AS IDENTITY/i.test(rest);
  return {
    name: bare(name),
    type: typeName(rest.slice(0, end).trim()),
    isNullable: !/NOT NULL|PRIMARY KEY/i.test(rest),
    collation: bare(/COLLATE (\S+)/i.exec(rest)?.[1] ?? ''),
    generated: isNumbered ? 'identity' : plainSql(/ AS (\(.*\)) STORED/s.exec(rest)?.[1] ?? ''),
    fallback: plainSql(/ DEFAULT ('[^']*'|\S+)/.exec(rest)?.[1] ?? ''),
    definition: part,
  };
}

/** Cuts at commas outside of parentheses and texts, up to the parenthesis that ends the table. */
function partsOf(body: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let isText = false;
  let from = 0;
  for (let at = 0; at < body.length; at += 1) {
    const char = body[at];
    if (char === "'") isText = !isText;
    if (isText) continue;
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (depth > 0 || (char !== ',' && depth === 0)) continue;
    parts.push(body.slice(from, at).trim());
    from = at + 1;
    if (depth < 0) break;
  }
  return parts;
}

/** The last part of a name, without quotes. */
function bare(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1).replaceAll(/["`]/g, '');
}

/**
 * An expression without what servers add when they print it, each in its own way: parentheses, quotes of names, casts
 * of constants, the character sets of texts, blanks, letter case.
 */
export function plainSql(sql: string): string {
  return sql
    .replaceAll(/::(timestamp with time zone|[a-z0-9]+)/gi, '')
    .replaceAll(/\\'/g, "'")
    .replaceAll(/\b_(utf8mb4|utf8mb3|utf8|latin1|ascii|binary)\s*'/gi, "'")
    .replaceAll(/["`()\s]/g, '')
    .toLowerCase();
}

/**
 * Options, once: each options object is declared by one table with a row for each of its members, nested objects by
 * tables of their own. A row checks what was given and says what stands there if nothing was.
 *
 * Invariants: a table has exactly the members of its interface and reads each as its type, or it does not compile
 * (`satisfies Table<…>`) · a member that no row reads is refused, at every depth, with its path and the nearest right
 * name: a misspelt safety option must not pass in silence (F87) · no message shows what might be a secret: values are
 * shown where names and numbers are expected only.
 */

import { OptionsError } from './errors.ts';

/** One member of an options object. `Absent` is what it becomes when it is not given. */
export interface Row<out Value, out Absent = Value | null | undefined> {
  /** What a given value becomes; `path` says where it stands, such as `key.lengthMax`. Throws `OptionsError`. */
  read(given: unknown, path: string): Value;
  /** Throws `OptionsError` where the member is required. */
  absent(path: string): Absent;
  /** The rows of a nested options object, so that a name at the wrong depth is found. */
  readonly nested?: AnyTable;
}

/** The rows of an options object: all its members, each as its type, the required ones without a value for "absent". */
export type Table<Options> = {
  readonly [Name in keyof Options]-?: undefined extends Options[Name]
    ? Row<Exclude<Options[Name], undefined>>
    : Row<Options[Name], Options[Name]>;
};

/** Any table. */
type AnyTable = Readonly<Record<string, Row<unknown, unknown>>>;

/** What reading by a table gives: every member, defaults in place. */
export type Read<Rows> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Row<infer Value, infer Absent> ? Value | Absent : never;
};

/**
 * The same for a nested object: members that are not given and have no default are not there, as its interface has it.
 */
type ReadNested<Rows> = {
  readonly [Name in keyof Rows as undefined extends Read<Rows>[Name] ? never : Name]: Read<Rows>[Name];
} & {
  readonly [Name in keyof Rows as undefined extends Read<Rows>[Name] ? Name : never]?: Exclude<
    Read<Rows>[Name],
    undefined
  >;
};

/**
 * Reads an options object by its table; undefined is read as empty. `what` is who takes it, such as `createWorker`.
 * Throws `OptionsError`.
 */
export function readOptions<Rows extends AnyTable>(what: string, table: Rows, given: unknown): Read<Rows> {
  return readAt(what, table, given, '');
}

/** Refuses members that no row reads, and reads nothing: for objects that are given with every request. */
export function refuseOthers(what: string, table: AnyTable, given: object, path = ''): void {
  for (const name in given) {
    if (!Object.hasOwn(table, name) && Object.hasOwn(given, name)) throw notKnown(what, table, name, path);
  }
}

function readAt<Rows extends AnyTable>(what: string, table: Rows, given: unknown, path: string): Read<Rows> {
  const options = given === undefined ? {} : given;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new OptionsError(
      `${path === '' ? what : path} takes an object of options; it is ${kindOf(given)}.`,
    );
  }
  refuseOthers(what, table, options, path);
  const read: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table)) {
    const value = (options as Record<string, unknown>)[name];
    const at = path === '' ? name : `${path}.${name}`;
    read[name] = value === undefined ? row.absent(at) : row.read(value, at);
  }
  return read as Read<Rows>;
}

// Rows.

/** A row of your own: `read` checks a given value. Without `absent` the member is undefined when it is not given. */
export function row<Value>(read: (given: unknown, path: string) => Value): Row<Value, undefined>;
export function row<Value, Absent>(
  read: (given: unknown, path: string) => Value,
  absent: Absent,
): Row<Value, Absent>;
export function row<Value>(
  read: (given: unknown, path: string) => Value,
  absent?: unknown,
): Row<Value, unknown> {
  return { read, absent: () => absent };
}

/** The same row for a member that must be given; `why` is what to do, as a whole sentence. */
export function required<Value>(inner: Row<Value, unknown>, why?: string): Row<Value, Value> {
  return {
    ...inner,
    absent(path) {
      throw new OptionsError(why ?? `${path} is missing: it must be given.`);
    },
  };
}

/** The same row, and null too. */
export function orNull<Value, Absent>(inner: Row<Value, Absent>): Row<Value | null, Absent> {
  return { ...inner, read: (given, path) => (given === null ? null : inner.read(given, path)) };
}

/** A whole number within bounds, both inclusive. */
export function wholeNumber(least: number, most?: number): Row<number, undefined>;
export function wholeNumber<Absent extends number | null>(
  least: number,
  most: number | undefined,
  absent: Absent,
): Row<number, Absent>;
export function wholeNumber(
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
  absent?: number | null,
): Row<number, unknown> {
  return row((given, path) => checkWholeNumber(path, given, least, most), absent);
}

/** A switch. */
export function trueOrFalse(): Row<boolean, undefined>;
export function trueOrFalse(absent: boolean): Row<boolean, boolean>;
export function trueOrFalse(absent?: boolean): Row<boolean, unknown> {
  return row((given, path) => {
    if (typeof given === 'boolean') return given;
    throw new OptionsError(`${path} must be true or false; it is ${shown(given)}.`);
  }, absent);
}

/** A text that is not empty. */
export function text(): Row<string, undefined>;
export function text<Absent extends string | null>(absent: Absent): Row<string, Absent>;
export function text(absent?: string | null): Row<string, unknown> {
  return row((given, path) => {
    if (typeof given === 'string' && given !== '') return given;
    throw new OptionsError(`${path} is a text that is not empty; it is ${kindOf(given)}.`);
  }, absent);
}

/** One of these words or numbers. */
export function oneOf<const Word extends string | number>(words: readonly Word[]): Row<Word, undefined>;
export function oneOf<const Word extends string | number, const Absent extends Word>(
  words: readonly Word[],
  absent: Absent,
): Row<Word, Absent>;
export function oneOf(words: readonly (string | number)[], absent?: unknown): Row<string | number, unknown> {
  return row((given, path) => {
    if (words.includes(given as string)) return given as string;
    throw new OptionsError(
      `${path} is ${words.map((word) => JSON.stringify(word)).join(' or ')}; it is ${shown(given)}.`,
    );
  }, absent);
}

/** A function; its type is the member's. */
export function aFunction<Value extends (...given: never) => unknown>(): Row<Value, undefined> {
  return row((given, path) => {
    if (typeof given === 'function') return given as unknown as Value;
    throw new OptionsError(`${path} is a function; it is ${kindOf(given)}.`);
  });
}

/** An object that has these methods; `what` says what it is and where it comes from, as the end of "… must be". */
export function having<Value extends object>(
  methods: readonly string[],
  what: string,
): Row<Value, undefined> {
  return row((given, path) => {
    const verbs = Object(given) as Readonly<Record<string, unknown>>;
    if (given !== null && methods.every((method) => typeof verbs[method] === 'function'))
      return given as Value;
    throw new OptionsError(`${path} must be ${what}; it is ${kindOf(given)}.`);
  });
}

/** What is checked elsewhere, or any value; its type is the member's. */
export function anything<Value>(): Row<Value, undefined> {
  return row((given) => given as Value);
}

/** A list, each of its members by a row. */
export function listOf<Value>(each: Row<Value, unknown>): Row<readonly Value[], undefined>;
export function listOf<Value>(
  each: Row<Value, unknown>,
  absent: readonly Value[],
): Row<readonly Value[], readonly Value[]>;
export function listOf<Value>(
  each: Row<Value, unknown>,
  absent?: readonly Value[],
): Row<readonly Value[], unknown> {
  return row((given, path) => {
    if (!Array.isArray(given)) throw new OptionsError(`${path} is a list; it is ${kindOf(given)}.`);
    // By index: a sparse list has holes that map would skip.
    return Array.from(given, (value: unknown, i) => each.read(value, `${path}[${i}]`));
  }, absent);
}

/** An object of any names, each of its values by a row. */
export function byName<Value>(each: Row<Value, unknown>): Row<Readonly<Record<string, Value>>, undefined> {
  return row((given, path) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw new OptionsError(`${path} is an object by names; it is ${kindOf(given)}.`);
    for (const [name, value] of Object.entries(given)) each.read(value, `${path}.${name}`);
    return given as Readonly<Record<string, Value>>;
  });
}

/** A nested options object. */
export function nested<Rows extends AnyTable>(table: Rows): Row<ReadNested<Rows>, undefined> {
  return {
    read: (given, path) => readNested(table, given, path),
    absent: () => undefined,
    nested: table,
  };
}

/** The same, with its own defaults in place when it is not given. */
export function nestedWithDefaults<Rows extends AnyTable>(
  table: Rows,
): Row<ReadNested<Rows>, ReadNested<Rows>> {
  return { ...nested(table), absent: (path) => readNested(table, {}, path) };
}

function readNested<Rows extends AnyTable>(table: Rows, given: unknown, path: string): ReadNested<Rows> {
  const read = Object.entries(readAt('', table, given, path));
  return Object.fromEntries(read.filter(([, value]) => value !== undefined)) as ReadNested<Rows>;
}

/** Checks a whole number that is no member of an options object. Throws `OptionsError`. */
export function checkWholeNumber(
  name: string,
  value: unknown,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
    throw new OptionsError(`${name} must be a whole number from ${least} to ${most}; it is ${shown(value)}.`);
  }
  return value as number;
}

// What is told.

function notKnown(what: string, table: AnyTable, name: string, path: string): OptionsError {
  const full = path === '' ? name : `${path}.${name}`;
  const near = nearest(name, table, path);
  const meant = near === null ? '' : ` Did you mean "${near}"?`;
  const who = what === '' ? (path === '' ? 'This object' : path) : what;
  return new OptionsError(
    `${who} has no option "${full}".${meant} It takes ${Object.keys(table).toSorted().join(', ')}.`,
  );
}

/** The right name that a wrong one is nearest to, as a path; null if none is near. */
function nearest(name: string, table: AnyTable, path: string): string | null {
  let best: string | null = null;
  let least = Infinity;
  const look = (rows: AnyTable, at: string, penalty: number): void => {
    for (const [right, { nested: inner }] of Object.entries(rows)) {
      const full = at === '' ? right : `${at}.${right}`;
      const distance = distanceOf(name.toLowerCase(), right.toLowerCase()) + penalty;
      if (distance < least && isNear(name, right, distance)) [best, least] = [full, distance];
      // Only a depth lower: `uuidOnly` beside `key`.
      if (inner !== undefined && penalty === 0) look(inner, full, 0.5);
    }
  };
  look(table, path, 0);
  return best;
}

function isNear(name: string, right: string, distance: number): boolean {
  const isPart = name.length > 2 && right.toLowerCase().startsWith(name.toLowerCase());
  return isPart || distance <= Math.max(2.5, Math.max(name.length, right.length) / 3);
}

/** How many letters must be put in, left out, changed, or exchanged with their neighbour (optimal string alignment). */
function distanceOf(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const line = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((last[j] ?? 0) + 1, (line[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      line.push(cost);
    }
    before = last;
    last = line;
  }
  return last[b.length] ?? 0;
}

const SHOWN_LENGTH_MAX = 60;

/** A value where a name or a number is expected. */
export function shown(value: unknown): string {
  if (typeof value === 'string') {
    const short = value.length > SHOWN_LENGTH_MAX ? `${value.slice(0, SHOWN_LENGTH_MAX)}…` : value;
    return JSON.stringify(short);
  }
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : kindOf(value);
}

/** What kind of value it is, without the value. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'a text';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'boolean' || typeof value === 'number' ? String(value) : `a ${typeof value}`;
}

/**
 * A dialect: what an API that is known, or a standard, says of idempotency, as data. Where its keys come and which are
 * taken, whom they are unique for, how long they are kept, which endings are stored, how outcomes look.
 *
 * Invariants: a dialect decides nothing that an option could not · what it states is given nowhere else: the same
 * option beside it is refused at start, but for a length of time that is as long or longer · what the provider's pages
 * leave open is not in it, and stays the route's.
 */

import { OptionsError } from '../core/errors.ts';
import type { KeyOptions } from '../core/key.ts';
import type { KeyUniqueFor } from '../core/operation.ts';
import { nested, required, type Row, row, type Table, text } from '../core/options.ts';
import { type EndingClass, type Policy, type PolicyName, resolvePolicy } from '../core/policy.ts';
import type { OperationOptions, OperationSettings } from '../core/settings.ts';
import type { FingerprintOptions } from '../fingerprint/fingerprint.ts';
import type { FirstSentOptions } from './first-sent.ts';
import type { NamedPlace } from './key-place.ts';
import type { ProfileName } from './named-profile.ts';
import type { Profile } from './profile.ts';

/** What a dialect may state of an operation. */
export type DialectOperation = Pick<
  OperationOptions,
  'policy' | 'retentionMs' | 'retryWindowMs' | 'tombstoneMs'
>;

/** What a dialect may state of a route. */
export interface DialectRoute {
  readonly keyUniqueFor?: KeyUniqueFor;
  readonly required?: boolean;
  readonly methods?: readonly string[];
  readonly header?: string | readonly string[];
  readonly keyIn?: NamedPlace;
  readonly key?: KeyOptions;
  readonly fingerprint?: FingerprintOptions;
  readonly firstSent?: FirstSentOptions;
  readonly profile?: ProfileName | Profile;
}

/** How an API that is known says that a request may be sent again. */
export interface Dialect {
  readonly name: string;
  /** What it states of an operation: `samekey.phased({ ...dialect.operation, name, run })` takes it too. */
  readonly operation: DialectOperation;
  /** What it states of a route. */
  readonly route: DialectRoute;
  /** What `coverage` says of a route that speaks it, unless its operation is transactional or phased. */
  readonly remark?: string;
}

type Rows<Options> = { readonly [Name in keyof Options]-?: Row<unknown, unknown> };

const OPERATION_NAMES = ['policy', 'retentionMs', 'retryWindowMs', 'tombstoneMs'] as const;
const ROUTE_NAMES = [
  'keyUniqueFor',
  'required',
  'methods',
  'header',
  'keyIn',
  'key',
  'fingerprint',
  'firstSent',
  'profile',
] as const;

/** The row of `dialect`, by the rows of what it may state. It is given back as it is: a default is no statement. */
export function dialectRow(
  operation: Rows<DialectOperation>,
  route: Rows<DialectRoute>,
): Row<Dialect, undefined> {
  const table = {
    name: required(text()),
    operation: required(nested(picked(operation, OPERATION_NAMES))),
    route: required(nested(picked(route, ROUTE_NAMES))),
    remark: text(),
  } satisfies Table<Dialect>;
  const shape = nested(table);
  return {
    ...row((given, path) => {
      if (typeof given === 'string')
        throw new OptionsError(
          `${path} is no name but an object of samekey/dialects: import { square } from 'samekey/dialects', and so on.`,
        );
      shape.read(given, path);
      const dialect = given as Dialect;
      if (typeof dialect.route.keyIn !== 'function') return dialect;
      throw new OptionsError(`${path}.route.keyIn names a place: what a function says is no data.`);
    }),
    nested: table,
  };
}

function picked<Name extends string>(
  rows: Readonly<Record<Name, Row<unknown, unknown>>>,
  names: readonly Name[],
): Record<Name, Row<never, undefined>> {
  return Object.fromEntries(names.map((name) => [name, rows[name]])) as Record<Name, Row<never, undefined>>;
}

const LENGTHS: ReadonlySet<string> = new Set(OPERATION_NAMES.slice(1));

/** Options with what their dialect states in place. Throws `OptionsError` where they say something else. */
export function spoken<Options extends object>(options: Options, dialect: Dialect): Options {
  const stated = new Map<string, unknown>(Object.entries({ ...dialect.operation, ...dialect.route }));
  const whole: Record<string, unknown> = Object.fromEntries(Object.entries(options));
  for (const [name, value] of stated) {
    if (value === undefined) continue;
    const given = whole[name];
    if (given === undefined) whole[name] = value;
    else if (name === 'key') whole[name] = keyOf(dialect, value as KeyOptions, given as KeyOptions);
    // Kept for longer, every retry still finds its record.
    else if (!LENGTHS.has(name) || !isLonger(given, value)) throw contradicts(dialect, name);
  }
  return whole as Options;
}

/**
 * Options of a door whose operation has settings of its own, with what the dialect states of a route in place; the
 * settings must be what it states of an operation. Throws `OptionsError`.
 */
export function spokenAtDoor<Options extends { readonly dialect?: Dialect }>(
  { dialect, ...options }: Options,
  operation: string,
  settings: OperationSettings,
): Omit<Options, 'dialect'> {
  if (dialect === undefined) return options;
  for (const name of OPERATION_NAMES) {
    const stated = dialect.operation[name];
    if (stated === undefined) continue;
    const isSaid =
      name === 'policy'
        ? isSamePolicy(settings.policy, resolvePolicy(stated as PolicyName | Policy))
        : isLonger(settings[name], stated);
    if (!isSaid)
      throw new OptionsError(
        `The dialect "${dialect.name}" states ${name}, and the operation "${operation}" has another: define it with the dialect’s \`operation\`.`,
      );
  }
  return spoken(options, { ...dialect, operation: {} });
}

function isSamePolicy(a: Policy, b: Policy): boolean {
  return Object.entries(a.verdicts).every(
    ([ending, verdict]) => b.verdicts[ending as EndingClass] === verdict,
  );
}

/** Members of `key` stand side by side; only those that both state contradict. */
function keyOf(dialect: Dialect, stated: KeyOptions, given: KeyOptions): KeyOptions {
  for (const name of Object.keys(stated)) {
    if (given[name as keyof KeyOptions] !== undefined) throw contradicts(dialect, `key.${name}`);
  }
  return { ...stated, ...given };
}

function isLonger(given: unknown, stated: unknown): boolean {
  return typeof given === 'number' && given >= (stated as number);
}

function contradicts({ name }: Dialect, option: string): OptionsError {
  const why = LENGTHS.has(option) ? ', and may only be longer' : '';
  return new OptionsError(
    `${option} is stated by the dialect "${name}"${why}: leave it out, or make a dialect of your own from this one.`,
  );
}

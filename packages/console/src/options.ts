/** What the console is made with, checked: whoever misspells an option that guards it learns so at once. */

import { OptionsError } from 'samekey/internals/core/errors';
import {
  aFunction,
  having,
  kindOf,
  listOf,
  nested,
  oneOf,
  readOptions,
  required,
  row,
  type Row,
  type Table,
  wholeNumber,
} from 'samekey/internals/core/options';
import type { Store } from 'samekey';
import type { ConsoleRight } from './api.ts';

/** All rights. */
export const CONSOLE_RIGHTS: readonly ConsoleRight[] = [
  'settle',
  'reopen',
  'forget',
  'requeue',
  'drop',
  'erase',
  'reveal',
];

/** Who is at the console. */
export interface ConsoleUser {
  /** For the audit: a name that leads to a person. */
  readonly actor: string;
  /** What they may do beside looking; default: nothing. */
  readonly rights?: readonly ConsoleRight[];
}

/** A secret that lets its holder in. */
export interface ConsoleToken extends ConsoleUser {
  /** At least 32 characters, drawn at random: letters, digits and `-._~+/`, with `=` at its end at most. */
  readonly secret: string;
}

/** Options of {@link createConsole}. */
export interface ConsoleOptions {
  /** Any store; `sealed(store, ring)` where answers are sealed. */
  readonly store: Store;
  /** Where it is mounted, such as `/ops/keys`; default `/`. */
  readonly path?: string;
  /**
   * Who asks, by your application's own session; null: nobody who may look. Called for every request but the health
   * endpoint's. Either this or `token` is needed: nobody gets in without one.
   */
  readonly authorize?: (request: Request) => ConsoleUser | null | Promise<ConsoleUser | null>;
  /** Lets in whoever has its secret, by a cookie that the page asks for, or as `Authorization: Bearer …`. */
  readonly token?: ConsoleToken;
  /**
   * Its address as browsers see it, such as `https://ops.example`, where a proxy tells it another; default: as asked.
   */
  readonly origin?: string;
  /**
   * Told of what the page is not: an error of `authorize`, and faults of the console itself; default: `console.error`.
   */
  readonly onError?: (error: unknown) => void;
  /** How often all records are counted while somebody looks, in milliseconds; default 60,000. */
  readonly countMs?: number;
}

/** Checked options. */
export interface CheckedOptions extends Pick<ConsoleOptions, 'store' | 'authorize' | 'onError'> {
  /** Without a slash at its end. */
  readonly path: string;
  readonly token?: Required<ConsoleToken>;
  readonly origin?: string;
  readonly countMs: number;
}

const SECRET_LENGTH_MIN = 32;
/** What an address and a header carry as it is: that of RFC 6750. */
const SECRET = /^[\w.~+/-]+=*$/;
const COUNT_MS = 60_000;

const actor: Row<string, string> = required(
  row((given, path) => {
    if (typeof given === 'string' && given.trim() !== '' && given.length <= 200) return given;
    throw new OptionsError(`${path} must be a name of 1 to 200 characters; it is ${kindOf(given)}.`);
  }),
);
const rights: Row<readonly ConsoleRight[], readonly ConsoleRight[]> = listOf(oneOf(CONSOLE_RIGHTS), []);

const USER_ROWS = { actor, rights } satisfies Table<ConsoleUser>;

const TOKEN_ROWS = {
  actor,
  rights,
  secret: required(
    row((given, path) => {
      if (typeof given === 'string' && given.length >= SECRET_LENGTH_MIN && SECRET.test(given)) return given;
      // Never the value: it is nearly a secret.
      throw new OptionsError(
        `${path} must be a text of at least ${SECRET_LENGTH_MIN} characters, drawn at random: letters, digits and -._~+/, with = at its end at most.`,
      );
    }),
  ),
} satisfies Table<ConsoleToken>;

const PATH = /^\/(?:[\w.~-]+(?:\/[\w.~-]+)*\/?)?$/;

/** What browsers would send as theirs; null for what is none. */
function originOf(given: string): string | null {
  try {
    const { protocol, origin, href } = new URL(given);
    const isWeb = protocol === 'https:' || protocol === 'http:';
    return isWeb && href === `${origin}/` ? origin : null;
  } catch {
    return null;
  }
}

const CONSOLE_ROWS = {
  store: required(
    having<Store>(['find', 'list', 'count'], 'a store: postgresStore(…), sqliteStore(…), sealed(…) …'),
    'createConsole needs a store: postgresStore(…), sqliteStore(…), sealed(…) …',
  ),
  path: row((given, at) => {
    if (typeof given === 'string' && PATH.test(given)) return given;
    throw new OptionsError(`${at} is a path such as /ops/keys; it is ${kindOf(given)}.`);
  }, '/'),
  authorize: aFunction<NonNullable<ConsoleOptions['authorize']>>(),
  onError: aFunction<NonNullable<ConsoleOptions['onError']>>(),
  token: nested(TOKEN_ROWS),
  origin: row((given, at) => {
    const origin = typeof given === 'string' ? originOf(given) : null;
    if (origin !== null) return origin;
    throw new OptionsError(
      `${at} is a scheme and a host, such as https://ops.example, and no path; it is ${kindOf(given)}.`,
    );
  }),
  countMs: wholeNumber(1_000, 86_400_000, COUNT_MS),
} satisfies Table<ConsoleOptions>;

/** Throws `OptionsError`. */
export function readConsoleOptions(given: ConsoleOptions): CheckedOptions {
  const read = readOptions('createConsole', CONSOLE_ROWS, given);
  if ((read.authorize === undefined) === (read.token === undefined)) {
    throw new OptionsError(
      'createConsole needs either authorize, which says who asks by your own session, or token: it lets nobody in by itself.',
    );
  }
  return { ...read, path: read.path.replace(/\/$/, '') } as CheckedOptions;
}

/** Who was named, checked: a right that is misspelt must not pass for none. Throws `OptionsError`. */
export function readUser(given: ConsoleUser): Required<ConsoleUser> {
  return readOptions('authorize', USER_ROWS, given);
}

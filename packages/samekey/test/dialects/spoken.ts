/** What providers' pages say, as data, and transcripts made from them. */

import type { Dialect } from '../../src/dialects/index.ts';
import type { OperationOptions } from '../../src/core/settings.ts';

/** A page, and the day on which it was read. */
export interface Page {
  readonly url: string;
  readonly day: string;
}

/** The rows of the page about dialects: where keys come and how they are kept, then those of contract §4.1. */
const ROWS = [
  ['key', 'where the key comes'],
  ['required', 'must there be one'],
  ['uniqueFor', 'what it is unique for'],
  ['compared', 'what is compared'],
  ['kept', 'how long it is kept'],
  ['0', 'caller not known'],
  ['1', 'key missing'],
  ['2', 'key malformed'],
  ['3', 'sent too long ago'],
  ['3a', 'body malformed'],
  ['4', 'store away'],
  ['5', 'key expired'],
  ['6', 'another request'],
  ['7', 'replay'],
  ['7a', 'answer not kept'],
  ['8', 'outcome unknown'],
  ['9', 'accepted'],
  ['10', 'still running'],
  ['11', 'attempts used up'],
  ['11a', 'rules for new keys'],
  ['11b', 'input invalid'],
  ['12', 'after a failure'],
  ['13', 'too many'],
  ['14', 'new key'],
] as const;

/** A row of the page. */
export type Fact = (typeof ROWS)[number][0];

/** All rows with their titles, in order: names that are numbers would come first in an object. */
export const FACTS: ReadonlyMap<Fact, string> = new Map(ROWS);

/** One request of a transcript, and what it must be answered. */
export interface Step {
  /** What the page says, in our words. */
  readonly says: string;
  readonly send: Sent;
  /** What the handler answers if it runs; default 201 with a body that counts. */
  readonly handler?: { readonly status: number; readonly body?: string };
  /** How long after the step before, in milliseconds. */
  readonly after?: number;
  /** Sent while this one's handler runs. */
  readonly meanwhile?: Step;
  readonly expect: Expected;
}

export interface Sent {
  readonly method?: string;
  /** The operation; also the address, unless `url` names another. */
  readonly path?: string;
  readonly url?: string;
  readonly account?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a text as it is. */
  readonly body?: unknown;
}

export interface Expected {
  readonly status: number;
  readonly ran: boolean;
  /** By name in lower case; null: it must not be there. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** Members that the body must have. */
  readonly body?: object;
}

/** A provider. */
export interface Spoken {
  readonly title: string;
  /** Its name in the package. */
  readonly exported: string;
  readonly dialect: Dialect;
  readonly pages: readonly Page[];
  /** What the dialect leaves open, as the transcript's route has it. */
  readonly open?: OperationOptions & { readonly required?: boolean };
  /** What its pages say; a row that is not here is not documented. */
  readonly facts: Readonly<Partial<Record<Fact, string>>>;
  /** Where the contract is stricter, and the contract wins. */
  readonly stricter: readonly string[];
  readonly transcript: readonly Step[];
}

/** Of those whose pages have a retry told the present state. */
export const TELLS_THE_FIRST =
  'A retry gets the first answer, byte for byte; a route may tell it the present state by [`onReplay`](../guides/http.md#a-retry-that-is-told-the-state-of-today).';

/**
 * Values that JSON would lose, flatten or refuse, each made anew, with the path of the member that is at fault. What a contract hands
 * on, stores or compares must meet each of them (F66, F77, F78, F147).
 */

import { Buffer } from 'node:buffer';

/** One of them. */
export interface HostileValue {
  readonly title: string;
  readonly make: () => unknown;
  readonly path: string;
}

class Private {
  readonly #amount = 10;

  get amount(): number {
    return this.#amount;
  }
}

class Order {
  readonly amount = 10;
}

class Decimal {
  toJSON(): string {
    return '10.00';
  }
}

function cycle(): unknown {
  const order: { items: unknown[] } = { items: [] };
  order.items.push({ order });
  return order;
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

function at(path: string, title: string, make: () => unknown): HostileValue {
  return { title, path, make };
}

/** What no answer, result or message may be. */
export const UNSTORABLE: readonly HostileValue[] = [
  at('rows[1].id', 'a bigint', () => ({ rows: [{ id: 1 }, { id: 10n }] })),
  at('items[0].order', 'a cycle', cycle),
  at('by', 'a Map', () => ({ by: new Map([['a', 1]]) })),
  at('', 'a Map alone', () => new Map([['a', 1]])),
  at('["of all"]', 'a Set', () => ({ 'of all': new Set([1]) })),
  at('charge', 'a promise that nobody awaited', () => ({ charge: Promise.resolve({ id: 1 }) })),
  at('', 'a function', () => () => 1),
  at('undo', 'a function as a member', () => ({ undo: () => 1 })),
  at('list[2]', 'a symbol', () => ({ list: [1, 2, Symbol('three')] })),
  at('amount', 'NaN', () => ({ amount: Number.NaN })),
  at('[0]', 'an infinity', () => [Number.NEGATIVE_INFINITY]),
  at('bytes', 'bytes', () => ({ bytes: Uint8Array.of(1, 2) })),
  at('buffer', 'an ArrayBuffer', () => ({ buffer: new ArrayBuffer(2) })),
  at('error', 'an error', () => ({ error: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })),
  at('order', 'an instance without members of its own', () => ({ order: new Private() })),
  at('query', 'search parameters', () => ({ query: new URLSearchParams({ a: '1' }) })),
  at('form', 'a form', () => ({ form: new FormData() })),
  at('', 'a status that throws when it is read', () => ({
    body: '',
    get status(): number {
      throw new Error('not read');
    },
  })),
  at('', 'a Blob', () => new Blob(['a'])),
  at('', 'a Request', () => new Request('https://example.com')),
];

/** What can be handed on, and can nevertheless not be compared: another value might look the same. */
export const INCOMPARABLE: readonly HostileValue[] = [
  ...UNSTORABLE,
  at('at', 'a date', () => ({ at: new Date(0) })),
  at('', 'a date alone', () => new Date(0)),
  at('amount', 'what only toJSON tells', () => ({ amount: new Decimal() })),
  at('order', 'an instance of a class', () => ({ order: new Order() })),
  at('[0]', 'an absent element', () => [undefined, 1]),
  at('file', 'a Buffer among members', () => ({ file: Buffer.from('a') })),
];

/** Refused for their depth, wherever they come. */
export const TOO_DEEP: () => unknown = () => nested(5_000);

/** What is handed on as it says itself, and how it comes back. */
export const HANDED_ON: { readonly make: () => unknown; readonly back: unknown } = {
  make: () => ({
    at: new Date(0),
    amount: new Decimal(),
    order: new Order(),
    absent: undefined,
    list: [undefined, -0],
    box: Object('text') as unknown,
    none: Object.create(null) as unknown,
  }),
  back: {
    at: '1970-01-01T00:00:00.000Z',
    amount: '10.00',
    order: { amount: 10 },
    list: [null, 0],
    box: 'text',
    none: {},
  },
};

/** Header lines of an upstream that are handed on: what may never be stored, and what may. */
export const HEADERS_NEVER_STORED: readonly (readonly [string, string])[] = [
  ['Set-Cookie', 'session=first'],
  ['Date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['Connection', 'close, X-Hop'],
  ['X-Hop', '1'],
  ['Keep-Alive', 'timeout=5'],
  ['Transfer-Encoding', 'chunked'],
  ['Content-Length', '999'],
  ['Content-Encoding', 'gzip'],
  ['TE', 'trailers'],
  ['Trailer', 'X-Checksum'],
  ['Upgrade', 'h2c'],
  ['Proxy-Authenticate', 'Basic'],
  ['Proxy-Status', 'upstream'],
  ['Access-Control-Allow-Origin', 'https://first.example'],
  ['X-Request-Id', 'of-the-first'],
  ['Idempotency-Replayed', 'false'],
];
export const HEADERS_STORED: readonly (readonly [string, string])[] = [
  ['Content-Type', 'application/vnd.pay+json'],
  ['X-Kept', '1'],
];

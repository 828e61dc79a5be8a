/** Fingerprints: equal for a retry, different for every other request, and never confused with those of other code. */
import { createHash, createHmac, webcrypto } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createFingerprinter,
  type FingerprintInput,
  type FingerprintOptions,
} from '../../src/fingerprint/fingerprint.ts';
import { operationOf } from '../../src/core/operation.ts';
import type { Digester } from '../../src/core/world.ts';

const encoder = new TextEncoder();

const digester: Digester = {
  sha256: (bytes) => createHash('sha256').update(bytes).digest('base64url'),
  hmacSha256: (secret, bytes) => createHmac('sha256', secret).update(bytes).digest('base64url'),
};

interface Request {
  method?: string;
  operation?: string;
  path?: string;
  query?: string;
  headers?: Record<string, string[]>;
  type?: string | undefined;
  body?: string | Uint8Array;
}

function input(request: Request): FingerprintInput {
  const { body = '' } = request;
  return {
    method: request.method ?? 'POST',
    operation: request.operation ?? 'POST /payments',
    path: request.path ?? '/payments',
    query: request.query ?? '',
    headers: (name) => request.headers?.[name] ?? [],
    contentType: 'type' in request ? request.type : 'application/json',
    body: typeof body === 'string' ? encoder.encode(body) : body,
  };
}

function print(request: Request, options: FingerprintOptions = {}) {
  return createFingerprinter(options, digester).compute(input(request));
}

function multipart(boundary: string, ...parts: [head: string, body: string][]): Request {
  const lines = parts.map(
    ([head, body]) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`,
  );
  return { type: `multipart/form-data; boundary=${boundary}`, body: `${lines.join('')}--${boundary}--\r\n` };
}

/** One text cut into all parts of a request. */
function cut(some: string, at: number[]): Request {
  const [method, operation, path, query, xa, xb, body] = [0, ...at].map((from, i) => some.slice(from, at[i]));
  return {
    method: method!,
    operation: operation!,
    path: path!,
    query: query!,
    headers: { 'x-a': [xa!], 'x-b': [xb!] },
    type: 'text/plain',
    body: body!.replaceAll(/\p{Surrogate}/gu, '.'),
  };
}

function jsonOf(length: number, last: string): string {
  return JSON.stringify({ é: 'x'.repeat(length), last });
}

function part(time: string): Request {
  return multipart(`b${time}`, ['name="a"', '1'], ['name="sentAt"', time]);
}

function named(value: string): Request {
  return multipart('b', ['name="größe"', value]);
}

function label(options: FingerprintOptions): string {
  return createFingerprinter(options, digester).label;
}

function printOf(pattern: string) {
  return print({ operation: operationOf('POST', pattern), path: '/payments/7' });
}

describe('the fingerprint of a retry is the same', () => {
  const form = 'application/x-www-form-urlencoded';
  test.each<[string, Request, Request]>([
    // F28
    ['members reordered', { body: '{"a":1,"b":2}' }, { body: '{"b":2,"a":1}' }],
    ['white space', { body: '{"a":[1,2]}' }, { body: ' { "a" : [ 1 , 2 ] }\n' }],
    ['escapes', { body: '"\\u0061"' }, { body: '"a"' }],
    ['numbers', { body: '[1.0,1e0,-0]' }, { body: '[1,1,0]' }],
    ['a charset', { body: '{"a": 1}' }, { body: '{"a":1}', type: 'Application/JSON; charset="UTF-8"' }],
    [
      'JSON of a vendor',
      { body: '{"a": 1}', type: 'application/vnd.a+json' },
      { body: '{"a":1}', type: 'application/vnd.a+json' },
    ],
    // F32
    ['another boundary', multipart('b', ['name="a"', '1']), multipart('xyz', ['name="a"', '1'])],
    ['percent-encoding in the path', { path: '/a%7Eb%2fc' }, { path: '/a~b%2Fc' }],
    ['percent-encoding in the query', { query: 'a=b%20c&d' }, { query: '%61=b+c&d=' }],
    ['percent-encoding in a form', { type: form, body: 'a=%C3%A9+b' }, { type: form, body: 'a=é%20b' }],
    ['headers that do not count', { headers: { 'user-agent': ['a'] } }, { headers: { 'user-agent': ['b'] } }],
  ])('with %s', (_, a, b) => {
    expect(print(a)).toBe(print(b));
  });
});

describe('the fingerprint of another request is another', () => {
  const form = 'application/x-www-form-urlencoded';
  const requests: [string, Request][] = [
    ['nothing', {}],
    // F27
    ['path /x/1', { path: '/x/1' }],
    ['path /x/2', { path: '/x/2' }],
    ['path /x%2F2', { path: '/x%2F2' }],
    ['path /x/2/', { path: '/x/2/' }],
    ['path /x/./2', { path: '/x/./2' }],
    ['query ?dry=1', { query: 'dry=1' }],
    ['query ?dry=2', { query: 'dry=2' }],
    ['query ?a&b', { query: 'a&b' }],
    ['query ?b&a', { query: 'b&a' }],
    ['query ?a=b', { query: 'a=b' }],
    ['query ?a=&b=&c', { query: 'a=&b=&c' }],
    ['method PATCH', { method: 'PATCH' }],
    ['another operation', { operation: 'POST /x/:' }],
    // F29
    ['body …992', { body: '9007199254740992' }],
    ['body …993', { body: '9007199254740993' }],
    ['body null', { body: '{"a":null}' }],
    ['body absent', { body: '{}' }],
    ['body repeated', { body: '{"a":null,"a":null}' }],
    ['body half pair', { body: '"\\ud800"' }],
    ['body replacement', { body: '"\\ufffd"' }],
    ['body too deep', { body: '['.repeat(600) + ']'.repeat(600) }],
    ['body too deep, with a space', { body: `${'['.repeat(600) + ']'.repeat(600)} ` }],
    ['body bad JSON', { body: '{"a":}' }],
    ['body bad JSON, with a space', { body: '{"a": }' }],
    ['body not UTF-8', { body: Uint8Array.from([0x22, 0xff, 0x22]) }],
    ['body not UTF-8 either', { body: Uint8Array.from([0x22, 0xfe, 0x22]) }],
    ['body JSON of another type', { type: 'application/merge-patch+json', body: '{}' }],
    ['body JSON of another charset', { type: 'application/json; charset=utf-16', body: '{}' }],
    ['body text', { type: 'text/plain', body: '{}' }],
    ['body text of a charset', { type: 'text/plain; charset=latin1', body: '{}' }],
    ['body without type', { type: undefined, body: '{}' }],
    ['no body without type', { type: undefined }],
    ['form', { type: form, body: 'a=1&b=2' }],
    ['form with an empty field', { type: form, body: 'a=1&b=2&c' }],
    ['form as text', { type: 'text/plain', body: 'a=1&b=2' }],
    ['form with a percent sign', { type: form, body: 'a=%25' }],
    ['form not UTF-8', { type: form, body: Uint8Array.from([0x61, 0x3d, 0xff]) }],
    ['multipart', multipart('b', ['name="a"', '1'])],
    ['multipart with another body', multipart('b', ['name="a"', '2'])],
    ['multipart with another name', multipart('b', ['name="b"', '1'])],
    ['multipart with a file name', multipart('b', ['name="a"; filename="f"', '1'])],
    ['multipart with an empty file name', multipart('b', ['name="a"; filename=""', '1'])],
    ['multipart with a type', multipart('b', ['name="a"\r\nContent-Type: text/plain', '1'])],
    ['multipart with another type', multipart('b', ['name="a"\r\nContent-Type: text/html', '1'])],
    ['multipart with another head line', multipart('b', ['name="a"\r\nX-A: text/html', '1'])],
    ['multipart twice', multipart('b', ['name="a"', '1'], ['name="a"', '1'])],
    [
      'multipart malformed',
      { ...multipart('b', ['name="a"', '1']), type: 'multipart/form-data; boundary=c' },
    ],
  ];

  test('for any two of these', () => {
    const names = new Map<unknown, string>();
    for (const [name, request] of requests) {
      const digest = print(request);
      expect(names.get(digest), `${name} has the fingerprint of`).toBeUndefined();
      names.set(digest, name);
    }
  });

  test('even where parts could be shifted from one place to the next', () => {
    // One text cut into all parts of a request, in two ways.
    const text = fc.string({
      unit: fc.constantFrom('a', '\u0000', '\u0001', '/', 'é', '\ud800', '\ufffd', '"'),
      maxLength: 6,
    });
    const cuts = fc
      .array(fc.nat(6), { minLength: 6, maxLength: 6 })
      .map((some) => some.toSorted((x, y) => x - y));
    const seen: Uint8Array[] = [];
    const spy: Digester = {
      ...digester,
      sha256: (bytes) => (seen.push(bytes.slice()), digester.sha256(bytes)),
    };
    const fingerprinter = createFingerprinter({ headers: ['x-a', 'X-B'] }, spy);
    fc.assert(
      fc.property(text, cuts, cuts, (some, x, y) => {
        const [a, b] = [cut(some, x), cut(some, y)];
        const isSame = JSON.stringify(a) === JSON.stringify(b);
        expect(fingerprinter.compute(input(a)) === fingerprinter.compute(input(b))).toBe(isSame);
        // Injective as bytes, too: no encoding is the start of another.
        const [first, second] = seen.splice(0).map((bytes) => String.fromCharCode(...bytes));
        expect(!isSame && (first!.startsWith(second!) || second!.startsWith(first!))).toBe(false);
      }),
      { numRuns: 3000 },
    );
  });

  test('as it is for each member of a JSON body, at any size', () => {
    for (const length of [0, 40, 47, 48, 49, 500, 100_000]) {
      expect(print({ body: jsonOf(length, 'a') })).toBe(print({ body: ` ${jsonOf(length, 'a')}` }));
      expect(print({ body: jsonOf(length, 'a') })).not.toBe(print({ body: jsonOf(length, 'é') }));
      expect(print({ body: jsonOf(length, '😀') })).not.toBe(print({ body: jsonOf(length, 'é') }));
    }
  });
});

describe('options', () => {
  const form = 'application/x-www-form-urlencoded';
  const omit = { omit: ['sentAt', '/meta/try'] };
  const pick = { pick: ['amount'] };

  test('can leave members out of JSON and fields out of forms', () => {
    expect(print({ body: '{"a":1,"sentAt":1,"meta":{"try":1}}' }, omit)).toBe(
      print({ body: '{"a":1,"meta":{}}' }, omit),
    );
    expect(print({ body: '{"a":1}' }, omit)).not.toBe(print({ body: '{"a":2}' }, omit));
    expect(print({ type: form, body: 'a=1&sentAt=2' }, omit)).toBe(
      print({ type: form, body: 'sent%41t=3&a=1' }, omit),
    );
    expect(print({ type: form, body: 'a=1&meta=2' }, omit)).not.toBe(
      print({ type: form, body: 'a=1&meta=3' }, omit),
    );
    expect(print(part('1'), omit)).toBe(print(part('2'), omit));
    expect(print({ type: form, body: 'größe=1' }, { omit: ['größe'] })).toBe(
      print({ type: form }, { omit: ['größe'] }),
    );
    expect(print(named('1'), { omit: ['größe'] })).toBe(print(named('2'), { omit: ['größe'] }));
  });

  test('can pick the only members or fields that count, and other bodies count whole', () => {
    expect(print({ body: '{"amount":1,"b":1}' }, pick)).toBe(print({ body: '{"amount":1.0}' }, pick));
    expect(print({ body: '{"amount":1}' }, pick)).not.toBe(print({ body: '{"amount":2}' }, pick));
    expect(print({ type: form, body: 'amount=1&b=1' }, pick)).toBe(
      print({ type: form, body: 'amount=1' }, pick),
    );
    expect(print({ type: form, body: 'amount=1' }, pick)).not.toBe(
      print({ type: form, body: 'amount=2' }, pick),
    );
    expect(print({ type: 'text/plain', body: '1' }, pick)).not.toBe(
      print({ type: 'text/plain', body: '2' }, pick),
    );
    const deep = { pick: ['/payment/amount'] };
    expect(print({ type: form, body: 'payment=1' }, deep)).not.toBe(
      print({ type: form, body: 'payment=2' }, deep),
    );
  });

  test('can add headers, whose lines are one list, and of which absent is not empty', () => {
    const options = { headers: ['X-Account'] };
    const of = (...values: string[]) => print({ headers: { 'x-account': values } }, options);
    expect(of('a', 'b')).toBe(of('a, b'));
    expect(new Set([of('a'), of('b'), of(''), of()]).size).toBe(4);
  });

  test('can map the path', () => {
    const options = { path: (path: string) => path.replace('/v1/', '/') };
    expect(print({ path: '/v1/a' }, options)).toBe(print({ path: '/a' }, options));
  });

  test('can be a function of what was sent, in place of query, body and headers', () => {
    const options: FingerprintOptions = {
      version: '1',
      of: ({ json, query, headers }) => [(json() as { a: number }).a, query.includes('live'), headers('X-A')],
    };
    const same = { query: 'live=1', body: '{"a":1,"b":2}', headers: { 'x-a': ['c'] } };
    expect(print({ ...same, query: 'live', body: '{"b":3,"a":1}' }, options)).toBe(print(same, options));
    const others: Request[] = [
      { ...same, body: '{"a":2}' },
      { ...same, query: '' },
      { ...same, headers: {} },
      // What it is compared with beside the function.
      { ...same, method: 'PATCH' },
      { ...same, path: '/other' },
      { ...same, operation: 'POST /other' },
    ];
    const prints = [same, ...others].map((request) => print(request, options));
    expect(new Set(prints).size).toBe(prints.length);
    expect(print(same, { ...options, version: '2' })).not.toBe(print(same, options));
  });

  test('gives its function copies, bytes as they came, and refuses what cannot be compared', () => {
    const body = Buffer.from('{"a":1}');
    const wiped = print({ body }, { version: '1', of: (request) => (request.body.fill(0), request.method) });
    expect([body.toString(), wiped]).toEqual([
      '{"a":1}',
      print({ body: '' }, { version: '1', of: ({ method }) => method }),
    ]);
    expect(print({ body: 'a' }, { version: '1', of: ({ body: bytes }) => bytes })).not.toBe(
      print({ body: 'b' }, { version: '1', of: ({ body: bytes }) => bytes }),
    );
    expect(() => print({ body: '{' }, { version: '1', of: ({ json }) => json() as null })).toThrow(
      expect.objectContaining({ code: 'ERR_SAMEKEY_NOT_EXECUTED' }),
    );
    for (const given of [undefined, new Map(), Promise.resolve(1), Number.NaN])
      expect(() => print({}, { version: '1', of: () => given as unknown as null })).toThrow(
        expect.objectContaining({ code: 'ERR_SAMEKEY_VALUE' }),
      );
  });

  test('of another version that cannot take a request proves nothing of it', () => {
    const before: FingerprintOptions = { version: '1', of: ({ json }) => json() as null };
    const old = createFingerprinter(before, digester);
    const now = createFingerprinter({ formerly: [before] }, digester);
    expect(now.computeFor(old.label, input({ body: '{"a":1}' }))).toBe(print({ body: '{ "a": 1 }' }, before));
    expect(now.computeFor(old.label, input({ body: '{' }))).toBeUndefined();
  });

  test('has copies of its secrets: wiping them afterwards changes nothing', () => {
    for (const secret of [new Uint8Array(32).fill(7), Buffer.alloc(32, 7)]) {
      const own = createFingerprinter({ secrets: { current: 's', keys: { s: secret } } }, digester);
      const before = own.compute(input({}));
      secret.fill(0);
      expect(own.compute(input({}))).toBe(before);
    }
  });

  test.each<[string, FingerprintOptions]>([
    ['a function without a version', { of: () => null }],
    ['a function beside members', { version: '1', of: () => null, omit: ['a'] }],
    ['a function beside headers', { version: '1', of: () => null, headers: ['x-a'] }],
    [
      'two functions of one version',
      { version: '1', of: () => 1, formerly: [{ version: '1', of: () => 2 }] },
    ],
    ['a header that is no name', { headers: ['x a'] }],
    ['an empty path', { omit: [''] }],
    ['a malformed pointer', { pick: ['/~'] }],
    ['a secret that is not there', { secrets: { current: 'a', keys: {} } }],
    ['a secret named like something inherited', { secrets: { current: 'constructor', keys: {} } }],
    ['a secret named like a prototype', { secrets: { current: '__proto__', keys: {} } }],
    ['a secret that is too short', { secrets: { current: 'a', keys: { a: new Uint8Array(8) } } }],
    [
      'a former secret that is too short',
      { secrets: { current: 'a', keys: { a: new Uint8Array(32), b: new Uint8Array(1) } } },
    ],
    [
      'a secret with a name that is none',
      { secrets: { current: 'a.b', keys: { 'a.b': new Uint8Array(32) } } },
    ],
    [
      'two path functions of one version',
      { path: (path) => path, formerly: [{ path: (path) => `${path}/` }] },
    ],
  ])('with %s are refused at the start', (_, options) => {
    expect(() => createFingerprinter(options, digester)).toThrow(
      expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS' }),
    );
  });
});

describe('the label', () => {
  const a = new Uint8Array(32).fill(1);
  const b = new Uint8Array(32).fill(2);

  // F59
  test('changes with every option, and stays for the same set in another order', () => {
    const labels = [
      {},
      { version: '2' },
      { omit: ['a'] },
      { omit: ['a', 'b'] },
      { omit: ['a,b'] },
      { pick: ['a'] },
      { pick: [] },
      { headers: ['a'] },
      { path: (path: string) => path },
      { secrets: { current: 'a', keys: { a } } },
      { secrets: { current: 'b', keys: { a, b } } },
    ].map(label);
    expect(new Set(labels).size).toBe(labels.length);
    expect(label({ omit: ['b', 'a'], headers: ['X', 'y'] })).toBe(
      label({ omit: ['/a', '/b', 'a'], headers: ['Y', 'x'] }),
    );
    expect(label({ omit: [] })).toBe(label({}));
    for (const text of labels) expect(text).toMatch(/^[\w.-]{1,64}$/);
  });

  test('is the same in every process and release, for records outlive them', () => {
    expect(label({})).toBe('sk1.3kcnjqt1knj61');
    expect(print({ path: '/p%7E', query: 'a=1', body: '{"b":1.0,"a":"é"}' })).toBe(
      'CGSIUt1tMMGxjSs-49KUc5lp5CVHYxl-DtVjhMoiCcI',
    );
  });

  // F59: a changed list of omitted members between first try and retry.
  test('of a former option set is still computed, as the old code computes it', () => {
    const old = createFingerprinter({ omit: ['a'] }, digester);
    const now = createFingerprinter({ omit: ['a', 'b'], formerly: [{ omit: ['a'] }] }, digester);
    const request = input({ body: '{"a":1,"b":2,"c":3}' });
    expect(now.computeFor(old.label, request)).toBe(old.compute(request));
    expect(now.computeFor(now.label, request)).toBe(now.compute(request));
    expect(now.compute(request)).not.toBe(old.compute(request));
  });

  // F59: the other version is unknown: the caller answers 503, never 422.
  test('of an unknown option set, secret or scheme has no digest', () => {
    const now = createFingerprinter({ omit: ['a'], secrets: { current: 'a', keys: { a } } }, digester);
    for (const unknown of [
      label({}),
      label({ omit: ['a'] }),
      `${label({ omit: ['a'] })}.b`,
      'sk0.x',
      '',
      '__proto__',
    ]) {
      expect(now.computeFor(unknown, input({}))).toBeUndefined();
    }
  });

  test('names the secret, so that records under a former secret still match', () => {
    const request = input({ body: '{"a":1}' });
    const old = createFingerprinter({ secrets: { current: 'a', keys: { a } } }, digester);
    const now = createFingerprinter({ secrets: { current: 'b', keys: { a, b } } }, digester);
    expect(old.label).toBe(`${label({})}.a`);
    expect(now.label).toBe(`${label({})}.b`);
    expect(now.computeFor(old.label, request)).toBe(old.compute(request));
    expect(now.compute(request)).not.toBe(old.compute(request));
    expect(now.compute(request)).not.toBe(print({ body: '{"a":1}' }));
    // Once secrets are in use, the plain digest is a former option set like any other.
    expect(now.computeFor(label({}), request)).toBeUndefined();
    const both = createFingerprinter({ secrets: { current: 'b', keys: { a, b } }, formerly: [{}] }, digester);
    expect(both.computeFor(label({}), request)).toBe(print({ body: '{"a":1}' }));
  });

  test('does not depend on what happens to the secret afterwards', () => {
    const secret = new Uint8Array(32).fill(7);
    const fingerprinter = createFingerprinter({ secrets: { current: 's', keys: { s: secret } } }, digester);
    const before = fingerprinter.compute(input({}));
    secret.fill(0);
    expect(fingerprinter.compute(input({}))).toBe(before);
  });
});

/** What stands before the dot and behind it, of an operation with a name of its own. */
function partsOf(more: Partial<FingerprintInput>, request: Request = {}, bound = false): string[] {
  const made = createFingerprinter({}, digester, bound).compute({
    ...input(request),
    isNamed: true,
    ...more,
  });
  return typeof made === 'string' ? made.split('.') : [];
}

describe('a deploy', () => {
  // F59: renamed route parameter.
  test('that renames a route parameter changes nothing', () => {
    expect(printOf('/payments/:id')).toBe(printOf('/payments/:paymentId'));
  });

  // F113: where it stands proves no other request, if its operation has a name of its own.
  test('that moves a named operation changes only what stands behind the dot', () => {
    const [main, aside] = partsOf({});
    const elsewhere = [{ path: '/elsewhere' }, { method: 'PUT' }];
    for (const more of elsewhere) {
      const [same, other] = partsOf(more);
      expect(same).toBe(main);
      expect(other).not.toBe(aside);
    }
    expect(partsOf({}, { body: '{"a":2}' })).toEqual([expect.not.stringMatching(`^${main}$`), aside]);
    expect(print({})).not.toContain('.');
  });

  test('that binds it to a session changes only what stands behind the dot', () => {
    const [a, b] = ['a', 'b'].map((binding) => partsOf({ binding, isNamed: false }, {}, true));
    expect(a?.[0]).toBe(b?.[0]);
    expect(a?.[1]).not.toBe(b?.[1]);
  });
});

describe('the digester', () => {
  test('decides whether a digest is a promise', async () => {
    const asynchronous: Digester = {
      sha256: async (bytes) =>
        Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString(
          'base64url',
        ),
      hmacSha256: () => Promise.reject(new Error('not used')),
    };
    const promised = createFingerprinter({}, asynchronous).compute(input({ body: '{"a":1}' }));
    expect(typeof print({ body: '{"a":1}' })).toBe('string');
    expect(promised).toBeInstanceOf(Promise);
    expect(await promised).toBe(print({ body: '{"a":1}' }));
  });

  test('gets a body once, whatever its size', () => {
    let calls = 0;
    let longest = 0;
    const counting: Digester = {
      ...digester,
      sha256: (bytes) => {
        calls++;
        longest = bytes.length;
        return digester.sha256(bytes);
      },
    };
    const digest = createFingerprinter({}, counting).compute(input({ body: `"${'a'.repeat(1 << 20)}"` }));
    expect(digest).toBe(print({ body: `"${'a'.repeat(1 << 20)}"` }));
    expect(calls).toBe(1);
    expect(longest).toBeLessThan((1 << 20) + 200);
  });

  test('is made for a body of a megabyte', () => {
    const body = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ z: i, y: 'é', a: i / 7 })));
    expect(print({ body })).toHaveLength(43);
  });
});

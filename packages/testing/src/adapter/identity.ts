/**
 * The operation-identity table (F72, F74, F96): which requests are one, for every way in which a framework lets one route be reached, and
 * for deploys in which old and new code run side by side.
 *
 * Invariants: an identity may be too coarse, so that the fingerprint refuses what is another request (422), never too fine, so that a
 * request runs twice · values of parameters keep their letters (F27) · what only a client has spelt is in no label.
 */

import assert from 'node:assert/strict';
import { assertProblem, assertReplay } from './expect.ts';
import type { AdapterHarness, ContractRoute } from './harness.ts';
import type { AddTest, App, Bench } from './kit.ts';

/**
 * What must come of the second request with the key: the first one's answer; a refusal; a run of its own, because it is another
 * operation (which a refusal would be right for as well); not found, because the framework knows no such route.
 */
type Cell = 'replay' | '422' | 'runs' | 'not found';

type Route = Partial<ContractRoute>;

interface Row {
  readonly what: string;
  readonly routes: readonly Route[];
  readonly first: string;
  readonly again: string;
  readonly cell: Cell | ((harness: AdapterHarness) => Cell);
}

const STANDARD = { policy: 'standard' } as const;
const CALLER = { options: { ...STANDARD, keyUniqueFor: 'caller' } } as const;

/** `POST /charge` below a mount. */
function charge(mount: string, more: Route = {}): Route {
  return { mount, pattern: '/charge', ...more };
}

const whereCaseFolds = ({ routing }: AdapterHarness): Cell => (routing.foldsCase ? 'replay' : 'not found');
const whereSlashFolds = ({ routing }: AdapterHarness): Cell => (routing.foldsSlash ? 'replay' : 'not found');
const refusedWhereCaseFolds = ({ routing }: AdapterHarness): Cell =>
  routing.foldsCase ? '422' : 'not found';

const ROWS: readonly Row[] = [
  // Letter case
  row('a literal in another case', [charge('')], '/charge', '/CHARGE', whereCaseFolds),
  row(
    'a literal of mixed case',
    [{ pattern: '/createCharge' }],
    '/createCharge',
    '/createcharge',
    whereCaseFolds,
  ),
  row('a mount in another case', [charge('/api/v1')], '/api/v1/charge', '/API/V1/charge', whereCaseFolds),
  row(
    'mount and route in another case',
    [charge('/api', { within: ['/v1'] })],
    '/api/v1/charge',
    '/Api/V1/CHARGE',
    whereCaseFolds,
  ),
  row(
    'the mount of an application within in another case',
    [charge('/api', { mounted: 'app' })],
    '/api/charge',
    '/API/charge',
    whereCaseFolds,
  ),
  row(
    'a mount that cannot be seen in another case',
    [charge('/api', { mounted: 'function' })],
    '/api/charge',
    '/API/charge',
    refusedWhereCaseFolds,
  ),
  row(
    'letter case where it counts',
    [charge('', { matching: { caseSensitive: true } })],
    '/charge',
    '/CHARGE',
    'not found',
  ),
  row(
    'routes that differ in case, where it counts',
    [
      charge('/api', { matching: { caseSensitive: true } }),
      charge('/api', { pattern: '/CHARGE', matching: { caseSensitive: true } }),
    ],
    '/api/charge',
    '/api/CHARGE',
    // A deploy may switch it on or off: no name may hang on it.
    ({ routing }) => (routing.foldsCase ? '422' : 'runs'),
  ),
  // Parameters
  row('another value of a parameter', [{ pattern: '/x/:id' }], '/x/1', '/x/2', '422'),
  row('a value in another case', [{ pattern: '/x/:id' }], '/x/AbC', '/x/abc', '422'),
  row('a value in another case, in a mount', [charge('/t/:tenant')], '/t/AbC/charge', '/t/abc/charge', '422'),
  row(
    'a value in another case, in a mount that cannot be seen',
    [charge('/t/:tenant', { mounted: 'function' })],
    '/t/AbC/charge',
    '/t/abc/charge',
    '422',
  ),
  row(
    'a value in another case, and literals too',
    [charge('/t/:tenant', { within: ['/v1'] })],
    '/t/AbC/v1/charge',
    '/T/AbC/V1/CHARGE',
    whereCaseFolds,
  ),
  row('another value, in a mount', [charge('/t/:tenant')], '/t/7/charge', '/t/8/charge', '422'),
  row(
    'another value, in a mount that cannot be seen',
    [charge('/t/:tenant', { mounted: 'function' })],
    '/t/7/charge',
    '/t/8/charge',
    ({ routing }) => (routing.foldsCase ? 'runs' : '422'),
  ),
  // Slashes
  row('a slash at the end', [charge('')], '/charge', '/charge/', whereSlashFolds),
  row('a slash at the end, below a mount', [charge('/api')], '/api/charge', '/api/charge/', whereSlashFolds),
  row(
    'a slash at the end, where none counts',
    [charge('', { matching: { strict: false } })],
    '/charge',
    '/charge/',
    ({ hasRoutePatterns }) => (hasRoutePatterns ? 'replay' : 'not found'),
  ),
  row(
    'a slash at the end, where it counts',
    [charge('', { matching: { strict: true } })],
    '/charge',
    '/charge/',
    'not found',
  ),
  row('a slash at the end of a value', [{ pattern: '/x/:id' }], '/x/7', '/x/7/', whereSlashFolds),
  // Encodings
  row('an encoded dash', [{ pattern: '/x/:id' }], '/x/a-b', '/x/a%2Db', 'replay'),
  row('an encoded letter', [{ pattern: '/x/:id' }], '/x/A', '/x/%41', 'replay'),
  row('an encoded letter of another case', [{ pattern: '/x/:id' }], '/x/a', '/x/%41', '422'),
  row('an encoding in lower case', [{ pattern: '/x/:id' }], '/x/a%2Fb', '/x/a%2fb', 'replay'),
  row('an encoded dash, in a mount', [charge('/t/:id')], '/t/a-b/charge', '/t/a%2Db/charge', 'replay'),
  row(
    'an encoded dash, in a mount that cannot be seen',
    [charge('/t/:id', { mounted: 'function' })],
    '/t/a-b/charge',
    '/t/a%2Db/charge',
    'replay',
  ),
  row(
    'an encoding that has a meaning, in a mount that cannot be seen',
    [charge('/t/:id', { mounted: 'function' })],
    '/t/a@b/charge',
    '/t/a%40b/charge',
    '422',
  ),
  // Queries, and other operations
  row('another query', [charge('')], '/charge', '/charge?dry=1', '422'),
  row('another route of the caller', [charge('/a'), charge('/b')], '/a/charge', '/b/charge', 'runs'),
  row(
    'one router at two mounts',
    [charge('/a', { within: ['/v1'] }), charge('/b', { within: ['/v1'] })],
    '/a/v1/charge',
    '/b/v1/charge',
    'runs',
  ),
  row(
    'another route, where a key is unique for the caller',
    [charge('/a', CALLER), charge('/b', CALLER)],
    '/a/charge',
    '/b/charge',
    '422',
  ),
];

/** What code before and after a deploy has, and how the client's path changes with it. */
interface Deploy {
  readonly what: string;
  readonly before: Route;
  readonly after: Route;
  readonly target: string;
  /** Default: the same. */
  readonly targetAfter?: string;
  /** Default `replay`; `422` where a refusal is right and a run is not. */
  readonly cell?: 'replay' | '422';
  /** Only where the framework knows patterns, or takes both spellings. */
  readonly where?: (harness: AdapterHarness) => boolean;
}

const hasPatterns = ({ hasRoutePatterns }: AdapterHarness): boolean => hasRoutePatterns;
const foldsCase = ({ routing }: AdapterHarness): boolean => routing.foldsCase;

const DEPLOYS: readonly Deploy[] = [
  // F72
  ...(['standard', 'payments'] as const).map((policy) => ({
    what: `the profile, under ${policy}`,
    before: charge('', { options: { policy, profile: 'ietf' } }),
    after: charge('', { options: { policy, profile: 'stripe' } }),
    target: '/charge',
  })),
  {
    what: 'what a key is unique for, from operation to caller',
    before: charge('', named('pay')),
    after: charge('', named('pay', { keyUniqueFor: 'caller', keyWasUniqueFor: 'operation' })),
    target: '/charge',
  },
  {
    what: 'what a key is unique for, from caller to operation',
    before: charge('', named('pay', { keyUniqueFor: 'caller' })),
    after: charge('', named('pay', { keyUniqueFor: 'operation', keyWasUniqueFor: 'caller' })),
    target: '/charge',
  },
  {
    what: 'what a key is unique for, and the name',
    before: charge('', named('pay')),
    after: charge(
      '',
      named('charge', { formerly: ['pay'], keyUniqueFor: 'caller', keyWasUniqueFor: 'operation' }),
    ),
    target: '/charge',
  },
  {
    what: 'the name, where a key is unique for the caller',
    before: charge('', named('pay', { keyUniqueFor: 'caller' })),
    after: charge('', named('charge', { formerly: ['pay'], keyUniqueFor: 'caller' })),
    target: '/charge',
  },
  // F59, F74
  {
    what: 'the name of a parameter of a mount',
    before: charge('/t/:id'),
    after: charge('/t/:tenant'),
    target: '/t/7/charge',
  },
  {
    what: 'the place of a route, from the application to a router',
    before: { pattern: '/t/:id/charge' },
    after: charge('/t/:id'),
    target: '/t/7/charge',
  },
  {
    what: 'the place of a route, from one router to two',
    before: charge('/api/v1'),
    after: charge('/api', { within: ['/v1'] }),
    target: '/api/v1/charge',
  },
  {
    what: 'the place of a route, from a router to an application within',
    before: charge('/api'),
    after: charge('/api', { mounted: 'app' }),
    target: '/api/charge',
  },
  {
    what: 'the place of a route, to a router that cannot be seen',
    before: charge('/api'),
    after: charge('/api', { mounted: 'function' }),
    target: '/api/charge',
  },
  {
    what: 'the place of a route of mixed case, to a router that cannot be seen',
    before: charge('/api', { pattern: '/createCharge' }),
    after: charge('/api', { pattern: '/createCharge', mounted: 'function' }),
    target: '/api/createCharge',
  },
  {
    what: 'a mount with a parameter, whose former name is given',
    before: charge('/v1/t/:id'),
    after: charge('/v2/t/:tenant', { options: { ...STANDARD, formerly: ['POST /v1/t/:tenant/charge'] } }),
    target: '/v1/t/AbC/charge',
    targetAfter: '/v2/t/AbC/charge',
    where: hasPatterns,
  },
  {
    what: 'a mount in another case, whose former name is given as it was',
    before: charge('/V1'),
    after: charge('/v2', { options: { ...STANDARD, formerly: ['POST /V1/charge'] } }),
    target: '/V1/charge',
    targetAfter: '/v2/charge',
    where: hasPatterns,
  },
  {
    what: 'the case of a route, which the framework takes for the same',
    before: { pattern: '/Charge' },
    after: { pattern: '/charge' },
    target: '/charge',
    cell: '422',
    where: foldsCase,
  },
  {
    what: 'the case of a mount, which the framework takes for the same',
    before: charge('/Api'),
    after: charge('/api'),
    target: '/api/charge',
    cell: '422',
    where: foldsCase,
  },
  {
    what: 'the case of a route, with its former name',
    before: { pattern: '/Charge' },
    after: { pattern: '/charge', options: { ...STANDARD, formerly: ['POST /Charge'] } },
    target: '/charge',
    where: foldsCase,
  },
  {
    what: 'the slash at the end of a route, which the framework takes for the same',
    before: { pattern: '/charge/' },
    after: { pattern: '/charge' },
    target: '/charge',
    cell: '422',
    where: ({ routing }) => routing.foldsSlash,
  },
];

function row(what: string, routes: readonly Route[], first: string, again: string, cell: Row['cell']): Row {
  return { what, routes, first, again, cell };
}

/** A name of its own. */
function named(operation: string, options: Partial<Route['options']> = {}): Route {
  return { options: { ...STANDARD, operation, ...options } };
}

/** Where nothing is known of routes, each operation has a name. */
function fitted(route: Route, { hasRoutePatterns }: AdapterHarness): Route {
  const options = { ...STANDARD, ...route.options };
  if (hasRoutePatterns || options.operation !== undefined) return { ...route, options };
  const whole = [route.mount, ...(route.within ?? []), route.pattern].join('');
  return { ...route, options: { ...options, operation: `POST ${whole}` } };
}

function start(t: Bench, routes: readonly Route[]): Promise<App> {
  return t.start({ routes: routes.map((route) => fitted(route, t.harness)) });
}

function long(last: string): string {
  return `/t/${'%C3%A9'.repeat(600)}${last}/charge`;
}

export function identityTests(test: AddTest, harness: AdapterHarness): void {
  for (const { what, routes, first: target, again, cell } of ROWS) {
    const wanted = typeof cell === 'string' ? cell : cell(harness);
    test(`one key, ${what}: ${wanted}`, async (t) => {
      const app = await start(t, routes);
      const first = await app.post('key-1', { target });
      assert.equal(first.status, 201);
      const second = await app.post('key-1', { target: again });
      if (wanted === 'replay') assertReplay(first, second);
      else if (wanted === '422') assertProblem(second, 422, 'key-reused');
      else assert.equal(second.status, wanted === 'runs' ? 201 : 404);
      assert.equal(app.runs, wanted === 'runs' ? 2 : 1);
      // Whatever came of it, the first request is as it was.
      assertReplay(first, await app.post('key-1', { target }));
    });
  }

  for (const { what, before, after, target, targetAfter = target, cell = 'replay', where } of DEPLOYS) {
    if (where?.(harness) === false) continue;
    for (const direction of ['old code first', 'new code first']) {
      test(`a deploy changes ${what}; old and new code run, ${direction}: ${cell}`, async (t) => {
        const apps = [
          { app: await start(t, [before]), target },
          { app: await start(t, [after]), target: targetAfter },
        ];
        const [one, other] = direction === 'old code first' ? apps : apps.toReversed();
        assert.ok(one !== undefined && other !== undefined);
        const first = await one.app.post('key-1', { target: one.target });
        const second = await other.app.post('key-1', { target: other.target });
        assert.equal(first.status, 201);
        if (cell === '422') assertProblem(second, 422, 'key-reused');
        else {
          assert.equal(second.status, 201);
          assert.deepEqual(second.body, first.body);
        }
        assert.equal(one.app.runs + other.app.runs, 1);
        // Both at once: one of them runs it.
        const both = await Promise.all([
          one.app.post('key-2', { target: one.target }),
          other.app.post('key-2', { target: other.target }),
        ]);
        assert.equal(one.app.runs + other.app.runs, 2);
        assert.ok(both.some(({ status }) => status === 201));
      });
    }
  }

  // F96
  test('what clients spell is in no label, and does not multiply them', async (t) => {
    const routes = [
      charge('/t/:tenant', { within: ['/v1'] }),
      charge('/hidden/:tenant', { mounted: 'function' }),
      { pattern: '/x/:id' },
    ];
    const app = await start(t, routes);
    const spellings = Array.from({ length: 100 }, (_, index) => `Secret-${index}`);
    const targets = spellings.flatMap((value, index) => {
      const spelt = index % 2 === 0 || !t.harness.routing.foldsCase ? 'charge' : 'CHARGE';
      return [`/t/${value}/v1/${spelt}`, `/hidden/${value}/${spelt}`, `/x/${value}`];
    });
    for (const [index, target] of targets.entries()) {
      // Also of requests that are refused before they have a key.
      await app.post(index % 3 === 0 ? null : `key-${index}`, { target });
    }
    const labels = new Set<string>();
    for (let count = 1; count <= targets.length; count += 1) {
      const { operation } = await app.saw('outcome', count);
      labels.add(operation);
    }
    assert.equal(labels.size, routes.length, [...labels].join(', '));
    for (const label of labels)
      assert.doesNotMatch(label, /secret|CHARGE/i.test(label) ? /secret|CHARGE/ : /secret/i);
    const records = await t.store.list({ limit: 1_000 });
    assert.ok(records.length > 0);
    for (const { operation } of records) assert.ok(labels.has(operation));
  });

  test('a mount of any length is no fault of the server', async (t) => {
    const app = await start(t, [charge('/t/:tenant', { mounted: 'function' })]);
    const first = await app.post('key-1', { target: long('a') });
    assert.equal(first.status, 201);
    assertReplay(first, await app.post('key-1', { target: long('a') }));
    const other = await app.post('key-1', { target: long('b') });
    // Where the mount's pattern is not known, its path is part of the name.
    if (t.harness.routing.foldsCase) assert.deepEqual([other.status, app.runs], [201, 2]);
    else assertProblem(other, 422, 'key-reused');
  });
}

/**
 * The operation-identity table (F72, F74, F96): which requests are one, for every way in which a framework lets one route
 * be reached. Deploys in which old and new code run side by side are in `identity-deploys.ts`.
 *
 * Invariants: an identity may be too coarse, so that the fingerprint refuses what is another request (422), never too fine, so that a
 * request runs twice · values of parameters keep their letters (F27) · what only a client has spelt is in no label.
 */

import assert from 'node:assert/strict';
import { assertProblem, assertReplay } from './expect.ts';
import type { AdapterHarness } from './harness.ts';
import { CALLER, charge, type Route, start } from './identity-routes.ts';
import type { AddTest } from './kit.ts';

/**
 * What must come of the second request with the key: the first one's answer; a refusal; a run of its own, because it is another
 * operation (which a refusal would be right for as well); not found, because the framework knows no such route.
 */
type Cell = 'replay' | '422' | 'runs' | 'not found';

interface Row {
  readonly what: string;
  readonly routes: readonly Route[];
  readonly first: string;
  readonly again: string;
  readonly cell: Cell | ((harness: AdapterHarness) => Cell);
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
    ({ routing }) => (routing.canFoldSlash ? 'replay' : 'not found'),
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

function row(what: string, routes: readonly Route[], first: string, again: string, cell: Row['cell']): Row {
  return { what, routes, first, again, cell };
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

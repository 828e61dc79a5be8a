/**
 * A table of moves and bridges (F111, F113): what becomes of a retry when its route has moved between the first try and the retry, in
 * both directions. Each cell is the first one's answer, or a refusal that says what to do; none is another request's answer.
 */

import assert from 'node:assert/strict';
import { assertProblem } from './expect.ts';
import type { AdapterHarness, ContractRoute } from './harness.ts';
import { type AddTest, type Bench, jsonRequest } from './kit.ts';

type Route = Partial<ContractRoute>;

/** What a retry meets: the answer, or a refusal by its code. */
type Cell = 'replay' | 'request-moved' | 'bridge-unfit' | 'key-reused';

interface Move {
  readonly what: string;
  readonly before: Route;
  readonly after: Route;
  readonly target: string;
  readonly targetAfter?: string;
  readonly method?: string;
  readonly methodAfter?: string;
  /** What the retry meets at new code, and one at old code whose first try met the new; `start`: new code is refused at start. */
  readonly cells: readonly [atNew: Cell, atOld: Cell] | 'start';
  readonly where?: (harness: AdapterHarness) => boolean;
}

const STANDARD = { policy: 'standard' } as const;

function at(pattern: string, options: Partial<ContractRoute['options']> = {}, method?: 'PUT' | 'USE'): Route {
  return { pattern, options: { ...STANDARD, ...options }, ...(method !== undefined && { method }) };
}

const hasPatterns = ({ hasRoutePatterns }: AdapterHarness): boolean => hasRoutePatterns;
const hasNone = ({ hasRoutePatterns }: AdapterHarness): boolean => !hasRoutePatterns;

const PAY = { operation: 'pay' };
const MOVED = { target: '/v1/pay', targetAfter: '/v2/pay' };
const USERS = { target: '/v1/users/7/pay', targetAfter: '/v2/u/7/pay' };
const SWAPPED = { target: '/a/1/b/2', targetAfter: '/b/2/a/1' };

const MOVES: readonly Move[] = [
  {
    what: 'a route, with its former name',
    before: at('/v1/pay'),
    after: at('/v2/pay', { formerly: ['POST /v1/pay'] }),
    ...MOVED,
    cells: ['replay', 'replay'],
  },
  {
    what: 'a route whose operation is named, with nothing said',
    before: at('/v1/pay', PAY),
    after: at('/v2/pay', PAY),
    ...MOVED,
    cells: ['request-moved', 'request-moved'],
  },
  {
    what: 'a route whose operation is named, with its former path',
    before: at('/v1/pay', PAY),
    after: at('/v2/pay', { ...PAY, formerly: [{ path: '/v1/pay' }] }),
    ...MOVED,
    cells: ['replay', 'request-moved'],
    where: hasPatterns,
  },
  {
    what: 'a route whose operation is named, with its former path, where nobody tells the present one',
    before: at('/v1/pay', PAY),
    after: at('/v2/pay', { ...PAY, formerly: [{ path: '/v1/pay' }] }),
    ...MOVED,
    cells: ['bridge-unfit', 'replay'],
    where: hasNone,
  },
  {
    what: 'a route whose operation is named, renamed to its route',
    before: at('/v1/pay', PAY),
    after: at('/v2/pay', { operation: 'POST /v2/pay', formerly: [{ name: 'pay', path: '/v1/pay' }] }),
    ...MOVED,
    cells: ['replay', 'replay'],
  },
  {
    what: 'the method, with the former name',
    before: at('/pay'),
    after: at('/pay', { formerly: ['POST /pay'] }, 'PUT'),
    target: '/pay',
    methodAfter: 'PUT',
    cells: ['replay', 'replay'],
  },
  {
    what: 'the method of a named operation, with nothing said',
    before: at('/pay', PAY),
    after: at('/pay', PAY, 'PUT'),
    target: '/pay',
    methodAfter: 'PUT',
    cells: ['request-moved', 'request-moved'],
  },
  {
    what: 'the method of a named operation, with the former path',
    before: at('/pay', PAY),
    after: at('/pay', { ...PAY, formerly: [{ path: 'POST /pay' }] }, 'PUT'),
    target: '/pay',
    methodAfter: 'PUT',
    cells: ['replay', 'request-moved'],
    where: hasPatterns,
  },
  {
    what: 'a route with a parameter, by its name of now',
    before: at('/v1/users/:id/pay'),
    after: at('/v2/u/:user/pay', { formerly: ['POST /v1/users/:user/pay'] }),
    ...USERS,
    cells: ['replay', 'replay'],
  },
  {
    what: 'a route with a parameter, by another name',
    before: at('/v1/users/:id/pay'),
    after: at('/v2/u/:user/pay', { formerly: ['POST /v1/users/:id/pay'] }),
    ...USERS,
    cells: ['bridge-unfit', 'replay'],
    where: hasPatterns,
  },
  {
    what: 'a route with a parameter, by another name, where its own name says so',
    before: at('/v1/users/:id/pay'),
    after: at('/v2/u/:user/pay', { formerly: ['POST /v1/users/:id/pay'] }),
    ...USERS,
    cells: 'start',
    where: hasNone,
  },
  {
    what: 'the order of parameters',
    before: at('/a/:x/b/:y'),
    after: at('/b/:y/a/:x', { formerly: ['POST /a/:x/b/:y'] }),
    ...SWAPPED,
    cells: ['replay', 'replay'],
  },
  {
    what: 'the order of parameters, and the retry is another request',
    before: at('/a/:x/b/:y'),
    after: at('/b/:y/a/:x', { formerly: ['POST /a/:x/b/:y'] }),
    target: '/a/1/b/2',
    targetAfter: '/b/1/a/2',
    cells: ['key-reused', 'key-reused'],
  },
  {
    what: 'a parameter more',
    before: at('/v1/pay'),
    after: at('/:tenant/pay', { formerly: ['POST /v1/pay'] }),
    target: '/v1/pay',
    targetAfter: '/acme/pay',
    cells: ['bridge-unfit', 'replay'],
    where: hasPatterns,
  },
  {
    what: 'a parameter more, where its own name says so',
    before: at('/v1/pay'),
    after: at('/:tenant/pay', { formerly: ['POST /v1/pay'] }),
    target: '/v1/pay',
    targetAfter: '/acme/pay',
    cells: 'start',
    where: hasNone,
  },
  {
    what: 'protection, from all routes to one',
    before: at('/pay', {}, 'USE'),
    after: at('/pay', { formerly: ['*'] }),
    target: '/pay',
    cells: ['replay', 'replay'],
    where: hasPatterns,
  },
  {
    what: 'protection, from one route to all',
    before: at('/x/:id/pay'),
    after: at('/x/:id/pay', { formerly: ['POST /x/:id/refund', 'POST /x/:id/pay'] }, 'USE'),
    target: '/x/7/pay',
    cells: ['replay', 'replay'],
    where: hasPatterns,
  },
];

/** Where nothing is known of routes, each operation has the name of its route. */
function fitted(route: Route, { hasRoutePatterns }: AdapterHarness): Route {
  const options = { ...STANDARD, ...route.options };
  if (hasRoutePatterns || options.operation !== undefined) return { ...route, options };
  return { ...route, options: { ...options, operation: `${route.method ?? 'POST'} ${route.pattern}` } };
}

export function moveTests(test: AddTest, harness: AdapterHarness): void {
  for (const move of MOVES) {
    const { what, cells, target, targetAfter = target, method = 'POST', methodAfter = method } = move;
    if (move.where?.(harness) === false) continue;
    const start = (t: Bench, route: Route): ReturnType<Bench['start']> =>
      t.start({ routes: [fitted(route, harness)] });
    const before = (key: string) => jsonRequest(key, { amount: 1 }, { target, method });
    const after = (key: string) =>
      jsonRequest(key, { amount: 1 }, { target: targetAfter, method: methodAfter });

    if (cells === 'start') {
      // F113
      test(`a deploy moves ${what}: it is refused at start`, async (t) => {
        await assert.rejects(start(t, move.after), /formerly\[0\] cannot be compared/);
      });
      continue;
    }

    // F111, F113
    test(`a deploy moves ${what}: ${cells[0]}, and ${cells[1]} at old code`, async (t) => {
      const [old, young] = [await start(t, move.before), await start(t, move.after)];
      const first = await old.send(before('key-1'));
      assert.equal(first.status, 201);
      const retry = await young.send(after('key-1'));
      met(retry, cells[0], first);
      // Whatever came of it, the first try has its answer where it was, also after a rollback.
      met(await old.send(before('key-1')), 'replay', first);
      const fresh = await young.send(after('key-2'));
      if (cells[0] === 'bridge-unfit') met(fresh, 'bridge-unfit', fresh);
      else {
        assert.equal(fresh.status, 201);
        met(await old.send(before('key-2')), cells[1], fresh);
        met(await young.send(after('key-2')), 'replay', fresh);
      }
      const other = await young.send({ ...after('key-1'), body: '{"amount":2}' });
      if (cells[0] !== 'bridge-unfit') assertProblem(other, 422, 'key-reused');
      assert.equal(old.runs + young.runs, cells[0] === 'bridge-unfit' ? 1 : 2);
    });
  }
}

function met(
  answer: Awaited<ReturnType<Awaited<ReturnType<Bench['start']>>['send']>>,
  cell: Cell,
  first: typeof answer,
): void {
  if (cell === 'replay') {
    assert.equal(answer.status, first.status);
    assert.deepEqual(answer.body, first.body);
  } else assertProblem(answer, cell === 'key-reused' ? 422 : 503, cell);
}

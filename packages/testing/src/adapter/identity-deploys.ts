/**
 * Operation identity over a deploy (F72, F74): old and new code run side by side, and a request and its retry reach either.
 *
 * Invariant: whichever comes first, and when both come at one moment, the operation runs once.
 */

import assert from 'node:assert/strict';
import { assertProblem } from './expect.ts';
import type { AdapterHarness } from './harness.ts';
import { charge, named, type Route, STANDARD, start } from './identity-routes.ts';
import type { AddTest } from './kit.ts';

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
    where: ({ routing }) => routing.foldsSlash && routing.stripsSlash !== true,
  },
];

export function identityDeployTests(test: AddTest, harness: AdapterHarness): void {
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
}

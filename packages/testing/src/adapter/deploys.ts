/** A deploy between the first try and the retry (F59): names, mounts and fingerprints change; requests do not. */

import assert from 'node:assert/strict';
import { assertProblem, assertReplay } from './expect.ts';
import type { ContractRoute } from './harness.ts';
import { type AddTest, jsonRequest } from './kit.ts';

type Route = Partial<ContractRoute>;

function withSecrets(current: string, keys: Readonly<Record<string, Uint8Array>>): Route {
  return { options: { policy: 'standard', fingerprint: { secrets: { current, keys } } } };
}

export function deployTests(test: AddTest): void {
  test('a renamed route parameter changes nothing', async (t) => {
    const route = (name: string): Route => ({
      pattern: `/x/:${name}`,
      options: {
        policy: 'standard',
        ...(t.harness.hasRoutePatterns ? {} : { operation: `POST /x/:${name}` }),
      },
    });
    const before = await t.start({ routes: [route('id')] });
    const after = await t.start({ routes: [route('paymentId')] });
    const first = await before.post('key-1', { target: '/x/7' });
    assertReplay(first, await after.post('key-1', { target: '/x/7' }));
    assertProblem(await after.post('key-1', { target: '/x/8' }), 422, 'key-reused');
    assert.equal(before.runs + after.runs, 1);
  });

  test('a moved mount point that names its former one replays, in both directions', async (t) => {
    const route = (mount: string, formerly: readonly string[]): Route => ({
      mount,
      pattern: '/x/:id',
      options: {
        policy: 'standard',
        formerly,
        ...(t.harness.hasRoutePatterns ? {} : { operation: `POST ${mount}/x/:id` }),
      },
    });
    const before = await t.start({ routes: [route('/v1', [])] });
    const after = await t.start({ routes: [route('/v2', ['POST /v1/x/:id'])] });
    const old = await before.post('key-1', { target: '/v1/x/7' });
    assertReplay(old, await after.post('key-1', { target: '/v2/x/7' }));
    assertProblem(await after.post('key-1', { target: '/v2/x/8' }), 422, 'key-reused');
    const young = await after.post('key-2', { target: '/v2/x/7' });
    assertReplay(young, await before.post('key-2', { target: '/v1/x/7' }));
    assert.equal(before.runs + after.runs, 2);
  });

  test('a changed list of omitted members replays where the former list is named', async (t) => {
    const before = await t.start({
      routes: [{ options: { policy: 'standard', fingerprint: { omit: ['sentAt'] } } }],
    });
    const after = await t.start({
      routes: [
        {
          options: {
            policy: 'standard',
            fingerprint: { omit: ['sentAt', 'trace'], formerly: [{ omit: ['sentAt'] }] },
          },
        },
      ],
    });
    const first = await before.send(jsonRequest('key-1', { amount: 1, sentAt: 1, trace: 'a' }));
    assertReplay(first, await after.send(jsonRequest('key-1', { amount: 1, sentAt: 2, trace: 'a' })));
    const other = jsonRequest('key-1', { amount: 1, sentAt: 2, trace: 'b' });
    assertProblem(await after.send(other), 422, 'key-reused');
    // The other direction: code that does not know the new list must not decide.
    const young = jsonRequest('key-2', { amount: 1, trace: 'a' });
    await after.send(young);
    assertProblem(await before.send(young), 503, 'record-newer');
    assert.equal(before.runs + after.runs, 2);
  });

  test('a rotated secret: what names the old one replays where it is known, and is 503 where it is not', async (t) => {
    const [first, second] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const before = await t.start({ routes: [withSecrets('s1', { s1: first })] });
    const after = await t.start({ routes: [withSecrets('s2', { s1: first, s2: second })] });
    const late = await t.start({ routes: [withSecrets('s2', { s2: second })] });
    const old = await before.post('key-1');
    assertReplay(old, await after.post('key-1'));
    assertProblem(await after.send(jsonRequest('key-1', { amount: 2 })), 422, 'key-reused');
    for (const amount of [1, 2])
      assertProblem(await late.send(jsonRequest('key-1', { amount })), 503, 'record-newer');
    const young = await after.post('key-2');
    assertReplay(young, await late.post('key-2'));
    assertProblem(await before.post('key-2'), 503, 'record-newer');
    assert.equal(before.runs + after.runs + late.runs, 2);
  });

  test('a fingerprint made in a way that nobody here knows is 503, never a mismatch and never a second run', async (t) => {
    const before = await t.start({
      routes: [{ options: { policy: 'standard', fingerprint: { omit: ['sentAt'] } } }],
    });
    const after = await t.start({
      routes: [{ options: { policy: 'standard', fingerprint: { omit: ['at'] } } }],
    });
    const first = await before.post('key-1');
    assertProblem(await after.post('key-1'), 503, 'record-newer');
    assertProblem(await after.send(jsonRequest('key-1', { amount: 2 })), 503, 'record-newer');
    assertReplay(first, await before.post('key-1'));
    assert.equal(before.runs + after.runs, 1);
  });
}

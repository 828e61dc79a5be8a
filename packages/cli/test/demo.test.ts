import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshFolder, RunningDemo } from './running-demo.ts';

describe('the demo', () => {
  const folder = freshFolder();
  let demo: RunningDemo;
  beforeAll(async () => {
    demo = await RunningDemo.start(folder.dir);
  });
  afterAll(async () => {
    demo.child.kill('SIGKILL');
    await demo.ended();
    folder.remove();
  });

  it('answers a retry with the same bytes, marked as a replay, and charges once', async () => {
    const first = await demo.pay('retry');
    const second = await demo.pay('retry');
    expect(first).toMatchObject({ status: 201, replayed: null });
    expect(first.location).toBe(`/payments/${(JSON.parse(first.text) as { id: string }).id}`);
    expect(second).toEqual({ ...first, replayed: 'true' });
    expect(await demo.chargesOf('retry')).toBe(1);
  });

  it('refuses the same key with another amount, and charges nothing for it', async () => {
    await demo.pay('other-amount');
    const other = await demo.pay('other-amount', { amountCents: 9900 });
    expect(other.status).toBe(422);
    expect(JSON.parse(other.text)).toMatchObject({ code: 'key-reused' });
    expect(await demo.chargesOf('other-amount')).toBe(1);
  });

  it('gives both requests of a double click the one answer', async () => {
    const [one, two] = await Promise.all([demo.pay('double'), demo.pay('double')]);
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(one.text).toBe(two.text);
    expect([one, two].filter(({ replayed }) => replayed === 'true')).toHaveLength(1);
    expect(await demo.chargesOf('double')).toBe(1);
  });

  it('finishes the payment of a client that hung up, and gives the answer to its retry (F17)', async () => {
    // The provider takes 300 ms at least, so this client is gone before its answer.
    await expect(demo.pay('hang-up', { signal: AbortSignal.timeout(200) })).rejects.toThrow();
    const retry = await demo.pay('hang-up');
    expect(retry.status).toBe(201);
    expect(await demo.pay('hang-up')).toEqual({ ...retry, replayed: 'true' });
    expect(await demo.chargesOf('hang-up')).toBe(1);
  });

  it('counts one key at two operations as two intents, each charged once (F94)', async () => {
    await demo.pay('two-routes');
    await demo.payUntilAnswered('two-routes', { path: 'orders' });
    const ledger = await fetch(`${demo.origin}/ledger`);
    const { oneChargePerIntent, latest } = (await ledger.json()) as {
      oneChargePerIntent: boolean;
      latest: { operation: string; intent: string; charges: number }[];
    };
    const ours = latest.filter(({ intent }) => intent === 'two-routes');
    expect(new Map(ours.map(({ operation, charges }) => [operation, charges]))).toEqual(
      new Map([
        ['pay', 1],
        ['place-order', 1],
      ]),
    );
    expect(ours).toHaveLength(2);
    expect(oneChargePerIntent).toBe(true);
  });

  it('gives another tenant with the same key a payment of its own', async () => {
    const ours = await demo.pay('shared-key');
    const theirs = await demo.pay('shared-key', { tenant: 'tenant-b' });
    expect(theirs).toMatchObject({ status: 201, replayed: null });
    expect(theirs.text).not.toBe(ours.text);
    expect(await demo.chargesOf('shared-key')).toBe(1);
    expect(await demo.chargesOf('shared-key', 'tenant-b')).toBe(1);
    const seen = await fetch(demo.origin + ours.location, { headers: { Authorization: 'Bearer tenant-b' } });
    expect(seen.status).toBe(404);
  });

  it('lets a client correct a payment that could not be made under the same key', async () => {
    const wrong = await demo.pay('corrected', { amountCents: 0 });
    expect(wrong.status).toBe(400);
    const right = await demo.pay('corrected', { amountCents: 500 });
    expect(right).toMatchObject({ status: 201, replayed: null });
    expect(await demo.chargesOf('corrected')).toBe(1);
  });

  it('lets a client correct a body that cannot be read under the same key', async () => {
    const broken = await fetch(`${demo.origin}/payments`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': '"broken"' },
      body: '{"customerId":',
    });
    expect(broken.status).toBe(400);
    expect((await demo.pay('broken')).status).toBe(201);
  });

  it('refuses a caller it does not know, and stores nothing of it', async () => {
    const stranger = await demo.pay('stranger', { tenant: 'no such tenant' });
    expect(stranger.status).toBe(401);
    expect((await demo.pay('stranger')).status).toBe(201);
  });

  // F20: the provider has taken the money, and its answer is lost.
  it.each([
    ['loses-reply', 200],
    ['fails-after-charging', 200],
    ['forgets-key', 200],
    ['fails-first', 404],
  ])('asks a provider that %s before it calls it again, and charges once', async (provider, found) => {
    const before = demo.lines.length;
    const unclear = await demo.pay(provider, { provider });
    expect(unclear.status).toBe(409);
    // Whether this request goes on with it or the worker has done so already.
    const retry = await demo.payUntilAnswered(provider, { provider });
    expect(retry.status).toBe(201);
    expect(await demo.pay(provider, { provider })).toEqual({ ...retry, replayed: 'true' });
    expect(await demo.chargesOf(provider)).toBe(1);
    await demo.line(new RegExp(`inquire at the provider +${found} `), before);
  });

  it('goes on with the payment of a process that was killed, without charging again', async () => {
    const paying = demo.pay('killed', { provider: 'answers-late' }).catch(() => null);
    await demo.charged('killed');
    demo.child.kill('SIGKILL');
    expect(await demo.ended()).toBe('SIGKILL');
    expect(await paying).toBeNull();
    demo = await RunningDemo.start(folder.dir);
    const paid = await demo.payUntilAnswered('killed', { provider: 'answers-late' });
    expect(paid.status).toBe(201);
    expect(await demo.chargesOf('killed')).toBe(1);
  });

  it('answers an order with 202, and its retry with what the worker made of it', async () => {
    const first = await demo.pay('order', { path: 'orders' });
    expect(first.status).toBe(202);
    expect(JSON.parse(first.text)).toMatchObject({ chargeId: null });
    const paid = await demo.payUntilAnswered('order', { path: 'orders' });
    expect(paid).toMatchObject({ status: 201, replayed: 'true' });
    const status = await fetch(demo.origin + first.location);
    expect([status.status, await status.text()]).toEqual([201, paid.text]);
    const other = await fetch(demo.origin + first.location, {
      headers: { Authorization: 'Bearer tenant-b' },
    });
    expect(other.status).toBe(404);
    expect(await demo.chargesOf('order')).toBe(1);
  });

  it('charges an order once whose provider loses its reply and forgets its key, whoever asks or not', async () => {
    const before = demo.lines.length;
    const [lost, forgotten] = ['loses-reply', 'forgets-key'].map((provider) => ({
      path: 'orders',
      provider,
    }));
    expect((await demo.pay('order-lost', lost)).status).toBe(202);
    expect((await demo.pay('order-forgotten', forgotten)).status).toBe(202);
    await demo.line(/inquire at the provider +200 /, before);
    expect((await demo.payUntilAnswered('order-lost', lost)).status).toBe(201);
    expect((await demo.payUntilAnswered('order-forgotten', forgotten)).status).toBe(201);
    expect(await demo.chargesOf('order-lost')).toBe(1);
    expect(await demo.chargesOf('order-forgotten')).toBe(1);
  });

  it('prints a line for each request with its outcome, attempt and duration', async () => {
    const before = demo.lines.length;
    await demo.pay('logged');
    await demo.line(/POST \/payments +201 +executed +attempt 1 +\d+ ms/, before);
    await demo.pay('logged');
    await demo.line(/POST \/payments +201 +replay +\d+ ms/, before);
  });

  it('keeps payments and keys when it is stopped and started again', async () => {
    const first = await demo.pay('restart');
    expect(await demo.interrupt()).toBe(0);
    demo = await RunningDemo.start(folder.dir);
    expect(await demo.pay('restart')).toEqual({ ...first, replayed: 'true' });
    expect(await demo.chargesOf('restart')).toBe(1);
  });

  it('ends with exit code 0 also when one Ctrl-C arrives twice, as it does under npm', async () => {
    demo.child.kill('SIGINT');
    demo.child.kill('SIGINT');
    expect(await demo.ended()).toBe(0);
    expect(demo.lines.at(-1)).toBe('Stopped.');
    expect(demo.stderr).toBe('');
    demo = await RunningDemo.start(folder.dir);
    demo.child.kill('SIGTERM');
    expect(await demo.ended()).toBe(0);
  });
});

/** `samekey settle`, `reopen`, `forget` and `audit` as processes: what they change, what they refuse, and what the client then gets. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SamekeyRecord } from 'samekey';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from './migrating.ts';
import { kinds, type Opened, open, request } from './operating.ts';
import { freshFolder } from './running-demo.ts';

const BY = ['--actor', 'alice@ops', '--yes'] as const;
/** Short: the longest call that the test says there is. */
const CALL_TIME_MS = 10;

for (const kind of kinds()) {
  describe(`acts by hand: ${kind.name}`, () => {
    const folder = freshFolder();
    let database: string;
    let app: Opened;
    beforeAll(async () => {
      await kind.start();
      database = await kind.fresh();
      app = await open(database);
    });
    afterAll(async () => {
      await app.close();
      await kind.stop();
      folder.remove();
    });

    const samekey = (...args: readonly string[]) => said([...args, '--database', database]);
    async function recordOf(key: string): Promise<SamekeyRecord | undefined> {
      return (await app.samekey.store.list({ key }))[0];
    }

    it('settles an unknown outcome as completed: the retry gets the answer to the byte, and nothing runs', async () => {
      await request(app, 'k-completed', 500);
      const body = join(folder.dir, 'answer.json');
      writeFileSync(body, '{"id":"pay_7"}');
      const { code, stdout, stderr } = await samekey(
        'settle',
        'k-completed',
        '--to',
        'completed',
        '--status',
        '201',
        '--body-file',
        body,
        '--header',
        'Location: /payments/7',
        '--reason',
        'found at the provider',
        ...BY,
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('Settled: unknown → completed.');
      const outcome = await request(app, 'k-completed', 500);
      expect(outcome).toMatchObject({ kind: 'replay', value: { id: 'pay_7' } });
      expect((await recordOf('k-completed'))?.response).toMatchObject({
        status: 201,
        headers: [
          ['Content-Type', 'application/json'],
          ['Location', '/payments/7'],
        ],
      });
      const { stdout: audit } = await samekey('audit', 'k-completed');
      expect(audit).toMatch(
        /settle +unknown → completed +alice@ops +POST \/payments +#\S+ +found at the provider$/m,
      );
      expect(audit).not.toContain('k-completed');
    });

    // F152
    it('says so when the same was done before, and what stands when it was done otherwise; neither changes anything', async () => {
      const before = await recordOf('k-completed');
      const settle = ['settle', 'k-completed', '--to', 'completed', '--status', '201', '--reason', 'again'];
      const same = ['--body', '{"id":"pay_7"}', '--header', 'Location: /payments/7'];
      const agreed = await samekey(...settle, ...same, ...BY);
      expect(agreed.code).toBe(0);
      expect(agreed.stdout).toMatch(/^It had been done before/);
      const other = await samekey(...settle, '--body', '{"id":"pay_8"}', ...BY);
      expect(other.code).toBe(5);
      expect(other.stderr).toMatch(/somebody has settled it otherwise, as completed, with the status 201/);
      expect(await recordOf('k-completed')).toEqual(before);
      expect((await samekey('audit', '--act', 'contradiction')).stdout).toMatch(/completed.*again$/m);
    });

    // F61: "no such payment" is not yet "no payment" while the owner may wake.
    it('refuses "no effect" where the owner fell silent, unless it is said why nothing can happen any more', async () => {
      const claim = {
        scope: 'acme/alice|POST /payments',
        key: 'k-silent',
        operation: 'POST /payments',
        claimId: 'c1',
        claimTtlMs: 1,
        fingerprint: {
          label: 'v1',
          digest: 'd',
        },
        whenClaimEnds: 'unknown' as const,
        retentionMs: 3_600_000,
        replayMinMs: 0,
        tombstoneMs: 0,
        attemptMax: 10,
        formatVersion: 1,
        readVersion: 1,
        entry: 'run' as const,
        input: null,
        pendingTimeMaxMs: 0,
      };
      await app.samekey.store.claim([claim]);
      let swept = 0;
      // SQLite has to see the claim stand still for its length first.
      while (swept === 0) swept = (await app.samekey.store.sweep(10)).length;
      expect((await recordOf('k-silent'))?.reason).toBe('claim-ended');
      const settle = [
        'settle',
        'k-silent',
        '--to',
        'retryable',
        '--reason',
        'the provider knows of none',
        ...BY,
      ];
      const refused = await samekey(...settle);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toMatch(/not proven.*--owner-gone.*--downstream-key/);
      expect((await recordOf('k-silent'))?.state).toBe('unknown');
      // The store's time goes on by what its processes leave there: the command's own has only just begun to count on SQLite.
      const endedAt = (await recordOf('k-silent'))?.lockedUntil ?? 0;
      for (let n = 0, now = 0; now < endedAt + CALL_TIME_MS; n += 1) {
        const key = `k-clock-${n}`;
        await app.samekey.store.claim([{ ...claim, key, claimId: key }]);
        now = (await recordOf(key))?.createdAt ?? 0;
      }
      const done = await samekey(...settle, '--owner-gone', '--call-time', `${CALL_TIME_MS}ms`);
      expect(done).toMatchObject({ code: 0, stderr: '' });
      expect(await recordOf('k-silent')).toMatchObject({ state: 'retryable', proof: 'settled' });
    });

    it('takes "no effect" where the owner told its own end', async () => {
      await request(app, 'k-told', 500);
      const settle = ['settle', 'k-told', '--to', 'retryable', '--reason', 'refused by the provider', ...BY];
      const early = await samekey(...settle);
      expect(early).toMatchObject({ code: 2, stdout: '' });
      expect(early.stderr).toContain('may still be under way');
      expect(await samekey(...settle, '--call-time', '0ms')).toMatchObject({ code: 0, stderr: '' });
      expect(await request(app, 'k-told', 201)).toMatchObject({ kind: 'executed' });
    });

    it('puts in the result of an effect that did happen, and refuses it where none is open', async () => {
      await request(app, 'k-effect', 500);
      const settle = ['settle', 'k-effect', '--to', 'retryable', '--effect-result', '{"id":"pay_1"}'];
      const refused = await samekey(...settle, '--reason', 'it was charged', ...BY);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('no effect of the record is open');
    });

    it('opens a failed key again, which then runs', async () => {
      await request(app, 'k-failed', 409);
      const reopen = ['reopen', 'k-failed', '--reason', 'stock is back', ...BY];
      expect(await samekey(...reopen)).toMatchObject({ code: 0, stderr: '' });
      // F62: not before other processes have stopped replaying what they read.
      expect(await request(app, 'k-failed', 201)).toMatchObject({ kind: 'in-progress' });
      expect(await recordOf('k-failed')).toMatchObject({ state: 'retryable', reason: 'stock is back' });
      const wrong = await samekey('reopen', 'k-completed', '--reason', 'why not', ...BY);
      expect(wrong).toMatchObject({ code: 2, stdout: '' });
      expect(wrong.stderr).toMatch(/Nothing was done: it is completed .*Only failed keys are reopened/);
    });

    it('opens a key whose outcome nobody came to know only with --no-effect', async () => {
      await request(app, 'k-never', 500);
      await new Promise((resolve) => setTimeout(resolve, 2));
      await app.samekey.store.sweep(1_000, { unknownMaxMs: 1 });
      const reopen = ['reopen', 'k-never', '--reason', 'asked the bank', ...BY];
      const refused = await samekey(...reopen);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('if nothing happened, say --no-effect');
      expect(await samekey(...reopen, '--no-effect')).toMatchObject({ code: 0, stderr: '' });
      expect((await recordOf('k-never'))?.state).toBe('retryable');
    });

    it('forgets a final record, and refuses to forget an unknown one', async () => {
      const why = ['--reason', 'test data', ...BY];
      await request(app, 'k-final', 201);
      await request(app, 'k-unknown', 500);
      expect(await samekey('forget', 'k-final', ...why)).toMatchObject({ code: 0, stderr: '' });
      expect((await recordOf('k-final'))?.response ?? null).toBeNull();
      const refused = await samekey('forget', 'k-unknown', ...why);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain('settle what is unknown first');
      expect((await recordOf('k-unknown'))?.state).toBe('unknown');
    });

    it('never asks where nobody can answer: without --yes nothing is done', async () => {
      const settle = ['settle', 'k-unknown', '--to', 'failed', '--status', '500', '--reason', 'none'];
      const refused = await samekey(...settle);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('--yes');
      expect((await recordOf('k-unknown'))?.state).toBe('unknown');
    });

    it('acts on no guess: a key that stands for several records is refused with the candidates', async () => {
      await request(app, 'k-two', 500);
      await request(app, 'k-two', 500, { operation: 'POST /refunds' });
      const settle = [
        'settle',
        'k-two',
        '--to',
        'failed',
        '--status',
        '402',
        '--reason',
        'refused there',
        ...BY,
      ];
      const refused = await samekey(...settle);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('The key stands for 2 records');
      expect(await samekey(...settle, '--operation', 'POST /refunds')).toMatchObject({ code: 0 });
      const states = (await app.samekey.store.list({ key: 'k-two' })).map(({ operation, state }) => [
        operation,
        state,
      ]);
      expect(states).toEqual([
        ['POST /refunds', 'failed'],
        ['POST /payments', 'unknown'],
      ]);
    });

    it('takes a hash instead of a key, and says all of it to programs', async () => {
      await request(app, 'k-hash', 500);
      const list = JSON.parse((await samekey('inspect', '--json', '--limit', '1')).stdout) as {
        records: { keyHash: string }[];
      };
      const hash = String(list.records[0]?.keyHash);
      const { code, stdout } = await samekey(
        'settle',
        '--hash',
        hash,
        '--to',
        'completed',
        '--status',
        '201',
        '--reason',
        'seen',
        ...BY,
        '--json',
      );
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        kind: 'applied',
        record: { state: 'unknown', keyHash: hash },
      });
      // What happened is known, its answer is not: 410 with the status.
      expect(await request(app, 'k-hash', 500)).toMatchObject({
        kind: 'response-not-stored',
        originalStatus: 201,
      });
      const audit = JSON.parse(
        (await samekey('audit', '--json', '--act', 'settle', '--limit', '1')).stdout,
      ) as {
        rows: unknown[];
      };
      expect(audit.rows).toMatchObject([
        {
          act: 'settle',
          from: 'unknown',
          to: 'completed',
          actor: 'alice@ops',
          reason: 'seen',
          keyHash: hash,
        },
      ]);
    });

    it.each([
      [['--to', 'retryable', '--status', '200'], /has no answer/],
      [['--to', 'completed'], /needs the --status/],
      [['--to', 'completed', '--status', '404'], /goes with a status below 400/],
      [['--to', 'failed', '--status', '200'], /of 400 or more/],
      [['--to', 'failed', '--status', '402', '--owner-gone'], /go with --to retryable/],
      [['--to', 'retryable', '--effect-result', 'pay_1'], /must be JSON/],
      [['--to', 'completed', '--status', '200', '--header', 'no colon'], /Name: value/],
      [['--to', 'completed', '--status', '200', '--body', 'x', '--body-file', 'y'], /two bodies/],
      [['--to', 'gone'], /completed, failed, retryable/],
    ])('refuses %j', async (args, pattern) => {
      const before = await recordOf('k-unknown');
      const refused = await samekey('settle', 'k-unknown', ...args, '--reason', 'r', ...BY);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(pattern);
      expect(await recordOf('k-unknown')).toEqual(before);
    });

    it('needs a reason', async () => {
      for (const reason of [[], ['--reason', '  ']]) {
        const refused = await samekey('forget', 'k-told', ...reason, ...BY);
        expect(refused.code).toBe(1);
        expect(refused.stderr).toMatch(/reason/);
      }
    });
  });
}

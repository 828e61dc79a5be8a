/**
 * A time-out in front of `idempotent` answers while the handler is still at work (F68). Nothing of Express tells whose answer that was;
 * but what the handler answers afterwards is seen.
 */

import { createRequire } from 'node:module';
import express from 'express';
import type { Request, RequestHandler, Response } from 'express';
import { describe, expect, it } from 'vitest';
import { attemptOf, idempotent } from '../../src/adapters/express/index.ts';
import { isOwnerGone } from '../../src/engine/owner-gone.ts';
import type { PolicyName } from '../../src/core/policy.ts';
import type { Samekey } from '../../src/samekey.ts';
import { type App, type Bench, onBench } from '../../../testing/src/adapter-contract.ts';
import { assertProblem, header, text, withProbe } from '../../../testing/src/adapter/expect.ts';
import { type Gate, gate } from '../../../testing/src/adapter/kit.ts';
import { expressHarness, listen } from './express-harness.ts';

// An alias without types of its own; what is used is the same in both versions.
const express4 = createRequire(import.meta.url)('express4') as typeof express;

interface Raced {
  readonly up: Gate;
  readonly free: readonly Gate[];
  readonly started: readonly Gate[];
  runs: number;
}

const made = (_req: Request, res: Response, run: number): void =>
  void res.status(201).location(`/things/${run}`).json({ run });

for (const [name, framework] of [
  ['Express 4', express4],
  ['Express 5', express],
] as const) {
  function raced(
    { policy, status }: { readonly policy: PolicyName; readonly status: number },
    answer: (req: Request, res: Response, run: number) => void,
    body: (app: App, gates: Raced, t: Bench) => Promise<void>,
  ): Promise<void> {
    const gates: Raced = { up: gate(), free: [gate(), gate()], started: [gate(), gate()], runs: 0 };
    // The first request alone meets it.
    let requests = 0;
    const timeout: RequestHandler = (_req, res, next) => {
      requests += 1;
      if (requests > 1) return next();
      void gates.up.opened.then(() => {
        if (!res.headersSent) res.status(status).set('X-Front', 'yes').send('too late');
      });
      next();
    };
    const serve = (samekey: Samekey) => {
      const app = framework();
      app.post('/things', timeout, idempotent(samekey, { policy, scope: () => 'acme' }), (req, res) => {
        gates.runs += 1;
        const run = gates.runs;
        gates.started[run - 1]?.open();
        void gates.free[run - 1]?.opened.then(() => answer(req, res, run));
      });
      return listen(app);
    };
    return onBench({ ...expressHarness(name, framework), serve }, async (t) =>
      body(await t.start(), gates, t),
    );
  }

  describe(`${name}, with a time-out in front`, () => {
    // F68
    it('that answers before the key was claimed: the handler does not run on a response that is over', async () => {
      const [asked, free] = [gate(), gate()];
      const serve = (samekey: Samekey) => {
        const app = framework();
        let requests = 0;
        const timeout: RequestHandler = (_req, res, next) => {
          requests += 1;
          next();
          if (requests === 1) void asked.opened.then(() => res.status(503).send('too late'));
        };
        const protect = idempotent(samekey, { policy: 'payments', scope: () => 'acme' });
        app.post('/things', timeout, protect, (_req, res) => void res.status(201).send('made'));
        return listen(app);
      };
      await onBench({ ...expressHarness(name, framework), serve }, async (t) => {
        const world = withProbe(t.world, async (point) => {
          if (point !== 'handler.before') return;
          asked.open();
          await free.opened;
        });
        const app = await t.start({ instance: { world } });
        expect((await app.post('key-1')).status).toBe(503);
        free.open();
        const finished = await app.saw('finished');
        expect([finished.to, finished.proof]).toEqual(['retryable', 'declared']);
        const again = await app.post('key-1');
        expect([again.status, text(again)]).toEqual([201, 'made']);
      });
    });

    // F68
    for (const [policy, status, first] of [
      ['standard', 503, 'retryable'],
      ['payments', 503, 'unknown'],
      ['payments', 504, 'unknown'],
      ['standard', 504, 'unknown'],
    ] as const) {
      it(`that answers ${status} under ${policy}: the handler’s late 201 becomes the record’s, if nothing has run again`, () =>
        raced({ policy, status }, made, async (app, { up, free, started }, t) => {
          const early = app.post('key-1');
          await started[0]?.opened;
          up.open();
          expect((await early).status).toBe(status);
          const { to, reason } = await app.saw('finished');
          expect(to).toBe(first);
          // Its handler is at work: where a provider knows of nothing, it knows of nothing yet (F61).
          if (first === 'unknown') expect(reason).toBe(`perhaps-answered-for: status-${status}`);
          const [record] = await t.store.list({ limit: 1 });
          if (record?.state === 'unknown') expect(isOwnerGone(record, undefined)).toBe(false);
          free[0]?.open();
          expect((await app.saw('finished', 2)).to).toBe('completed');
          const again = await app.post('key-1');
          expect([again.status, text(again)]).toEqual([201, '{"run":1}']);
          expect(header(again, 'location')).toBe('/things/1');
          expect(header(again, 'x-front')).toBeUndefined();
          expect(app.count('contradiction')).toBe(0);
          expect((await app.saw('misuse', status === 504 ? 2 : 1)).code).toBe('answered-twice');
          if (status === 504) expect((await app.saw('misuse')).code).toBe('time-out-answered');
          expect(app.count('claimed')).toBe(1);
        }));
    }

    // F68: a handler that sees that it was answered for often answers nothing more.
    it('a handler that then says that it does not know, and answers nothing, is not run again', () =>
      raced(
        { policy: 'standard', status: 503 },
        (req) => attemptOf(req)?.unknown('no reply'),
        async (app, { up, free, started }) => {
          const early = app.post('key-1');
          await started[0]?.opened;
          up.open();
          expect((await early).status).toBe(503);
          expect((await app.saw('finished')).to).toBe('retryable');
          free[0]?.open();
          const finished = await app.saw('finished', 2);
          expect([finished.to, finished.reason]).toEqual([
            'unknown',
            'after-its-end: said-unknown: no reply',
          ]);
          assertProblem(await app.post('key-1'), 409, 'outcome-unknown');
          expect(app.count('claimed')).toBe(1);
        },
      ));

    // F68
    it('and a retry that has run meanwhile: the late answer is a contradiction, told, and changes nothing', () =>
      raced({ policy: 'standard', status: 503 }, made, async (app, { up, free, started }) => {
        const early = app.post('key-1');
        await started[0]?.opened;
        up.open();
        expect((await early).status).toBe(503);
        const second = app.post('key-1');
        await started[1]?.opened;
        free[0]?.open();
        const event = await app.saw('contradiction');
        expect([event.wanted, event.attempt]).toEqual(['completed', 1]);
        free[1]?.open();
        expect([(await second).status, text(await second)]).toEqual([201, '{"run":2}']);
        expect(text(await app.post('key-1'))).toBe('{"run":2}');
      }));

    // F68
    it('under stripe, whose 503 is kept: the late answer is a contradiction', () =>
      raced({ policy: 'stripe', status: 503 }, made, async (app, { up, free, started }) => {
        const early = app.post('key-1');
        await started[0]?.opened;
        up.open();
        expect((await early).status).toBe(503);
        free[0]?.open();
        expect((await app.saw('contradiction')).wanted).toBe('completed');
        const again = await app.post('key-1');
        expect([again.status, text(again)]).toEqual([503, 'too late']);
      }));

    it('a handler that looks whether the head was sent sees it, and its second end is no answer', () =>
      raced(
        { policy: 'payments', status: 503 },
        (_req, res) => {
          expect([res.headersSent, res.statusCode, res.getHeader('x-front')]).toEqual([true, 503, 'yes']);
          res.end();
        },
        async (app, { up, free, started }) => {
          const early = app.post('key-1');
          await started[0]?.opened;
          up.open();
          await early;
          free[0]?.open();
          assertProblem(await app.post('key-1'), 409, 'outcome-unknown');
          expect(app.count('finished')).toBe(1);
        },
      ));
  });
}

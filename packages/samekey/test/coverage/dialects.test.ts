/** What coverage tells of routes that speak a dialect. */

import express from 'express';
import { expect, it } from 'vitest';
import { idempotent, serve } from '../../src/adapters/express/index.ts';
import { coverage, coverageText, expectFullCoverage } from '../../src/coverage/index.ts';
import { acp, stripeV1 } from '../../src/dialects/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

function scope(): string {
  return 'acme';
}

function answer(_req: unknown, res: { end(): void }): void {
  res.end();
}

function run(): Promise<{ status: number }> {
  return Promise.resolve({ status: 201 });
}

it('a plain handler whose dialect runs again after a 5xx is told of, and is no gap', () => {
  const samekey = createSamekey({ store: memoryStore() });
  const app = express();
  app.post('/acp', idempotent(samekey, { dialect: acp, scope }), answer);
  app.post('/optional', idempotent(samekey, { dialect: stripeV1, required: false, scope }), answer);
  app.post('/stripe', idempotent(samekey, { dialect: stripeV1, scope }), answer);
  const plain = samekey.plain({ ...acp.operation, name: 'plain', run });
  const phased = samekey.phased({ ...acp.operation, name: 'phased', run });
  app.post('/plain', serve(plain, { dialect: acp, scope }));
  app.post('/phased', serve(phased, { dialect: acp, scope }));
  const report = coverage(app);
  expect(new Map(report.routes.map(({ path, reason }) => [path, reason]))).toEqual(
    new Map([
      ['/acp', acp.remark],
      ['/optional', 'A request without a key runs (required: false).'],
      ['/phased', null],
      ['/plain', acp.remark],
      ['/stripe', null],
    ]),
  );
  expectFullCoverage(app);
  expect(coverageText(report)).toContain(`Protected, and to be known:\n  POST   /acp  (${acp.remark})`);
});

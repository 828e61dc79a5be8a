/** An Express application of a test's own, on the bench of the adapter contract. */

import type express from 'express';
import type { Express, Request, RequestHandler } from 'express';
import { it } from 'vitest';
import { idempotent, type RouteOptions } from '../../src/adapters/express/index.ts';
import type { Samekey } from '../../src/samekey.ts';
import { type App, onBench } from '../../../testing/src/adapter-contract.ts';
import { expressHarness, listen } from './express-harness.ts';

export type Protect = (options?: Partial<RouteOptions<Request>>) => RequestHandler;
export type AddExpressTest = (
  title: string,
  build: (app: Express, protect: Protect) => void,
  body: (app: App) => Promise<void>,
) => void;

/** Adds tests for one version of Express. */
export function expressTests(name: string, framework: typeof express): AddExpressTest {
  return (title, build, body) => {
    const serve = (samekey: Samekey) => {
      const app = framework();
      build(app, (options) => idempotent(samekey, { policy: 'payments', scope: () => 'acme', ...options }));
      return listen(app);
    };
    it(title, () =>
      onBench({ ...expressHarness(name, framework), serve }, async (t) => body(await t.start())),
    );
  };
}

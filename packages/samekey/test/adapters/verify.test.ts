/**
 * Verify finds no fault in Samekey's own doors, on real servers with SQLite, nor in dialects that it knows the profile
 * of; and its tests run in a runner. tRPC, GraphQL and rows are no HTTP of one request and one answer: it cannot ask
 * them.
 */

import { createRequire } from 'node:module';
import express from 'express';
import Koa from 'koa';
import { type VerifyOptions, verify, verifyTests } from '@samekey/cli/verify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Dialect, ietfDraft07, stripeV1 } from '../../src/dialects/index.ts';
import { createSamekey, type Samekey } from '../../src/samekey.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import type {
  AdapterHarness,
  ContractHandler,
  ContractRequest,
  ContractRoute,
  Served,
} from '../../../testing/src/adapter-contract.ts';
import { faultyStore, passageOf } from '../../../testing/src/faulty-store.ts';
import { expressHarness } from './express-harness.ts';
import { fastifyHarness } from './fastify-harness.ts';
import { fetchHarness } from './fetch-harness.ts';
import { honoHarness } from './hono-harness.ts';
import { koaHarness } from './koa-harness.ts';
import { lambdaHarness } from './lambda-harness.ts';
import { nextHarness } from './next-harness.ts';
import { nestExpressHarness, nestFastifyHarness } from './nest-harness.ts';
import { nodeHarness } from './node-harness.ts';
import { availableClients, temporaryFile } from '../stores/sqlite-clients.ts';

/**
 * How long keys are remembered: for one scenario so short that it can wait for the end, for all others longer than the
 * slowest machine needs.
 */
const SHORT_MS = 4_000;
const LONG_MS = 3_600_000;

type Profile = 'ietf' | 'stripe';

/** A shop on one adapter. */
class Shop {
  executions = 0;
  readonly #retentionMs: number;
  readonly #dialect: Dialect | null;
  readonly #closing: (() => unknown)[] = [];
  readonly #failed = new Set<string>();
  #served: Served | undefined;
  #isStoreDown = false;

  constructor(retentionMs = LONG_MS, dialect: Dialect | null = null) {
    this.#retentionMs = retentionMs;
    this.#dialect = dialect;
  }

  async open(harness: AdapterHarness, profile: Profile): Promise<void> {
    const file = temporaryFile();
    const [client] = availableClients();
    if (client === undefined) throw new Error('there is no client of SQLite');
    const database = client.open(file.path);
    const real = sqliteStore({ service: 'test', database });
    await real.migrate();
    const store = faultyStore(real, { plan: () => (this.#isStoreDown ? passageOf('refuse') : null) });
    const samekey: Samekey = createSamekey({ store });
    this.#served = await harness.serve(samekey, [
      this.#route('/orders', profile),
      this.#route('/refunds', profile),
    ]);
    this.#closing.push(
      () => this.#served?.close(),
      () => samekey.close(),
      () => database.close(),
      () => file.remove(),
    );
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close();
  }

  /** Everything that verify can be given. */
  options(profile: Profile): VerifyOptions {
    const origin = `http://127.0.0.1:${this.#served?.port ?? 0}`;
    return {
      url: `${origin}/orders`,
      profile,
      body: '{"item":"lamp","amountCents":1200}',
      headers: { Authorization: 'shop-a.one' },
      tenantB: { Authorization: 'shop-b.one' },
      rotated: { Authorization: 'shop-a.two' },
      count: () => this.executions,
      hold: { body: '{"item":"lamp","amountCents":1200,"holdMs":300}' },
      otherUrl: `${origin}/refunds`,
      refusedBody: '{"refuse":true}',
      failing: { body: '{"fail":true}', expect: profile === 'stripe' ? 'replayed' : 'retried' },
      rateMax: 500,
      ...(this.#retentionMs === SHORT_MS && { expiresMs: SHORT_MS }),
      store: {
        down: () => void (this.#isStoreDown = true),
        up: () => void (this.#isStoreDown = false),
      },
    };
  }

  #route(pattern: string, profile: Profile): ContractRoute {
    return {
      method: 'ALL',
      mount: '',
      pattern,
      options: this.#options(profile),
      scope: (request) => ownerOf(request),
      isAllowed: () => true,
      isBodyTaken: false,
      handler: this.#handle,
    };
  }

  #options(profile: Profile): ContractRoute['options'] {
    const policy = profile === 'stripe' ? 'stripe' : 'standard';
    const dialect = this.#dialect;
    if (dialect !== null) return { ...(dialect.operation.policy === undefined && { policy }), dialect };
    const keyUniqueFor = profile === 'stripe' ? 'caller' : 'operation';
    return { policy, profile, keyUniqueFor, retentionMs: this.#retentionMs, retryWindowMs: 0 };
  }

  readonly #handle: ContractHandler = async ({ method, body, attempt }) => {
    if (method === 'GET') return { status: 200, body: String(this.executions) };
    const order = JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>;
    const { holdMs } = order;
    if (typeof holdMs === 'number') await new Promise((resolve) => setTimeout(resolve, holdMs));
    if (order['refuse'] === true) return { status: 402, body: 'declined' };
    if (order['fail'] === true && !this.#failed.has(String(attempt?.key))) {
      this.#failed.add(String(attempt?.key));
      return { status: 500, body: 'failed' };
    }
    this.executions += 1;
    const id = String(this.executions);
    return {
      status: 201,
      headers: [
        ['Content-Type', 'application/json'],
        ['Location', `/orders/${id}`],
      ],
      body: `{ "id": ${id} }\n`,
    };
  };
}

/** Tokens are `owner.secret`. */
function ownerOf(request: ContractRequest): string {
  return String(request.header('authorization')).split('.')[0] ?? '';
}

const load = createRequire(import.meta.url);

interface Judged {
  readonly harness: AdapterHarness;
  readonly profile: Profile;
  /** It says how long keys are kept, which nobody can wait for: the end of a key is asked of a route without it. */
  readonly dialect?: Dialect;
}

const ALL: readonly Judged[] = [
  { harness: expressHarness('Express 5', express), profile: 'ietf' },
  { harness: expressHarness('Express 5', express), profile: 'stripe' },
  { harness: fastifyHarness, profile: 'ietf' },
  { harness: koaHarness('Koa 3', Koa), profile: 'ietf' },
  { harness: lambdaHarness('a REST API'), profile: 'ietf' },
  { harness: nextHarness, profile: 'ietf' },
  { harness: nestExpressHarness, profile: 'ietf' },
  { harness: nestFastifyHarness, profile: 'ietf' },
  { harness: nodeHarness, profile: 'ietf' },
  { harness: honoHarness, profile: 'ietf' },
  { harness: fetchHarness, profile: 'ietf' },
  { harness: expressHarness('Express 4', load('express4') as typeof express), profile: 'ietf' },
  { harness: koaHarness('Koa 2', load('koa2') as typeof Koa), profile: 'ietf' },
  { harness: lambdaHarness('an HTTP API'), profile: 'ietf' },
  { harness: expressHarness('Express 5', express), profile: 'stripe', dialect: stripeV1 },
  { harness: fastifyHarness, profile: 'ietf', dialect: ietfDraft07 },
];

describe.concurrent.each(ALL)(
  'verify on $harness.name with SQLite, profile $profile, dialect $dialect.name',
  ({ harness, profile, dialect = null }) => {
    const shop = new Shop(LONG_MS, dialect);
    const forgetful = new Shop(SHORT_MS);
    beforeAll(async () => {
      await shop.open(harness, profile);
      await forgetful.open(harness, profile);
    });
    afterAll(async () => {
      await shop.close();
      await forgetful.close();
    });

    it('finds no fault, and leaves nothing unjudged', {
      timeout: 90_000,
    }, async () => {
      const [report, after] = await Promise.all([
        verify(shop.options(profile)),
        verify({ ...forgetful.options(profile), only: ['expiry'] }),
      ]);
      expect(report.findings.filter(({ scenario }) => scenario === 'expiry')).toEqual([
        expect.objectContaining({ verdict: 'not-judged' }),
      ]);
      const findings = [
        ...report.findings.filter(({ scenario }) => scenario !== 'expiry'),
        ...after.findings,
      ];
      expect(after.findings).toHaveLength(1);
      const notHeld = findings.filter(({ verdict }) => verdict !== 'held');
      expect(notHeld.map(({ scenario, found }) => `${scenario}: ${found}`)).toEqual([]);
      expect(findings.length).toBeGreaterThan(30);
    });
  },
);

const tested = new Shop();
beforeAll(() => tested.open(fetchHarness, 'ietf'));
afterAll(() => tested.close());
verifyTests({ describe, it }, () => tested.options('ietf'), {
  only: ['runs-once', 'same-answer', 'two-tenants'],
});

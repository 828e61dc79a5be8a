/** The part of an OpenAPI document that a protected function answers for, against what its server does answer. */

import { afterEach, describe, expect, it } from 'vitest';
import { corsFor, type RouteOptions, serve, stripe } from '../../src/adapters/node/index.ts';
import { OptionsError } from '../../src/core/errors.ts';
import { markProtected } from '../../src/coverage/index.ts';
import * as dialects from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/dialects/index.ts';
import { operationOf } from '../../src/openapi/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import {
  OF_HTTP,
  type Answer,
  documentOf,
  expectDocumented,
  expectOpenApi,
  provoked,
  type Provoked,
} from './kit.ts';

type Options = Parameters<typeof provoked>[0];

const TIME = { 'repeatability-first-sent': new Date().toUTCString() };
const DAY_MS = 24 * 60 * 60 * 1_000;
const V4 = '550e8400-e29b-41d4-a716-4466554400';
const V7 = '0192d1a4-7c1e-7b6a-8f00-1a2b3c4d5e';
/** A schema of Standard Schema: an amount that is a number. */
const schema: RouteOptions<unknown>['schema'] = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof (value as { amount?: unknown }).amount === 'number'
        ? { value }
        : { issues: [{ message: 'It is no number.', path: ['amount'] }] },
  },
};

let open: Provoked | null = null;
afterEach(() => {
  open?.close();
  open = null;
});

/** What a client can bring about from outside, at any door, with a word for each. */
async function provokeAll(door: Provoked, keys: string): Promise<ReadonlyMap<string, Answer>> {
  const sent = TIME;
  const send: Provoked['send'] = ({ headers, ...rest }) =>
    door.send({ ...rest, headers: { ...sent, ...headers } });
  const key = `${keys}00`;
  expect((await send({ key })).status).toBe(201);
  expect((await send({ key: `${keys}01`, headers: { 'x-then': 'huge' } })).status).toBe(201);
  const answers = new Map([
    ['nobody', await send({ key, account: '' })],
    ['no key', await send({})],
    ['not ASCII', await send({ key: 'ü' })],
    ['empty', await send({ key: '' })],
    ['too long', await send({ key: 'x'.repeat(2_000) })],
    ['reused', await send({ key, body: { amount: 11 } })],
    ['too large', await send({ key: `${keys}02`, body: { amount: 'x'.repeat(2_000_000) } })],
    ['not kept', await send({ key: `${keys}01`, headers: { 'x-then': 'huge' } })],
    [
      'running',
      await door.meanwhile({ key: `${keys}03`, headers: sent }, { key: `${keys}03`, headers: sent }),
    ],
  ]);
  door.breakStore();
  return answers.set('store away', await send({ key: `${keys}04` }));
}

const DIALECTS = Object.values(dialects).filter(
  (value): value is Dialect => typeof value === 'object' && 'route' in value,
);
const DOORS: readonly (readonly [name: string, options: Options])[] = [
  ['ietf', { policy: 'payments' }],
  ['stripe', { policy: 'stripe', profile: stripe() }],
  ...DIALECTS.map(
    (dialect) =>
      [
        dialect.name,
        { dialect, ...(dialect.operation.policy === undefined && { policy: 'payments' as const }) },
      ] as const,
  ),
];

describe.each(DOORS)('%s', (name, options) => {
  it('answers as its part of the document says, and the document is valid', async () => {
    open = await provoked(options);
    await expectOpenApi(documentOf(open.part));
    const answers = await provokeAll(open, name === 'iceberg-rest' ? V7 : V4);
    for (const answer of answers.values()) expectDocumented(open.part, answer);
    expect([...answers.values()].filter(({ status }) => status < 400)).toEqual([]);
    const exposed = corsFor(open.listener).exposedHeaders.map((each) => each.toLowerCase());
    const replay = await open.send({ key: `${name === 'iceberg-rest' ? V7 : V4}00`, headers: TIME });
    for (const { headers } of [...answers.values(), replay])
      expect(exposed).toEqual(
        expect.arrayContaining(Object.keys(headers).filter((each) => !OF_HTTP.has(each))),
      );
    expect(answers.get('too large')?.status).toBe(413);
    expect(answers.get('store away')?.status).toBe(503);
  });
});

async function openDoor(options: Options): Promise<Provoked> {
  open?.close();
  return (open = await provoked(options));
}

/** Headers of an answer that are about keys. */
function ours({ headers }: Answer): string[] {
  return Object.keys(headers).filter((name) => name.includes('idempoten'));
}

describe('what a door answers by its options', () => {
  const key = `${V4}00`;

  it('a key in doubt, an expired one and a wrong input are documented where they may happen', async () => {
    const { send, part, later } = await openDoor({ policy: 'payments', tombstoneMs: DAY_MS, schema });
    const wrong = await send({ key, body: { amount: 'ten' } });
    const noJson = await send({ key, body: '{' });
    expect((await send({ key, headers: { 'x-then': '502' } })).status).toBe(502);
    const doubt = await send({ key, headers: { 'x-then': '502' } });
    await send({ key: `${V4}01` });
    later(DAY_MS + 1);
    const expired = await send({ key: `${V4}01` });
    const answers = [wrong, noJson, doubt, expired];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 409, 410]);
    for (const answer of answers) expectDocumented(part, answer);
    const plain = (await openDoor({ policy: 'payments' })).part;
    expect(JSON.stringify(part)).toContain('key-expired');
    expect(JSON.stringify(plain)).not.toContain('key-expired');
    expect(JSON.stringify(plain)).not.toContain('request-invalid');
    // Its answer may be lost to the record all the same.
    expect(Object.keys(plain.responses)).toContain('410');
  });

  it('a time that is asked for is a parameter, and its faults are documented', async () => {
    const firstSent = { header: 'X-First-Sent', windowMs: 60_000 };
    const { send, part } = await openDoor({ policy: 'payments', firstSent });
    expect(part.parameters.map(({ name, required }) => ({ name, required }))).toEqual([
      { name: 'Idempotency-Key', required: true },
      { name: 'X-First-Sent', required: true },
    ]);
    const missing = await send({ key });
    const old = await send({ key, headers: { 'x-first-sent': new Date(0).toUTCString() } });
    // The server's own clock judges it: the store's is another.
    const early = await send({ key, headers: { 'x-first-sent': new Date(Date.UTC(9000, 0)).toUTCString() } });
    expect(early.text).toContain('in-future');
    for (const answer of [missing, old, early]) expectDocumented(part, answer);
  });

  it('a route that runs requests without a key asks for none', async () => {
    const { part } = await openDoor({ policy: 'payments', required: false });
    expect(part.parameters[0]?.required).toBe(false);
    expect(part['x-idempotency'].required).toBe(false);
    expect(JSON.stringify(part.responses)).not.toContain('key-missing');
  });

  it('of several headers none is needed for itself', async () => {
    const { part } = await openDoor({ policy: 'payments', header: ['X-Key', 'X-Old-Key'] });
    expect(part.parameters.map(({ name, required }) => [name, required])).toEqual([
      ['X-Key', false],
      ['X-Old-Key', false],
    ]);
    expect(part['x-idempotency']).toMatchObject({ required: true, key: { otherNames: ['X-Old-Key'] } });
  });

  it('a first answer and a replay have the headers that are documented of 2XX', async () => {
    const { send, part } = await openDoor({ policy: 'stripe', profile: stripe() });
    const documented = Object.keys(part.responses['2XX']?.headers ?? {}).map((name) => name.toLowerCase());
    const [first, replay] = [await send({ key }), await send({ key })];
    expect(ours(replay)).toContain('idempotent-replayed');
    for (const name of [...ours(first), ...ours(replay)]) expect(documented).toContain(name);
  });
});

it('says in the extension how long, for whom and what is compared', async () => {
  open = await provoked({
    policy: 'standard',
    retentionMs: 90 * 60 * 1_000,
    tombstoneMs: 1_500,
    keyUniqueFor: 'caller',
    keyIn: { body: '/meta/key' },
    fingerprint: { omit: ['/trace'], headers: ['X-Version'] },
  });
  const { parameters, 'x-idempotency': said } = open.part;
  expect(parameters).toEqual([]);
  expect(said).toMatchObject({
    required: true,
    key: { in: 'body', member: '/meta/key' },
    uniqueFor: 'caller',
    retention: 'PT90M',
    goneFor: 'PT1.5S',
    compared:
      'method, path, query, the body (JSON by its values) without `/trace` and the headers `X-Version`',
  });
  expect(said.policy).toContain('Not kept, and the same request runs again under the same key: 401, 407');
  expect(said.policy).toContain(
    'In doubt, so that nothing runs again until it is known what became of it: 408; 502',
  );
});

it('an operation that is left to a worker may answer 202', () => {
  const samekey = createSamekey({ store: memoryStore(), policy: 'payments' });
  const report = samekey.deferred(samekey.phased({ name: 'report', run: async () => ({ status: 201 }) }));
  const part = operationOf(serve(report, { scope: () => 'acme' }));
  expect(part.responses['202']?.content?.['application/json']).toBeDefined();
  const plain = samekey.phased({ name: 'plain', run: async () => ({ status: 201 }) });
  expect(operationOf(serve(plain, { scope: () => 'acme' })).responses['202']).toBeUndefined();
});

it('refuses to describe what is not known', () => {
  expect(() => operationOf(() => undefined)).toThrow(OptionsError);
  const marked = markProtected(() => undefined, {
    methods: new Set(['POST']),
    required: true,
    answers: true,
  });
  expect(() => operationOf(marked)).toThrow('nothing is known of its keys');
});

/**
 * What a deploy may change: a row for each option, with what code has before and after. A change that cannot be played here says in words
 * what it does.
 */

import type { Limits } from 'samekey/internals/core/limits';
import type { StandardSchema } from 'samekey/internals/core/schema';
import { ietf } from 'samekey/internals/http/profiles/ietf';
import { INSTANCE_OPTIONS, type SamekeyOptions } from 'samekey/internals/samekey';
import { ROUTE_ROWS } from 'samekey/internals/http/route';
import { SERVE_ROWS, type ServeOptions } from 'samekey/internals/http/serve';
import { DEFINITION_ROWS } from 'samekey/internals/ways/define-operation';
import type { DeferredOptions } from 'samekey/internals/ways/deferred';
import type { PlainDefinition } from 'samekey/internals/ways/plain';
import type { DoorOptions, Native, Sent } from './door.ts';

/** Code on one side of a deploy. */
export interface Code {
  readonly instance?: Partial<SamekeyOptions>;
  /** Options of the route; those of its operation too. */
  readonly route?: DoorOptions;
  readonly served?: Partial<ServeOptions<Native, unknown>>;
  readonly definition?: Partial<PlainDefinition<unknown, unknown>>;
  readonly deferred?: DeferredOptions;
  /** What its clients send. */
  readonly sent?: Sent;
}

/** One change. */
export interface Change {
  /** Options it stands for, by their names in the tables. */
  readonly options: readonly string[];
  readonly what: string;
  readonly before?: Code;
  readonly after?: Code;
  /** Instead of playing it. */
  readonly words?: string;
}

/** All options that a deploy may change. */
export const ALL_OPTIONS: readonly string[] = [
  ...new Set([
    ...INSTANCE_OPTIONS,
    ...Object.keys(ROUTE_ROWS),
    ...Object.keys(SERVE_ROWS),
    ...Object.keys(DEFINITION_ROWS),
    'pendingTimeMaxMs',
  ]),
].toSorted();

/** An operation's own option, from one value to another, and back by a rollback. */
function setting(option: string, before: unknown, after: unknown, what = `\`${option}\``): Change {
  return {
    options: [option],
    what,
    before: { route: { [option]: before } },
    after: { route: { [option]: after } },
  };
}

/** One of an instance. */
function bound(option: string, after: unknown): Change {
  return { options: [option], what: `\`${option}\``, after: { instance: { [option]: after } } };
}

function route(options: readonly string[], what: string, before: DoorOptions, after: DoorOptions): Change {
  return { options, what, before: { route: before }, after: { route: after } };
}

const SECRETS = { one: new Uint8Array(32).fill(1), two: new Uint8Array(32).fill(2) };

/** Over every limit: a key that is known goes on all the same. */
const ROOM_FOR_NONE: Limits = {
  whenLimiterFails: 'open',
  decisionTimeMaxMs: 250,
  takeNewKey: () => Promise.resolve({ fullForMs: 1_000, end: () => undefined }),
  takeLook: () => Promise.resolve({ fullForMs: null, end: () => undefined }),
};

/** Takes nothing. */
const STRICTER: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'samekey',
    validate: () => ({ issues: [{ message: 'no input is taken any more' }] }),
  },
};

const OWN_DIALECT: NonNullable<DoorOptions['dialect']>['route'] = {
  header: ['X-Key', 'Idempotency-Key'],
  key: { lengthMax: 200 },
  profile: 'stripe',
};

const byUser: DoorOptions['scope'] = ({ user }) => [user];
const byTenant: DoorOptions['scope'] = ({ tenant, user }) => [tenant, user];
const bySession: DoorOptions['bindTo'] = ({ session }) => session;
const byPrefixed: DoorOptions['bindTo'] = ({ session }) => `s:${session}`;

/** The table. */
export const CHANGES: readonly Change[] = [
  // Names and places
  route(
    ['operation', 'name', 'formerly'],
    'a name, with `formerly` naming the former one',
    { operation: 'pay' },
    { operation: 'charge', formerly: ['pay'] },
  ),
  {
    options: ['operation', 'name'],
    what: 'a name, and nothing said',
    words: 'never: nothing is found under the new name, and a retry runs again',
  },
  route(
    ['formerly'],
    'a name, where the bridge is taken out one retention after the last old process',
    { operation: 'charge', formerly: ['pay'] },
    { operation: 'charge' },
  ),
  route(
    ['formerly'],
    'a second name, before the first bridge is taken out',
    { operation: 'charge', formerly: ['pay'] },
    { operation: 'bill', formerly: ['pay', 'charge'] },
  ),
  route(
    ['formerly'],
    'a second name, the oldest left out as the first bridge may be taken out',
    { operation: 'charge', formerly: ['pay'] },
    { operation: 'bill', formerly: ['charge'] },
  ),
  {
    options: ['formerly'],
    what: 'the path of a route, with `formerly` naming the former one',
    before: { route: { operation: 'POST /v1/pay/:id' }, sent: { path: '/v1/pay/7' } },
    after: {
      route: { operation: 'POST /v2/pay/:id', formerly: ['POST /v1/pay/:id'] },
      sent: { path: '/v2/pay/7' },
    },
  },
  {
    options: ['operation'],
    what: 'the path of a route whose operation has a name, and nothing said',
    before: { sent: { path: '/v1/pay' } },
    after: { sent: { path: '/v2/pay' } },
  },
  {
    options: ['methods', 'formerly'],
    what: 'the method of a route, with `formerly` naming the former one',
    before: { route: { operation: 'POST /pay' } },
    after: { route: { operation: 'PUT /pay', formerly: ['POST /pay'] }, sent: { method: 'PUT' } },
  },
  route(['methods'], '`methods`', {}, { methods: ['POST', 'PUT'] }),
  // Whom a key is unique for
  route(
    ['scope', 'formerly'],
    '`scope`, with the former function in `formerly`',
    { scope: byUser },
    { scope: byTenant, formerly: [{ scope: byUser }] },
  ),
  {
    options: ['scope'],
    what: '`scope`, and nothing said',
    words: 'never: nothing is found under the new scope, and a retry runs again',
  },
  route(
    ['scope', 'operation', 'formerly'],
    '`scope` and the name at once',
    { scope: byUser, operation: 'pay' },
    { scope: byTenant, operation: 'charge', formerly: [{ name: 'pay', scope: byUser }] },
  ),
  route(
    ['keyUniqueFor', 'keyWasUniqueFor'],
    '`keyUniqueFor` from `operation` to `caller`, with `keyWasUniqueFor`',
    {},
    { keyUniqueFor: 'caller', keyWasUniqueFor: 'operation' },
  ),
  route(
    ['keyUniqueFor', 'keyWasUniqueFor'],
    '`keyUniqueFor` from `caller` to `operation`, with `keyWasUniqueFor`',
    { keyUniqueFor: 'caller' },
    { keyWasUniqueFor: 'caller' },
  ),
  // What is compared
  route(
    ['fingerprint', 'formerly'],
    'what is compared, with `fingerprint.formerly`',
    {},
    { fingerprint: { omit: ['/sentAt'], formerly: [{}] } },
  ),
  route(
    ['fingerprint', 'formerly'],
    'what is compared, in an entry of `formerly`',
    {},
    { fingerprint: { omit: ['/sentAt'] }, formerly: [{ fingerprint: {} }] },
  ),
  route(
    ['fingerprint', 'formerly'],
    'what is compared, by a function, with `fingerprint.formerly`',
    {},
    { fingerprint: { version: 'amount-1', of: ({ json }) => json() as object, formerly: [{}] } },
  ),
  route(['fingerprint'], 'what is compared, and nothing said', {}, { fingerprint: { omit: ['/sentAt'] } }),
  {
    options: ['fingerprintSecrets'],
    what: 'a secret of `fingerprintSecrets` is rotated, the old one kept among its keys',
    before: { instance: { fingerprintSecrets: { current: 'one', keys: { one: SECRETS.one } } } },
    after: { instance: { fingerprintSecrets: { current: 'two', keys: SECRETS } } },
  },
  {
    options: ['fingerprintSecrets'],
    what: 'a secret is known everywhere first (`keys`), then used (`current`)',
    before: { instance: { fingerprintSecrets: { current: 'one', keys: SECRETS } } },
    after: { instance: { fingerprintSecrets: { current: 'two', keys: SECRETS } } },
  },
  route(
    ['bindTo', 'formerly'],
    '`bindTo`, with the former function in `formerly`',
    { bindTo: bySession },
    { bindTo: byPrefixed, formerly: [{ bindTo: bySession }] },
  ),
  route(['bindTo'], '`bindTo`, and nothing said', { bindTo: bySession }, { bindTo: byPrefixed }),
  route(['bindTo'], '`bindTo` is added', {}, { bindTo: bySession }),
  // What is taken
  route(['key'], '`key` takes only UUIDs', {}, { key: { uuidOnly: true } }),
  route(['key'], '`key` is at least thirty characters long', {}, { key: { lengthMin: 30 } }),
  route(
    ['requestSizeMaxBytes'],
    '`requestSizeMaxBytes` is less than a known body',
    {},
    { requestSizeMaxBytes: 4 },
  ),
  route(['schema'], '`schema` refuses what was taken', {}, { schema: STRICTER }),
  route(
    ['freshness'],
    '`freshness` is asked for',
    {},
    { freshness: { secrets: { one: SECRETS.one }, windowMs: 60_000 } },
  ),
  route(['firstSent'], '`firstSent` is asked for', {}, { firstSent: { windowMs: 60_000 } }),
  route(
    ['header'],
    '`header`, with the former one in its list',
    {},
    { header: ['X-Key', 'Idempotency-Key'] },
  ),
  route(['keyIn'], '`keyIn`, a place beside the header', {}, { keyIn: { body: '/idempotency_key' } }),
  {
    options: ['skip'],
    what: '`skip`',
    words:
      'A request that `skip` lets pass is not looked up: it runs again, whatever its record says. Let it pass only what no client retries',
  },
  route(['required'], '`required`', { required: false }, { required: true }),
  // What is stored and told again: what is stored stays
  {
    options: ['redact'],
    what: '`redact`',
    words:
      'What is stored stays as it was stored: a retry is told what stands there. To be rid of what should never have been kept, [erase](erase.md) its caller',
  },
  route(['onReplay'], '`onReplay`', {}, { onReplay: () => null }),
  // How it looks and runs
  route(['profile'], '`profile`, from `ietf` to `stripe`', {}, { profile: 'stripe' }),
  route(['profile'], '`profile`, with options', {}, { profile: ietf({ inProgressStatus: 425 }) }),
  route(
    ['dialect'],
    '`dialect`, which says what options have said',
    { header: ['X-Key', 'Idempotency-Key'], key: { lengthMax: 200 }, profile: 'stripe' },
    { dialect: { name: 'own', operation: {}, route: OWN_DIALECT } },
  ),
  setting('policy', 'standard', 'payments'),
  setting('whenClaimEnds', 'unknown', 'resume'),
  setting('claimTtlMs', 20_000, 40_000),
  setting('attemptTimeMaxMs', 100_000, 300_000),
  setting('attemptMax', 10, 5),
  setting('retentionMs', 200_000, 400_000),
  setting('retryWindowMs', 100_000, 1_000),
  setting('replayMinMs', 100_000, 1_000),
  setting('tombstoneMs', 0, 100_000),
  setting('waitMaxMs', 0, 50),
  setting('reconcileAfterMs', 60_000, 1_000),
  route(['limits'], '`limits` are set, and full', {}, { limits: ROOM_FOR_NONE }),
  setting('responseSizeMaxBytes', 1_000, 100_000),
  setting('bufferTimeMaxMs', 1_000, 2_000),
  setting('storeSetCookie', false, true),
  setting(
    'onOutcome',
    () => undefined,
    () => undefined,
  ),
  // Served operations
  { options: ['input'], what: '`input`', after: { served: { input: (_request, body) => body.json() } } },
  {
    options: ['location'],
    what: '`location`',
    after: { served: { location: (_native, key) => `/status/${key}` } },
  },
  {
    options: ['pendingTimeMaxMs'],
    what: '`pendingTimeMaxMs` of a deferred operation',
    after: { deferred: { pendingTimeMaxMs: 60_000 } },
  },
  // Instances
  bound('onEvent', () => undefined),
  bound('storeTimeMaxMs', 1_000),
  bound('saveTimeMaxMs', 1_000),
  bound('saveKeepMaxMs', 1_000),
  bound('saveCountMax', 1),
  bound('saveBytesMax', 1),
  bound('keptBytesMax', 1),
  bound('waitersMax', 1),
  bound('replayCacheBytesMax', 0),
  bound('replayCacheTimeMaxMs', 0),
  bound('batchRowsMax', 1),
  bound('batchBytesMax', 1),
  bound('writeVersion', 1),
  {
    options: ['store', 'transactions'],
    what: '`store` and `transactions`',
    words:
      'another store knows no key: every retry runs again. Move the records first, or wait one retention without retries',
  },
  { options: ['world'], what: '`world`', words: 'for tests only' },
];

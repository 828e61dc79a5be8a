/** Every case in which Samekey answers in the handler's place, in both profiles. */

import { afterEach, describe, expect, it } from 'vitest';
import * as dialects from '../../src/dialects/index.ts';
import { docsAt, helpOf, type KeyFault, SamekeyError } from '../../src/core/errors.ts';
import { OUTCOME_KINDS, type UnavailableReason } from '../../src/core/outcome.ts';
import type { StoredResponse } from '../../src/core/response.ts';
import { type ProblemOutcome, PROBLEMS, problemCode } from '../../src/http/problem.ts';
import type { Profile } from '../../src/http/profile.ts';
import { envelope } from '../../src/http/profiles/errors-by-data.ts';
import { ietf } from '../../src/http/profiles/ietf.ts';
import { stripe } from '../../src/http/profiles/stripe.ts';

const ENVELOPES = Object.values(dialects)
  .flatMap((each) => (typeof each === 'object' ? [each.route.profile] : []))
  .filter((profile) => typeof profile === 'object')
  .filter(({ name }) => name !== 'ietf' && name !== 'stripe');

const FAULTS: readonly KeyFault[] = [
  'empty',
  'blank',
  'too-short',
  'too-long',
  'control-character',
  'not-ascii',
  'several',
  'grammar',
  'not-uuid',
  'personal-data',
];
const REASONS: readonly UnavailableReason[] = [
  'store',
  'store-full',
  'closing',
  'newer-format',
  'other-label',
  'limiter',
  'moved',
  'kept-elsewhere',
  'bridge-unfit',
  'too-large-now',
  'replay-hook',
  'unreadable',
];
const retryAfterMs = 2_500;

const OUTCOMES: readonly ProblemOutcome[] = [
  { kind: 'anonymous' },
  { kind: 'key-missing' },
  ...FAULTS.map((fault) => ({ kind: 'key-malformed', fault, detail: `about ${fault}` }) as const),
  { kind: 'request-unreadable', detail: 'x' },
  { kind: 'request-malformed', detail: 'x' },
  { kind: 'request-too-large', sizeMaxBytes: 10 },
  { kind: 'request-time-invalid', fault: 'missing' },
  { kind: 'request-too-old', windowMs: 1_000 },
  ...REASONS.map((because) => ({ kind: 'unavailable', because, retryAfterMs }) as const),
  { kind: 'expired' },
  { kind: 'mismatch' },
  { kind: 'response-not-stored', state: 'failed', originalStatus: 404, location: null, expiresAt: 0 },
  { kind: 'unknown', retryAfterMs },
  { kind: 'pending', retryAfterMs },
  { kind: 'in-progress', retryAfterMs },
  { kind: 'attempts-exhausted' },
  { kind: 'request-invalid', issues: [{ path: ['items', 0], message: 'x' }] },
  { kind: 'limited', retryAfterMs },
];

function header(answer: StoredResponse, name: string): string | undefined {
  return answer.headers.find(([given]) => given.toLowerCase() === name)?.[1];
}
function body(answer: StoredResponse): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(answer.body ?? undefined)) as Record<string, unknown>;
}

it('every outcome but those with an answer of the handler has a problem, and every problem an outcome', () => {
  const kinds = new Set<string>(OUTCOMES.map(({ kind }) => kind));
  expect([...OUTCOME_KINDS].filter((kind) => !kinds.has(kind))).toEqual(['replay', 'executed']);
  expect([...new Set(OUTCOMES.map(problemCode))].toSorted()).toEqual(Object.keys(PROBLEMS).toSorted());
});

it('problems are listed in the order of precedence', () => {
  const order = Object.keys(PROBLEMS);
  const places = OUTCOMES.map((outcome) => order.indexOf(problemCode(outcome)));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

describe.each(OUTCOMES)('$kind $fault $because', (outcome) => {
  const code = problemCode(outcome);
  const retries = 'retryAfterMs' in outcome ? '2' : undefined;

  it('is a document whose type carries its code, in the IETF profile', () => {
    const answer = ietf().render(outcome);
    const isProblem = answer.status >= 400;
    expect(header(answer, 'content-type')).toBe(isProblem ? 'application/problem+json' : 'application/json');
    expect(header(answer, 'cache-control')).toBe('no-store');
    expect(header(answer, 'link')).toBe(`<${helpOf(code)}>; rel="help"`);
    expect(header(answer, 'retry-after')).toBe(retries);
    const document = body(answer);
    expect(new URL(String(document['type'])).hash).toBe(`#${code}`);
    expect(document).toMatchObject({ code, status: answer.status, retryable: PROBLEMS[code].retryable });
    expect(String(document['title']).length * String(document['detail']).length).toBeGreaterThan(0);
    expect(answer.status).toBe(PROBLEMS[code].status);
  });

  it('is an object whose page carries its code, in the Stripe profile', () => {
    const answer = stripe().render(outcome);
    expect(header(answer, 'content-type')).toBe('application/json');
    expect(header(answer, 'stripe-should-retry')).toBe(String(PROBLEMS[code].retryable));
    expect(header(answer, 'retry-after')).toBe(retries);
    const isError = answer.status >= 400;
    const told = (isError ? body(answer)['error'] : body(answer)) as Record<string, unknown>;
    expect(new URL(String(told['doc_url'])).hash).toBe(`#${code}`);
    if (isError) expect(['api_error', 'idempotency_error', 'invalid_request_error']).toContain(told['type']);
    expect(answer.status).toBe(outcome.kind === 'mismatch' ? 400 : PROBLEMS[code].status);
  });

  it.each(ENVELOPES)('is an error of $name, every value in its place', (profile) => {
    const answer = profile.render(outcome);
    expect(header(answer, 'content-type')).toBe('application/json');
    expect(header(answer, 'cache-control')).toBe('no-store');
    expect(header(answer, 'link')).toBe(`<${helpOf(code)}>; rel="help"`);
    expect(header(answer, 'retry-after')).toBe(retries);
    expect(answer.status < 400).toBe(PROBLEMS[code].status < 400);
    const told = JSON.stringify(body(answer));
    expect(told).not.toMatch(/"\$\w+"/);
    expect(told.length).toBeGreaterThan(20);
  });
});

function own(spec: Partial<Parameters<typeof envelope>[0]>): Profile {
  return envelope({ name: 'own', body: { code: '$code', at: '$param', n: '$status', fixed: 1 }, ...spec });
}

describe('an error told by data', () => {
  const late = { kind: 'in-progress', retryAfterMs } as const;

  it('spells codes that are not said as the provider does, and leaves out what is not known', () => {
    const codes = (['key_reused', 'KEY_REUSED', 'KeyReused'] as const).map(
      (spelling) => body(own({ spelling }).render({ kind: 'mismatch' }))['code'],
    );
    expect(codes).toEqual(['key_reused', 'KEY_REUSED', 'KeyReused']);
    expect(body(own({}).render({ kind: 'mismatch' }))).toEqual({ code: 'key_reused', n: 422, fixed: 1 });
    const invalid = own({}).render({ kind: 'request-invalid', issues: [{ path: ['a', 0], message: 'x' }] });
    expect(body(invalid)).toMatchObject({ at: '/a/0' });
  });

  it('says of faults of a key what is said of each, then what is said of all', () => {
    const told = own({ cases: { 'key-empty': { code: 'E' }, 'key-malformed': { status: 422, code: 'M' } } });
    const at = (fault: KeyFault): StoredResponse =>
      told.render({ kind: 'key-malformed', fault, detail: 'x' });
    expect([body(at('empty'))['code'], at('empty').status]).toEqual(['E', 400]);
    expect([body(at('blank'))['code'], at('blank').status]).toEqual(['M', 422]);
  });

  it('says where the same request may succeed later, and nowhere else', () => {
    const told = own({ retryHeader: 'transient-error' });
    expect(header(told.render(late), 'transient-error')).toBe('true');
    expect(header(told.render({ kind: 'mismatch' }), 'transient-error')).toBeUndefined();
    const lines = (status: number, isFinal: boolean | null): unknown =>
      told.answerHeaders?.({ status, isFinal, key: 'k' });
    expect(lines(503, false)).toEqual([['transient-error', 'true']]);
    expect([lines(503, true), lines(503, null), lines(201, false)]).toEqual([[], [], []]);
  });
});

describe('acceptances', () => {
  // F94: clients that read `problem+json` as an error would fail a request that was accepted.
  it.each([
    ['a deferred operation, IETF', ietf().render({ kind: 'pending', retryAfterMs })],
    [
      'a running attempt by choice, IETF',
      ietf({ inProgressStatus: 202 }).render({ kind: 'in-progress', retryAfterMs }),
    ],
    ['a deferred operation, Stripe', stripe().render({ kind: 'pending', retryAfterMs })],
  ])('are no problem documents: %s', (_, answer) => {
    expect(answer.status).toBe(202);
    expect(header(answer, 'content-type')).toBe('application/json');
    expect(body(answer)).not.toHaveProperty('error');
    expect(header(answer, 'retry-after')).toBeDefined();
  });
});

describe('the IETF profile', () => {
  const inProgress = { kind: 'in-progress', retryAfterMs } as const;

  it.each([422, 409, 400] as const)('answers another request with %i by choice', (mismatchStatus) => {
    expect(ietf({ mismatchStatus }).render({ kind: 'mismatch' }).status).toBe(mismatchStatus);
  });

  it.each([409, 202, 425] as const)('answers a running attempt with %i by choice', (inProgressStatus) => {
    const answer = ietf({ inProgressStatus }).render(inProgress);
    expect([answer.status, body(answer)['status']]).toEqual([inProgressStatus, inProgressStatus]);
  });

  it('answers a tombstone with 404 by choice', () => {
    expect(ietf({ expiredStatus: 404 }).render({ kind: 'expired' }).status).toBe(404);
  });

  it('names another help page by choice', () => {
    const answer = ietf({ helpUrl: 'https://docs.example/errors' }).render(inProgress);
    expect(body(answer)['type']).toBe('https://docs.example/errors#in-progress');
  });

  it.each([{ inProgressStatus: 200 }, { expiredStatus: 400 }, { inprogressStatus: 202 }])(
    'refuses %o',
    (options) => {
      expect(() => ietf(options as never)).toThrow(expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS' }));
    },
  );

  it('tells of an answer that was not kept what is left of it', () => {
    const answer = ietf().render({
      kind: 'response-not-stored',
      state: 'completed',
      originalStatus: 201,
      location: '/x/1',
      expiresAt: Date.UTC(2026, 0, 2),
    });
    expect(body(answer)).toMatchObject({ originalStatus: 201 });
    expect(header(answer, 'location')).toBe('/x/1');
    expect(header(answer, 'idempotency-key-expires')).toBe('Fri, 02 Jan 2026 00:00:00 GMT');
  });

  it('puts the reason of a malformed key into words and never the key', () => {
    const answer = ietf().render({ kind: 'key-malformed', fault: 'grammar', detail: 'about the grammar' });
    expect(body(answer)['detail']).toBe('about the grammar');
  });
});

describe('where the pages are served', () => {
  const home = helpOf('').replace('/errors#', '');
  afterEach(() => {
    docsAt(home);
  });

  it('is said once: errors and the answers of every profile lead there, also of one that was made before', () => {
    const profiles = [ietf(), stripe(), ...ENVELOPES];
    docsAt('https://docs.shop.example/samekey/');
    const page = 'https://docs.shop.example/samekey/errors';
    expect(new SamekeyError('ERR_SAMEKEY_STORE', 'x').help).toBe(`${page}#err-samekey-store`);
    for (const profile of profiles) {
      for (const outcome of OUTCOMES) {
        const { headers, body: bytes } = profile.render(outcome);
        const told = JSON.stringify(headers) + new TextDecoder().decode(bytes ?? undefined);
        expect(told, profile.name).toContain(`${page}#${problemCode(outcome)}`);
        expect(told, profile.name).not.toContain(home);
      }
    }
    // A page of the profile's own is nearer.
    const nearer = ietf({ helpUrl: 'https://docs.example/errors' }).render({ kind: 'mismatch' });
    expect(body(nearer)['type']).toBe('https://docs.example/errors#key-reused');
  });

  it.each(['docs.shop.example', 'javascript:alert(1)', 'https://a.example/#x', 'https://a.example/>;', ''])(
    'is no %s',
    (url) => {
      expect(() => {
        docsAt(url);
      }).toThrow(expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS' }));
      expect(helpOf('x').startsWith(home)).toBe(true);
    },
  );
});

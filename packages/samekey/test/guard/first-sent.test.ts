/** When a request was first sent: what is read as a time, and the window around the server's clock. */

import { describe, expect, it } from 'vitest';
import { compileFirstSent, outsideWindow } from '../../src/http/first-sent.ts';
import { compileRoute } from '../../src/http/route.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

const NOW = Date.UTC(2026, 10, 30, 8, 0, 0);
const OPTIONS = { header: 'Repeatability-First-Sent', windowMs: 300_000, skewMs: 30_000 };

function met(...lines: readonly string[]): unknown {
  const options = compileFirstSent(OPTIONS, 600_000);
  if (options === null) throw new Error('It is gone.');
  const request = {
    method: 'POST',
    path: '/',
    query: '',
    route: null,
    headerLines: (name: string) => (name === 'repeatability-first-sent' ? lines : []),
  };
  return outsideWindow(options, request, NOW);
}

function ago(ms: number): string {
  return new Date(NOW - ms).toUTCString();
}

function route(retentionMs: number): unknown {
  return compileRoute(
    { policy: 'standard' },
    { scope: () => 'acme', firstSent: {}, retentionMs },
    fakeWorld(),
  );
}

const invalid = (fault: string): object => ({ kind: 'request-time-invalid', fault });

describe('the time of a first try', () => {
  it.each([0, 300_000, -30_000])('is within the window %i ms ago', (ms) => {
    expect(met(ago(ms))).toBeNull();
    expect(met(` ${ago(ms)} `)).toBeNull();
  });

  it('lies before it a second later, and in the future a second before', () => {
    expect(met(ago(301_000))).toEqual({ kind: 'request-too-old', windowMs: 300_000 });
    expect(met(ago(-31_000))).toEqual(invalid('in-future'));
  });

  it.each([
    ['nothing', [], 'missing'],
    ['two lines', [ago(0), ago(0)], 'several'],
    ['two times in a line', [`${ago(0)}, ${ago(0)}`], 'malformed'],
    ['seconds', [String(NOW / 1_000)], 'malformed'],
    ['ISO 8601', [new Date(NOW).toISOString()], 'malformed'],
    ['another zone', [ago(0).replace('GMT', '+0200')], 'malformed'],
    ['the wrong day of the week', [ago(0).replace('Mon', 'Tue')], 'malformed'],
    ['no time', ['soon'], 'malformed'],
    ['an empty line', [''], 'malformed'],
  ])('is no time: %s', (_, lines, fault) => {
    expect(met(...lines)).toEqual(invalid(fault));
  });
});

it('a window that a key does not outlive is refused at start', () => {
  expect(() => route(330_000)).not.toThrow();
  expect(() => route(329_999)).toThrow('firstSent accepts a request for 330000 ms');
});

/** Lines of a real pino: what they say, at which level, and what they never say. */

import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { SamekeyEvent } from '../../src/engine/events.ts';
import { hashKey } from '../../src/store/redact.ts';
import { LOG_LEVELS, LOG_LINES, logEvents, type LogLevel } from '../../src/metrics/index.ts';
import { ENGINE, JANITOR, RECONCILER, SECRET_TEXT, WORKER } from './samples.ts';
import { openShop, SECRET_CALLER, SECRET_KEY } from './shop.ts';

type Line = Record<string, unknown> & {
  readonly event: string;
  readonly level: LogLevel;
  readonly msg: string;
};

function logTo(options: Parameters<typeof logEvents>[1] = {}, level: LogLevel = 'debug') {
  const texts: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      texts.push(chunk.toString());
      done();
    },
  });
  const formatters = { level: (label: string) => ({ level: label }) };
  const logs = logEvents(pino({ level, formatters, base: null }, stream), options);
  const lines = () => texts.map((text) => JSON.parse(text) as Line);
  return { logs, texts, lines };
}

describe('log lines', () => {
  it('every type of event has a line, at its level', () => {
    const { logs, lines } = logTo({ levelMin: 'debug' });
    for (const event of ENGINE) logs.samekey(event);
    for (const event of WORKER) logs.worker(event);
    for (const event of JANITOR) logs.janitor(event);
    for (const event of RECONCILER) logs.reconciler(event);
    expect(lines()).toHaveLength(ENGINE.length + WORKER.length + JANITOR.length + RECONCILER.length);
    for (const { event, level, msg } of lines()) {
      const [usual, text] = LOG_LINES[event as keyof typeof LOG_LINES];
      expect(msg).toBe(text);
      const raised = event === 'outcome' || event === 'swept-record' ? 'warn' : usual;
      expect([usual, raised], event).toContain(level);
    }
  });

  it('a swept record has a line of its own, with its reason', () => {
    const { logs, lines } = logTo();
    for (const event of JANITOR) logs.janitor(event);
    const [first, second] = lines().filter(({ event }) => event === 'swept-record');
    expect(first).toMatchObject({
      level: 'warn',
      source: 'janitor',
      operation: 'pay',
      attempt: 1,
      from: 'in_progress',
      to: 'unknown',
      reason: 'claim-ended',
      ageMs: 7,
    });
    expect(second).toMatchObject({ level: 'info', from: 'pending', to: 'failed', reason: 'never-started' });
  });

  it('lines of one key can be joined by its hash, and a secret keys the hash', () => {
    const secret = new TextEncoder().encode('sixteen bytes or more');
    const [event] = ENGINE;
    if (event === undefined || !('id' in event) || event.id === null) throw new Error('a sample with an id');
    for (const one of [undefined, secret]) {
      const { logs, lines } = logTo(one === undefined ? {} : { secret: one });
      logs.samekey(event);
      logs.samekey({ ...event });
      expect(lines().map(({ keyHash }) => keyHash)).toEqual(Array(2).fill(hashKey(event.id, one)));
    }
  });

  it('a misuse of a key warns, an ordinary request says nothing above debug', async () => {
    const { logs, lines } = logTo();
    const shop = await openShop(logs.samekey, logs.worker);
    await shop.send('/pay', `${SECRET_KEY}-1`, { n: 1 });
    await shop.send('/pay', `${SECRET_KEY}-1`, { n: 1 });
    expect(lines()).toEqual([]);
    await shop.send('/pay', `${SECRET_KEY}-1`, { n: 2 });
    expect(lines()).toMatchObject([
      { event: 'outcome', level: 'warn', kind: 'mismatch', operation: 'POST /pay' },
    ]);
  });

  it('no key, no caller, no text of an error and nothing unheard of is ever in a line', async () => {
    const { logs, texts } = logTo({ levelMin: 'debug' });
    const shop = await openShop(logs.samekey, logs.worker);
    for (const ends of ['well', 'throws', 'unknown', 'unknown'])
      await shop.send('/pay', `${SECRET_KEY}-${ends}`, { ends });
    await shop.send('/report', `${SECRET_KEY}-later`, { month: 13 });
    const message = `${SECRET_KEY} is taken by ${SECRET_CALLER}`;
    const id = { scope: `${SECRET_CALLER}|pay`, key: SECRET_KEY };
    const error = Object.assign(new TypeError(message), { code: '23505', detail: message });
    logs.samekey({ type: 'handler-error', id, operation: 'pay', attempt: 1, error });
    logs.samekey({
      type: 'of-a-later-version',
      id,
      key: SECRET_KEY,
      body: { text: message },
    } as unknown as SamekeyEvent);
    for (const event of ENGINE) logs.samekey(event);
    for (const event of WORKER) logs.worker(event);
    for (const event of RECONCILER) logs.reconciler(event);
    const all = texts.join('');
    expect(texts.length).toBeGreaterThan(40);
    expect(all).toContain('"errorName":"TypeError","errorCode":"23505"');
    for (const secret of [SECRET_KEY, SECRET_CALLER, SECRET_TEXT]) expect(all).not.toContain(secret);
  });

  it('what to write of an error is the application’s choice', () => {
    const { logs, lines } = logTo({ errorOf: (error) => (error as Error).message });
    logs.samekey({ type: 'store-error', verb: 'claim', applied: 'no', error: new Error('refused') });
    expect(lines()).toMatchObject([{ level: 'error', verb: 'claim', applied: 'no', error: 'refused' }]);
  });

  it('what the logger would drop is not made', () => {
    const { logs, lines } = logTo({ levelMin: 'debug' }, 'error');
    const read = { count: 0 };
    const event = {
      type: 'fence-lost',
      operation: 'pay',
      attempt: 1,
      found: null,
      get id() {
        read.count += 1;
        return { scope: 's', key: 'k' };
      },
    } as const;
    logs.samekey(event);
    expect(lines()).toEqual([]);
    expect(read.count).toBe(0);
    expect(LOG_LEVELS).toEqual(['debug', 'info', 'warn', 'error']);
  });
});

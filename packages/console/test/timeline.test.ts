/** A record's line of time: what it says, what is a failure, and how many lines it takes. */

import type { AuditRow, WholeRecord } from 'samekey/operator';
import { describe, expect, it } from 'vitest';
import type { Moment } from '../src/api.ts';
import { momentsOf } from '../src/moments.ts';
import { foldedMoments } from '../src/page/fold-moments.ts';

const moment = (title: string, at: number, more: Partial<Moment> = {}): Moment => ({
  at,
  kind: 'audit',
  title,
  detail: null,
  id: `audit ${at}`,
  isBad: false,
  ...more,
});
const ALL = { text: '', isOnlyBad: false };

const row = (act: AuditRow['act'], from: AuditRow['from'], to: AuditRow['to'], seq: string): AuditRow =>
  ({ seq, at: Number(seq), act, from, to, reason: null, actor: 'a', attempt: 1 }) as AuditRow;

describe('the lines that are shown', () => {
  it('folds equal ones that follow each other, and says how often and until when', () => {
    const lines = [moment('renewed', 1), moment('renewed', 2), moment('renewed', 3), moment('ended', 4)];
    expect(foldedMoments([...lines, moment('renewed', 5)], ALL)).toMatchObject([
      { title: 'renewed', at: 1, lastAt: 3, times: 3, id: null },
      { title: 'ended', at: 4, times: 1, id: 'audit 4' },
      { title: 'renewed', at: 5, times: 1, lastAt: null },
    ]);
  });

  it('keeps apart what differs in a detail, and what has no time', () => {
    const step = moment('Phase committed', 0, { at: null });
    expect(foldedMoments([moment('a', 1), moment('a', 2, { detail: 'x' }), step, step], ALL)).toHaveLength(4);
  });

  it('finds text in titles, details and ids, whatever the case; or failures alone', () => {
    const lines = [
      moment('Message handed over', 1, { id: 'letter-7' }),
      moment('given up', 2, { detail: 'The mail server REFUSED', isBad: true }),
    ];
    const titles = (by: Partial<typeof ALL>) =>
      foldedMoments(lines, { ...ALL, ...by }).map(({ title }) => title);
    expect(titles({ text: ' refused ' })).toEqual(['given up']);
    expect(titles({ text: 'LETTER-7' })).toEqual(['Message handed over']);
    expect(titles({ isOnlyBad: true })).toEqual(['given up']);
    expect(titles({ isOnlyBad: true, text: 'letter' })).toEqual([]);
  });
});

describe('what a record says', () => {
  it('has the id of each row, message and call, and says which are failures', () => {
    const record = {
      createdAt: 0,
      state: 'failed',
      attempt: 2,
      renewals: 12,
      finishedAt: 50,
      response: null,
      expiresAt: 99,
      operation: 'op',
    };
    const message = { topic: 'mail', id: 'm-1', createdAt: 5, dueAt: 6, state: 'dead', lastError: 'refused' };
    const step = {
      kind: 'effect',
      name: 'charge',
      isDone: false,
      call: { attempt: 1, rule: 'inquire', timeMaxMs: 1, providerId: 'pi_1' },
    };
    const whole = {
      record,
      steps: [step],
      messages: [message],
      audit: [row('transition', 'in_progress', 'unknown', '7'), row('settle', 'unknown', 'completed', '8')],
    } as unknown as WholeRecord;
    const told = momentsOf(whole, 60).map(({ id, isBad, kind }) => [kind, id, isBad]);
    expect(told).toEqual([
      ['request', null, false],
      ['open', 'pi_1', true],
      ['message', 'm-1', true],
      ['open', 'm-1', true],
      ['audit', 'audit 7', true],
      ['audit', 'audit 8', false],
      ['answer', null, true],
      ['later', null, false],
    ]);
    expect(momentsOf(whole, 60).find(({ kind }) => kind === 'answer')?.detail).toContain('renewed 12 times');
  });
});

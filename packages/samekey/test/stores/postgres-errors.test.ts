/** What an error of a driver says of the write it answered. */

import { describe, expect, it } from 'vitest';
import { appliedBy, breaksConnection } from '../../src/stores/postgres/errors.ts';

function told(code: string | undefined, extra: object = {}): string {
  return appliedBy(Object.assign(new Error('driver'), code === undefined ? {} : { code }, extra), true);
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
describe('what an error says of the write it answered', () => {
  const NO =
    '22021 22P02 23505 25006 26000 40001 40P01 42P01 42501 53300 54000 55P03 57014 57P03 08001 08004 28P01 3D000 ECONNREFUSED ENOTFOUND EAI_AGAIN CONNECT_TIMEOUT';
  const UNKNOWN =
    '40003 08000 08003 08006 08007 57P01 57P02 57P05 53100 53200 58030 XX000 ECONNRESET EPIPE ETIMEDOUT CONNECTION_CLOSED CONNECTION_DESTROYED';

  it.each(NO.split(' '))('%s: it was not applied', (code) => expect(told(code)).toBe('no'));
  it.each(UNKNOWN.split(' '))('%s: nobody knows', (code) => expect(told(code)).toBe('unknown'));
  it('an error without a code tells nothing, unless nothing was sent', () => {
    expect(told(undefined)).toBe('unknown');
    expect(told('ETIMEDOUT', { syscall: 'connect' })).toBe('no');
    expect(appliedBy(new Error('driver'), false)).toBe('no');
  });
  it('a connection is given up when it is broken or leads to a standby, and kept otherwise', () => {
    for (const code of ['57P01', '08006', 'ECONNRESET', '25006', '26000', undefined]) {
      expect(breaksConnection(Object.assign(new Error('driver'), { code })), code).toBe(true);
    }
    for (const code of ['55P03', '40001', '22021', '57014', '42P01']) {
      expect(breaksConnection(Object.assign(new Error('driver'), { code })), code).toBe(false);
    }
  });
});

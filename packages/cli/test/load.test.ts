import { describe, expect, it } from 'vitest';
import { judge } from '../src/demo/load-ledger.ts';
import { Command, freshFolder } from './running-demo.ts';

const paid = (intent: string, charges: number) => ({
  operation: 'pay',
  intent,
  payments: 1,
  charges,
  totalCents: 100 * charges,
  booked: true,
});

describe('the load', () => {
  it('ends with one charge per intent and exit code 0', async () => {
    const folder = freshFolder();
    try {
      const load = new Command(
        'demo --load --exit --customers 20 --port 0 --dir'.split(' ').concat(folder.dir),
      );
      expect(await load.ended(), load.stdout + load.stderr).toBe(0);
      expect(load.stdout).toContain('OK: one charge per intent');
      expect(load.stdout).toMatch(/handler executed +20\n/);
      expect(load.stdout).toMatch(/charges at the provider +20\n/);
      expect(load.stderr).toBe('');
    } finally {
      folder.remove();
    }
  });

  it('is interrupted by Ctrl-C with exit code 0', async () => {
    const folder = freshFolder();
    try {
      const load = new Command(['demo', '--load', '--port', '0', '--dir', folder.dir]);
      await load.line(/customers served/);
      load.child.kill('SIGINT');
      expect(await load.ended(), load.stdout + load.stderr).toBe(0);
      expect(load.stderr).toBe('');
    } finally {
      folder.remove();
    }
  });
});

describe('the judgement of a load', () => {
  it('finds nothing wrong with one charge and one answer per intent', () => {
    expect(judge([{ intent: 'a', answers: ['x', 'x'] }], [paid('a', 1)])).toEqual([]);
  });

  it('names intents charged twice, not charged, not answered, and answered differently', () => {
    const served = [
      { intent: 'twice', answers: ['x', 'x'] },
      { intent: 'never', answers: ['x', 'x'] },
      { intent: 'silent', answers: ['x', null] },
      { intent: 'torn', answers: ['x', 'y'] },
    ];
    expect(judge(served, [paid('twice', 2), paid('silent', 1), paid('torn', 1)])).toEqual([
      '1 intent charged more than once',
      '1 intent not charged',
      '1 intent left without an answer',
      '1 intent with two different answers',
    ]);
  });
});

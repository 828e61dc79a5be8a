/** Ledger comparison: what differs, exactly, in memory that does not grow with the files. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { errorCode } from 'samekey';
import {
  compareLedgers,
  compareReferences,
  type LedgerDifference,
  type LedgerLine,
  ledgerReport,
} from 'samekey/reconcile';
import { describe, expect, it } from 'vitest';

type Line = LedgerLine;
const line = (reference: string, amount: Line['amount'], currency = 'eur', state = 'paid'): Line => ({
  reference,
  amount,
  currency,
  state,
});
const same = { map: (row: Line) => row };

async function kinds(ours: readonly Line[], theirs: readonly Line[]): Promise<string[]> {
  const { found } = await ledgerReport(ours, theirs, same);
  return found.map(({ kind, reference }) => `${kind} ${reference}`);
}

describe('comparing ledgers', () => {
  it('tells what is missing here and there, what differs, and what stands twice, in the order of references', async () => {
    const report = await ledgerReport(
      [line('a', '1'), line('b', '2'), line('c', '3'), line('c', '3'), line('d', '4'), line('f', '6', 'usd')],
      [
        line('a', '1.00'),
        line('c', '3.01'),
        line('d', '4', 'EUR', 'refunded'),
        line('e', '5'),
        line('f', '7'),
      ],
      same,
    );
    expect(report.found.map(({ kind, reference }) => `${kind} ${reference}`)).toEqual([
      'missing-there b',
      'different-amount c',
      'duplicate c',
      'different-state d',
      'missing-here e',
      'different-currency f',
    ]);
    expect(report).toMatchObject({
      equal: false,
      linesOurs: 6,
      linesTheirs: 5,
      paired: 4,
      leftOut: 0,
      sums: [
        { currency: 'EUR', ours: '13', theirs: '20.01' },
        { currency: 'USD', ours: '6', theirs: '0' },
      ],
    });
    expect(report.found[2]).toMatchObject({ side: 'ours', first: { line: 3 }, again: { line: 4 } });
  });

  it('compares amounts as decimals, not as doubles', async () => {
    for (const [ours, theirs] of [
      ['10.0', '10.00'],
      ['1e1', '10'],
      ['-0', '0'],
      ['+.5', '0.50'],
      [9007199254740993n, '9007199254740993'],
      [1200, '1200.000'],
    ] as const) {
      expect(await kinds([line('a', ours)], [line('a', theirs)]), `${ours} ${theirs}`).toEqual([]);
    }
    for (const [ours, theirs] of [
      ['0.1', '0.10000000000000000001'],
      ['9007199254740993', '9007199254740992'],
      ['1', '-1'],
    ] as const) {
      expect(await kinds([line('a', ours)], [line('a', theirs)]), `${ours} ${theirs}`).toEqual([
        'different-amount a',
      ]);
    }
    const { sums } = await ledgerReport([line('a', '0.1'), line('b', '0.2')], [], same);
    expect(sums).toEqual([{ currency: 'EUR', ours: '0.3', theirs: '0' }]);
  });

  it('reads cents on one side and decimals on the other', async () => {
    const options = { ...same, decimals: { theirs: 2 } };
    const { equal } = await ledgerReport([line('a', '12.50')], [line('a', 1250)], options);
    expect(equal).toBe(true);
  });

  it('refuses a written point where cents are announced: it would move the amount by two digits more', async () => {
    const options = { ...same, decimals: { theirs: 2 } };
    const report = ledgerReport([line('a', '12.00')], [line('a', '12.00')], options);
    await expect(report).rejects.toThrow(/^Line 1 of theirs .*decimals for theirs is 2/);
    const whole = await ledgerReport([line('a', '12.00')], [line('a', '1.2e3')], options);
    expect(whole.equal).toBe(true);
  });

  it.each<[string, Line, RegExp]>([
    ['a double that lost its cents', line('b', 0.1), /^Line 2 of theirs .*amount is not a decimal/],
    ['separators of thousands', line('b', '1,000.00'), /^Line 2 of theirs .*amount/],
    ['no amount', line('b', ''), /^Line 2 of theirs .*amount/],
    ['digits without end', line('b', '9'.repeat(1_000)), /^Line 2 of theirs .*amount/],
    ['an exponent without end', line('b', '1e999'), /^Line 2 of theirs .*amount/],
    ['no reference', line('', '1'), /^Line 2 of theirs .*no reference/],
    ['a line out of order', line('A', '1'), /^Line 2 of theirs is out of order.*line 1/],
  ])('refuses %s, naming the line and nothing of what stands there', async (_what, wrong, message) => {
    const failed = await ledgerReport([], [line('aSecret', '1'), wrong], same).catch(
      (error: unknown) => error,
    );
    expect(errorCode(failed)).toBe('ERR_SAMEKEY_LEDGER');
    expect(failed).toMatchObject({
      side: 'theirs',
      line: 2,
      message: expect.stringMatching(message) as string,
    });
    expect(String(failed)).not.toContain('aSecret');
  });

  it('names the line of the file where the map gives it', async () => {
    const rows = [
      { ...line('b', '1'), line: 17 },
      { ...line('a', '1'), line: 42 },
    ];
    await expect(ledgerReport(rows, [], same)).rejects.toThrow('Line 42 of ours is out of order');
  });

  it('does not compare what one side does not say', async () => {
    const bare = { reference: 'a', amount: '1' };
    expect(await kinds([bare], [line('a', '1', 'usd', 'paid')])).toEqual([]);
  });

  it('sorts as bytes do, also beyond the basic plane', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
        expect(Math.sign(compareReferences(a, b))).toBe(Math.sign(bytes));
      }),
    );
    expect(compareReferences('\uFF21', '\u{1F600}')).toBeLessThan(0);
  });

  it('finds exactly what was done to one of two equal ledgers', async () => {
    const ledgers = fc.uniqueArray(
      fc.tuple(fc.stringMatching(/^[a-z0-9]{1,6}$/), fc.integer({ min: -999, max: 999 })),
      {
        selector: ([reference]) => reference,
        maxLength: 30,
      },
    );
    const change = fc.constantFrom('none', 'drop', 'add', 'amount', 'state', 'currency', 'twice');
    await fc.assert(
      fc.asyncProperty(ledgers, fc.array(change, { minLength: 30, maxLength: 30 }), async (rows, changes) => {
        const ours: Line[] = [];
        const theirs: Line[] = [];
        const expected: string[] = [];
        const sorted = rows.toSorted(([a], [b]) => compareReferences(a, b));
        for (const [at, [reference, cents]] of sorted.entries()) {
          const whole = line(reference, `${cents}.50`);
          const done = changes[at] ?? 'none';
          if (done !== 'drop') theirs.push(done === 'amount' ? { ...whole, amount: `${cents}.51` } : whole);
          if (done === 'state') theirs.splice(-1, 1, { ...whole, state: 'failed' });
          if (done === 'currency') theirs.splice(-1, 1, { ...whole, currency: 'usd' });
          if (done !== 'add') ours.push(whole);
          if (done === 'twice') ours.push(whole);
          const kind = {
            none: null,
            drop: 'missing-there',
            add: 'missing-here',
            amount: 'different-amount',
            state: 'different-state',
            currency: 'different-currency',
            twice: 'duplicate',
          }[done];
          if (kind !== null) expected.push(`${kind} ${reference}`);
        }
        expect(await kinds(ours, theirs)).toEqual(expected);
      }),
    );
  });

  it('keeps the first differences and counts the others', async () => {
    const seen: LedgerDifference[] = [];
    const ours = Array.from({ length: 50 }, (_, at) => line(String(at).padStart(3, '0'), '1'));
    const report = await ledgerReport(ours, [], {
      ...same,
      differencesMax: 3,
      onDifference: (difference) => void seen.push(difference),
    });
    expect([report.found.length, report.leftOut, report.differences['missing-there']]).toEqual([3, 47, 50]);
    expect(seen).toHaveLength(50);
  });

  it('lets go of both sides when its reader stops early, and when a line is wrong', async () => {
    const closed: string[] = [];
    async function* rows(name: string, wrong = false): AsyncGenerator<Line> {
      try {
        for (let at = 10; ; at += 1) yield line(String(at), wrong && at > 12 ? 'x' : '1');
      } finally {
        closed.push(name);
      }
    }
    for await (const _ of compareLedgers([line('1', '1')], rows('early'), same)) break;
    expect(closed).toEqual(['early']);
    await expect(ledgerReport(rows('other'), rows('wrong', true), same)).rejects.toThrow('Line 4 of theirs');
    expect(closed.toSorted()).toEqual(['early', 'other', 'wrong']);
  });

  it('refuses options that nothing reads', async () => {
    await expect(ledgerReport([], [], { ...same, decimal: 2 } as never)).rejects.toThrow(
      /no option "decimal"/,
    );
    await expect(ledgerReport([], [], {} as never)).rejects.toThrow(/needs map/);
  });

  it('needs no more memory for a million lines on each side than for fifty thousand', async () => {
    const small = await heapOf(50_000);
    const large = await heapOf(1_000_000);
    // A line takes more than 100 bytes: if they were held, it would be 100 MiB and more.
    expect(large, `${small} and ${large} bytes`).toBeLessThan(small + 8 * 1024 * 1024);
  });
});

/** The largest heap while so many lines on each side are compared, in a process of its own. */
async function heapOf(lines: number): Promise<number> {
  const child = fileURLToPath(new URL('ledger-child.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', child, String(lines)]);
  const { heapMaxBytes, totals } = JSON.parse(stdout) as {
    heapMaxBytes: number;
    totals: { linesOurs: number; linesTheirs: number; differences: Record<string, number> };
  };
  expect([totals.linesOurs, totals.linesTheirs]).toEqual([lines - lines / 1_000, lines]);
  expect(totals.differences['missing-here']).toBe(lines / 1_000);
  return heapMaxBytes;
}

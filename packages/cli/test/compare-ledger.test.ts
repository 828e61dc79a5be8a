/** `samekey compare-ledger`, run as its user runs it: on files, by its exit code. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { said } from './migrating.ts';
import { freshFolder } from './running-demo.ts';

const folder = freshFolder();
afterAll(() => folder.remove());
let files = 0;
function file(ending: string, ...lines: string[]): string {
  const path = join(folder.dir, `ledger-${(files += 1)}${ending}`);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}
const latin = (reference: string): string => {
  const path = file('.csv');
  writeFileSync(path, Buffer.from(`reference,amount\n${reference},1\n`, 'latin1'));
  return path;
};
const compare = (ours: string, theirs: string, ...more: string[]) =>
  said(['compare-ledger', '--ours', ours, '--theirs', theirs, ...more]);

const HEADER = 'reference,amount,currency,state';

describe('samekey compare-ledger', () => {
  it('ends with 0 when both say the same, in whatever format and words', async () => {
    const ours = file('.csv', HEADER, 'p_1,12.50,EUR,completed', '"p_2, the second",7,EUR,failed');
    const theirs = file(
      '.ndjson',
      '{"id":"p_1","gross":1250,"cur":"eur","status":"succeeded"}',
      '',
      '{"id":"p_2, the second","gross":7.00e2,"cur":"eur","status":"void","more":[1,{"a":"2"}],"none":null}',
    );
    const flags = ['--theirs-columns', 'reference=id,amount=gross,currency=cur,state=status'];
    const words = ['--theirs-decimals', '2', '--states', 'succeeded=completed,void=failed'];
    const equal = await compare(ours, theirs, ...flags, ...words);
    expect(equal).toMatchObject({ code: 0, stderr: '' });
    expect(equal.stdout).toContain('Lines: ours 2, theirs 2; references on both sides: 2');
    expect(equal.stdout).toContain('Sum EUR: ours 19.5, theirs 19.5');
    expect(equal.stdout).toMatch(/^Equal\.$/m);
  });

  // F156
  it('reads lines that end either way, also in one file', async () => {
    const ours = file('.csv', 'reference,amount', 'a,1\r', 'b,2\r');
    const theirs = file('.csv', 'reference,amount\r', 'a,1', 'b,2');
    expect(await compare(ours, theirs)).toMatchObject({ code: 0, stderr: '' });
  });

  // F156
  it('does not judge two files without a line: it ends with 4', async () => {
    const [ours, theirs] = [file('.csv', HEADER), file('.ndjson', '')];
    const nothing = await compare(ours, theirs);
    expect(nothing).toMatchObject({ code: 4, stderr: '' });
    expect(nothing.stdout).toContain('Not judged');
    const json = await compare(ours, theirs, '--json');
    expect(json.code).toBe(4);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'totals', isJudged: false });
    expect((await compare(file('.csv', HEADER, 'a,1,EUR,paid'), theirs)).code).toBe(2);
  });

  it('ends with 2 and tells every difference with its lines, for people and as JSON', async () => {
    const ours = file('.csv', HEADER, 'a,1,EUR,paid', 'b,2.00,EUR,paid', 'c,3,EUR,paid', 'c,3,EUR,paid');
    const theirs = file('.csv', HEADER, 'b,2.01,EUR,refunded', 'c,3.00,EUR,paid', 'd,4,EUR,paid');
    const different = await compare(ours, theirs);
    expect(different).toMatchObject({ code: 2, stderr: '' });
    expect(different.stdout.split('\n').slice(0, 5)).toEqual([
      'missing there       "a": ours 1 EUR paid (line 2)',
      'different amount    "b": ours 2 EUR paid (line 3), theirs 2.01 EUR refunded (line 2)',
      'different state     "b": ours 2 EUR paid (line 3), theirs 2.01 EUR refunded (line 2)',
      'duplicate           "c": ours 3 EUR paid (line 4), and again 3 EUR paid (line 5)',
      'missing here        "d": theirs 4 EUR paid (line 4)',
    ]);
    const json = await compare(ours, theirs, '--json', '--max-differences', '2');
    const lines = json.stdout.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(json.code).toBe(2);
    expect(lines.map(({ kind }) => kind)).toEqual(['missing-there', 'different-amount', 'totals']);
    expect(lines.at(-1)).toMatchObject({ equal: false, linesOurs: 4, linesTheirs: 3, leftOut: 3 });
    const few = await compare(ours, theirs, '--max-differences', '0');
    expect(few.stdout.split('\n')[0]).toBe('… and 5 more (--max-differences 0)');
  });

  it('keeps numbers of NDJSON apart that are one double', async () => {
    const ours = file('.ndjson', '{"reference":"a","amount":9007199254740993}');
    const theirs = file('.ndjson', '{"reference":"a","amount":9007199254740992}');
    const different = await compare(ours, theirs);
    expect(different.code).toBe(2);
    expect(different.stdout).toContain('ours 9007199254740993 (line 1), theirs 9007199254740992 (line 1)');
  });

  it.each<[string, string, string[], string[], RegExp]>([
    [
      'a line out of order',
      '.csv',
      [HEADER, 'b,1,EUR,x', 'a,1,EUR,x'],
      [],
      /Line 3 of theirs is out of order/,
    ],
    ['an amount that is none', '.csv', [HEADER, 'a,"1,000",EUR,x'], [], /Line 2 of theirs .*amount/],
    ['a column that is not there', '.csv', ['id,amount', 'a,1'], [], /Line 2 of .* no column "reference"/],
    [
      'a state asked for by name',
      '.csv',
      ['reference,amount', 'a,1'],
      ['--columns', 'state=s'],
      /no column "s" for state/,
    ],
    ['two columns of one name', '.csv', ['amount,amount', '1,1'], [], /two columns "amount"/],
    ['a row of another length', '.csv', [HEADER, 'a,1,EUR'], [], /no CSV file from line 2 on/],
    ['an open quote', '.csv', [HEADER, '"a,1,EUR,x'], [], /no CSV file from line 2 on/],
    ['an empty file', '.csv', [], [], /is empty/],
    ['what is no JSON', '.ndjson', ['{"reference":"a","amount":1}', '{'], [], /Line 2 of .* is no JSON/],
    ['an unknown ending', '.txt', [], [], /--format csv or --format ndjson/],
    ['a flag that is no list', '.csv', [HEADER], ['--columns', 'reference'], /a=b,c=d/],
    ['a part nobody knows', '.csv', [HEADER], ['--columns', 'price=x'], /"price" is none of them/],
  ])('ends with 1 and one line on %s', async (_what, ending, lines, flags, message) => {
    const failed = await compare(file('.csv', HEADER, 'a,1,EUR,x'), file(ending, ...lines), ...flags);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(message);
    expect(failed.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(failed.stdout).not.toMatch(/Equal|Different/);
  });

  it('refuses a file that is not UTF-8: two references must not become one by guessed letters', async () => {
    const failed = await compare(latin('café'), latin('cafè'));
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toContain('is not UTF-8');
  });

  it('reads what other systems write: byte order marks, CRLF, line breaks in quotes', async () => {
    const ours = file('.csv', '\ufeffreference,amount\r', '"a\r', 'b",1.10\r', '"c""d\u2028",1e2\r');
    const theirs = file(
      '.ndjson',
      '\ufeff{"reference":"a\\r\\nb","amount":1.1}\r',
      '{"reference":"c\\"d\u2028","amount":100}',
    );
    expect(await compare(ours, theirs)).toMatchObject({ code: 0, stderr: '' });
  });

  it('ends at a line that does not end, without reading on', async () => {
    const path = file('.ndjson', 'x'.repeat(3 * 1024 * 1024));
    const failed = await compare(path, path);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('longer than a mebibyte');
  });

  it('lets nothing in a file speak to the terminal, or look like a line of its own', async () => {
    const ours = file('.csv', 'reference,amount,currency', 'a,1,"\u001b[2J\u009b1m\nEqual."');
    const theirs = file('.csv', 'reference,amount,currency', 'a,1,EUR');
    for (const more of [[], ['--json']]) {
      const { stdout } = await compare(ours, theirs, ...more);
      // oxlint-disable-next-line no-control-regex -- that there is none is what is tested
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
      expect(stdout).not.toMatch(/^Equal\./m);
    }
    const header = file('.csv', '"\u001b[2J",x', '1,2');
    const failed = await compare(header, theirs);
    expect(failed.code).toBe(1);
    expect(failed.stderr).not.toContain('\u001b');
  });

  it('ends with 1 when a file cannot be read', async () => {
    const failed = await compare(file('.csv', HEADER), join(folder.dir, 'none.csv'));
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/none\.csv cannot be read \(ENOENT\)/);
  });
});

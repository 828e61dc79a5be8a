import { describe, expect, it } from 'vitest';
import { checkOptions } from '../check-options.mjs';
import { lines, tree } from './fixture.ts';

const SRC = 'packages/samekey/src';
const PAGE = 'docs/shop.md';
const COMMANDS = [{ command: 'shop', options: 'ShopOptions', flags: { wait: 'waitMs', pays: 'pays' } }];
const FLAGS = [
  "  .option('--wait <duration>', 'how long it waits (default: 2s)', duration)",
  "  .addOption(new Option('--pays <how>', 'how').choices(['cash', 'card']).default('cash'))",
  '  .action(run);',
].join('\n');
const COMMANDS_PAGE =
  '## samekey shop\n\n| option | default | meaning |\n| --- | --- | --- |\n| `--wait <duration>`, `--pays` | `2s`, `cash` | x |\n';
const PAGES = [{ page: PAGE, heading: '## Of a shop', names: ['ShopOptions'] }];

const MEMBERS = [
  '/** How long it waits, in milliseconds; default 2,000. */ readonly waitMs?: number;',
  '/** The most it keeps, in bytes; default 1 MiB. */ readonly keptBytesMax?: number;',
  '/** Whether it is open. Default true. */ readonly open?: boolean;',
  '/** `cash` (default), or `card`. */ readonly pays?: string;',
  '/** Where. */ readonly place: string;',
  '/** Default: nobody. */ readonly told?: () => void;',
  '/** For tests. */ readonly now?: () => number;',
];
const ROWS = [
  'waitMs: wholeNumber(1, undefined, WAIT_MS)',
  'keptBytesMax: orNull(wholeNumber(1, undefined, 1024 * KIB))',
  'open: trueOrFalse(true)',
  "pays: oneOf(['cash', 'card'], 'cash')",
  "place: required(text(), 'Say where.')",
  'told: aFunction()',
  'now: aFunction()',
];
const CELLS = [
  '| `waitMs`, `keptBytesMax` | 2,000, 1 MiB | x |',
  '| `open` | true | x |',
  '| `pays` | `cash` | x |',
  '| `place` | none | x |',
  '| `told` | – | x |',
];

/** What is found in a shop with one thing changed. */
function found(changed: Record<string, string>): string[] {
  const change = (texts: readonly string[]): string[] =>
    texts.map((text) => Object.entries(changed).reduce((made, [from, to]) => made.replace(from, to), text));
  return lines(
    checkOptions(
      tree({
        [`${SRC}/times.ts`]: 'export const WAIT_MS = 2_000;',
        [`${SRC}/shop.ts`]: [
          "import { WAIT_MS } from './times.ts';",
          'const KIB = 2 ** 10;',
          `export interface ShopOptions {\n${change(MEMBERS).join('\n')}\n}`,
          `const ROWS = { ${change(ROWS).join(', ')} } satisfies Table<ShopOptions>;`,
        ].join('\n'),
        [PAGE]: `# Shops\n## Of a shop\n\n| option | default | meaning |\n| --- | --- | --- |\n${change(CELLS).join('\n')}\n`,
        ['packages/cli/src/commands/shop.ts']: changed['help'] ?? `command\n${FLAGS}\n`,
        ['docs/reference/cli.md']: changed['commands'] ?? COMMANDS_PAGE,
      }),
      PAGES,
      COMMANDS,
    ),
  );
}

describe('check-options', () => {
  it('holds when interface and page say what the rows have, through constants of other files too', () => {
    expect(found({})).toEqual([]);
  });

  it.each([
    ['a page', { '| true |': '| false |' }, `${PAGE}:7  the default of open is true, not false`],
    [
      'a page',
      { '2,000, 1 MiB': '2,000, 2 MiB' },
      `${PAGE}:6  the default of keptBytesMax is 1048576, not 2 MiB`,
    ],
    ['a page', { '| `cash` |': '| `card` |' }, `${PAGE}:8  the default of pays is "cash", not \`card\``],
    [
      'an editor',
      { 'default 2,000': 'default 3,000' },
      'waitMs says that its default is 3000, and its row has 2000',
    ],
    ['an editor', { '`cash` (default)': '`card` (default)' }, 'its row has "cash"'],
    ['nobody', { '; default 1 MiB': '' }, 'keptBytesMax does not say that its default is 1048576'],
  ])('finds a default that %s tells otherwise: %o', (_where, changed, problem) => {
    expect(found(changed as Record<string, string>).join('\n')).toContain(problem);
  });

  it('finds a default that is told and stands in no row', () => {
    expect(found({ 'trueOrFalse(true)': 'trueOrFalse()' })).toEqual([
      `${SRC}/shop.ts:6  open says that its default is true, and its row has none: give it to the row`,
      `${PAGE}:7  the default of open is told as true, and its row has none: give it to the row`,
    ]);
  });

  it('finds a member without a row on the page, but for tests', () => {
    expect(found({ '| `place` | none | x |\n': '', '| `place` | none | x |': '' }).join('\n')).toContain(
      `${PAGE}  place of ShopOptions has no row under "## Of a shop"`,
    );
  });

  it('finds a row without a member, and defaults that are not one for each', () => {
    expect(found({ '`told`': '`gone`' }).join('\n')).toContain('ShopOptions has no gone');
    expect(found({ '2,000, 1 MiB': '2,000, 1 MiB, 3' }).join('\n')).toContain(
      'the row of waitMs tells more or fewer defaults than it has options',
    );
  });

  it('finds a flag whose help or page tells another default than the option that it is', () => {
    expect(found({ help: `command\n${FLAGS.replace('2s', '3s')}\n` })).toEqual([
      'packages/cli/src/commands/shop.ts  the default of --wait is told as "3s", and waitMs of ShopOptions has 2000',
    ]);
    expect(found({ help: `command\n${FLAGS.replace("'cash'))", "'card'))")}\n` })).toHaveLength(1);
    expect(found({ commands: COMMANDS_PAGE.replace('`2s`', '`2m`') })).toEqual([
      'docs/reference/cli.md  the default of --wait is told as "`2m`", and waitMs of ShopOptions has 2000',
    ]);
  });

  it('fails when a table is gone, and without the page', () => {
    expect(lines(checkOptions(tree({ [PAGE]: '## Of a shop\n' }), PAGES, []))).toEqual([
      'tools/check-options.mjs  there is no table of ShopOptions',
    ]);
    expect(lines(checkOptions(tree({}), PAGES, []))).toEqual([`${PAGE}  does not exist`]);
  });
});

/** Whoever copies a command from the documentation gets no "unknown option". */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { said } from './migrating.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

interface Documented {
  readonly page: string;
  readonly command: string;
  readonly options: readonly string[];
}

/** Every `samekey <command> … --option` in code of the pages: blocks and spans. */
function documented(): readonly Documented[] {
  const pages = [
    'README.md',
    'packages/cli/README.md',
    ...(readdirSync(join(ROOT, 'docs'), { recursive: true }) as string[]).map((path) => join('docs', path)),
  ].filter((path) => path.endsWith('.md'));
  return pages.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/\\\n/g, ' ');
    const code = [...text.matchAll(/```sh\n([\s\S]*?)```/g), ...text.matchAll(/`((?:npx )?samekey [^`]*)`/g)];
    return code
      .flatMap(([, body]) => String(body).split('\n'))
      .map((line) => line.replace(/(?:^|\s)#.*$/, '').replaceAll(/"[^"]*"|'[^']*'/g, 'X'))
      .flatMap((line) => Array.from(line.matchAll(/(?:^\s*|npx )samekey ([a-z][a-z-]*)([^|;&]*)/g)))
      .map(([, command, rest]) => ({
        page,
        command: String(command),
        options: Array.from(String(rest).matchAll(/(?<=\s)--[a-z-]+/g), ([option]) => option),
      }));
  });
}

describe('commands in the documentation', () => {
  it('exist, with all options that are shown', async () => {
    const all = documented();
    expect(all.length).toBeGreaterThan(40);
    const wrong: string[] = [];
    const helps = new Map<string, string>();
    for (const { page, command, options } of all) {
      if (!helps.has(command)) {
        const { code, stdout } = await said([command, '--help']);
        helps.set(command, code === 0 ? stdout : '');
      }
      const help = String(helps.get(command));
      if (!help.startsWith(`Usage: samekey ${command} `))
        wrong.push(`${page}: there is no command ${command}`);
      for (const option of options) {
        if (!new RegExp(`(?:^|[ ,])${option}(?= |$|,)`, 'm').test(help))
          wrong.push(`${page}: ${command} has no option ${option}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

/**
 * A small tree with one fault in it, which a check must find. Made inside the repository (ignored by git), so that packages
 * resolve as they do in the real tree.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { buildFolder } from '../lib/files.mjs';
import { describe as describeProblem, type Problem, ROOT } from '../lib/report.mjs';

/** Writes the files and gives back their folder, which goes when the test ends. */
export function tree(files: Record<string, string | object>): string {
  const root = mkdtempSync(join(buildFolder(ROOT, 'test'), 'tree-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [file, content] of Object.entries(files)) {
    const path = join(root, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
  return root;
}

/** A tree of the package: its manifest and its list of entries, with the files given beside them. */
export function packageTree(
  files: Record<string, string | object>,
  entries: object[] = [{ name: 'samekey', source: 'src/index.ts', peers: {}, docs: 'docs/samekey.md' }],
  manifest: object = {},
): string {
  return tree({
    'packages/samekey/package.json': { name: 'samekey', version: '0.0.0', type: 'module', ...manifest },
    'packages/samekey/entries.json': entries,
    ...files,
  });
}

/** The problems as lines, as the program prints them. */
export function lines(problems: Problem[]): string[] {
  return problems.map(describeProblem);
}

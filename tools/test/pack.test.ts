import { describe, expect, it } from 'vitest';
import {
  joined,
  namesGivenOn,
  narrowed,
  plainImports,
  publishedManifest,
  withoutComments,
  withoutHeader,
  withoutHidden,
} from '../pack.mjs';

describe('pack', () => {
  it('comments go with the lines that held nothing else; code, texts that look like comments and what bundlers read stay', () => {
    const text = [
      '/** Why. */',
      "import { a } from './a.js';",
      '// Alone.',
      'export const b = a(/* inside */ 1); // behind',
      "export const c = 'http://x/* no comment */';",
      'export const d = `// no comment',
      '  either`;',
      'export const e = /* @__PURE__ */ a();',
      '//# sourceMappingURL=b.js.map',
    ].join('\n');
    expect(withoutComments('b.js', text)).toBe(
      [
        "import { a } from './a.js';",
        'export const b = a( 1);',
        "export const c = 'http://x/* no comment */';",
        'export const d = `// no comment',
        '  either`;',
        'export const e = /* @__PURE__ */ a();',
        '',
      ].join('\n'),
    );
  });

  it('short branches stand in the line of what they depend on; lines of texts stay', () => {
    const text = [
      'if (a(b))',
      '    return `if (c)',
      '    d`;',
      'else if (e) {',
      '    f();',
      '}',
      'else',
      '    for (const g of h)',
      '        i(g);',
    ].join('\n');
    expect(joined('b.js', text)).toBe(
      [
        'if (a(b)) return `if (c)',
        '    d`;',
        'else if (e) {',
        '    f();',
        '}',
        'else for (const g of h) i(g);',
      ].join('\n'),
    );
  });

  it('declarations import types, and do not say so of each', () => {
    expect(
      plainImports("import type { A } from './a.ts';\nimport { type B, type C as D } from './b.ts';"),
    ).toBe("import type { A } from './a.ts';\nimport { B, C as D } from './b.ts';");
    const others = "export { type E } from './e.ts';\nexport type F = { readonly type: 'f' };";
    expect(plainImports(others)).toBe(others);
  });

  it('lines of code have a blank for each depth, and lines of texts as deep as they were', () => {
    const text = [
      'export function a(b) {',
      '    if (b)',
      '        return `one',
      '    two ${b',
      '        .c}',
      '        three`;',
      '      b();',
      '}',
    ].join('\n');
    expect(narrowed('b.js', text)).toBe(
      [
        'export function a(b) {',
        ' if (b)',
        '  return `one',
        '    two ${b',
        '  .c}',
        '        three`;',
        '  b();',
        '}',
      ].join('\n'),
    );
  });

  it('declarations lose the comment on their module, and keep those on what they declare', () => {
    const own = '/** Of a. */\nexport declare const a = 1;\n';
    expect(withoutHeader(`/**\n * Why: so * / and so.\n */\n${own}`)).toBe(own);
    expect(withoutHeader(`/** Why. */\nimport type { B } from './b.js';\n${own}`)).toBe(
      `import type { B } from './b.js';\n${own}`,
    );
    expect(withoutHeader("/** Entry. */\nexport { a } from './a.js';\n")).toBe(
      "export { a } from './a.js';\n",
    );
    expect(withoutHeader(own)).toBe(own);
  });

  it('functions that no entry gives out lose their comments; those that one does, and types, keep them', () => {
    const shown = new Set(
      namesGivenOn("export { a, type B as C } from './a.js';\nexport type { D } from './d.js';\n"),
    );
    expect([...shown]).toEqual(['a', 'B', 'D']);
    const kept =
      '/** Of a. */\nexport declare function a(): void;\n/** Of E. */\nexport interface E {\n    /** Of f. */\n    readonly f: 1;\n}\n';
    expect(withoutHidden(`${kept}/**\n * Of g.\n */\nexport declare function g(): void;\n`, shown)).toBe(
      `${kept}export declare function g(): void;\n`,
    );
  });

  it('the published manifest has no condition and no member that only this repository needs', () => {
    const manifest = {
      name: 'samekey',
      exports: {
        '.': { '@samekey/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' },
      },
      scripts: { build: 'x' },
      devDependencies: { x: '1' },
      dependencies: { y: '1' },
    };
    expect(publishedManifest(manifest)).toEqual({
      name: 'samekey',
      exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
      dependencies: { y: '1' },
    });
  });
});

import { describe, expect, it } from 'vitest';
import { narrowed, publishedManifest, withoutComments } from '../pack.mjs';

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

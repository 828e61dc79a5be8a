/** Bodies in files: for the eyes of their owner only (F95). */

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { fileBodies } from '../../src/stores/dynamodb/index.ts';

const place = mkdtempSync(join(tmpdir(), 'samekey-file-bodies-'));
afterEach(() => rmSync(place, { recursive: true, force: true }));

function modes(path: string): Record<string, string> {
  const found = readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
  return Object.fromEntries(
    [path, ...found].map((each) => [each.slice(path.length), (statSync(each).mode & 0o777).toString(8)]),
  );
}

// Windows has no such modes.
describe.skipIf(process.platform === 'win32')('bodies in files', () => {
  // F95
  it('are files that their owner alone may read, in folders that their owner alone may enter', async () => {
    const folder = join(place, 'made', 'bodies');
    const bodies = fileBodies(folder);
    await bodies.put('t/ab12/x.response_body.1', Uint8Array.of(1));
    await bodies.put('t/ab12/x.response_body.1', Uint8Array.of(2));
    expect(modes(join(place, 'made'))).toEqual({
      '': '700',
      '/bodies': '700',
      '/bodies/t': '700',
      '/bodies/t/ab': '700',
      '/bodies/t/ab/ab12+x.response_body.1': '600',
    });
    expect(await bodies.get('t/ab12/x.response_body.1')).toEqual(Buffer.from([2]));
  });
});

/** Every alert fires when it should, by Prometheus's own tool; skipped loudly where that is missing. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../lib/report.mjs';
import { lack } from '../../packages/samekey/test/services/lacking.ts';

const PROGRAM = process.env['SAMEKEY_TEST_PROMTOOL'] ?? 'promtool';

function isThere(): boolean {
  if (spawnSync(PROGRAM, ['--version']).status === 0) return true;
  lack('tests of the alerts: no promtool on PATH', 'Run: apt-get install prometheus');
  return false;
}

// Without promtool nothing can tell what the rules come to.
describe.skipIf(!isThere())('alerts', () => {
  it.each([
    [
      'each fires when what it is about is wrong, and a day of ordinary work fires none',
      'test',
      'alerts.test.yaml',
    ],
    ['the rules are well-formed', 'check', 'alerts.yaml'],
  ])('%s', (_title, command, file) => {
    const { status, stdout, stderr } = spawnSync(
      PROGRAM,
      [command, 'rules', join(ROOT, 'ops/prometheus', file)],
      {
        encoding: 'utf8',
      },
    );
    expect(`${stdout}${stderr}`).toContain('SUCCESS');
    expect(status).toBe(0);
  });
});

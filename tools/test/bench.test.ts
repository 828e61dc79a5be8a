/** The benchmarks run, and fail on what must not happen; how fast anything is, is not looked at. They need a build. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../lib/report.mjs';
import { tree } from './fixture.ts';

interface Report {
  readonly lines: readonly { name: string; rounds: readonly { perSecond: number }[] }[];
  readonly faults: readonly string[];
}

const SHORT = ['--connections', '4', '--rounds', '1', '--seconds', '1', '--json'];

async function bench(...flags: readonly string[]): Promise<{ code: number; report: Report }> {
  const args = [join(ROOT, 'bench/run.mjs'), ...flags, ...SHORT];
  const run = promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 24 });
  const { code, stdout } = await run.then(
    (done) => ({ code: 0, stdout: done.stdout }),
    (error: { code: number; stdout: string }) => error,
  );
  return { code, report: JSON.parse(stdout) as Report };
}

/** Runs again for a key it knows, and fails for one key in five. */
const CARELESS = `export async function open({ order }) {
  let count = 0;
  return {
    node(req, res) {
      const answer = JSON.stringify(order(String(req.headers['idempotency-key']), { items: [] }));
      req.resume();
      count += 1;
      res.writeHead(count % 5 === 0 ? 503 : 201, { 'Content-Length': answer.length });
      res.end(answer);
    },
    close: async () => undefined,
  };
}`;

// A run starts a database and a server for each contender: on a slow disk, a minute is not enough.
describe('npm run bench', { timeout: 300_000 }, () => {
  it('new-keys: with Express, every contender runs every key once', async () => {
    const { code, report } = await bench('new-keys');
    expect(report.faults).toEqual([]);
    expect(code).toBe(0);
    expect(report.lines.map(({ name }) => name).slice(0, 4)).toEqual([
      'bare',
      'hand-written',
      'grouped',
      'samekey',
    ]);
    for (const { rounds } of report.lines) expect(rounds[0]?.perSecond).toBeGreaterThan(0);
  });

  it('replays: without Express, no key runs again, from the database and from memory', async () => {
    const { code, report } = await bench('replays', '--framework', 'node', '--neighbours', '1');
    expect(report.faults).toEqual([]);
    expect(code).toBe(0);
    expect(report.lines.map(({ name }) => name)).toContain('samekey, from memory');
  });

  it('a contender that runs keys twice or answers 503 fails the run', async () => {
    const module = join(tree({}), 'careless.mjs');
    writeFileSync(module, CARELESS);
    const { code, report } = await bench(
      'new-keys',
      '--framework',
      'node',
      '--also',
      module,
      '--only',
      module,
    );
    expect(code).toBe(1);
    expect(report.faults.join('\n')).toMatch(/keys ran twice/);
    expect(report.faults.join('\n')).toMatch(/answers were 503/);
  });
});

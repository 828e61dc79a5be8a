import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lack } from '../../samekey/test/services/lacking.ts';
import { freshFolder, RunningDemo } from './running-demo.ts';

const HAS_SHELL = spawnSync('sh', ['-c', 'curl --version']).status === 0;
if (!HAS_SHELL)
  lack('the lines that the demo prints to try, which need sh and curl', 'Run: apt-get install curl');

describe.skipIf(!HAS_SHELL)('the lines that the demo prints to try', () => {
  const folder = freshFolder();
  let demo: RunningDemo;
  let commands: string[];
  beforeAll(async () => {
    demo = await RunningDemo.start(folder.dir);
    commands = demo.stdout.split('\n\n').filter((block) => /^\(?(for|curl|sleep) ?/.test(block));
  });
  afterAll(async () => {
    await demo.interrupt();
    folder.remove();
  });

  it('show, pasted into a shell one after the other, what is said beside them', async () => {
    const outputs: string[] = [];
    for (const command of commands) outputs.push(await paste(command));
    const [first = '', retry = '', other = '', clicks = '', lost, late = '', ...golden] = outputs;
    const [unclear = '', asked = '', noted = '', done = '', ledger = ''] = golden;
    expect(first).toMatch(/^HTTP\/1\.1 201 /);
    expect(first).not.toContain('Idempotency-Replayed');
    expect(retry).toMatch(/^HTTP\/1\.1 201 /);
    expect(retry).toContain('Idempotency-Replayed: true');
    expect(paymentsIn(retry)).toEqual(paymentsIn(first));
    expect(other).toMatch(/^HTTP\/1\.1 422 /);
    expect(clicks.match(/Idempotency-Replayed: true/g)).toHaveLength(1);
    expect(new Set(paymentsIn(clicks)).size).toBe(1);
    expect(lost).toBe('');
    expect(late).toMatch(/^HTTP\/1\.1 201 /);
    expect(unclear).toMatch(/^HTTP\/1\.1 409 /);
    expect(asked).toMatch(/^HTTP\/1\.1 201 /);
    expect(noted).toMatch(/^HTTP\/1\.1 202 /);
    expect(done).toMatch(/^HTTP\/1\.1 201 /);
    expect(JSON.parse(ledger)).toMatchObject({ intents: 5, charges: 5, oneChargePerIntent: true });
  });

  it('stand on the page at / too', async () => {
    const response = await fetch(demo.origin);
    const html = (await response.text()).replaceAll('&lt;', '<').replaceAll('&amp;', '&');
    for (const command of commands) expect(html).toContain(command);
  });
});

describe('a demo whose explainer could not be made', () => {
  it('says so and runs, with the things to try at /', async () => {
    const folder = freshFolder();
    const demo = await RunningDemo.start(folder.dir, ['--explainer', folder.dir]);
    expect(demo.stdout).toContain(`The explainer is not in ${folder.dir}`);
    expect(await (await fetch(demo.origin)).text()).toContain('curl -i');
    expect((await fetch(`${demo.origin}/live`)).status).toBe(404);
    expect((await demo.pay('without-page')).status).toBe(201);
    await demo.interrupt();
    folder.remove();
  });
});

/** What the command writes to standard output, whatever its exit code. */
async function paste(command: string): Promise<string> {
  const run = promisify(execFile)('sh', ['-c', command]);
  return run.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

function paymentsIn(output: string): readonly string[] {
  return output.match(/"id":"pay_\w+"/g) ?? [];
}

/** `samekey coverage` on modules and documents as users have them. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { Command, freshFolder } from './running-demo.ts';

const folder = freshFolder();
afterAll(() => folder.remove());
const EXPRESS = fileURLToPath(import.meta.resolve('express'));

function file(name: string, text: string): string {
  const path = join(folder.dir, name);
  writeFileSync(path, text);
  return path;
}

/** A module as users load it: the command runs without a compiler. */
function built(module: string): string {
  return new URL(`../../samekey/dist/${module}.js`, import.meta.url).href;
}

async function run(...args: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const command = new Command(['coverage', ...args]);
  const code = await command.ended();
  return { code, stdout: command.stdout, stderr: command.stderr.trim() };
}

const app = file(
  'app.mjs',
  `import express from ${JSON.stringify(EXPRESS)};
   const app = express();
   app.post('/payments', (req, res) => res.end());
   app.get('/payments', (req, res) => res.end());
   setInterval(() => undefined, 1000);
   export default app;
   export const make = async () => {
     const made = express();
     made.use(express.json());
     made.post('/payments', (req, res) => res.end());
     return made;
   };
   export const fails = () => { throw new Error('no database'); };`,
);

describe('samekey coverage', () => {
  it('ends with 2 and a list when a route of a module is not protected, although the module would run on', async () => {
    const { code, stdout } = await run(app);
    expect(code).toBe(2);
    expect(stdout).toContain('0 of 1 state-changing routes protected');
    expect(stdout).toContain('POST   /payments');
    const json = await run(app, '--json');
    expect(json.code).toBe(2);
    expect(JSON.parse(json.stdout)).toMatchObject({
      isFull: false,
      gaps: [{ method: 'POST', path: '/payments' }],
    });
  });

  it('ends with 0 when all are exempt, and takes a function that makes the application', async () => {
    const exempt = file('exempt.yaml', '- path: /payments\n  reason: a demo\n');
    expect(await run(app, '--exempt', exempt)).toMatchObject({ code: 0, stderr: '' });
    const made = await run(app, '--export', 'make', '--exempt', exempt);
    expect(made).toMatchObject({ code: 2, stderr: '' });
    expect(made.stdout).toContain('middleware "jsonParser"');
    const passed = await run(app, '--export', 'make', '--exempt', exempt, '--passes', 'jsonParser');
    expect(passed).toMatchObject({ code: 0, stderr: '' });
  });

  it('takes what a module says of itself', async () => {
    const said = file(
      'said.mjs',
      `export { default } from './app.mjs';
       export const coverageOptions = { exempt: [{ path: '/payments', reason: 'a demo' }] };`,
    );
    expect(await run(said)).toMatchObject({ code: 0, stderr: '' });
    expect((await run(said, '--exempt', file('none.json', '[]'))).code).toBe(2);
  });

  it('reads OpenAPI documents in YAML and JSON', async () => {
    const yaml = file(
      'api.yaml',
      `openapi: 3.1.0
info: { title: pay, version: '1' }
components:
  parameters:
    Key: { name: X-Key, in: header, required: true, schema: { type: string } }
paths:
  /payments:
    post:
      parameters: [{ $ref: '#/components/parameters/Key' }]
  /search:
    post: { x-idempotency-exempt: reads only }
`,
    );
    expect((await run(yaml, '--header', 'x-key')).code).toBe(0);
    expect((await run(yaml)).code).toBe(2);
    const json = file('api.json', JSON.stringify({ openapi: '3.0.3', paths: { '/x': { delete: {} } } }));
    expect((await run(json)).stdout).toContain('DELETE /x');
  });

  it('compares an application with its document, and writes the page on its keys', async () => {
    const own = file(
      'protected.mjs',
      `import express from ${JSON.stringify(EXPRESS)};
       import { createSamekey } from ${JSON.stringify(built('index'))};
       import { idempotent } from ${JSON.stringify(built('adapters/express/index'))};
       import { memoryStore } from ${JSON.stringify(built('stores/memory/index'))};
       const app = express();
       const samekey = createSamekey({ store: memoryStore() });
       app.post('/payments', idempotent(samekey, { policy: 'payments', scope: () => 'acme' }), (req, res) => res.end());
       export default app;`,
    );
    const silent = file('silent.yaml', 'openapi: 3.1.0\npaths: { /payments: { post: {} } }\n');
    const told = await run(own, '--openapi', silent);
    expect(told).toMatchObject({ code: 2, stderr: '' });
    expect(told.stdout).toContain('the document does not say that it needs one');
    const honest = file(
      'honest.yaml',
      'openapi: 3.1.0\npaths: { /payments: { post: { x-idempotency: { required: true } } } }\n',
    );
    const page = join(folder.dir, 'idempotency.md');
    expect(await run(own, '--openapi', honest, '--page', page)).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(page, 'utf8')).toContain('| `POST /payments` | required');
  });

  it('ends with 1 and says in one line what is wrong', async () => {
    const cases: readonly (readonly [args: readonly string[], words: string])[] = [
      [[join(folder.dir, 'missing.mjs')], 'cannot be loaded'],
      [[join(folder.dir, 'missing.yaml')], 'cannot be read'],
      [[file('broken.yaml', 'a: [1')], 'neither JSON nor YAML'],
      [[file('other.yaml', 'a: 1')], 'cannot be listed'],
      [[app, '--export', 'gone'], 'has no export "gone"'],
      [[app, '--export', 'fails'], 'failed: no database'],
      [[app, '--exempt', file('map.json', '{}')], 'is no list'],
      [[app, '--openapi', file('other.json', '{}')], 'is an OpenAPI 3 document'],
      [[app, '--page', join(folder.dir, 'page.md')], 'nothing to publish'],
      [[app, '--exempt', file('bare.json', '[{"path":"/payments"}]')], 'needs a reason'],
    ];
    const ended = await Promise.all(cases.map(([args]) => run(...args)));
    for (const [i, { code, stderr }] of ended.entries()) {
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(cases[i]?.[1] ?? '') });
      expect(stderr.split('\n')).toHaveLength(1);
    }
  });
});

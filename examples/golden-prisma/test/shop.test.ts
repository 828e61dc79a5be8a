/** The example where Prisma is installed (`tools/optional`): copied there, so that it finds it, and its client generated. */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { lack } from '../../../packages/samekey/test/services/lacking.ts';
import { goldenShop } from '../../golden-shop.ts';

const OPTIONAL = fileURLToPath(new URL('../../../tools/optional/node_modules/', import.meta.url));
const FILES = ['package.json', 'provider.mjs', 'schema.prisma', 'server.mjs', 'shop.mjs'];

function install(): string | null {
  const cli = `${OPTIONAL}prisma/build/index.js`;
  if (!existsSync(cli)) {
    lack('the example with Prisma, which is not installed', 'Run: npm ci --prefix tools/optional');
    // Not undefined, which would be the parameter's default: then it ran all the same, and failed.
    return null;
  }
  const folder = `${OPTIONAL}.samekey-golden-prisma/`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const file of FILES) cpSync(new URL(`../${file}`, import.meta.url), folder + file);
  execFileSync(process.execPath, [cli, 'generate', '--schema', 'schema.prisma'], {
    cwd: folder,
    stdio: 'pipe',
    // Tables are made by plain SQL, so the engine for migrations is never downloaded.
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', CHECKPOINT_DISABLE: '1' },
  });
  return pathToFileURL(`${folder}server.mjs`).href;
}

goldenShop('golden-prisma/server.mjs', install());

/**
 * Prisma's client for the table of the contract, generated where Prisma is installed (`tools/optional`: its tools are large, and the
 * workspace needs none of them). A Prisma that is not there is named on the console, and fails where everything is required.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { PrismaClient, PrismaTransaction } from '../../src/tx/prisma/index.ts';

/** What the tests use of a transaction of the generated client. */
export interface Tx extends PrismaTransaction {
  $executeRawUnsafe(text: string): Promise<unknown>;
  readonly order: { create(query: { data: { id: string; amount: number } }): Promise<unknown> };
}

/** What they use of the generated client. */
export interface Client extends PrismaClient<Tx> {
  $disconnect(): Promise<void>;
}

const OPTIONAL = fileURLToPath(new URL('../../../../tools/optional/', import.meta.url));
const FOLDER = `${OPTIONAL}node_modules/.samekey-prisma/`;
const SCHEMA = `generator client {
  provider = "prisma-client-js"
  output   = "./client"
}
datasource db {
  provider = "postgresql"
}
model Order {
  id     String @id
  amount Int?   @unique
  @@map("orders")
}
`;

/** Makes clients; undefined when Prisma is not installed. */
export function prismaClients(): ((connectionString: string, max: number) => Client) | undefined {
  const cli = `${OPTIONAL}node_modules/prisma/build/index.js`;
  if (!existsSync(cli)) {
    const message = 'SKIPPED: tests with Prisma, which is not installed. Run: npm ci --prefix tools/optional';
    if (process.env['SAMEKEY_TEST_REQUIRE'] === 'all') throw new Error(message);
    console.warn(message);
    return undefined;
  }
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}schema.prisma`, SCHEMA);
  execFileSync(process.execPath, [cli, 'generate', '--schema', 'schema.prisma'], {
    cwd: FOLDER,
    stdio: 'pipe',
    // Tables are made by plain SQL, so the engine for migrations is never downloaded.
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', CHECKPOINT_DISABLE: '1' },
  });
  const require = createRequire(`${FOLDER}index.js`);
  const { PrismaClient: Generated } = require('./client') as {
    PrismaClient: new (options: { adapter: unknown }) => Client;
  };
  const { PrismaPg } = require('@prisma/adapter-pg') as { PrismaPg: new (options: object) => unknown };
  return (connectionString, max) => new Generated({ adapter: new PrismaPg({ connectionString, max }) });
}

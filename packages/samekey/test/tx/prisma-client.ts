/**
 * Prisma's client for the table of the contract, generated where Prisma is installed (`tools/optional`: its tools are large, and the
 * workspace needs none of them). A Prisma that is not there is named on the console, and fails where everything is required.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { PrismaClient, PrismaTransaction } from '../../src/tx/prisma/index.ts';
import { lack } from '../services/lacking.ts';

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
const schemaFor = (provider: string): string => `generator client {
  provider = "prisma-client-js"
  output   = "./client"
}
datasource db {
  provider = "${provider}"
}
model Order {
  id     String @id
  amount Int?   @unique
  @@map("orders")
}
`;

/** Makes an adapter of Prisma's for at most so many connections. */
type AdapterOf = (require: NodeJS.Require, url: string, max: number) => unknown;

/** What Prisma is tested on: its word for the database, the package of its adapter, and how that is made. */
const DATABASES: Readonly<
  Record<'postgres' | 'mysql', readonly [provider: string, adapter: string, make: AdapterOf]>
> = {
  postgres: [
    'postgresql',
    '@prisma/adapter-pg',
    (require, connectionString, max) => {
      const { PrismaPg } = require('@prisma/adapter-pg') as { PrismaPg: new (options: object) => unknown };
      return new PrismaPg({ connectionString, max });
    },
  ],
  mysql: [
    'mysql',
    '@prisma/adapter-mariadb',
    (require, url, connectionLimit) => {
      const { PrismaMariaDb } = require('@prisma/adapter-mariadb') as {
        PrismaMariaDb: new (pool: object, options: object) => unknown;
      };
      const { hostname, port, username, pathname } = new URL(url);
      const database = pathname.slice(1);
      return new PrismaMariaDb(
        { host: hostname, port: Number(port), user: username, database, connectionLimit, minimumIdle: 1 },
        { useTextProtocol: true, database },
      );
    },
  ],
};

/** Makes clients; undefined when Prisma is not installed. */
export function prismaClients(
  dialect: 'postgres' | 'mysql' = 'postgres',
): ((url: string, max: number) => Client) | undefined {
  const [provider, adapter, makeAdapter] = DATABASES[dialect];
  const cli = `${OPTIONAL}node_modules/prisma/build/index.js`;
  if (!existsSync(cli) || !existsSync(`${OPTIONAL}node_modules/${adapter}`)) {
    return lack('tests with Prisma, which is not installed', 'Run: npm ci --prefix tools/optional');
  }
  const folder = `${OPTIONAL}node_modules/.samekey-prisma-${provider}/`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}schema.prisma`, schemaFor(provider));
  execFileSync(process.execPath, [cli, 'generate', '--schema', 'schema.prisma'], {
    cwd: folder,
    stdio: 'pipe',
    // Tables are made by plain SQL, so the engine for migrations is never downloaded.
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', CHECKPOINT_DISABLE: '1' },
  });
  const require = createRequire(`${folder}index.js`);
  const { PrismaClient: Generated } = require('./client') as {
    PrismaClient: new (options: { adapter: unknown }) => Client;
  };
  return (url, max) => new Generated({ adapter: makeAdapter(require, url, max) });
}

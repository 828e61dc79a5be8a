/** `fromPrisma` keeps the contract on MySQL and MariaDB, with a generated client and the adapter for both. */

import { describe } from 'vitest';
import { fromPrisma } from '../../src/tx/prisma/index.ts';
import { contractOnMysql } from './mysql-harness.ts';
import { prismaClients, type Tx } from './prisma-client.ts';

const open = prismaClients('mysql');

// Without Prisma: see the console.
describe.runIf(open !== undefined)('Prisma', () => {
  contractOnMysql<Tx>(
    'Prisma',
    (url, begin, max) => {
      const client = (open as NonNullable<typeof open>)(url, max);
      return {
        source: fromPrisma(client, { ...begin, dialect: 'mysql' }),
        query: (tx, text) => tx.$executeRawUnsafe(text),
        insert: (tx, id, amount) => tx.order.create({ data: { id, amount } }),
        close: () => client.$disconnect(),
      };
    },
    // Its client hands queries to an engine of its own, which takes COMMIT first.
    { straysRunFirst: false },
  );
});

/** `fromPrisma` keeps the contract, with a generated client. */

import { describe } from 'vitest';
import { fromPrisma } from '../../src/tx/prisma/index.ts';
import { contractOnPostgres } from './postgres-harness.ts';
import { prismaClients, type Tx } from './prisma-client.ts';

const open = prismaClients();

// Without Prisma: see the console.
describe.runIf(open !== undefined)('Prisma', () => {
  contractOnPostgres<Tx>({
    name: 'Prisma',
    refusesLateUse: true,
    // Its client hands queries to an engine of its own, which takes COMMIT first.
    straysRunFirst: false,
    async open(url, begin, max) {
      const client = (open as NonNullable<typeof open>)(url, max);
      return {
        source: fromPrisma(client, begin),
        query: (tx, text) => tx.$executeRawUnsafe(text),
        insert: (tx, id, amount) => tx.order.create({ data: { id, amount } }),
        close: () => client.$disconnect(),
      };
    },
  });
});

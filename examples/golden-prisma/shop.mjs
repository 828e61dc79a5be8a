// @ts-check
// The shop's own tables, and Samekey's records in the same database: so that both commit together.
import { createRequire } from 'node:module';
import { Pool } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import { fromPrisma } from 'samekey/tx/prisma';

// In an application: import { PrismaClient } from './client' and { PrismaPg } from '@prisma/adapter-pg'. Here they are described by hand,
// because the workspace has no Prisma, and types are checked all the same.
/**
 * @typedef {import('samekey/tx/prisma').PrismaTransaction & {
 *   order: {
 *     create(query: object): Promise<{ id: number }>,
 *     findMany(query: object): Promise<{ id: number, item: string, payment: { chargeId: string | null } | null }[]>,
 *   },
 *   payment: { update(query: object): Promise<unknown> },
 * }} Tx
 */
/** @typedef {Tx & import('samekey/tx/prisma').PrismaClient<Tx> & { $disconnect(): Promise<void> }} Client */
const require = createRequire(import.meta.url);
const { PrismaClient } = /** @type {{ PrismaClient: new (options: object) => Client }} */ (
  require('./client')
);
const { PrismaPg } = /** @type {{ PrismaPg: new (pool: object) => object }} */ (
  require('@prisma/adapter-pg')
);

const connectionString = process.env['DATABASE_URL'];
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) });
// Samekey's own connections, to the same database.
const pool = new Pool({ connectionString });
pool.on('error', (error) => console.error(error.message));
// Stands for `prisma migrate`.
await pool.query(`CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, account text NOT NULL, item text NOT NULL);
  CREATE TABLE IF NOT EXISTS payments (
    order_id int PRIMARY KEY REFERENCES orders, amount_cents int NOT NULL, charge_id text UNIQUE)`);

export const store = postgresStore({ service: 'shop', pool });
export const transactions = /** @type {typeof fromPrisma<Tx>} */ (fromPrisma)(prisma);

export const shop = {
  /**
   * An order and its payment, which nobody has charged yet.
   * @param {Tx} tx @param {string} account @param {string} item
   */
  async open(tx, account, item) {
    const amountCents = 1200;
    const { id } = await tx.order.create({ data: { account, item, payment: { create: { amountCents } } } });
    return { id, amountCents, reference: `order-${id}` };
  },
  /** @param {Tx} tx @param {number} orderId @param {string} chargeId */
  async book(tx, orderId, chargeId) {
    await tx.payment.update({ where: { orderId }, data: { chargeId } });
  },
  /** @param {string} account */
  async list(account) {
    const orders = await prisma.order.findMany({
      where: { account },
      include: { payment: true },
      orderBy: { id: 'asc' },
    });
    return orders.map(({ id, item, payment }) => ({ id, item, charge: payment?.chargeId ?? null }));
  },
  async close() {
    await prisma.$disconnect();
    await pool.end();
  },
};

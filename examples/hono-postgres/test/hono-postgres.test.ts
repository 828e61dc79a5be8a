import { ordersOnPostgres } from '../../orders-on-postgres.ts';

ordersOnPostgres('hono-postgres/server.mjs');

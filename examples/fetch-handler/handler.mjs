// @ts-check
// A handler `Request → Response` with one protected operation. Deno, Bun and Workers serve this module as it is.
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/fetch';
import { memoryStore } from 'samekey/stores/memory';

// One process, and gone with it: for more, take a store in a database.
export const samekey = createSamekey({ store: memoryStore() });

/** @type {{ id: number, item: string }[]} */
const orders = [];

/** Stands for your authentication: who is calling. */
const accountOf = (/** @type {Request} */ request) =>
  request.headers.get('Authorization')?.replace('Bearer ', '');

const createOrder = idempotent(
  samekey,
  { policy: 'standard', scope: accountOf, operation: 'POST /orders', waitMaxMs: 5_000 },
  async (request) => {
    const { item } = await request.json();
    const order = { id: orders.length + 1, item };
    orders.push(order);
    return Response.json(order, { status: 201, headers: { Location: `/orders/${order.id}` } });
  },
);

export default {
  /** @type {(request: Request) => Promise<Response>} */
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname !== '/orders') return new Response('Not found\n', { status: 404 });
    return request.method === 'POST' ? createOrder(request) : Response.json(orders);
  },
};

/** The business write of `golden`: one order. */

export const ORDERS_TABLE =
  'CREATE TABLE IF NOT EXISTS orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL, amount_cents bigint NOT NULL)';
export const INSERT_ORDER = {
  name: 'order',
  text: 'INSERT INTO orders (key, amount_cents) VALUES ($1, $2) RETURNING id',
};

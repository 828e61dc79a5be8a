/** Messages that were given up, as a worker leaves them. */

import type { Store } from 'samekey';
import type { MessageQueue } from 'samekey/operator';

let made = 0;

/** So many, of the topic `mail`. */
export async function deadLetters(store: Store, many: number): Promise<void> {
  const { messages } = store as Store & { readonly messages: MessageQueue };
  await messages.enqueue(
    Array.from({ length: many }, () => ({
      id: `letter-${String((made += 1)).padStart(4, '0')}`,
      topic: 'mail',
      group: null,
      payload: JSON.stringify({ to: 'a customer', text: 'your receipt' }),
      headers: null,
      delayMs: 0,
      owner: null,
    })),
  );
  const take = { topics: ['mail'], limit: many, leaseId: `lease-${made}`, leaseMs: 60_000 };
  const { taken } = await messages.take({ ...take, suspectsMax: many, deliveriesMax: 20 });
  await messages.dead(
    taken.map(({ id, place, leaseId, started }) => ({
      id,
      place,
      leaseId,
      started,
      error: 'the mail server refused the connection',
      proven: false,
      begun: true,
      record: null,
    })),
  );
}

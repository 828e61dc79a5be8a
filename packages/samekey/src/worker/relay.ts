/**
 * A handler that passes messages on to a broker or a provider: it publishes under the stable key, records what the
 * provider called it, and only then is the message done (F53). A repeat after that recording publishes nothing.
 */

import { isProviderId } from '../ways/provider-notes.ts';
import type { Delivery, MessageHandler, ReceivedMessage } from './delivery.ts';

/** Publishes one message and gives the provider's id of it, if it has one. */
export type Publish<Payload> = (
  message: ReceivedMessage<Payload>,
  delivery: Delivery,
) => Promise<string | null | undefined>;

/** Makes the handler. */
export function relay<Payload = unknown>(publish: Publish<Payload>): MessageHandler<Payload> {
  return async (message, delivery) => {
    if (delivery.providerId !== null) return { providerId: delivery.providerId };
    const providerId = await publish(message, delivery);
    // It is published: what cannot be noted must not bring it back (F147).
    if (!isProviderId(providerId)) return undefined;
    await delivery.noteProviderId(providerId);
    return { providerId };
  };
}

/** The relay: published once, noted, done; what cannot be noted does not bring a message back. */

import { expect, it } from 'vitest';
import { type Delivery, relay, type ReceivedMessage } from '../../src/worker/index.ts';

const message: ReceivedMessage = {
  id: 'm-1',
  topic: 'orders',
  group: null,
  payload: {},
  headers: {},
  createdAt: 0,
};

/** A delivery, and what was noted of it. */
function delivery(providerId: string | null = null): { readonly of: Delivery; readonly noted: unknown[] } {
  const noted: unknown[] = [];
  const of: Delivery = {
    number: 1,
    mayHaveRunBefore: false,
    downstreamKey: 'key',
    providerId,
    signal: new AbortController().signal,
    noteProviderId: async (id) => void noted.push(id),
    extend: () => undefined,
    giveUp: () => undefined,
    unknown: () => undefined,
  };
  return { of, noted };
}

it('notes what the provider called it, and answers with that', async () => {
  const { of, noted } = delivery();
  expect(await relay(async () => 'sqs-1')(message as never, of)).toEqual({ providerId: 'sqs-1' });
  expect(noted).toEqual(['sqs-1']);
});

it('publishes nothing that an earlier delivery has noted', async () => {
  const published: unknown[] = [];
  const handler = relay(async () => {
    published.push(1);
    return 'sqs-2';
  });
  expect(await handler(message as never, delivery('sqs-1').of)).toEqual({ providerId: 'sqs-1' });
  expect(published).toEqual([]);
});

// F147, F79
it.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['an empty text', ''],
  ['a number', 7],
  ['an object', { id: 7 }],
  ['a text that is too long', 'x'.repeat(256)],
])('is done when the provider called it %s, which cannot be noted', async (_what, id) => {
  const { of, noted } = delivery();
  expect(await relay(async () => id as string)(message as never, of)).toBeUndefined();
  expect(noted).toEqual([]);
});

/** A client of its own for Pub/Sub: a connection that has subscribed takes no other commands. */

import { OptionsError } from '../../core/errors.ts';

/** ioredis: `client.duplicate()`. */
export interface IoSubscriber {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  off(event: 'message', listener: (channel: string, message: string) => void): unknown;
}

/** node-redis: `client.duplicate()`, connected. */
export interface NodeSubscriber {
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
}

/** What a store is given. */
export type RedisSubscriber = IoSubscriber | NodeSubscriber;

/** One way to listen with either. */
export interface Subscriber {
  /**
   * Resolves with what ends it. Clients subscribe again by themselves after a loss; what was said meanwhile is lost.
   */
  subscribe(channel: string, heard: (message: string) => void): Promise<() => Promise<void>>;
}

/** Makes it. Throws `OptionsError` for anything else than these clients. */
export function openSubscriber(client: RedisSubscriber): Subscriber {
  const found = client as Partial<IoSubscriber & { callBuffer: unknown }> | null | undefined;
  if (typeof found?.subscribe !== 'function') {
    throw new OptionsError(
      `subscriber must be a client of ioredis or node-redis of its own; it is ${client === null ? 'null' : typeof client}.`,
    );
  }
  return typeof found.callBuffer === 'function' ? ofIoRedis(client as IoSubscriber) : ofNodeRedis(client);
}

function ofIoRedis(client: IoSubscriber): Subscriber {
  return {
    async subscribe(channel, heard) {
      const listener = (from: string, message: string): void => {
        if (from === channel) heard(message);
      };
      client.on('message', listener);
      await client.subscribe(channel);
      return async () => {
        client.off('message', listener);
        await client.unsubscribe(channel);
      };
    },
  };
}

function ofNodeRedis(client: NodeSubscriber): Subscriber {
  return {
    async subscribe(channel, heard) {
      await client.subscribe(channel, heard);
      return async () => void (await client.unsubscribe(channel, heard));
    },
  };
}

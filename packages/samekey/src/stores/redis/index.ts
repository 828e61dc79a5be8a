export type { Durability, RedisStoreOptions } from './options.ts';
export type { IoRedis, NodeRedis, RedisClient } from './client.ts';
export { redisStore } from './redis-store.ts';
export type { IoSubscriber, NodeSubscriber, RedisSubscriber } from './subscriber.ts';

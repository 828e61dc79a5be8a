export { type RedisCacheOptions, redisCache } from './redis-cache.ts';
export { type RedisHintsOptions, redisHints, type RedisSubscriber } from './redis-hints.ts';
export type { CacheCounts, CacheSecrets, SharedCache, TieredStoreOptions } from './options.ts';
export { type Tiered, tieredStore } from './tiered-store.ts';

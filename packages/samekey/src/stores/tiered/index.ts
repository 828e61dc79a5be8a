export { type RedisCacheOptions, redisCache } from './redis-cache.ts';
export type { CacheCounts, CacheSecrets, SharedCache, TieredStoreOptions } from './options.ts';
export { type Tiered, tieredStore } from './tiered-store.ts';

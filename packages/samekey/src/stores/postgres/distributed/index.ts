export { type DistributedEngine } from './engines.ts';
export { distributedMigrations } from './migrations.ts';
export type { DistributedPostgresStoreOptions } from './options.ts';
export {
  type DistributedPostgresStore,
  distributedPostgresStore,
  type DistributedSchemaStatus,
} from './distributed-store.ts';

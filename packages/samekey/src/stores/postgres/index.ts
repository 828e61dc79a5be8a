export { type DistributedEngine } from './distributed/engines.ts';
export { distributedMigrations } from './distributed/migrations.ts';
export type { DistributedPostgresStoreOptions } from './distributed/options.ts';
export {
  type DistributedPostgresStore,
  distributedPostgresStore,
  type DistributedSchemaStatus,
} from './distributed/store.ts';
export { postgresMigrations } from './migrations/index.ts';
export type { PostgresStoreOptions } from './options.ts';
export type {
  PgClient,
  PgPool,
  PgPoolClient,
  PgQuery,
  PostgresJs,
  PostgresJsTransaction,
  PostgresTransaction,
} from './postgres-client.ts';
export { type PostgresSchemaStatus, type PostgresStore, postgresStore } from './postgres-store.ts';
export type { WithinPostgres } from './within.ts';

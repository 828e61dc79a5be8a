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
} from './client.ts';
export { type PostgresSchemaStatus, type PostgresStore, postgresStore } from './postgres-store.ts';
export type { WithinPostgres } from './within/within.ts';

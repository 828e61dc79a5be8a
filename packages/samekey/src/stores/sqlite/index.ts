export { sqliteMigrations } from './migrations/index.ts';
export type { SqliteStoreOptions } from './options.ts';
export type { SqliteSchemaStatus } from './schema.ts';
export type { SqliteDatabase, SqliteStatement } from './sqlite-client.ts';
export { type SqliteStore, type SqliteTransaction, sqliteStore, type WithinSqlite } from './sqlite-store.ts';

export { sqliteMigrations } from './migrations/index.ts';
export type { SqliteStoreOptions } from './options.ts';
export type { SqliteSchemaStatus } from './schema.ts';
export type { SqliteDatabase, SqliteStatement } from './client.ts';
export { type SqliteStore, sqliteStore } from './sqlite-store.ts';
export type { SqliteTransaction, WithinSqlite } from './within.ts';

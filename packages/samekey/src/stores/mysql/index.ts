export { mysqlMigrations } from './migrations/index.ts';
export type { MysqlCallbackConnection, MysqlConnection, MysqlTransaction } from './client.ts';
export { type MysqlStore, mysqlStore } from './mysql-store.ts';
export type { MysqlStoreOptions } from './options.ts';
export type { MysqlSchemaStatus } from './schema.ts';
export type { WithinMysql } from './within.ts';

/**
 * Two MariaDB servers, a primary and its replica by GTIDs, which can take over. Synchronous: semi-synchronous replication with AFTER_SYNC, by
 * which the primary shows nobody a commit that the replica has not in its log, and waits for the replica for ever.
 *
 * Sources: https://mariadb.com/kb/en/semisynchronous-replication/, https://mariadb.com/kb/en/gtid/.
 */

import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { type MysqlServer, type MysqlSource, startMysql } from './mysql.ts';

/** A primary and its replica. */
export interface MysqlPair {
  readonly primary: MysqlServer;
  readonly standby: MysqlServer;
  /** The replica hears nothing of the primary from now on. */
  detach(): Promise<void>;
  /** The replica applies what it has, and takes writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** How they are joined. */
export interface MysqlPairOptions {
  /** Whether a commit waits for the replica to have it in its log. */
  readonly synchronous: boolean;
  readonly medium?: 'memory' | 'disk';
}

/** What `ready()` asks for where there is a binary log. */
const LOGGED = { log_bin: 'bin', log_slave_updates: 'ON', sync_binlog: '1', binlog_format: 'ROW' };
/** In milliseconds: what waits is ended by its client. */
const FOR_EVER = '18446744073709551615';

/** Starts both; resolves when the replica follows. */
export async function startMysqlPair(source: MysqlSource, options: MysqlPairOptions): Promise<MysqlPair> {
  const { synchronous, medium = 'memory' } = options;
  const primary = await startMysql(
    source,
    {
      ...LOGGED,
      server_id: '1',
      ...(synchronous && {
        rpl_semi_sync_master_enabled: 'ON',
        rpl_semi_sync_master_wait_point: 'AFTER_SYNC',
        rpl_semi_sync_master_timeout: FOR_EVER,
      }),
    },
    medium,
  );
  const standby = await startMysql(
    source,
    {
      ...LOGGED,
      server_id: '2',
      read_only: 'ON',
      relay_log_recovery: 'ON',
      ...(synchronous && { rpl_semi_sync_slave_enabled: 'ON' }),
    },
    medium,
  );
  const { port } = new URL(primary.url());
  await ask(
    standby,
    `CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${port}, MASTER_USER = 'root', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1`,
  );
  await ask(standby, 'START SLAVE');
  await until(standby, 'SHOW SLAVE STATUS', (row) => row['Slave_IO_Running'] === 'Yes');
  if (synchronous) {
    await until(primary, "SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'", (row) => row['Value'] === '1');
  }
  return {
    primary,
    standby,
    detach: () => ask(standby, 'STOP SLAVE IO_THREAD'),
    async promote() {
      await ask(standby, 'STOP SLAVE IO_THREAD');
      // Everything that it has got is applied.
      await until(standby, 'SHOW SLAVE STATUS', (row) =>
        /has read all relay log/i.test(String(row['Slave_SQL_Running_State'])),
      );
      await ask(standby, 'STOP SLAVE');
      await ask(standby, 'RESET SLAVE ALL');
      await ask(standby, 'SET GLOBAL read_only = OFF');
    },
    async stop() {
      await standby.stop();
      await primary.stop();
    },
  };
}

type Row = Readonly<Record<string, unknown>>;

async function rowsOf(server: MysqlServer, sql: string): Promise<readonly Row[]> {
  const connection = await createConnection(server.url());
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql);
    return Array.isArray(rows) ? rows : [];
  } finally {
    connection.destroy();
  }
}

async function ask(server: MysqlServer, sql: string): Promise<void> {
  await rowsOf(server, sql);
}

async function until(server: MysqlServer, sql: string, isSo: (row: Row) => boolean): Promise<void> {
  for (const end = performance.now() + 20_000; ; ) {
    if ((await rowsOf(server, sql)).some((row) => isSo(row))) return;
    if (performance.now() > end) throw new Error(`${server.name} does not come so far: ${sql}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

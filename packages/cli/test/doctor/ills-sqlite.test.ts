/** What the doctor finds in an SQLite file, and what it does not find in a healthy one. */

import { join } from 'node:path';
import Database from 'libsql';
import { sqliteStore } from 'samekey/stores/sqlite';
import { afterAll, describe } from 'vitest';
import { freshFolder } from '../running-demo.ts';
import { findsIlls } from './ills-suite.ts';
import { startLoad } from './load.ts';

const folder = freshFolder();
let files = 0;

describe('samekey doctor on SQLite', () => {
  afterAll(() => folder.remove());
  findsIlls('sqlite', () => ({
    async fresh() {
      files += 1;
      const path = join(folder.dir, `keys-${files}.db`);
      const database = new Database(path);
      await sqliteStore({ service: 'shop', database }).migrate();
      database.close();
      return path;
    },
    async session(path) {
      const database = new Database(path);
      return { execute: async (sql) => void database.exec(sql), close: async () => void database.close() };
    },
    async load(path) {
      const database = new Database(path);
      const load = startLoad(sqliteStore({ service: 'shop', database }));
      return {
        isUnderWay: () => load.isUnderWay(),
        async stop() {
          await load.stop();
          database.close();
        },
      };
    },
  }));
});

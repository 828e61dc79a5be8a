/** An application whose answers are sealed. */

import Database from 'libsql';
import { createSamekey } from 'samekey';
import { keyRing, sealed } from 'samekey/seal';
import { sqliteStore } from 'samekey/stores/sqlite';

const { APP_DATABASE = '', SEAL_KEY = 'k1' } = process.env;
const database = new Database(APP_DATABASE);
const ring = keyRing({ current: SEAL_KEY, keys: { [SEAL_KEY]: Buffer.alloc(32, SEAL_KEY) } });

export default {
  samekey: createSamekey({
    store: sealed(sqliteStore({ service: 'shop', database }), ring),
    policy: 'payments',
  }),
  close: () => void database.close(),
};

/** A store written with `samekey/store-kit` alone, as one outside of this repository would be, holds both contracts. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineContract, type StoreHarness, storeContract } from '@samekey/testing';
import { describe, it } from 'vitest';
import { shelfStore } from './shelf-store.ts';

const harness: StoreHarness = {
  name: 'shelf',
  async create(options) {
    const folder = mkdtempSync(join(tmpdir(), 'samekey-shelf-'));
    let now = Date.UTC(2030, 0);
    // `options` asks for an audit of transitions, which it does not keep: it refuses what it does not know.
    const store = shelfStore({ ...options, folder, now: () => now });
    return {
      store,
      advance: (ms) => {
        now += ms;
      },
      close: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
};

storeContract({ describe, it }, harness);
engineContract({ describe, it }, harness);

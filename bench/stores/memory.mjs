/** The memory store: what Samekey costs without a database. */
import { memoryStore } from 'samekey/stores/memory';

/** @type {import('../contract.d.ts').OpenStore} */
export async function open() {
  return { store: memoryStore({ recordsMax: 10_000_000 }), close: async () => undefined };
}

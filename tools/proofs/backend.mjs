/** Why: the proofs on real processes start a store's server, and must stop it however they end. */
import { backendOf } from '../../packages/samekey/test/processes/.out/processes/backends/index.js';

/** @typedef {import('../../packages/samekey/test/processes/.out/processes/backends/backend.js').Backend} Backend */
/** @typedef {import('../../packages/samekey/test/processes/.out/processes/backends/backend.js').BackendOptions} BackendOptions */

/**
 * @template Result
 * @param {{ store?: string }} options
 * @param {BackendOptions} how
 * @param {(backend: Backend) => Promise<Result>} work
 * @returns {Promise<Result>}
 */
export async function onBackend({ store = 'sqlite' }, how, work) {
  const kind = await backendOf(store);
  const backend = await kind.start(how);
  try {
    return await work(backend);
  } finally {
    await backend.close();
  }
}

/**
 * Whether this machine has the store; if not, the console says what is missing.
 * @param {string} store
 */
export async function isAvailable(store) {
  return (await backendOf(store)).isAvailable();
}

/** The servers of the tests, on a folder of the disk: in memory an fsync costs nothing. */
import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const SERVICES = new URL('../../packages/samekey/test/processes/.out/services/', import.meta.url);
const TMPFS = 0x01021994;

/**
 * Loads a module of the tests' services. Throws when nothing is built, or what is measured would lie in memory.
 * @param {string} name
 * @returns {Promise<any>}
 */
export async function service(name) {
  const file = new URL(`${name}.js`, SERVICES);
  if (!existsSync(file)) throw new Error('Run npm run build first.');
  if (statfsSync(tmpdir()).type === TMPFS) {
    throw new Error(
      `${tmpdir()} is in memory, where an fsync costs nothing: set TMPDIR to a folder on a disk.`,
    );
  }
  return import(file.href);
}

/**
 * Refuses network file systems: SQLite's locks and its WAL index (shared memory) are not coherent between hosts there,
 * so two machines would both believe to hold a claim. https://sqlite.org/wal.html ("all processes must be on the same
 * host"), https://sqlite.org/howtocorrupt.html §2.
 *
 * 9p is refused too: it shows files of another kernel (WSL's Windows drives, a virtual machine's host), whose own
 * processes take locks this side cannot see. FUSE and virtiofs are let through: they carry local file systems as often
 * as remote ones and cannot be told apart here. Numbers: statfs(2), linux/magic.h. Other systems number types by mount
 * order, so only UNC paths are recognised there.
 */

import { SchemaError } from '../../core/errors.ts';

/** Just enough of `fs.promises.statfs`. */
export type Statfs = (path: string) => Promise<{ readonly type: number }>;

const REMOTE: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9p'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
]);

/** Throws `SchemaError` when the database file lies on a network file system. */
export async function checkFileSystem(path: string, statfs?: Statfs): Promise<void> {
  const name = isUncPath(path) ? 'SMB' : await fileSystemName(path, statfs);
  if (name === undefined) return;
  throw new SchemaError(
    `The SQLite file lies on a network file system (${name}), where locks do not hold between machines: ` +
      'put it on a local disk, or use a database server.',
  );
}

async function fileSystemName(path: string, statfs: Statfs | undefined): Promise<string | undefined> {
  if (statfs === undefined && process.platform !== 'linux') return undefined;
  // Loaded here, so that importing the store loads nothing of Node's.
  const ask: Statfs = statfs ?? (await import('node:fs/promises')).statfs;
  let type: number;
  try {
    ({ type } = await ask(path));
  } catch {
    // Not created yet (libsql opens late): it will lie where its folder lies.
    ({ type } = await ask(path.replace(/[^/\\]*$/, '') || '.'));
  }
  // 32 bits whatever the kernel's word: some platforms give the number with its sign spread.
  return REMOTE.get(type >>> 0);
}

/** `\\server\share\…`, but not the local forms `\\?\C:\…` and `\\.\…`. */
function isUncPath(path: string): boolean {
  return /^[\\/]{2}(?![?.][\\/])[^\\/]/.test(path) && path.includes('\\');
}

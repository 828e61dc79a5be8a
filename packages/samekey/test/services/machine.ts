/** What starting servers needs of the machine. */

import { execFileSync } from 'node:child_process';
import { accessSync, constants, statfsSync } from 'node:fs';
import { createServer } from 'node:net';

/** A file system in memory with a gigabyte left: fsync is called as ever and costs nothing there. */
export function roomyMemory(): string | undefined {
  const path = '/dev/shm';
  try {
    accessSync(path, constants.W_OK);
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize > 2 ** 30 ? path : undefined;
  } catch {
    return undefined;
  }
}

/** PostgreSQL refuses to run as root. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  try {
    return userIds();
  } catch {
    execFileSync('useradd', ['--system', '--user-group', 'postgres'], { stdio: 'pipe' });
    return userIds();
  }
}

function userIds(): { uid: number; gid: number } {
  const [uid = 0, gid = 0] = ['-u', '-g'].map((what) =>
    Number(execFileSync('id', [what, 'postgres'], { stdio: 'pipe' }).toString()),
  );
  return { uid, gid };
}

/** A port nobody listens on right now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** What starting servers needs of the machine. */

import { execFileSync } from 'node:child_process';
import { accessSync, constants, readdirSync, readFileSync, statfsSync } from 'node:fs';
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

/** A process, all that it started and all that those started; it comes first. */
export function processTree(root: number): readonly number[] {
  const parents = parentsOf();
  const tree = [root];
  for (const parent of tree) {
    for (const [pid, ppid] of parents) if (ppid === parent) tree.push(pid);
  }
  return tree;
}

/** Every living process and its parent; what only waits to be reaped is gone. */
function parentsOf(): ReadonlyMap<number, number> {
  const parents = new Map<number, number>();
  if (process.platform !== 'linux') {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
    for (const line of table.trim().split('\n')) {
      const [pid = 0, ppid = 0] = line.trim().split(/\s+/).map(Number);
      parents.set(pid, ppid);
    }
    return parents;
  }
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The name of the program stands in parentheses and may hold some.
      const [state = '', ppid = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state !== 'Z') parents.set(Number(name), Number(ppid));
    } catch {
      // Gone since the folder was read.
    }
  }
  return parents;
}

/** Sends a signal to each process that is still there. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // Gone already.
    }
  }
}

/** Resolves when none of these processes lives. */
export async function allGone(pids: readonly number[]): Promise<void> {
  for (;;) {
    const alive = parentsOf();
    if (!pids.some((pid) => alive.has(pid))) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

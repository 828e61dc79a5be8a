/**
 * A test process that is killed runs no handler, and its servers would stay for ever. The watchdog's input ends with it, in
 * whatever way it ends: then the server goes, and its folder.
 */

import { type ChildProcess, spawn } from 'node:child_process';

/** `server`: its process id, or the file in `folder` whose first line is that. Killed when the server has ended otherwise. */
export function startWatchdog(
  folder: string,
  server: number | string,
  signal: 'KILL' | 'QUIT' = 'KILL',
): Pick<ChildProcess, 'kill'> {
  if (process.platform === 'win32') return { kill: () => true };
  const pid = typeof server === 'number' ? String(server) : `$(head -n 1 "$0/${server}")`;
  const script = `cat; kill -${signal} "${pid}"; sleep 1; rm -rf "$0"`;
  const child = spawn('sh', ['-c', script, folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  child.unref();
  (child.stdin as unknown as { unref?(): void }).unref?.();
  return child;
}

/** Busy processes beside what is measured: how it holds where processor time is short. */
import { spawn } from 'node:child_process';

/** @param {number} count @returns {() => void} what ends them */
export function startNeighbours(count) {
  const busy = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  const end = () => {
    for (const one of busy) one.kill('SIGKILL');
  };
  process.once('exit', end);
  return end;
}

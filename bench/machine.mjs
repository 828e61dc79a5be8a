/** CPU time of processes, from /proc (Linux; elsewhere 0), in µs. A tick is 10 ms. */
import { readdirSync, readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

const TICK_US = 10_000;

/**
 * The fields of /proc/<pid>/stat after the name, which may hold spaces.
 * @param {number | 'self'} pid
 * @returns {string[]}
 */
function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** @param {string[]} fields @param {readonly number[]} which */
const sum = (fields, which) => which.reduce((total, i) => total + Number(fields[i] ?? 0), 0) * TICK_US;

/** User and system time of one process. @param {number} pid */
export function cpuUs(pid) {
  return sum(stat(pid), [11, 12]);
}

/** Of all children of this process that have ended. */
export function childrenCpuUs() {
  return sum(stat('self'), [13, 14]);
}

/** Of a process, its children, and those of them that have ended. @param {number} pid */
export function treeCpuUs(pid) {
  let total = sum(stat(pid), [11, 12, 13, 14]);
  for (const name of process.platform === 'linux' ? readdirSync('/proc') : []) {
    if (!/^\d+$/.test(name)) continue;
    const fields = stat(Number(name));
    if (Number(fields[1]) === pid) total += sum(fields, [11, 12, 13, 14]);
  }
  return total;
}

/** The first process whose command line holds a text. @param {string} text */
export function pidOf(text) {
  for (const name of process.platform === 'linux' ? readdirSync('/proc') : []) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    try {
      if (readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').includes(text))
        return Number(name);
    } catch {
      // Gone since the folder was read.
    }
  }
  return 0;
}

/** In words. */
export function machine() {
  const [first] = cpus();
  const gib = (totalmem() / 2 ** 30).toFixed(0);
  return `node ${process.version}, ${process.platform}, ${cpus().length} × ${first?.model.trim()}, ${gib} GiB`;
}

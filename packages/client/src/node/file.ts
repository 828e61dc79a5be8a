/**
 * `filePending`: operations of a Node process in a folder, shared by processes of one machine, durable.
 *
 * Each write is a new file `<digest of the name>.<version>`, linked into place: linking fails if the version exists, so
 * of two writers one wins, without a lock that a crash could leave behind. The highest version counts; older ones are
 * deleted after.
 *
 * Invariants: a file is whole before it has its name (written aside, flushed, linked) · the highest version is deleted
 * by nobody, so a writer that comes late finds itself below it and has lost · local file systems only.
 */

import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { PendingStore } from '../pending.ts';

interface Version {
  readonly number: number;
  readonly name: string;
  readonly text: string | null;
}

/** Readers that find a version deleted under them look again, so often at most. */
const TURNS_MAX = 50;

/** Files that are read at once. */
const LANES = 32;

/** Keeps pending operations in the folder `path`, which is made if it is missing, readable by its owner only. */
export function filePending(path: string): PendingStore {
  async function versions(prefix: string): Promise<number[]> {
    const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names
      .filter((name) => name.startsWith(`${prefix}.`))
      .map((name) => Number(name.slice(prefix.length + 1)))
      .filter(Number.isSafeInteger)
      .toSorted((a, b) => a - b);
  }

  async function read(prefix: string, number: number): Promise<Version> {
    const text = await readFile(join(path, `${prefix}.${number}`), 'utf8');
    return { number, ...(JSON.parse(text) as { name: string; text: string | null }) };
  }

  async function newest(prefix: string): Promise<Version | null> {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const number = (await versions(prefix)).at(-1);
      if (number === undefined) return null;
      try {
        return await read(prefix, number);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
    throw new Error('The folder of pending operations changes without end.');
  }

  /** Writes a version; false if there is one already. */
  async function write(prefix: string, version: Version): Promise<boolean> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const aside = join(path, `aside-${randomUUID()}`);
    const file = await open(aside, 'wx', 0o600);
    try {
      await file.writeFile(JSON.stringify({ name: version.name, text: version.text }));
      await file.sync();
    } finally {
      await file.close();
    }
    try {
      await link(aside, join(path, `${prefix}.${version.number}`));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await unlink(aside);
    }
    const folder = await open(path);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
    return true;
  }

  return {
    read: async (name) => (await newest(digest(name)))?.text ?? null,
    async swap(name, expected, next) {
      const prefix = digest(name);
      const last = await newest(prefix);
      if ((last?.text ?? null) !== expected) return false;
      const number = (last?.number ?? 0) + 1;
      if (!(await write(prefix, { number, name, text: next }))) return false;
      const now = await versions(prefix);
      const isNewest = now.at(-1) === number;
      // Late: others have written and deleted since; a version below the highest was never seen by anyone.
      const over = isNewest ? now.filter((other) => other < number) : [number];
      for (const other of over) await unlink(join(path, `${prefix}.${other}`)).catch(() => undefined);
      return isNewest;
    },
    async rows(start) {
      const files = await readdir(path).catch(() => []);
      const numbers = new Map<string, number>();
      for (const file of files) {
        const [, prefix = '', number = ''] = /^([0-9a-f]{32})\.(\d+)$/.exec(file) ?? [];
        if (prefix !== '') numbers.set(prefix, Math.max(numbers.get(prefix) ?? 0, Number(number)));
      }
      const rows: [name: string, text: string][] = [];
      const left = numbers.entries();
      // One listing for all, and so many files at once: a folder of thousands is read in seconds, in little memory.
      const lane = async (): Promise<void> => {
        for (const [prefix, number] of left) {
          const version = await read(prefix, number).catch(() => newest(prefix));
          if (version?.name.startsWith(start) && version.text !== null)
            rows.push([version.name, version.text]);
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      return rows;
    },
  };
}

function digest(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 32);
}

/**
 * Bodies as files of one folder, which all processes share; for one machine, or for tests. A file is written aside,
 * flushed and renamed, so that none is ever half there, and lies in a folder of its table, by the first characters of
 * the rest of its name, so that no folder grows without end. Files are readable by their owner only, as their folders
 * are (F95): they hold what people were answered.
 */

import { OptionsError } from '../../core/errors.ts';
import type { BodyStore } from './bodies.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Characters of a name, behind its table, that are its folder. */
const FOLDER_LENGTH = 2;

/** Makes a store of bodies in a folder, which is made when it is needed. Throws `OptionsError`. */
export function fileBodies(folder: string): Required<BodyStore> {
  if (typeof folder !== 'string' || folder === '') {
    throw new OptionsError(`fileBodies needs the path of a folder; it was given ${typeof folder}.`);
  }
  const partOf = (name: string): string => {
    const { table, rest } = partsOf(name);
    return `${folder}/${table}/${rest.slice(0, FOLDER_LENGTH)}`;
  };
  const pathOf = (name: string): string => `${partOf(name)}/${partsOf(name).rest.replaceAll('/', '+')}`;
  return {
    async put(name, bytes) {
      const { mkdir, open, rename } = await import('node:fs/promises');
      await mkdir(partOf(name), { recursive: true, mode: FOLDER_MODE });
      const aside = `${pathOf(name)}.aside`;
      const file = await open(aside, 'w', FILE_MODE);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(aside, pathOf(name));
      await syncFolder(partOf(name));
    },
    async get(name) {
      const { readFile } = await import('node:fs/promises');
      return orNone(() => readFile(pathOf(name)), null);
    },
    async delete(name) {
      const { rm } = await import('node:fs/promises');
      await rm(pathOf(name), { force: true });
    },
    async list(tableId, after, limit) {
      const { readdir } = await import('node:fs/promises');
      const names: string[] = [];
      const from = after === null ? '' : partsOf(after).rest.slice(0, FOLDER_LENGTH);
      const parts = await orNone(() => readdir(`${folder}/${tableId}`), []);
      for (const part of parts.toSorted()) {
        if (names.length >= limit) break;
        if (part < from) continue;
        const files = await orNone(() => readdir(`${folder}/${tableId}/${part}`), []);
        const more = files.map((file) => `${tableId}/${file.replaceAll('+', '/')}`).toSorted();
        names.push(...more.filter((name) => after === null || name > after));
      }
      return names.slice(0, limit);
    },
  };
}

/** The id of the table that put it, and the rest of its name. */
function partsOf(name: string): { readonly table: string; readonly rest: string } {
  const slash = name.indexOf('/');
  return { table: name.slice(0, slash), rest: name.slice(slash + 1) };
}

/** A rename is durable once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const { open } = await import('node:fs/promises');
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function orNone<T>(work: () => Promise<T>, none: T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return none;
    throw error;
  }
}

/** What caches call the records of one service on one server (`store/identity.ts`). */

import { DATABASE_LABEL } from '../../store/identity.ts';
import { textOf } from './fields.ts';
import type { Keys } from './key-names.ts';
import type { Server } from './server.ts';

/** Made by whoever asks first. */
export async function databaseId(server: Server, { meta }: Keys): Promise<string> {
  await server.ask('HSETNX', meta, DATABASE_LABEL, crypto.randomUUID());
  const [kept] = await server.ask('HGET', meta, DATABASE_LABEL);
  return textOf(kept);
}

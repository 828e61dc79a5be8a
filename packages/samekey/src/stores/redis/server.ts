/**
 * Runs scripts and commands, many at once: what is given in one turn goes out as one pipeline, and is answered row by
 * row.
 */

import { createHash } from 'node:crypto';
import type { Argument, Connection } from './client.ts';
import { isNoScript, storeError, unexpectedReply } from './errors.ts';
import { type Script, toldBy } from './statements.ts';
import type { StoreError } from '../../core/errors.ts';

/** What became of one call. */
export type Answer<Reply> = { readonly reply: Reply } | { readonly error: StoreError };

/** The server as the store sees it. */
export interface Server {
  readonly isCluster: boolean;
  /** Runs a script; its reply is an array. Throws `StoreError`. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<readonly unknown[]>;
  /** Runs a command on its first argument, a key; nested replies are made flat. Throws `StoreError`. */
  ask(command: string, key: string, ...args: Argument[]): Promise<readonly unknown[]>;
}

/** A script as it is sent. */
export function scriptOf(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

const toldScripts = new Map<Script, Script>();

/** The script that also leaves a row in the audit of transitions. */
export function toldScript(script: Script): Script {
  const told = toldScripts.get(script) ?? scriptOf(toldBy(script.text));
  toldScripts.set(script, told);
  return told;
}

/** Makes it. */
export function createServer(connection: Connection): Server {
  return {
    isCluster: connection.isCluster,
    async run(script, keys, args) {
      const key = keys[0] as string;
      const words = [script.sha, String(keys.length), ...keys, ...args];
      try {
        return listOf(await connection.send(key, 'EVALSHA', words));
      } catch (error) {
        if (!isNoScript(error)) throw storeError(error);
      }
      try {
        // Not run yet: the server is new, was restarted, or is a replica that became the master.
        return listOf(await connection.send(key, 'EVAL', [script.text, ...words.slice(1)]));
      } catch (error) {
        throw storeError(error);
      }
    },
    async ask(command, key, ...args) {
      try {
        const reply = await connection.send(key, command, [key, ...args]);
        // RESP3 nests members and scores.
        return Array.isArray(reply) ? reply.flat() : [reply];
      } catch (error) {
        throw storeError(error);
      }
    },
  };
}

/** All answers, whatever becomes of each. */
export async function answersOf<Reply>(calls: readonly Promise<Reply>[]): Promise<readonly Answer<Reply>[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((one) =>
    one.status === 'fulfilled' ? { reply: one.value } : { error: storeError(one.reason) },
  );
}

function listOf(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw unexpectedReply();
  return reply;
}

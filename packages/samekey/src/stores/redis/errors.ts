/**
 * What a client's error means for the script it answered: applied or not, and whether the server is up (F54).
 *
 * An error reply begins with a word. Those below come before a script has written anything: the server refused to run
 * it, or refused its first write. Everything else, and every loss of a connection, leaves it open: the script may have
 * run.
 * Sources: https://redis.io/docs/latest/develop/reference/protocol-spec/ (simple errors), src/server.c and src/script.c
 * of Redis 7.
 */

import { docsPage, SamekeyError, StoreError } from '../../core/errors.ts';

/** The server is up and cannot serve this now: loading, running somebody's script, failing over, moving slots. */
const BUSY: ReadonlyMap<string, string> = new Map([
  ['BUSY', 'a script of somebody’s runs too long there: look for it with SLOWLOG, end it with SCRIPT KILL'],
  ['LOADING', 'it is loading its data: wait'],
  ['READONLY', 'it is a replica: a failover is under way, or the client is connected to the wrong server'],
  ['MASTERDOWN', 'it is a replica without its master: a failover is under way'],
  ['CLUSTERDOWN', 'the cluster has no owner for some slots: a failover is under way, or a shard is down'],
  ['MOVED', 'slots have moved: the client must be a cluster client'],
  ['ASK', 'slots are moving: the client must be a cluster client'],
  ['TRYAGAIN', 'slots are moving: wait'],
]);

/** Refused before the first write as well; what it wants is in somebody's hand. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['OOM', 'its memory is full (maxmemory): give it more, shorten retentions, or let the janitor reap'],
  ['NOREPLICAS', 'it has fewer replicas than min-replicas-to-write: bring them back'],
  ['MISCONF', 'it cannot write its snapshot to the disk: look at its log'],
  ['NOAUTH', 'it wants a password: give one to the client'],
  ['WRONGPASS', 'the password is wrong'],
  ['NOPERM', 'the user may not run this: allow EVALSHA, EVAL and the commands of '],
  ['CROSSSLOT', 'it is a cluster behind a proxy: give it a cluster client'],
  ['UNKILLABLE', 'a script is running'],
]);

/** Errors of clients that sent nothing, by the names of their classes or their texts. */
const NOT_SENT: readonly RegExp[] = [
  /^ClientClosedError$/,
  /^ClientOfflineError$/,
  /^Stream isn't writeable and enableOfflineQueue options is false$/,
];

/** ioredis after its last redirection. */
const GIVEN_UP = /^Too many Cluster redirections/;

/** The word that an error reply begins with; undefined for errors that are no replies. */
export function replyCode(error: unknown): string | undefined {
  const message = (error as { message?: unknown } | null | undefined)?.message;
  if (typeof message !== 'string') return undefined;
  const found = /^-?([A-Z][A-Z]+)(?: |$)/.exec(message)?.[1];
  // Redis 6 tells what a command inside a script met behind its own words.
  return found === 'ERR' ? (/-(OOM|NOREPLICAS|MISCONF|READONLY|NOPERM) /.exec(message)?.[1] ?? found) : found;
}

/** Whether the server does not know the script (any more): it was not run. */
export function isNoScript(error: unknown): boolean {
  return replyCode(error) === 'NOSCRIPT';
}

/** The `StoreError` for a client's error; our own pass as they are. */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof SamekeyError) throw error;
  const code = replyCode(error);
  const busy = code === undefined ? undefined : BUSY.get(code);
  if (busy !== undefined) {
    return new StoreError(`Redis is up and cannot serve this now (${code}): ${busy}.`, {
      applied: 'no',
      busy: true,
      cause: error,
    });
  }
  const refused = code === undefined ? undefined : REFUSED.get(code);
  if (refused !== undefined) {
    return new StoreError(
      `Redis refused the write (${code}): ${refused}${code === 'NOPERM' ? docsPage('internals/redis') : ''}.`,
      { applied: 'no', cause: error },
    );
  }
  const { name, message, code: system } = error as { name?: string; message?: string; code?: string };
  if (GIVEN_UP.test(message ?? '')) {
    // Each try was sent on, or came before its time; an earlier one may have been lost on the way and applied.
    return new StoreError(
      'Redis is up and cannot serve this now (redirections): slots are moving or a failover is under way: wait.',
      { applied: 'unknown', busy: true, cause: error },
    );
  }
  const notSent = NOT_SENT.some((text) => text.test(name ?? '') || text.test(message ?? ''));
  const shown = code ?? system ?? name ?? 'no code';
  return new StoreError(`Redis could not answer (${shown}): check that it is up and can be reached.`, {
    applied: notSent ? 'no' : 'unknown',
    cause: error,
  });
}

/** A reply that no script of ours gives; a connection inside a MULTI of somebody's answers so. */
export function unexpectedReply(): StoreError {
  return new StoreError(
    'Redis answered with something that is no reply to the script: give the store a client of its own, on which nobody opens MULTI.',
    { applied: 'unknown' },
  );
}

/**
 * What lies under a record's name is none of ours: of code before the first release, or spoilt by hand. It fails alone,
 * and never runs.
 */
export function unreadableRecord(): StoreError {
  return new StoreError(
    'Redis holds something under the name of a record that is none: look at it with HGETALL, or give the store another prefix.',
    { applied: 'no', transient: false },
  );
}

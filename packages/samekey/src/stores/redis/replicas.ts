/**
 * Waits until replicas, and disks, have what is about to be acknowledged (`requireReplicas`, `requireFsync`). WAIT and
 * WAITAOF are about the last write of their connection; so each record is written once more before them over the same
 * one, without a change, and only if it still is ours: whoever repeats a call over a new connection, or meets a server
 * that was a replica a moment ago, is not told of replicas that have something else.
 *
 * Invariants: what too few have is not acknowledged: a claim is undone, everything else is left unclear, and its repeat
 * asks again · a claim that is asked for again while its first asking is under way is not undone by that one, and one
 * that may be undone is not granted · a WAIT that its client repeated over a new connection counts for nothing, and so
 * does one at a server that does not serve the key.
 * Sources: https://redis.io/docs/latest/commands/wait/, https://redis.io/docs/latest/commands/waitaof/.
 */

import { StoreError } from '../../core/errors.ts';
import { decideFinish, type Decision, type View } from '../../store/machine/index.ts';
import type { Fence, RecordId, SamekeyRecord } from '../../core/record.ts';
import type { ClaimRequest, ClaimResult } from '../../store/store.ts';
import type { Keys, Place } from './key-names.ts';
import type { CheckedOptions } from './options.ts';
import { isNoScript, storeError } from './errors.ts';
import type { Rows } from './rows.ts';
import { answersOf, scriptOf } from './server.ts';
import { createAskings } from './askings.ts';
import { TOUCH } from './statements.ts';

/** Checks what is about to be acknowledged. Both throw `StoreError` when too few have it. */
interface Replicas {
  /** Asks for claims with `ask`. What it may have undone is not asked again: it is `busy`. */
  claim(
    requests: readonly ClaimRequest[],
    ask: (requests: readonly ClaimRequest[]) => Promise<readonly ClaimResult[]>,
  ): Promise<readonly ClaimResult[]>;
  /** Of renewals, checkpoints and ends. */
  have(
    requests: readonly (RecordId & Pick<Fence, 'claimId'>)[],
    results: readonly { readonly kind: string }[],
  ): Promise<void>;
}

type Owned = RecordId & Pick<Fence, 'claimId'>;

const touch = scriptOf(TOUCH);
const BUSY: ClaimResult = Object.freeze({ kind: 'busy' });
const GRANTED = new Set(['claimed', 'accepted']);
const WRITTEN = new Set(['renewed', 'applied', 'already']);

/** Makes it; undefined where nothing is required. */
export function createReplicas(options: CheckedOptions, keys: Keys, rows: Rows): Replicas | undefined {
  const { connection, requireReplicas: least, requireFsync, waitTimeMaxMs } = options;
  const { pin, isCluster } = connection;
  if (pin === null || (least === 0 && !requireFsync)) return undefined;
  const wait = requireFsync ? 'WAITAOF' : 'WAIT';
  const waitArgs = [...(requireFsync ? ['1'] : []), String(least), String(waitTimeMaxMs)];

  /** Whether enough have these, which one server has. */
  async function haveThese(
    ours: readonly { readonly place: Place; readonly claimId: string }[],
  ): Promise<boolean> {
    const pinned = await (pin as NonNullable<typeof pin>)(
      (ours[0] as (typeof ours)[number]).place.keys[0] as string,
    );
    const touched = (command: string, script: string): readonly Promise<unknown>[] =>
      ours.map(({ place, claimId }) => pinned.send(command, [script, '1', place.keys[0] as string, claimId]));
    for (const [command, script] of [
      ['EVALSHA', touch.sha],
      ['EVAL', touch.text],
    ] as const) {
      // All at once: what is waited for is what was sent before.
      const calls = [...touched(command, script), pinned.send(wait, waitArgs)];
      const replies = await Promise.allSettled(calls);
      const failed = replies.find((reply) => reply.status === 'rejected');
      if (failed !== undefined && isNoScript(failed.reason)) continue;
      if (failed !== undefined || !pinned.isSame()) return false;
      const values = replies.map((reply) => (reply as PromiseFulfilledResult<unknown>).value);
      return isEnough(values.pop()) && values.every((value) => Array.isArray(value) && value[0] === 1);
    }
    return false;
  }

  function isEnough(reply: unknown): boolean {
    if (!requireFsync) return typeof reply === 'number' && reply >= least;
    const [local, replicas] = Array.isArray(reply) ? (reply as unknown[]) : [];
    return local === 1 && typeof replicas === 'number' && replicas >= least;
  }

  async function haveAll(owned: readonly Owned[]): Promise<boolean> {
    const groups = new Map<number, { place: Place; claimId: string }[]>();
    for (const one of owned) {
      const place = keys.of(one);
      const group = groups.get(isCluster ? place.shard : 0) ?? [];
      groups.set(isCluster ? place.shard : 0, group);
      group.push({ place, claimId: one.claimId });
    }
    const answers = await answersOf([...groups.values()].map(haveThese));
    // What cannot be asked is not there.
    return answers.every((answer) => 'reply' in answer && answer.reply);
  }

  const askings = createAskings();

  async function haveClaims(
    requests: readonly ClaimRequest[],
    results: readonly ClaimResult[],
    isOnly: (request: ClaimRequest) => boolean,
  ): Promise<void> {
    const granted = requests.filter((_, n) => GRANTED.has(results[n]?.kind ?? ''));
    if (granted.length === 0 || (await haveAll(granted))) return;
    // Asked for again, it may have been granted by now: whoever asked last says what becomes of it.
    const ours = granted.filter(isOnly);
    askings.undone(ours);
    try {
      await rows.apply(ours, { decide: undo });
    } catch (error) {
      throw tooFew('unknown', storeError(error));
    }
    throw tooFew(ours.length === granted.length ? 'no' : 'unknown');
  }

  return {
    async claim(requests, ask) {
      const open = requests.filter((request) => !askings.isUndone(request));
      const { isOnly, end } = askings.begin(open);
      try {
        const results = await ask(open);
        await haveClaims(open, results, isOnly);
        if (open.length === requests.length) return results;
        const answers = new Map(open.map((request, n) => [request, results[n] as ClaimResult]));
        return requests.map((request) => answers.get(request) ?? BUSY);
      } finally {
        end();
      }
    },
    async have(requests, results) {
      const written = requests.filter((_, n) => WRITTEN.has(results[n]?.kind ?? ''));
      if (written.length === 0 || (await haveAll(written))) return;
      throw tooFew('unknown');
    },
  };

  function tooFew(applied: 'no' | 'unknown', cause?: StoreError): StoreError {
    const who = requireFsync ? `The disks of the server and ${least} replicas` : `${least} replicas`;
    return new StoreError(
      `${who} of Redis did not have the write within ${waitTimeMaxMs} ms: bring replicas back, or lower what is required of them.`,
      { applied, busy: true, ...(cause && { cause }) },
    );
  }
}

/** Takes a claim back that nobody was told of: nothing has begun under it. */
function undo(
  record: SamekeyRecord | null,
  { scope, key, claimId }: ClaimRequest,
  view: View,
): Decision<undefined> {
  const isOurs =
    record?.claimId === claimId && (record.state === 'in_progress' || record.state === 'pending');
  if (!isOurs) return { write: undefined, result: undefined };
  if (record.attempt <= 1) return { write: null, result: undefined };
  const { write } = decideFinish(
    record,
    {
      scope,
      key,
      claimId,
      attempt: record.attempt,
      to: 'retryable',
      proof: 'declared',
      reason: 'too-few-replicas',
      response: null,
      unbindFingerprint: false,
      extendMs: 0,
      reconcileAfterMs: 0,
      handedOver: false,
    },
    view,
  );
  return { write, result: undefined };
}

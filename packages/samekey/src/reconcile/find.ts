/**
 * Finds the record that a webhook is about. By its own id that is one look; by what the provider knows (the downstream key, its own
 * id) the open records are looked through, newest first.
 *
 * Invariant: `lookupMax` records and as many messages at most, in pages; what lies behind them is not found and said not to be.
 */

import { OptionsError } from '../core/errors.ts';
import { mayBeKey } from '../core/key.ts';
import { messageKeyText, type MessageStore, type StoreWithMessages } from '../core/message.ts';
import { namesOldestFirst } from '../core/operation.ts';
import { isPointer } from '../core/pointer.ts';
import { idText, type RecordId, type SamekeyRecord, type State } from '../core/record.ts';
import { encodeScope } from '../core/scope.ts';
import type { Store } from '../core/store.ts';
import type { World } from '../core/world.ts';
import type { SamekeyInternals } from '../samekey.ts';
import { openEffectOf } from './effect-of.ts';

/** What a webhook knows of the attempt it is about. */
export type ToldAbout =
  /** What the call sent along: `attempt.scope`, `attempt.key` and, if it did, `attempt.number`. */
  | { readonly scope: string; readonly key: string; readonly attempt?: number }
  /** The parts of the scope, and the operation's name. */
  | {
      readonly scope: readonly string[];
      readonly operation: string;
      readonly key: string;
      readonly attempt?: number;
    }
  /** The key that an effect's call, or a message's delivery, carried. */
  | { readonly downstreamKey: string }
  /** What the provider calls it, if the call or the delivery noted that (`noteProviderId`). */
  | { readonly providerId: string };

/** What it needs. */
export interface FindOptions {
  readonly store: Store;
  readonly world: World;
  readonly internals: SamekeyInternals | null;
  readonly lookupMax: number;
}

const PAGE = 1_000;
/** Unknown ones first: they are few, and most webhooks are about them. */
const OPEN: readonly (readonly State[])[] = [['unknown'], ['in_progress', 'pending', 'retryable']];

/** Finds the record; null when there is none within the bounds. Throws `OptionsError` for what names none. */
export async function findRecord(by: ToldAbout, options: FindOptions): Promise<SamekeyRecord | null> {
  if ('key' in by) return findById(by, options);
  const wanted = 'providerId' in by ? by.providerId : by?.downstreamKey;
  if (typeof wanted !== 'string' || wanted === '') {
    throw new OptionsError(
      'tell needs by: { scope, key }, { scope, operation, key }, { downstreamKey } or { providerId }, each a text.',
    );
  }
  return (await findByEffect(by, options)) ?? (await findByMessage(by, options));
}

async function findById(
  by: Extract<ToldAbout, { key: string }>,
  { store, internals }: FindOptions,
): Promise<SamekeyRecord | null> {
  const { key } = by;
  if (!mayBeKey(key)) throw new OptionsError('by.key is no key: pass the one that the call sent along.');
  const ids: RecordId[] = scopesOf(by, internals).map((scope) => ({ scope, key }));
  // Under its own identity or, while a bridge stands, a former one: a pointer there is no record.
  return (await store.find(ids)).find((record) => record !== null && !isPointer(record)) ?? null;
}

function scopesOf(
  by: Extract<ToldAbout, { key: string }>,
  internals: SamekeyInternals | null,
): readonly string[] {
  if (!('operation' in by)) {
    if (typeof by.scope === 'string' && by.scope !== '') return [by.scope];
    throw new OptionsError(
      'by.scope is the text attempt.scope; with the parts of a scope, give by.operation too.',
    );
  }
  const { scope, operation } = by;
  const names = internals?.operations.get(operation)?.names ?? { name: operation };
  return namesOldestFirst(names).map((name) => encodeScope(scope, name));
}

async function findByEffect(
  by: Exclude<ToldAbout, { key: string }>,
  { store, world, lookupMax }: FindOptions,
): Promise<SamekeyRecord | null> {
  for (const states of OPEN) {
    const seen = new Set<string>();
    let before: number | null = null;
    for (let left = lookupMax; left > 0; ) {
      const limit = Math.min(PAGE, left);
      const page: readonly SamekeyRecord[] = await store.list({
        states,
        limit,
        ...(before === null ? {} : { createdBefore: before }),
      });
      for (const record of page) {
        const effect = seen.has(idText(record)) ? null : await openEffectOf(record, world);
        const known = 'providerId' in by ? effect?.providerId : effect?.downstreamKey;
        if (known === ('providerId' in by ? by.providerId : by.downstreamKey)) return record;
      }
      const last = page.at(-1);
      if (last === undefined || page.length < limit) break;
      left -= page.length;
      // Several may have been made in one moment: the next page begins with those of it again, unless it is all of them.
      const next = Math.floor(last.createdAt) + 1;
      before = before !== null && next >= before ? Math.floor(last.createdAt) : next;
      seen.clear();
      for (const record of page) seen.add(idText(record));
    }
  }
  return null;
}

/** Handed-over attempts: their messages know the provider's id, and the key of their deliveries. */
async function findByMessage(
  by: Exclude<ToldAbout, { key: string }>,
  { store, world, lookupMax }: FindOptions,
): Promise<SamekeyRecord | null> {
  const messages: MessageStore | undefined = (store as Partial<StoreWithMessages>).messages;
  if (messages === undefined) return null;
  let after: number | undefined;
  for (let left = lookupMax; left > 0; ) {
    const limit = Math.min(PAGE, left);
    const page = await messages.list({ limit, ...(after === undefined ? {} : { after }) });
    for (const { id, owner, providerId } of page) {
      if (owner === null) continue;
      const isIt =
        'providerId' in by
          ? providerId === by.providerId
          : (await messageKey(id, world)) === by.downstreamKey;
      if (isIt) return (await store.find([owner]))[0] ?? null;
    }
    after = page.at(-1)?.place;
    if (page.length < limit) break;
    left -= page.length;
  }
  return null;
}

async function messageKey(id: string, world: World): Promise<string> {
  return world.sha256(new TextEncoder().encode(messageKeyText(id)));
}

/**
 * Finds the record that a webhook is about. By its own id that is one look, and so it is by what the provider knows
 * (the downstream key, its own id) where the store keeps references; elsewhere the open records are looked through,
 * newest first.
 *
 * Invariants: of what is not its record nothing is read but references (F154); without them `lookupMax` records and as
 * many messages at most, in pages, and what lies behind them is not found and said not to be · a downstream key is
 * nobody else's, and an id of a provider is: another provider, and another account there, may give the same one. So it
 * is looked for in its operation only, and two that have it are told and never chosen from (F141).
 */

import { OptionsError } from '../core/errors.ts';
import { mayBeKey } from '../core/key.ts';
import { messageKeyText, type MessageStore, type StoreWithMessages } from '../store/message.ts';
import { namesOldestFirst } from '../core/operation.ts';
import { isPointer } from '../engine/bridge/pointer.ts';
import { idText, type RecordId, type SamekeyRecord, type State } from '../core/record.ts';
import { callerOf, callerScope, encodeScope } from '../core/scope.ts';
import { type Referred, type References, referenceOf } from '../store/references.ts';
import type { Store } from '../store/store.ts';
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
  /**
   * What the provider calls it, if the call or the delivery noted that (`noteProviderId`), and the operation that calls
   * this provider. With `scope` only of this caller: needed where callers have accounts of their own there.
   */
  | { readonly providerId: string; readonly operation: string; readonly scope?: readonly string[] };

/**
 * The record, and the reference that led to it, if one did; null: there is none within the bounds. Or several that it
 * may be.
 */
type Found =
  | { readonly record: SamekeyRecord; readonly referred: Referred | null }
  | null
  | { readonly operation: string; readonly ambiguous: readonly RecordId[] };

type ByProviderId = Extract<ToldAbout, { providerId: string }>;
type ByDownstreamKey = Extract<ToldAbout, { downstreamKey: string }>;

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

/** Finds the record. Throws `OptionsError` for what names none. */
export async function findRecord(by: ToldAbout, options: FindOptions): Promise<Found> {
  if ('key' in by) return alone(await findById(by, options));
  const wanted = 'providerId' in by ? by.providerId : by?.downstreamKey;
  if (typeof wanted !== 'string' || wanted === '') {
    throw new OptionsError(
      'tell needs by: { scope, key }, { scope, operation, key }, { downstreamKey } or { providerId, operation }, each a text.',
    );
  }
  const { references } = options.store;
  if ('providerId' in by) checkOperation(by);
  if (references !== undefined) return findByReference(by, references, options);
  if ('providerId' in by) return findByProviderId(by, options);
  for await (const record of byEffect(by, [undefined], options)) return alone(record);
  for await (const record of byMessage(by, options)) return alone(record);
  return null;
}

function alone(record: SamekeyRecord | null): Found {
  return record === null ? null : { record, referred: null };
}

function checkOperation({ operation }: ByProviderId): void {
  if (typeof operation === 'string' && operation !== '') return;
  throw new OptionsError(
    'by.providerId goes with by.operation, the operation that calls this provider: another provider may give the same id.',
  );
}

/** One look, whatever else the store holds; and one at the record. */
async function findByReference(
  by: ByProviderId | ByDownstreamKey,
  references: References,
  { store, world, internals, lookupMax }: FindOptions,
): Promise<Found> {
  const reference =
    'providerId' in by
      ? await referenceOf(world, 'provider-id', by.providerId)
      : await referenceOf(world, 'downstream-key', by.downstreamKey);
  const found = new Map<string, Referred>();
  for (const referred of await references.find([reference], lookupMax)) {
    if (isHis(referred, by, internals)) found.set(idText(referred), referred);
  }
  const [first, second] = found.values();
  if (first === undefined) return null;
  if (second !== undefined && 'providerId' in by)
    return { operation: by.operation, ambiguous: [...found.values()].map(idOf) };
  const record = (await store.find([idOf(first)]))[0] ?? null;
  // Another life of the key may have begun since.
  return record?.createdAt === first.createdAt ? { record, referred: first } : null;
}

/** Whether it is of the operation, and of the caller, that the webhook names. */
function isHis(
  { scope, operation }: Pick<SamekeyRecord, 'scope' | 'operation'>,
  by: ByProviderId | ByDownstreamKey,
  internals: SamekeyInternals | null,
): boolean {
  if (!('providerId' in by)) return true;
  const isCaller = by.scope === undefined || callerOf(scope) === callerScope(by.scope);
  return isCaller && namesOf(by.operation, internals).includes(operation);
}

function idOf({ scope, key }: RecordId): RecordId {
  return { scope, key };
}

/** All that may be it: they are one, or none is. */
async function findByProviderId(by: ByProviderId, options: FindOptions): Promise<Found> {
  const { operation } = by;
  const { internals } = options;
  const names = namesOf(operation, internals);
  const found = new Map<string, SamekeyRecord>();
  for (const records of [byEffect(by, names, options), byMessage(by, options)]) {
    for await (const record of records) {
      if (isHis(record, by, internals)) found.set(idText(record), record);
    }
  }
  const [first, second] = found.values();
  if (first === undefined || second === undefined) return alone(first ?? null);
  return { operation, ambiguous: [...found.values()].map(idOf) };
}

/** As records have them. */
export function namesOf(operation: string, internals: SamekeyInternals | null): readonly string[] {
  const names = internals?.operations.get(operation)?.names;
  return [...new Set([operation, names?.name ?? operation, ...(names?.formerly ?? [])])];
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

/** Records whose open effect is it, of these operations (undefined: of all); `lookupMax` of each are looked at. */
async function* byEffect(
  by: ByProviderId | ByDownstreamKey,
  operations: readonly (string | undefined)[],
  { store, world, lookupMax }: FindOptions,
): AsyncGenerator<SamekeyRecord, void> {
  for (const [states, operation] of OPEN.flatMap((open) => operations.map((name) => [open, name] as const))) {
    const seen = new Set<string>();
    let before: number | null = null;
    for (let left = lookupMax; left > 0; ) {
      const limit = Math.min(PAGE, left);
      const page: readonly SamekeyRecord[] = await store.list({
        states,
        limit,
        ...(operation === undefined ? {} : { operation }),
        ...(before === null ? {} : { createdBefore: before }),
      });
      for (const record of page) {
        const effect = seen.has(idText(record)) ? null : await openEffectOf(record, world);
        const known = 'providerId' in by ? effect?.providerId : effect?.downstreamKey;
        if (known === ('providerId' in by ? by.providerId : by.downstreamKey)) yield record;
      }
      const last = page.at(-1);
      if (last === undefined || page.length < limit) break;
      left -= page.length;
      // Several may have been made in one moment: the next page begins with those of it again, unless it is all of
      // them.
      const next = Math.floor(last.createdAt) + 1;
      before = before !== null && next >= before ? Math.floor(last.createdAt) : next;
      seen.clear();
      for (const record of page) seen.add(idText(record));
    }
  }
}

/** Handed-over attempts: their messages know the provider's id, and the key of their deliveries. */
async function* byMessage(
  by: ByProviderId | ByDownstreamKey,
  { store, world, lookupMax }: FindOptions,
): AsyncGenerator<SamekeyRecord, void> {
  const messages: MessageStore | undefined = (store as Partial<StoreWithMessages>).messages;
  if (messages === undefined) return;
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
      const record = isIt ? ((await store.find([owner]))[0] ?? null) : null;
      // Another request may stand under its key by now, or another attempt, which its message is not about.
      if (record !== null && record.claimId === owner.claimId && record.attempt === owner.attempt)
        yield record;
    }
    after = page.at(-1)?.place;
    if (page.length < limit) break;
    left -= page.length;
  }
}

async function messageKey(id: string, world: World): Promise<string> {
  return world.sha256(new TextEncoder().encode(messageKeyText(id)));
}

/**
 * A store made of a store: what it keeps of requests and answers is sealed before it gets there, and opened after. The
 * store behind it sees ids, states, fences, fingerprints and times, and decides as ever.
 *
 * Invariants: nothing of an answer, an input, a step or a message goes through clear · a part that cannot be opened
 * makes nothing run: an answer is met as `unreadable`, an attempt whose earlier steps are lost to it is to be given
 * back, work for workers is left where it is · nothing is decided here.
 */

import { isSettledAs, settledAnswer } from '../store/ends.ts';
import { OptionsError } from '../core/errors.ts';
import { callListener } from '../core/listener.ts';
import type { StoreWithMessages } from '../store/message.ts';
import { type Fence, idText, type RecordId, type SamekeyRecord, type Unreadable } from '../core/record.ts';
import { aFunction, listOf, readOptions, type Table, text as aText, trueOrFalse } from '../core/options.ts';
import type {
  Capabilities,
  ClaimRequest,
  ClaimResult,
  DueRequest,
  FinishRequest,
  FoundReason,
  HandResult,
  SettleRequest,
  Store,
  TakeUnknownRequest,
} from '../store/store.ts';
import type { TransactionalStore, Within } from '../store/transaction.ts';
import { after, all, type Maybe } from './maybe.ts';
import type { SealRing } from './ring.ts';
import { sealedMessages } from './sealed-messages.ts';
import { sealCheckpoint, sealedReferences } from './sealed-references.ts';
import { createSealer, readingOnly, sealAnswer, type Sealer } from './sealer.ts';
import { withinSealed } from './sealed-within.ts';
import type { UnreadableFound } from './unreadable.ts';

/** Options of {@link sealed}. */
export interface SealedOptions {
  /**
   * False: opens what is sealed and seals nothing new. For the first deploy to several processes, because code that
   * knows of no seal would give out what it cannot read. Default true.
   */
  readonly sealsNew?: boolean;
  /**
   * Told of each part that could not be opened, each time it is met; also of what only workers and operators meet. What
   * a request meets is an event of its instance too (`record-unreadable`).
   */
  readonly onUnreadable?: (found: UnreadableFound) => unknown;
  /**
   * Functions that a store of your own has beside the verbs of `Store`, by name, of which you know that nothing of
   * requests and answers goes through them. Others are refused. Default none.
   */
  readonly passes?: readonly string[];
}

/** A store that makes an element of the caller's own transaction, to be written by somebody else. */
interface HandsOut {
  completionItem(request: FinishRequest): Promise<object>;
}

/** A sealed store: the store it was made of, as far as types go; only in a transaction its verbs may be promised. */
export type Sealed<S extends Store> = Omit<S, 'within'> &
  (S extends { within(handle: infer Handle): infer Verbs }
    ? { within(handle: Handle): Omit<Verbs, keyof Within> & Within }
    : unknown);

// Registered: whoever counts keys may have another copy of this package.
const CLEAR: unique symbol = Symbol.for('samekey.sealedOf');

/** The store behind a sealed one; any other store itself. */
export function storeBehind(store: Store): Store {
  return (store as { readonly [CLEAR]?: Store })[CLEAR] ?? store;
}

/** An envelope's marks, a key's id, an IV and a tag. */
const ENVELOPE_BYTES_MAX = 1_024;
/** Records whose steps could not be opened, remembered so that no further attempt of theirs is begun in vain. */
const SUSPECTS_MAX = 10_000;

const SEALED_ROWS = {
  sealsNew: trueOrFalse(true),
  onUnreadable: aFunction<NonNullable<SealedOptions['onUnreadable']>>(),
  passes: listOf(aText(), []),
} satisfies Table<SealedOptions>;

/**
 * Seals what a store keeps. Rows from before stay readable, and clear. Give the same sealed store to every part of an
 * application: instance, transactions, outbox, worker. Throws `OptionsError`.
 */
export function sealed<S extends Store>(store: S, ring: SealRing, options: SealedOptions = {}): Sealed<S> {
  check(store, ring);
  const { sealsNew, onUnreadable, passes } = readOptions('sealed', SEALED_ROWS, options);
  checkVerbs(store, passes);
  const sealer = !sealsNew ? readingOnly(createSealer(ring)) : createSealer(ring);
  const suspects = new Set<string>();

  function tell(found: UnreadableFound): void {
    if (onUnreadable !== undefined) callListener(onUnreadable, [found], () => undefined);
  }

  function openRecord<R extends SamekeyRecord | null>(record: R): Maybe<R> {
    if (record === null) return record;
    return after(sealer.openRecord(record), (opened) => {
      if (opened.unreadable !== undefined) tell({ ...ofRecord(opened), ...opened.unreadable });
      return opened as R;
    });
  }

  /** Any result: its record opened, if it has one. */
  function openResult<Result>(result: Result): Maybe<Result> {
    const { record } = result as { readonly record?: SamekeyRecord | null };
    if (record === undefined || record === null) return result;
    return after(openRecord(record), (opened) =>
      opened === record ? result : { ...result, record: opened },
    );
  }

  function openClaim(request: ClaimRequest, result: ClaimResult): Maybe<ClaimResult> {
    if (result.kind === 'found') {
      return after(openResult(result), (found) => ({ ...found, because: becauseOf(found) }));
    }
    if (result.kind !== 'claimed' || result.resumed === null) return result;
    const { resumed } = result;
    return after(sealer.openSteps(request, resumed.steps), (steps) => {
      if (typeof steps === 'string' || steps === null) return { ...result, resumed: { ...resumed, steps } };
      remember(suspects, idText(request));
      tell({ ...ofRecord(request), ...steps });
      return { ...result, resumed: { ...resumed, steps: null, unreadable: steps } };
    });
  }

  /** Those of the suspects that still cannot be opened, as they are met. */
  async function stillUnreadable(requests: readonly ClaimRequest[]): Promise<Map<ClaimRequest, ClaimResult>> {
    const met = new Map<ClaimRequest, ClaimResult>();
    if (suspects.size === 0) return met;
    const asked = requests.filter((request) => suspects.has(idText(request)));
    if (asked.length === 0) return met;
    const records = await all((await store.find(asked)).map(openRecord));
    for (const [i, request] of asked.entries()) {
      const record = records[i] ?? null;
      if (record?.unreadable === undefined) suspects.delete(idText(request));
      else
        met.set(request, {
          kind: 'found',
          because: 'unreadable',
          record,
          claimLeftMs: 0,
          ageMs: 0,
          lifeLeftMs: 0,
        });
    }
    return met;
  }

  async function claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    const met = await stillUnreadable(requests);
    const asked = requests.filter((request) => !met.has(request));
    if (asked.length > 0 || requests.length === 0) {
      const results = await store.claim(await all(asked.map((request) => sealInput(sealer, request))));
      const opened = await all(results.map((result, i) => openClaim(asked[i] as ClaimRequest, result)));
      for (const [i, request] of asked.entries()) met.set(request, opened[i] as ClaimResult);
    }
    return requests.map((request) => met.get(request) as ClaimResult);
  }

  async function due(request: DueRequest): Promise<readonly SamekeyRecord[]> {
    return all((await store.due(request)).map(openRecord));
  }

  /**
   * Also what cannot be opened: whoever takes it puts it off, longer each time. Left out, it would be taken with each
   * lease, and have been asked about as often as allowed before anybody could be asked.
   */
  async function takeUnknown(request: TakeUnknownRequest): Promise<readonly SamekeyRecord[]> {
    return all((await store.takeUnknown(request)).map(openRecord));
  }

  /** A verb whose results may hold records; `seal` is what its requests go through. */
  function opening<Request, Result>(
    verb: (requests: readonly Request[]) => Promise<readonly Result[]>,
    seal: (request: Request) => Maybe<Request> = (request) => request,
  ): (requests: readonly Request[]) => Promise<readonly Result[]> {
    return async (requests) => all((await verb(await all(requests.map(seal)))).map(openResult));
  }

  /**
   * The store behind compares what is sealed, of which no two are equal: what it refuses is compared again as it was
   * said.
   */
  async function settle(given: readonly SettleRequest[]): Promise<readonly HandResult[]> {
    const requests = given.map((request) => {
      const response = settledAnswer('A settlement', request.to, request.response);
      return { ...request, response };
    });
    const results = await opening(
      (sealedOnes: readonly SettleRequest[]) => store.settle(sealedOnes),
      sealSettlement,
    )(requests);
    return results.map((result, i) => {
      const record = result.kind === 'refused' ? result.record : null;
      const request = requests[i] as SettleRequest;
      const isIt = record !== null && isOwnedBy(record, request) && isSettledAs(record, request);
      return isIt ? { kind: 'already' } : result;
    });
  }

  function sealSettlement(request: SettleRequest): Maybe<SettleRequest> {
    return after(sealAnswer(sealer, request), (settled) =>
      settled.newSteps === undefined
        ? settled
        : after(sealer.steps(settled, settled.newSteps), (newSteps) => ({ ...settled, newSteps })),
    );
  }

  const { messages } = store as Partial<StoreWithMessages>;
  const transactional = store as Partial<TransactionalStore>;
  const handsOut = store as Partial<HandsOut>;
  const { capabilities } = store;
  const { references } = ring.digests === undefined ? { references: undefined } : store;
  const own: Store = {
    ...store,
    references: references && sealedReferences(references, sealer),
    capabilities: Object.freeze({ ...capabilities, recordSizeMaxBytes: sizeMax(capabilities) }),
    claim,
    renew: opening((requests) => store.renew(requests)),
    finish: opening(
      (requests) => store.finish(requests),
      (request) => sealAnswer(sealer, request),
    ),
    checkpoint: opening(
      (requests) => store.checkpoint(requests),
      (request) => sealCheckpoint(sealer, request),
    ),
    find: async (ids) => all((await store.find(ids)).map(openRecord)),
    due,
    takeUnknown,
    postpone: opening((requests) => store.postpone(requests)),
    settle,
    reopen: opening((requests) => store.reopen(requests)),
    forget: opening((requests) => store.forget(requests)),
    list: async (request) => all((await store.list(request)).map(openRecord)),
  };
  return {
    ...own,
    [CLEAR]: store,
    ...(handsOut.completionItem && {
      completionItem: async (request: FinishRequest) =>
        openResult(await (handsOut as HandsOut).completionItem(await sealAnswer(sealer, request))),
    }),
    ...(messages && { messages: sealedMessages(messages, sealer, tell) }),
    ...(transactional.within && {
      within: (handle: unknown) =>
        withinSealed((transactional as TransactionalStore).within(handle), sealer, openResult),
    }),
  } as unknown as Sealed<S>;
}

/** Whether it still is the record that the request names. */
function isOwnedBy(record: SamekeyRecord, { claimId, attempt }: Fence): boolean {
  return record.claimId === claimId && record.attempt === attempt;
}

/** The envelope takes some of it. */
function sizeMax({ recordSizeMaxBytes }: Capabilities): number | null {
  return recordSizeMaxBytes === null ? null : Math.max(0, recordSizeMaxBytes - ENVELOPE_BYTES_MAX);
}

/** The same request with its input sealed. */
function sealInput(sealer: Sealer, request: ClaimRequest): Maybe<ClaimRequest> {
  return after(sealer.input(request, request.input), (input) => ({ ...request, input }));
}

/** A final answer that cannot be opened is not "final" to whoever asks: nobody may take it for one without a body. */
function becauseOf({
  because,
  record,
}: {
  readonly because: FoundReason;
  readonly record: SamekeyRecord;
}): FoundReason {
  return because === 'final' && record.unreadable !== undefined ? 'unreadable' : because;
}

function ofRecord({
  scope,
  key,
  operation,
}: RecordId & { readonly operation: string }): Omit<UnreadableFound, keyof Unreadable> {
  return { id: { scope, key }, operation, messageId: null };
}

/** The one remembered longest makes room. */
function remember(suspects: Set<string>, text: string): void {
  const [oldest] = suspects;
  if (suspects.size >= SUSPECTS_MAX && oldest !== undefined) suspects.delete(oldest);
  suspects.add(text);
}

/**
 * Verbs that take nothing which is sealed, beside those above. Whatever is in neither list might write an answer in
 * clear: a store that has such a verb is refused, until its owner says that it does not (`passes`).
 */
const PASSED: ReadonlySet<string> = new Set([
  'sweep',
  'reap',
  'erase',
  'count',
  'audit',
  'note',
  'pruneAudit',
  'ready',
  'identity',
  'close',
  'refuseCaller',
  'onClockOff',
  'migrate',
  'status',
  'transaction',
  'transactionFault',
  'opening',
  'reservations',
  'reapBodies',
  'cacheCounts',
]);
const SEALED: ReadonlySet<string> = new Set([
  'claim',
  'renew',
  'finish',
  'checkpoint',
  'find',
  'due',
  'takeUnknown',
  'postpone',
  'settle',
  'reopen',
  'forget',
  'list',
  'within',
  'completionItem',
]);

function checkVerbs(store: Store, passes: readonly string[]): void {
  const stranger = Object.entries(store).find(
    ([name, value]) =>
      typeof value === 'function' && !PASSED.has(name) && !SEALED.has(name) && !passes.includes(name),
  )?.[0];
  if (stranger === undefined) return;
  throw new OptionsError(
    `sealed() does not know whether ${stranger}() of this store keeps or hands out anything of a request or an answer. If it does ` +
      `not, say so: sealed(store, ring, { passes: ['${stranger}'] }).`,
  );
}

function check(store: Store, ring: SealRing): void {
  if (typeof store?.claim !== 'function') {
    throw new OptionsError(
      'sealed() needs a store first: memoryStore(), sqliteStore({ service, database }) …',
    );
  }
  if (storeBehind(store) !== store) {
    throw new OptionsError('This store is sealed already: seal it once, with a ring of all keys.');
  }
  if (typeof ring?.seal !== 'function' || typeof ring.open !== 'function') {
    throw new OptionsError('sealed() needs a ring second: keyRing({ current, keys }), or { seal, open }.');
  }
}

/**
 * What is done to one record, and what would be: a preview runs the operator's own function on a store that decides by
 * the state table and writes nothing, so that it refuses what the act refuses.
 *
 * Invariants: an act names what was seen, and is done to that or not at all · nothing is done without a reason, a
 * right and the row in the audit that the store writes with it.
 */

import type { RecordId, SamekeyRecord, Store, StoredResponse } from 'samekey';
import { decideForget, decideReopen, decideSettle, serverView } from 'samekey/internals/store/machine/index';
import {
  type ActResult,
  createOperator,
  type Forgetting,
  type Operator,
  type RefusedBecause,
  type Reopening,
  type Settlement,
} from 'samekey/operator';
import type { ActAnswer, ActRequest } from './api.ts';
import { refuseClear } from './clear-answers.ts';
import { ConsoleFault } from './fault.ts';
import { stateInWords } from './record-words.ts';
import { rowOf } from './shown.ts';

/** An act that was read. */
export interface ReadAct {
  readonly id: RecordId;
  readonly request: ActRequest;
}

/** Stands where no reason is needed yet: a preview writes nothing. */
const PREVIEW = 'preview';

/** Reads it. Throws `ConsoleFault`; what is no settlement the operator refuses. */
export function readAct(body: Readonly<Record<string, unknown>>): ReadAct {
  const { act: what, scope, key, seen } = body;
  if (what !== 'settle' && what !== 'reopen' && what !== 'forget')
    throw new ConsoleFault(400, 'bad-request', 'act is settle, reopen or forget.');
  if (typeof scope !== 'string' || typeof key !== 'string')
    throw new ConsoleFault(400, 'bad-request', 'scope and key name the record.');
  const { claimId, attempt, state } = (seen ?? {}) as Partial<Record<string, unknown>>;
  const isWhole = what !== 'forget' || typeof state === 'string';
  if (typeof claimId !== 'string' || typeof attempt !== 'number' || !isWhole)
    throw new ConsoleFault(
      400,
      'bad-request',
      'seen (claimId, attempt, and to forget it state) says which record was looked at.',
    );
  const { response } = body;
  if (response !== undefined && response !== null && !isResponse(response))
    throw new ConsoleFault(
      400,
      'bad-request',
      'response is null, or has a status, perhaps headers ([name, value] each) and perhaps a body (a text).',
    );
  return { id: { scope, key }, request: body as unknown as ActRequest };
}

function isLine(line: unknown): boolean {
  return Array.isArray(line) && line.length === 2 && line.every((each) => typeof each === 'string');
}

/** Whether it has the form; whether a server could send it is the operator's to say. */
function isResponse(response: unknown): boolean {
  if (typeof response !== 'object' || response === null) return false;
  const { status, headers = [], body = null } = response as Partial<Record<string, unknown>>;
  return (
    typeof status === 'number' &&
    Array.isArray(headers) &&
    headers.every(isLine) &&
    (body === null || typeof body === 'string')
  );
}

/** What would happen. Writes nothing. */
export async function preview(store: Store, actor: string, given: ReadAct): Promise<ActAnswer> {
  await refuseClear(store, given.request, [given.id]);
  return tryAct(store, actor, given);
}

/** The same, where it was asked before whether the answer may stand clear. */
export async function tryAct(store: Store, actor: string, given: ReadAct): Promise<ActAnswer> {
  const result = await perform(createOperator({ store: dry(store), actor }), given, PREVIEW);
  return answerOf(result, given, actor, true);
}

/** Does it. */
export async function act(store: Store, actor: string, given: ReadAct, reason: string): Promise<ActAnswer> {
  await refuseClear(store, given.request, [given.id]);
  return doAct(store, actor, given, reason);
}

/** The same, where it was asked before whether the answer may stand clear. */
export async function doAct(store: Store, actor: string, given: ReadAct, reason: string): Promise<ActAnswer> {
  return answerOf(await perform(createOperator({ store, actor }), given, reason), given, actor, false);
}

function perform(operator: Operator, { id, request }: ReadAct, reason: string): Promise<ActResult> {
  const { act: what, seen, to, response, because, callTimeMaxMs, effectResult, effect } = request;
  const by = { reason, seen };
  if (what === 'reopen') return operator.reopen(id, present({ ...by, effect }) as Reopening);
  if (what === 'forget') return operator.forget(id, present({ ...by, effect }) as Forgetting);
  return operator.settle(
    id,
    present({
      ...by,
      to,
      response: responseOf(response),
      because,
      callTimeMaxMs,
      effectResult,
    }) as Settlement,
  );
}

/** Members that are there; what they are is the operator's to check. */
function present(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

const encoder = new TextEncoder();

function responseOf(response: ActRequest['response']): StoredResponse | null {
  if (response === undefined || response === null) return null;
  const { status, headers = [], body = null } = response;
  const bytes = body === null ? null : encoder.encode(body);
  const isTyped = headers.some(([name]) => name.toLowerCase() === 'content-type');
  const type =
    bytes === null || bytes.length === 0 || isTyped ? [] : [['Content-Type', typeOf(body ?? '')] as const];
  return { status, headers: [...type, ...headers], body: bytes };
}

function typeOf(body: string): string {
  try {
    JSON.parse(body);
    return 'application/json';
  } catch {
    return 'text/plain; charset=utf-8';
  }
}

/** A store that looks, decides by the state table, and writes nothing. */
function dry(store: Store): Store {
  const decided =
    <Request extends RecordId, Result>(
      decide: (
        record: SamekeyRecord | null,
        request: Request,
        view: ReturnType<typeof serverView>,
      ) => { readonly result: Result },
    ) =>
    async (requests: readonly Request[]): Promise<readonly Result[]> => {
      const records = await store.find(requests.map(({ scope, key }) => ({ scope, key })));
      return requests.map((request, i) => {
        const record = records[i] ?? null;
        return decide(record, request, serverView(record, Date.now())).result;
      });
    };
  const parts: Partial<Store> = {
    find: (ids) => store.find(ids),
    settle: decided(decideSettle),
    reopen: decided(decideReopen),
    forget: decided(decideForget),
    note: async () => undefined,
  };
  return parts as Store;
}

function answerOf(result: ActResult, { request }: ReadAct, actor: string, isPreview: boolean): ActAnswer {
  const record = 'record' in result ? result.record : null;
  const row = record === null ? null : rowOf(record);
  switch (result.kind) {
    case 'applied':
      return {
        kind: 'applied',
        because: null,
        row,
        lines: doneLines(request, result.record, actor, isPreview),
      };
    case 'already':
      return {
        kind: 'already',
        because: null,
        row,
        lines: ['This was done before, just so. Nothing more is to be done.'],
      };
    case 'contradiction':
      return { kind: 'contradiction', because: null, row, lines: contradiction(result.record, isPreview) };
    case 'absent':
      return {
        kind: 'absent',
        because: null,
        row,
        lines: ['There is no such record any more: its retention is over, or somebody dropped it.'],
      };
    case 'refused':
      return {
        kind: 'refused',
        because: result.because,
        row,
        lines: [refusal(result.because, request, result.record)],
      };
    default:
      return result satisfies never;
  }
}

function doneLines(
  request: ActRequest,
  record: SamekeyRecord,
  actor: string,
  isPreview: boolean,
): readonly string[] {
  const audit = isPreview
    ? `The audit gets a row with your name (${actor}) and your reason.`
    : `The audit has a row with your name (${actor}) and your reason.`;
  return [...effectsOf(request, record), audit];
}

/** What an act brings about, for people; without a record, whichever it is done to. */
export function effectsOf(
  { act: what, to, response, effectResult }: ActRequest,
  record: Pick<SamekeyRecord, 'state'> | null,
): readonly string[] {
  if (what === 'reopen')
    return [
      'The stored error goes, and the next request with this key runs the handler again.',
      'Other processes may still replay the error for a few seconds: it runs at the earliest after six.',
    ];
  if (what === 'forget') {
    const again =
      record?.state === 'completed'
        ? ['ITS EFFECT HAS HAPPENED. Whoever sends the key again makes it happen again.']
        : [];
    return ['The record goes, and its key acts as never used.', ...again];
  }
  if (to === 'retryable') {
    return effectResult === undefined
      ? ['The next request with this key runs the handler again.']
      : [
          'The result of the open effect is stored. Its call is not made again, and the next attempt goes on behind it.',
        ];
  }
  const body = response?.body ?? null;
  const answer =
    body === null
      ? 'Retries get 410: it is done, its answer is lost. Nothing runs.'
      : `Retries get status ${response?.status} with this body of ${encoder.encode(body).length} bytes. Nothing runs.`;
  return [`It becomes ${to}, for good.`, answer];
}

function contradiction({ state, response, reason }: SamekeyRecord, isPreview: boolean): readonly string[] {
  const status = response === null ? '' : `, with status ${response.status}`;
  const why = reason === null ? '' : `: “${reason}”`;
  return [
    `Somebody has settled it otherwise, as ${state}${status}${why}. That stands.`,
    isPreview
      ? 'If you go on, nothing changes but the audit, which gets a row that you say otherwise.'
      : 'Nothing was changed; the audit has a row that says that you say otherwise. Find out who is right.',
  ];
}

const MISFITS = {
  settle: 'Only unknown outcomes are settled; a failed key is reopened.',
  reopen: 'Only failed keys are reopened.',
  forget: 'Only what is completed, failed or retryable is forgotten: nobody works on that.',
} as const;

function refusal(because: RefusedBecause, { act: what }: ActRequest, record: SamekeyRecord | null): string {
  switch (because) {
    case 'state':
      return `It is ${record?.state ?? 'gone'}${record === null ? '' : ` (${stateInWords(record)})`}. ${MISFITS[what]}`;
    case 'changed':
      return 'The record has moved on since you looked. Look at it again.';
    case 'not-proven':
      return what === 'settle'
        ? '“No effect” is not proven: whoever ran the attempt fell silent, and a process that only stood still may wake and make its call. Say why nothing can happen any more: its process is gone, or every call carries a downstream key.'
        : 'Nobody came to know whether it took effect, so it runs again only on your word that nothing happened.';
    case 'too-early':
      return 'A call to a provider may still be under way, so “no effect” does not count yet. Wait, or say how long the longest call takes after its claim has ended.';
    case 'no-open-effect':
      return 'No effect of the record is open that a result could be of.';
    default:
      return because satisfies never;
  }
}

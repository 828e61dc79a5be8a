/**
 * Messages on PostgreSQL: each verb is one conditional statement that commits by itself, on two connections of the
 * store's own (one takes, one writes what became of them), so that neither handlers that hold every connection of the
 * pool nor a busy worker hold up claims.
 */

import { checkByHand } from '../../../store/audit.ts';
import { isStoreError } from '../../../core/errors.ts';
import { decideFinish } from '../../../store/machine/index.ts';
import {
  type DeadRequest,
  type DoneRequest,
  type Lease,
  type LeaseResult,
  type MessageState,
  type MessageStore,
  type NewMessage,
} from '../../../store/message.ts';
import { idText } from '../../../core/record.ts';
import type { FinishRequest } from '../../../store/store.ts';
import { exact, number, shown } from '../../sql/record-row.ts';
import { listLimit } from '../../verbs/reads.ts';
import { finishRows } from '../input-rows.ts';
import type { Link } from '../link.ts';
import { channelOf, createBell } from './messages-bell.ts';
import {
  backRow,
  enqueueRow,
  errorCell,
  leaseCells,
  messageOf,
  noteCells,
  referredEnqueueRow,
  takenOf,
} from './messages-input.ts';
import * as sql from './messages-statements.ts';
import * as upkeep from './messages-upkeep-statements.ts';
import { type Arity, type Cell, type InputColumn, inputValues, textArray } from '../parameters.ts';
import type { Ask, Connection, SqlRow, Statement } from '../client.ts';
import { arityOf, type Records } from '../records.ts';

/** What messages are made of. */
interface PostgresMessagesOptions {
  readonly records: Records;
  readonly schema: string;
  readonly open: () => Promise<Connection>;
  /** Makes a connection of the store's own. */
  readonly link: () => Link;
  /** For reads of operators, which may take long. */
  readonly reads: Link;
}

/** The messages of a store, and their connections. */
interface PostgresMessages {
  readonly messages: MessageStore;
  /** Puts messages in inside a user's transaction. */
  readonly enqueueWithin: (ask: Ask, messages: readonly NewMessage[]) => Promise<void>;
  close(): Promise<void>;
}

/** Workers that are idle say so for this long, in milliseconds; at half of it again. */
const LISTEN_MS = 20_000;
/** Groups looked at in one round of tidying. */
const GROUPS_MAX = 1_000;

/** Makes them; nothing is opened before the first use. */
export function createMessages(options: PostgresMessagesOptions): PostgresMessages {
  const { tables } = options.records;
  const channel = channelOf(options.schema);
  const takes = options.link();
  const writes = options.link();
  const bell = createBell(options.open, channel);
  const [enqueues, enqueuesWithin] = [false, true].map((within) => ({
    plain: both((arity) => sql.enqueueStatement(tables, arity, channel, { within })),
    referred: both((arity) => sql.enqueueStatement(tables, arity, channel, { within, refers: true })),
  })) as [Enqueues, Enqueues];
  const dones = both((arity) => sql.doneStatement(tables, arity));
  const extensions = both((arity) => sql.extendStatement(tables, arity));
  const notes = both((arity) => sql.noteStatement(tables, arity));
  const referredNotes = both((arity) => sql.referredNoteStatement(tables, arity));
  const backs = both((arity) => sql.backStatement(tables, arity));
  const doneOfTake = sql.doneOfTakeStatement(tables);
  const takeDue = sql.takeStatement(tables);
  const nextDue = sql.nextDueStatement(tables);
  const settleOne = sql.settleStatement(tables);
  const unpark = upkeep.unparkStatement(tables);
  const requeueDead = upkeep.requeueStatement(tables, channel);
  /** Where tidying goes on. */
  let tidiedTo = '';

  /** Sends rows of leases, and lets the groups go on that lost their first. */
  async function write<Request extends Lease>(
    by: Record<Arity, Statement>,
    input: readonly InputColumn[],
    requests: readonly Request[],
    row: (request: Request) => readonly Cell[],
  ): Promise<readonly LeaseResult[]> {
    if (requests.length === 0) return [];
    const arity = arityOf(requests);
    return told(requests, await writes.ask(by[arity], inputValues(requests.map(row), input.length, arity)));
  }

  /** Those that stand alone. */
  async function done(requests: readonly Lease[]): Promise<readonly LeaseResult[]> {
    const [first] = requests;
    if (first === undefined || requests.some(({ leaseId }) => leaseId !== first.leaseId)) {
      return write(dones, sql.DONE_INPUT, requests, leaseCells);
    }
    const places = `{${requests.map(({ place }) => place).join(',')}}`;
    return told(requests, await writes.ask(doneOfTake, [places, first.leaseId]));
  }

  async function told(requests: readonly Lease[], rows: readonly SqlRow[]): Promise<readonly LeaseResult[]> {
    const written = new Set(rows.map((each) => number(each[0])));
    await goOn(rows.map((each) => each[1]));
    return requests.map(({ place }) => (written.has(place) ? 'applied' : 'lost'));
  }

  /** If it cannot be done, tidying does it. */
  async function goOn(groups: readonly unknown[]): Promise<void> {
    const names = [...new Set(groups.filter((group) => group !== null).map(String))];
    if (names.length === 0) return;
    try {
      await writes.ask(unpark, [textArray(names)]);
    } catch (error) {
      if (!isStoreError(error)) throw error;
    }
  }

  async function settle(
    request: Lease & Partial<DeadRequest>,
    record: FinishRequest,
    fate: 'done' | 'dead',
  ): Promise<LeaseResult> {
    const { rows, bodies } = finishRows([record]);
    const { begun = true, proven = false, error = null } = request;
    const cells: readonly Cell[] = [
      ...(rows[0] ?? []),
      ...leaseCells(request),
      fate,
      errorCell(error),
      begun ? 1 : 0,
      proven ? 1 : 0,
    ];
    const values = [...inputValues([cells], sql.SETTLE_INPUT.length, 'one'), bodies];
    const [held, written, group] = (await writes.ask(settleOne, values))[0] ?? [];
    if (number(held ?? 0) === 0) return 'lost';
    await goOn([group ?? null]);
    if (number(written ?? 0) === 1) return 'applied';
    const found = (await options.records.find(writes.ask, [record])).get(idText(record));
    const decided = decideFinish(found?.record ?? null, record, options.records.view(found));
    return decided.result.kind === 'already' ? 'applied' : 'contradiction';
  }

  /** Those that stand alone go together; those with a record one by one. */
  async function apart<Request extends Lease & { readonly record: FinishRequest | null }>(
    requests: readonly Request[],
    alone: (requests: readonly Request[]) => Promise<readonly LeaseResult[]>,
    fate: 'done' | 'dead',
  ): Promise<readonly LeaseResult[]> {
    const plain = requests.filter(({ record }) => record === null);
    const results = new Map<Request, LeaseResult>();
    const ended = await alone(plain);
    for (const [i, request] of plain.entries()) results.set(request, ended[i] ?? 'lost');
    for (const request of requests) {
      if (request.record !== null) results.set(request, await settle(request, request.record, fate));
    }
    return requests.map((request) => results.get(request) ?? 'lost');
  }

  const messages: MessageStore = {
    enqueue: (all) => put(writes.ask, enqueues, all),
    async take(request) {
      const { topics, limit, leaseId, leaseMs, suspectsMax, deliveriesMax } = request;
      if (topics.length === 0 || limit < 1) return { taken: [], more: false, nextDueMs: null };
      const names = textArray(topics.map(exact));
      const numbers = [Math.min(suspectsMax, limit), deliveriesMax].map(String);
      const rows = await takes.ask(takeDue, [names, String(limit), leaseId, String(leaseMs), ...numbers]);
      const taken = rows
        .flatMap((row) => takenOf(row) ?? [])
        .toSorted((a, b) => a.createdAt - b.createdAt || a.place - b.place);
      if (rows.length >= limit) return { taken, more: true, nextDueMs: null };
      return { taken, more: false, nextDueMs: await due(names, suspectsMax) };
    },
    extend: (leases, leaseMs) =>
      write(extensions, sql.EXTEND_INPUT, leases, (lease) => [...leaseCells(lease), leaseMs]),
    done: (requests: readonly DoneRequest[]) => apart(requests, done, 'done'),
    retry: (requests) =>
      write(backs, sql.BACK_INPUT, requests, (request) => backRow(request, 'ready', request.delayMs)),
    dead: (requests) =>
      apart(
        requests,
        (plain) => write(backs, sql.BACK_INPUT, plain, (request) => backRow(request, 'dead', 0)),
        'dead',
      ),
    note: (requests) =>
      requests.some(({ reference }) => reference !== undefined)
        ? write(referredNotes, sql.REFERRED_NOTE_INPUT, requests, (request) => [
            ...noteCells(request),
            request.reference === undefined ? null : exact(request.reference),
          ])
        : write(notes, sql.NOTE_INPUT, requests, noteCells),
    async requeue(ids, by) {
      checkByHand([by]);
      const values = [textArray(ids), shown(by.reason), shown(by.actor)];
      return idsOf(await writes.ask(requeueDead, values));
    },
    async drop(ids, by) {
      checkByHand([by]);
      const values = [textArray(ids), shown(by.reason), shown(by.actor)];
      return idsOf(await writes.ask(upkeep.dropStatement(tables), values));
    },
    async list(request) {
      const { statement, values } = upkeep.listMessagesStatement(tables, request, listLimit(request));
      return (await options.reads.ask(statement, values)).map(messageOf);
    },
    async count() {
      const rows = await options.reads.ask(upkeep.countMessagesStatement(tables), []);
      return rows.map(([topic, state, count]) => ({
        topic: String(topic),
        state: String(state) as MessageState,
        count: number(count),
      }));
    },
    async tidy() {
      const groups = await writes.ask(upkeep.parkedGroupsStatement(tables), [tidiedTo, String(GROUPS_MAX)]);
      const names = groups.map((row) => String(row[0]));
      tidiedTo = names.length < GROUPS_MAX ? '' : (names.at(-1) ?? '');
      if (names.length === 0) return 0;
      const stuck = await writes.ask(upkeep.stuckGroupsStatement(tables), [textArray(names)]);
      if (stuck.length === 0) return 0;
      return (await writes.ask(unpark, [textArray(stuck.map((row) => String(row[0])))])).length;
    },
    listen: (heard) => bell.listen(heard),
    idle: async () => void (await writes.ask(upkeep.listenedStatement(tables), [String(LISTEN_MS)])),
  };

  async function due(names: string, suspectsMax: number): Promise<number | null> {
    const ms = (await takes.ask(nextDue, [names, String(suspectsMax)]))[0]?.[0];
    return ms === null || ms === undefined ? null : Math.max(0, number(ms));
  }

  return {
    messages,
    enqueueWithin: (ask, all) => put(ask, enqueuesWithin, all),
    async close() {
      await Promise.all([takes.close(), writes.close(), bell.close()]);
    },
  };
}

function idsOf(rows: readonly SqlRow[]): readonly string[] {
  return rows.map((row) => String(row[0]));
}

function both(make: (arity: Arity) => Statement): Record<Arity, Statement> {
  return { one: make('one'), many: make('many') };
}

/** Most messages are nobody's: they pay for no reference. */
interface Enqueues {
  readonly plain: Record<Arity, Statement>;
  readonly referred: Record<Arity, Statement>;
}

async function put(ask: Ask, by: Enqueues, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const arity = arityOf(messages);
  const refers = messages.some(({ reference }) => reference !== undefined);
  const [statements, input, row] = refers
    ? [by.referred, sql.REFERRED_ENQUEUE_INPUT, referredEnqueueRow]
    : [by.plain, sql.ENQUEUE_INPUT, enqueueRow];
  await ask(statements[arity], inputValues(messages.map(row), input.length, arity));
}

/**
 * Claims, renewals, finishes and look-ups. Each flush is one conditional statement; what it left untouched is read by a
 * second one, which sees everything committed before it, and the state table says what that means. If it says "write",
 * somebody else was at the row in between: the answer is `busy`, and the next flush tries again.
 *
 * Two statements and not one: the snapshot of the first cannot see a row that was committed while it waited, so only a
 * new snapshot can tell what stands there (ON CONFLICT DO NOTHING reports a conflict with rows nobody sees).
 */

import { decideCheckpoint, decideClaim, decideFinish, decideRenew } from '../../store/machine/index.ts';
import { idText, type RecordId } from '../../core/record.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  ClaimRequest,
  ClaimResult,
  FinishRequest,
  FinishResult,
  RenewRequest,
  RenewResult,
} from '../../store/store.ts';
import { number } from '../sql/record-row.ts';
import {
  checkpointRow,
  claimRow,
  claimWithInputRows,
  finishRows,
  referredCheckpointRow,
  renewRow,
} from './input-rows.ts';
import * as columns from './input-columns.ts';
import { eachOnce } from './flush.ts';
import type { Link } from './link.ts';
import { inputValues } from './parameters.ts';
import type { Ask, SqlRow } from './client.ts';
import { isLockTimeout } from './errors.ts';
import { arityOf, type Change, type Records } from './records.ts';
import * as sql from './statements.ts';
import { rowIdText, type Seen } from './seen.ts';

/** The hot path on its connections. */
interface HotPath {
  claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]>;
  renew(requests: readonly RenewRequest[]): Promise<readonly RenewResult[]>;
  finish(requests: readonly FinishRequest[]): Promise<readonly FinishResult[]>;
  checkpoint(requests: readonly CheckpointRequest[]): Promise<readonly CheckpointResult[]>;
}

/** Statements that one flush of claims sends at most when something blocks it; each waits for `LOCK_TIME_MAX_MS`. */
const BLOCKED_STATEMENTS_MAX = 4;

const BUSY = Object.freeze({ kind: 'busy' as const });

/** Makes the hot path. */
export function createHotPath(
  records: Records,
  links: { readonly work: Link; readonly ends: Link; readonly upkeep: Link },
): HotPath {
  const { tables } = records;
  const claims = { one: sql.claimStatement(tables, 'one'), many: sql.claimStatement(tables, 'many') };
  const claimsWithInput = {
    one: sql.claimStatement(tables, 'one', true),
    many: sql.claimStatement(tables, 'many', true),
  };
  const checkpoints = {
    one: sql.checkpointStatement(tables, 'one'),
    many: sql.checkpointStatement(tables, 'many'),
  };
  const referredCheckpoints = {
    one: sql.referredCheckpointStatement(tables, 'one'),
    many: sql.referredCheckpointStatement(tables, 'many'),
  };
  const renewals = { one: sql.renewStatement(tables, 'one'), many: sql.renewStatement(tables, 'many') };
  const finishes = { one: sql.finishStatement(tables, 'one'), many: sql.finishStatement(tables, 'many') };

  async function claim(ask: Ask, requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    const brought = requests.filter(bringsInput);
    const bare = brought.length === 0 ? requests : requests.filter((request) => !bringsInput(request));
    const results = await insert(ask, bare);
    if (brought.length > 0) for (const [id, result] of await insert(ask, brought)) results.set(id, result);
    // Most keys are new: then nothing is left to look at.
    if (results.size === requests.length)
      return requests.map((request) => results.get(idText(request)) ?? BUSY);
    const known = requests.filter((request) => !results.has(idText(request)));
    const found = await records.find(ask, known);
    const changes: Change[] = [];
    for (const request of known) {
      const seen = found.get(idText(request));
      // Deleted since: with the next flush it is new.
      if (seen === undefined) continue;
      const { write, result } = decideClaim(seen.record, request, records.view(seen));
      results.set(idText(request), result);
      if (write !== undefined) changes.push({ seen, write });
    }
    const made = await records.change(ask, changes);
    for (const { seen } of changes) {
      if (!made.has(idText(seen.record))) results.set(idText(seen.record), BUSY);
    }
    return requests.map((request) => results.get(idText(request)) ?? BUSY);
  }

  /** What is new; and `busy` for what could not be tried because an insert of the same key is not committed yet. */
  async function insert(ask: Ask, requests: readonly ClaimRequest[]): Promise<Map<string, ClaimResult>> {
    const results = new Map<string, ClaimResult>();
    let blocked = 0;
    async function tryInsert(part: readonly ClaimRequest[]): Promise<void> {
      if (part.length === 0) return;
      try {
        for (const [id, result] of await insertOnce(ask, part)) results.set(id, result);
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        blocked += 1;
        // Halves find whose it is, so that the neighbours get through.
        if (part.length > 1 && blocked < BLOCKED_STATEMENTS_MAX) {
          const half = part.length >> 1;
          await tryInsert(part.slice(0, half));
          await tryInsert(part.slice(half));
        } else {
          for (const request of part) results.set(idText(request), BUSY);
        }
      }
    }
    await tryInsert(inOrder(requests));
    return results;
  }

  async function insertOnce(
    ask: Ask,
    part: readonly ClaimRequest[],
  ): Promise<readonly (readonly [id: string, result: ClaimResult])[]> {
    const arity = arityOf(part);
    if (!part.some(bringsInput)) {
      const values = inputValues(part.map(claimRow), columns.CLAIM_INPUT.length, arity);
      return (await ask(claims[arity], values)).map((row) => [rowIdText(row), claimed(row)]);
    }
    const { rows, bodies } = claimWithInputRows(part);
    const values = [...inputValues(rows, columns.CLAIM_WITH_INPUT.length, arity), bodies];
    const accepts = new Set(part.filter(({ entry }) => entry === 'accept').map(idText));
    return (await ask(claimsWithInput[arity], values)).map((row) => {
      const id = rowIdText(row);
      return [id, accepts.has(id) ? accepted(row) : claimed(row)];
    });
  }

  async function checkpoint(
    ask: Ask,
    requests: readonly CheckpointRequest[],
  ): Promise<readonly CheckpointResult[]> {
    const arity = arityOf(requests);
    const refers = requests.some(({ reference }) => reference !== undefined);
    const [by, input, row] = refers
      ? [referredCheckpoints, columns.REFERRED_CHECKPOINT_INPUT, referredCheckpointRow]
      : [checkpoints, columns.CHECKPOINT_INPUT, checkpointRow];
    const values = inputValues(inOrder(requests).map(row), input.length, arity);
    const written = new Set((await ask(by[arity], values)).map(rowIdText));
    const rest = requests.filter((request) => !written.has(idText(request)));
    const found = await records.find(ask, rest);
    return requests.map((request) =>
      written.has(idText(request))
        ? { kind: 'applied' }
        : notNoted(records, request, found.get(idText(request))),
    );
  }

  async function renew(ask: Ask, requests: readonly RenewRequest[]): Promise<readonly RenewResult[]> {
    const arity = arityOf(requests);
    const values = inputValues(inOrder(requests).map(renewRow), columns.RENEW_INPUT.length, arity);
    const renewed = new Set((await ask(renewals[arity], values)).map(rowIdText));
    const rest = requests.filter((request) => !renewed.has(idText(request)));
    const found = await records.find(ask, rest);
    return requests.map((request) => {
      if (renewed.has(idText(request))) return { kind: 'renewed' };
      const seen = found.get(idText(request));
      const record = seen?.record ?? null;
      const { write, result } = decideRenew(record, request, records.view(seen));
      return write === undefined ? result : BUSY;
    });
  }

  return {
    claim: (requests) => eachOnce(links.work, requests, claim),
    renew: (requests) => eachOnce(links.upkeep, requests, renew),
    checkpoint: (requests) => eachOnce(links.ends, requests, checkpoint),
    finish: (requests) =>
      eachOnce(links.ends, requests, async (ask, group) => {
        const arity = arityOf(group);
        const { rows, bodies } = finishRows(inOrder(group));
        const values = [...inputValues(rows, columns.FINISH_INPUT.length, arity), bodies];
        const answer = await ask(finishes[arity], values);
        const ended = new Map(answer.map((row) => [rowIdText(row), number(row[2])]));
        if (ended.size === group.length)
          return group.map((request) => ({ kind: 'applied', expiresAt: ended.get(idText(request)) ?? 0 }));
        const rest = group.filter((request) => !ended.has(idText(request)));
        const found = await records.find(ask, rest);
        return group.map((request) => {
          const expiresAt = ended.get(idText(request));
          return expiresAt === undefined
            ? notFinished(records, request, found.get(idText(request)))
            : { kind: 'applied', expiresAt };
        });
      }),
  };
}

/** What a finish that changed nothing met. */
export function notFinished(records: Records, request: FinishRequest, seen: Seen | undefined): FinishResult {
  const { write, result } = decideFinish(seen?.record ?? null, request, records.view(seen));
  return write === undefined ? result : BUSY;
}

/** What a checkpoint that changed nothing met. */
export function notNoted(
  records: Records,
  request: CheckpointRequest,
  seen: Seen | undefined,
): CheckpointResult {
  const { write, result } = decideCheckpoint(seen?.record ?? null, request, records.view(seen));
  return write === undefined ? result : BUSY;
}

function bringsInput({ input }: ClaimRequest): boolean {
  return input !== null;
}

function accepted(row: SqlRow): ClaimResult {
  return { kind: 'accepted', createdAt: number(row[2]), expiresAt: number(row[3]) };
}

function claimed(row: SqlRow): ClaimResult {
  return {
    kind: 'claimed',
    attempt: 1,
    createdAt: number(row[2]),
    expiresAt: number(row[3]),
    resumed: null,
  };
}

/** Two flushes that meet take their rows in one order, so neither waits for the other in a circle. */
function inOrder<Request extends RecordId>(requests: readonly Request[]): readonly Request[] {
  if (requests.length < 2) return requests;
  return requests.toSorted((a, b) => compare(a.scope, b.scope) || compare(a.key, b.key));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

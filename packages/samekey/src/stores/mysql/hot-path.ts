/**
 * Claims, renewals, finishes, checkpoints and look-ups.
 *
 * A flush of claims reads first (no lock, no commit), inserts the keys that are new in one statement that commits by
 * itself, and reads those again: whoever's claimId stands there owns the key, whatever the statement said of duplicates
 * or affected rows (F15, F16). Most requests end there. What a claim takes over, and every end of an attempt, goes by
 * lock and decision (`records.ts`).
 */

import { InvariantError, isStoreError } from '../../core/errors.ts';
import {
  decideCheckpoint,
  decideClaim,
  decideFinish,
  decideRenew,
  serverView,
} from '../../store/machine/index.ts';
import { idText, type SamekeyRecord } from '../../core/record.ts';
import type { ClaimRequest, ClaimResult, HotStore } from '../../store/store.ts';
import { RECORD_COLUMNS, recordValues } from '../sql/record-row.ts';
import { BUSY } from '../verbs/change.ts';
import type { Link } from './link.ts';
import { literalOf } from './literals.ts';
import type { Ask } from './client.ts';
import { isConflict } from './errors.ts';
import { putReferences } from './references.ts';
import { apply, checkIds, inOrder, read, type SeenById, viewOf } from './records.ts';
import { COMMITS_ITSELF } from './session.ts';
import { quote, type Tables, TEXTS } from './tables.ts';

/** Statements that one flush of claims sends at most when something blocks it; each waits a second. */
const BLOCKED_STATEMENTS_MAX = 4;

/** Makes the hot path on its connections. */
export function createHotPath(
  tables: Tables,
  links: { readonly work: Link; readonly ends: Link; readonly upkeep: Link },
): HotStore {
  /** Fresh keys; what was inserted by somebody else in between is left. */
  async function insert(ask: Ask, fresh: readonly ClaimRequest[]): Promise<void> {
    let blocked = 0;
    async function tryInsert(part: readonly ClaimRequest[]): Promise<void> {
      if (part.length === 0) return;
      try {
        await ask(insertStatement(tables, part));
      } catch (error) {
        if (!isStoreError(error) || !isConflict(error)) throw error;
        blocked += 1;
        if (blocked >= BLOCKED_STATEMENTS_MAX) return;
        // Halves find whose it is, so that the neighbours get through.
        const half = part.length >> 1;
        await tryInsert(part.slice(0, half));
        await tryInsert(part.slice(half));
      }
    }
    await tryInsert(fresh);
  }

  async function claimEach(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    const results = await links.work.alone(async (ask) => {
      const known = await read(ask, tables, requests, '');
      const fresh = inOrder(requests.filter((request) => !known.has(idText(request))));
      if (fresh.length === 0) return decided(tables, requests, known);
      await insert(ask, fresh);
      return decided(tables, requests, new Map([...known, ...(await read(ask, tables, fresh, ''))]));
    });
    const takers = requests.filter((_, i) => results[i] === undefined);
    if (takers.length === 0) return results as ClaimResult[];
    const taken = await links.work.together((ask) =>
      apply(ask, tables, takers, decideClaim, { isBusyWithout: true }),
    );
    const byTaker = new Map(takers.map((taker, i) => [taker, taken[i]]));
    return requests.map((request, i) => results[i] ?? byTaker.get(request) ?? BUSY);
  }

  return {
    async claim(requests) {
      checkIds(requests);
      const results: ClaimResult[] = [];
      // Claims of one key go one after the other.
      for (const group of withoutRepeats(requests)) results.push(...(await claimEach(group)));
      return results;
    },
    async renew(requests) {
      checkIds(requests);
      if (requests.length === 0) return [];
      return links.upkeep.together((ask) => apply(ask, tables, requests, decideRenew));
    },
    async checkpoint(requests) {
      checkIds(requests);
      if (requests.length === 0) return [];
      return links.ends.together(async (ask) => {
        const results = await apply(ask, tables, requests, decideCheckpoint);
        const referred = requests.flatMap(({ reference, ...owner }, i) =>
          reference === undefined || results[i]?.kind !== 'applied' ? [] : [{ owner, ...reference }],
        );
        await putReferences(ask, tables, referred);
        return results;
      });
    },
    async finish(requests) {
      checkIds(requests);
      if (requests.length === 0) return [];
      return links.ends.together((ask) => apply(ask, tables, requests, decideFinish));
    },
    async find(ids) {
      checkIds(ids);
      if (ids.length === 0) return [];
      const found = await links.upkeep.alone((ask) => read(ask, tables, inOrder(ids), ''));
      return ids.map((id) => found.get(idText(id))?.record ?? null);
    },
  };
}

/** What the state table says of claims without writing; undefined where it would write. */
function decided(
  tables: Tables,
  requests: readonly ClaimRequest[],
  found: SeenById,
): (ClaimResult | undefined)[] {
  return requests.map((request) => {
    const seen = found.get(idText(request));
    // Not inserted, or deleted since: with the next flush it is new.
    if (seen === undefined) return BUSY;
    const { write, result } = decideClaim(seen.record, request, viewOf(tables, seen.record, seen));
    return write === undefined ? result : undefined;
  });
}

/** In their order, cut before each key that the group has already. */
function withoutRepeats(requests: readonly ClaimRequest[]): ClaimRequest[][] {
  const groups: ClaimRequest[][] = [];
  let seen = new Set<string>();
  for (const request of requests) {
    const id = idText(request);
    if (groups.length === 0 || seen.has(id)) {
      groups.push([]);
      seen = new Set();
    }
    seen.add(id);
    groups.at(-1)?.push(request);
  }
  return groups;
}

/** Counted from the time of the statement: what is held from the one that is judged by, lives from the later one. */
const FROM_NOW: ReadonlySet<string> = new Set(['locked_until', 'created_at']);

/**
 * Never INSERT IGNORE, which would cut values and swallow every error; a duplicate is left as it is. The records are
 * those of a fresh key at time 0, and the server adds its time.
 */
function insertStatement({ records, now, later }: Tables, requests: readonly ClaimRequest[]): string {
  const rows = requests.map((request, row) => {
    const values = recordValues(freshRecord(request)).map((value, i) => {
      const name = RECORD_COLUMNS[i] ?? '';
      const literal = literalOf(value, TEXTS.has(name));
      if (name === 'expires_at') return `${later} + ${literal}`;
      if (!FROM_NOW.has(name)) return literal;
      // Fails the whole statement where it would not count.
      const condition = row === 0 && name === 'created_at' ? ` + ${COMMITS_ITSELF}` : '';
      return `${now} + ${literal}${condition}`;
    });
    return `(${values.join(', ')})`;
  });
  return (
    `INSERT INTO ${records} (${RECORD_COLUMNS.map(quote).join(', ')}) VALUES ${rows.join(', ')} ` +
    `ON DUPLICATE KEY UPDATE scope = ${records}.scope`
  );
}

function freshRecord(request: ClaimRequest): SamekeyRecord {
  const { write } = decideClaim(null, request, serverView(null, 0));
  if (write === undefined || write === null)
    throw new InvariantError('a claim of a fresh key makes no record');
  return write;
}

/**
 * Claims, renewals, finishes, checkpoints and look-ups, each row by itself. A claim reads first: a replay writes
 * nothing, and a duplicate that meets somebody's open transaction waits for none. A fresh key is one insert that
 * commits by itself.
 */

import { InvariantError } from '../../../core/errors.ts';
import {
  decideCheckpoint,
  decideClaim,
  decideFinish,
  decideRenew,
  serverView,
} from '../../../store/machine/index.ts';
import { idText } from '../../../core/record.ts';
import type { ClaimRequest, ClaimResult, HotStore } from '../../../store/store.ts';
import { checkIds, number } from '../../sql/record-row.ts';
import { BUSY } from '../../verbs/change.ts';
import type { Link } from '../link.ts';
import type { Ask, SqlValue } from '../client.ts';
import { isLockTimeout } from '../errors.ts';
import { eachAlone } from './lanes.ts';
import { type Records } from './records.ts';
import { insertStatement, parametersOf } from './statements.ts';

/** A claim, and what a fresh key of it is made of: encoded before anything is sent, so that a bad one stops nobody. */
interface Fresh {
  readonly values: readonly SqlValue[];
  readonly result: ClaimResult;
}

/** Makes the hot path on its connections. */
export function createHotPath(
  records: Records,
  links: { readonly work: Link; readonly ends: Link; readonly upkeep: Link },
): HotStore {
  const insert = insertStatement(records.layout);

  async function claim(ask: Ask, request: ClaimRequest, fresh: Fresh): Promise<ClaimResult> {
    const seen = await records.read(ask, request);
    if (seen === undefined) return insertOnce(ask, fresh);
    const { write, result } = decideClaim(seen.record, request, records.view(seen));
    if (write === undefined) return result;
    return (await records.write(ask, seen, write)) ? result : BUSY;
  }

  /** `busy`: it has come meanwhile, or is being inserted right now; the next flush reads it. */
  async function insertOnce(ask: Ask, { values, result }: Fresh): Promise<ClaimResult> {
    try {
      const [row] = await ask(insert, values);
      if (row === undefined) return BUSY;
      return { ...result, createdAt: number(row[0]), expiresAt: number(row[1]) } as ClaimResult;
    } catch (error) {
      if (isLockTimeout(error)) return BUSY;
      throw error;
    }
  }

  return {
    async claim(requests) {
      const fresh = new Map(requests.map((request) => [request, freshOf(request)]));
      return eachAlone(requests, (request) => claim(links.work.ask, request, fresh.get(request) as Fresh));
    },
    async renew(requests) {
      checkIds(requests);
      return eachAlone(requests, (request) => records.apply(links.upkeep.ask, request, decideRenew));
    },
    async checkpoint(requests) {
      checkIds(requests);
      return eachAlone(requests, (request) => records.apply(links.ends.ask, request, decideCheckpoint));
    },
    async finish(requests) {
      checkIds(requests);
      return eachAlone(requests, (request) => records.apply(links.ends.ask, request, decideFinish));
    },
    async find(ids) {
      checkIds(ids);
      const found = new Map(
        await Promise.all(
          [...new Map(ids.map((id) => [idText(id), id]))].map(
            async ([text, id]) => [text, (await records.read(links.upkeep.ask, id))?.record ?? null] as const,
          ),
        ),
      );
      return ids.map((id) => found.get(idText(id)) ?? null);
    },
  };
}

function freshOf(request: ClaimRequest): Fresh {
  const { write, result } = decideClaim(null, request, serverView(null, 0));
  if (write === undefined || write === null)
    throw new InvariantError('a claim of a fresh key makes no record');
  return { values: parametersOf(write), result };
}

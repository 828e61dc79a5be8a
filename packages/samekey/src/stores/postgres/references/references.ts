/** The looks at references on PostgreSQL. */

import type { State } from '../../../core/record.ts';
import type { CallUnderWay, Referred, References } from '../../../store/references.ts';
import { exact, number } from '../../sql/record-row.ts';
import type { Link } from '../link.ts';
import { textArray } from '../parameters.ts';
import type { SqlRow } from '../client.ts';
import * as sql from './references-statements.ts';
import type { Tables } from '../tables.ts';

/** Makes them; `reads` plans each look anew, by what is there. */
export function createReferences(
  tables: Tables,
  { upkeep, reads }: { readonly upkeep: Link; readonly reads: Link },
): References {
  const find = sql.findReferredStatement(tables);
  const underWay = [sql.callsStatement(tables), sql.deliveriesStatement(tables)];
  return {
    async find(references, limit) {
      if (references.length === 0) return [];
      const wanted = textArray([...new Set(references)].map(exact));
      return (await upkeep.ask(find, [wanted, String(limit)])).map(referredOf);
    },
    async underWay(operations, limit) {
      const values = [textArray(operations.map(exact)), String(limit)];
      const calls: CallUnderWay[] = [];
      for (const statement of underWay) calls.push(...(await reads.ask(statement, values)).map(callOf));
      return calls;
    },
  };
}

function referredOf([scope, key, operation, createdAt, attempt, effect]: SqlRow): Referred {
  return {
    scope: String(scope),
    key: String(key),
    operation: String(operation),
    createdAt: number(createdAt),
    attempt: number(attempt),
    effect: textOrNull(effect),
  };
}

function callOf([scope, key, operation, state, claimId, lockedUntil, steps]: SqlRow): CallUnderWay {
  return {
    scope: String(scope),
    key: String(key),
    operation: String(operation),
    state: String(state) as State,
    claimId: String(claimId),
    lockedUntil: number(lockedUntil),
    steps: textOrNull(steps),
  };
}

function textOrNull(value: unknown): string | null {
  return (value ?? null) as string | null;
}

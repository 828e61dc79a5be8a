/**
 * What happens to records: one script per row that does the usual thing in one round trip, or reads; then the state table decides on
 * what was read, and a compare-and-set writes it. Who finds the record changed in between reads it again.
 *
 * Invariants: rows of one call on the same record take turns, in their order · of a call in which one row's write was made, or may have
 * been, nobody says that nothing was applied.
 */

import type { NewAuditRow } from '../../core/audit.ts';
import { StoreError } from '../../core/errors.ts';
import { type Decision, serverView, type View } from '../../core/machine.ts';
import { idText, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import { checkIds } from '../sql/record-row.ts';
import { auditText } from './audit-text.ts';
import { fieldsOf, headOf, type Seen, seenOf } from './fields.ts';
import { createGroups, type GroupRow, type Many } from './groups.ts';
import type { Keys, Place } from './keys.ts';
import type { Argument } from './redis-client.ts';
import { unexpectedReply } from './redis-errors.ts';
import { type Answer, answersOf, scriptOf, type Server } from './server.ts';
import { READ, type Script, WRITE } from './statements.ts';

/** One verb. */
export interface Verb<Request, Result> {
  /** The script that does the usual thing, for one row; absent: only reads. ARGV begins with id, scope and now. */
  readonly script?: Script;
  args?(request: Request): readonly Argument[];
  /** Whether the script can do it; default: yes. */
  can?(request: Request): boolean;
  /** The same for many rows at once, as far as it takes them. */
  readonly many?: Many<Request>;
  /** What the script did. */
  done?(request: Request, now: number, rest: readonly unknown[]): Result;
  decide(record: SamekeyRecord | null, request: Request, view: View): Decision<Result>;
  /** The row a write leaves in the audit. */
  rowOf?(before: SamekeyRecord, after: SamekeyRecord | null, request: Request): NewAuditRow | undefined;
  /** What is answered for a row that could not be had, while others could; absent: the call fails. */
  readonly busy?: Result;
}

/** Rows of one store. */
export interface Rows {
  apply<Request extends RecordId, Result>(
    requests: readonly Request[],
    verb: Verb<Request, Result>,
  ): Promise<readonly Result[]>;
  read(places: readonly Place[]): Promise<readonly (Seen | null)[]>;
  /** Writes what was decided on a reading; false when something else stands there. */
  write(place: Place, seen: Seen, after: SamekeyRecord | null, row?: NewAuditRow): Promise<boolean>;
}

/** So often a row is read again that somebody else changed in between. */
const TRIES_MAX = 8;

const read = scriptOf(READ);
const write = scriptOf(WRITE);

/** Makes them; `time` is the test's clock as text, or empty. */
export function createRows(server: Server, keys: Keys, time: () => string): Rows {
  function writeOne(
    place: Place,
    seen: Seen,
    after: SamekeyRecord | null,
    row?: NewAuditRow,
  ): Promise<boolean> {
    const at = row === undefined ? place.keys : [...place.keys, keys.set(place.shard, `audit:${row.act}`)];
    const text = row === undefined ? '' : auditText(row);
    const { scope, claimId } = seen.record;
    const condition = [place.id, scope, time(), String(seen.now), seen.version, claimId, text];
    return server
      .run(
        write,
        at,
        after === null ? condition : [...condition, headOf(after), ...countedFields(fieldsOf(after))],
      )
      .then(([applied]) => applied === 1);
  }

  const groups = createGroups(server, time);

  function alone<Request extends RecordId, Result>(
    { request, place }: GroupRow<Request>,
    verb: Verb<Request, Result>,
  ): Promise<readonly unknown[]> {
    if (verb.script === undefined || verb.can?.(request) === false) {
      return server.run(read, place.keys.slice(0, 1), [time()]);
    }
    const args = verb.args?.(request) ?? [];
    return server.run(verb.script, place.keys, [place.id, request.scope, time(), ...args]);
  }

  /** What the scripts said of each row. */
  async function asked<Request extends RecordId, Result>(
    open: readonly GroupRow<Request>[],
    verb: Verb<Request, Result>,
  ): Promise<readonly Answer<readonly unknown[]>[]> {
    const { many } = verb;
    if (many === undefined) return answersOf(open.map((row) => alone(row, verb)));
    const lone = open.filter(({ request }) => !many.takes(request));
    const [together, others] = await Promise.all([
      groups.send(open, many),
      answersOf(lone.map((row) => alone(row, verb))),
    ]);
    const next = others.values();
    return together.map((answer) => answer ?? (next.next().value as Answer<readonly unknown[]>));
  }

  async function readAll(places: readonly Place[]): Promise<readonly (Seen | null)[]> {
    const replies = await Promise.all(
      places.map((place) => server.run(read, place.keys.slice(0, 1), [time()])),
    );
    return replies.map((reply) => foundIn(reply));
  }

  async function once<Request extends RecordId, Result>(
    requests: readonly Request[],
    verb: Verb<Request, Result>,
    flush: Flush,
  ): Promise<readonly Result[]> {
    const results = new Map<number, Result>();
    const faults: StoreError[] = [];
    let open = requests.map((request, i) => ({ i, request, place: keys.of(request) }));
    for (let tries = 0; open.length > 0 && tries < TRIES_MAX; tries += 1) {
      const next: typeof open = [];
      const answers = await asked(open, verb);
      const writes: { row: (typeof open)[number]; result: Result; made: Promise<boolean> }[] = [];
      for (const [n, row] of open.entries()) {
        const answer = answers[n] as (typeof answers)[number];
        if ('error' in answer) {
          faults.push(answer.error);
          continue;
        }
        const [code, now, ...rest] = answer.reply;
        if (typeof now !== 'number') throw unexpectedReply();
        if (code === 1 && verb.done !== undefined) {
          flush.hasWritten = true;
          results.set(row.i, verb.done(row.request, now, rest));
          continue;
        }
        const seen = foundIn(answer.reply);
        const record = seen?.record ?? null;
        const decision = verb.decide(record, row.request, serverView(record, now));
        if (decision.write === undefined) results.set(row.i, decision.result);
        // Only a claim makes a record, and its script has found one: it is gone since.
        else if (seen === null || record === null) next.push(row);
        else {
          const audit = verb.rowOf?.(record, decision.write, row.request);
          const made = writeOne(row.place, seen, decision.write, audit);
          writes.push({ row, result: decision.result, made });
        }
      }
      const written = await answersOf(writes.map(({ made }) => made));
      for (const [n, { row, result }] of writes.entries()) {
        const answer = written[n] as (typeof written)[number];
        if ('error' in answer) faults.push(answer.error);
        else if (answer.reply) {
          flush.hasWritten = true;
          results.set(row.i, result);
        } else next.push(row);
      }
      open = next;
    }
    if (open.length > 0 && verb.busy === undefined) faults.push(contended());
    raise(faults, results.size > 0, verb.busy !== undefined, flush);
    return requests.map((_, i) => results.get(i) ?? (verb.busy as Result));
  }

  async function inTurn<Request extends RecordId, Result>(
    requests: readonly Request[],
    verb: Verb<Request, Result>,
    flush: Flush,
  ): Promise<readonly Result[]> {
    if (requests.length === 0) return [];
    const ids = new Set<string>();
    const later = new Set<number>();
    for (const [i, request] of requests.entries()) {
      const id = idText(request);
      if (ids.has(id)) later.add(i);
      ids.add(id);
    }
    if (later.size === 0) return once(requests, verb, flush);
    const first = await once(
      requests.filter((_, i) => !later.has(i)),
      verb,
      flush,
    );
    const second = await inTurn(
      requests.filter((_, i) => later.has(i)),
      verb,
      flush,
    );
    const [early, late] = [first.values(), second.values()];
    return requests.map((_, i) => (later.has(i) ? late : early).next().value as Result);
  }

  return {
    async apply(requests, verb) {
      checkIds(requests);
      return inTurn(requests, verb, { hasWritten: false });
    },
    read: readAll,
    write: writeOne,
  };
}

interface Flush {
  hasWritten: boolean;
}

/** As scripts take them: how many arguments set, these, and the names to drop. */
export function countedFields({ set, drop }: ReturnType<typeof fieldsOf>): readonly Argument[] {
  return [String(set.length), ...set, ...drop];
}

/** What a reply of the form `0, now, record` holds. */
function foundIn(reply: readonly unknown[]): Seen | null {
  const [, now, flat] = reply;
  if (typeof now !== 'number' || !Array.isArray(flat)) throw unexpectedReply();
  return seenOf(flat, now);
}

/** One answer for the whole call: a row that may have been written is not denied because of its neighbours. */
function raise(faults: readonly StoreError[], isAnswered: boolean, mayBeBusy: boolean, flush: Flush): void {
  const [fault] = faults;
  if (fault === undefined) return;
  const unclear = faults.find(({ applied }) => applied === 'unknown');
  if (unclear !== undefined) throw unclear;
  if (isAnswered && mayBeBusy && faults.every(({ transient }) => transient)) return;
  if (!flush.hasWritten) throw fault;
  const { message, transient, busy, cause } = fault;
  throw new StoreError(message, { applied: 'unknown', transient, busy, cause });
}

function contended(): StoreError {
  return new StoreError('Redis record was changed by others each time it was to be written: try again.', {
    applied: 'no',
    busy: true,
  });
}

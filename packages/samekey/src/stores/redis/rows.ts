/**
 * What happens to records: one script per row that does the usual thing in one round trip, or reads; then the state
 * table decides on what was read, and a compare-and-set writes it. Who finds the record changed in between reads it
 * again.
 *
 * Invariants: rows of one call on the same record take turns, in their order · of a call in which one row's write was
 * made, or may have been, nobody says that nothing was applied.
 */

import { type NewAuditRow, transitionRow } from '../../store/audit.ts';
import { StoreError } from '../../core/errors.ts';
import { serverView } from '../../store/machine/index.ts';
import type { RecordId, SamekeyRecord } from '../../core/record.ts';
import { checkIds } from '../sql/record-row.ts';
import type { Decide, RowOf } from '../verbs/change.ts';
import { auditText } from './audit-text.ts';
import { fieldsOf, headOf, type Seen, seenOf } from './fields.ts';
import { createGroups, type GroupRow, type Many } from './groups.ts';
import type { Keys, Place } from './key-names.ts';
import type { Argument } from './client.ts';
import { unexpectedReply } from './errors.ts';
import { type Answer, answersOf, scriptOf, type Server, toldScript } from './server.ts';
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
  done?(request: Request, now: number, said: unknown): Result;
  /** The row that the script leaves in the audit of transitions; an operation that only the record knows is empty. */
  transitionOf?(request: Request): NewAuditRow;
  readonly decide: Decide<Request, Result>;
  /** The row a write leaves in the audit. */
  readonly rowOf?: RowOf<Request> | undefined;
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
  /** For upkeep and lists: what cannot be read is null, and holds up nobody else. */
  readReadable(places: readonly Place[]): Promise<readonly (Seen | null)[]>;
  /** Writes what was decided on a reading; false when something else stands there. */
  write(place: Place, seen: Seen, after: SamekeyRecord | null, row?: NewAuditRow): Promise<boolean>;
}

/** So often a row is read again that somebody else changed in between. */
const TRIES_MAX = 8;

const read = scriptOf(READ);
const write = scriptOf(WRITE);

/** Makes them; `time` is the test's clock as text, or empty. */
export function createRows(server: Server, keys: Keys, time: () => string, auditTransitions: boolean): Rows {
  function writeOne(
    place: Place,
    seen: Seen,
    after: SamekeyRecord | null,
    row?: NewAuditRow,
  ): Promise<boolean> {
    const told = [row, auditTransitions ? transitionRow(seen.record, after) : undefined];
    const notes = told.filter((one) => one !== undefined);
    const at = [...place.keys, ...notes.map(({ act }) => keys.set(place.shard, `audit:${act}`))];
    const { scope, claimId } = seen.record;
    const texts = [String(notes.length), ...notes.map(auditText)];
    const condition = [place.id, scope, time(), String(seen.now), seen.version, claimId, ...texts];
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
    const args = [place.id, request.scope, time(), ...(verb.args?.(request) ?? [])];
    const row = auditTransitions ? verb.transitionOf?.(request) : undefined;
    if (row === undefined) return server.run(verb.script, place.keys, args);
    const at = [...place.keys, keys.set(place.shard, `audit:${row.act}`)];
    return server.run(toldScript(verb.script), at, [...args, auditText(row)]);
  }

  /** What the scripts said of each row. */
  async function asked<Request extends RecordId, Result>(
    open: readonly GroupRow<Request>[],
    verb: Verb<Request, Result>,
  ): Promise<readonly Answer<readonly unknown[]>[]> {
    const { many } = verb;
    if (many === undefined || auditTransitions) return answersOf(open.map((row) => alone(row, verb)));
    const lone = open.filter(({ request }) => !many.takes(request));
    if (lone.length === 0) return (await groups.send(open, many)) as readonly Answer<readonly unknown[]>[];
    const [together, others] = await Promise.all([
      groups.send(open, many),
      answersOf(lone.map((row) => alone(row, verb))),
    ]);
    const next = others.values();
    return together.map((answer) => answer ?? (next.next().value as Answer<readonly unknown[]>));
  }

  function repliesOf(places: readonly Place[]): Promise<readonly (readonly unknown[])[]> {
    return Promise.all(places.map((place) => server.run(read, place.keys.slice(0, 1), [time()])));
  }

  async function once<Request extends RecordId, Result>(
    all: readonly Row<Request>[],
    verb: Verb<Request, Result>,
    flush: Flush,
    results: (Result | undefined)[],
  ): Promise<void> {
    const faults: StoreError[] = [];
    let isAnswered = false;
    let open = all;
    for (let tries = 0; open.length > 0 && tries < TRIES_MAX; tries += 1) {
      const next: Row<Request>[] = [];
      const answers = await asked(open, verb);
      const writes: { row: Row<Request>; result: Result; made: Promise<boolean> }[] = [];
      for (const [n, row] of open.entries()) {
        const answer = answers[n] as (typeof answers)[number];
        if ('error' in answer) {
          faults.push(answer.error);
          continue;
        }
        const [code, now] = answer.reply;
        if (typeof now !== 'number') throw unexpectedReply();
        if (code === 1 && verb.done !== undefined) {
          flush.hasWritten = true;
          isAnswered = true;
          results[row.i] = verb.done(row.request, now, answer.reply[2]);
          continue;
        }
        const found = readable(answer.reply);
        if ('error' in found) {
          faults.push(found.error);
          continue;
        }
        const { reply: seen } = found;
        const record = seen?.record ?? null;
        const decision = verb.decide(record, row.request, serverView(record, now));
        if (decision.write === undefined) {
          isAnswered = true;
          results[row.i] = decision.result;
        }
        // Only a claim makes a record, and its script has found one: it is gone since.
        else if (seen === null || record === null) next.push(row);
        else {
          const audit = verb.rowOf?.(record, decision.write, row.request);
          const made = writeOne(row.place, seen, decision.write, audit);
          writes.push({ row, result: decision.result, made });
        }
      }
      const written = writes.length === 0 ? [] : await answersOf(writes.map(({ made }) => made));
      for (const [n, { row, result }] of writes.entries()) {
        const answer = written[n] as (typeof written)[number];
        if ('error' in answer) faults.push(answer.error);
        else if (answer.reply) {
          flush.hasWritten = true;
          isAnswered = true;
          results[row.i] = result;
        } else next.push(row);
      }
      open = next;
    }
    if (open.length > 0 && verb.busy === undefined) faults.push(contended());
    raise(faults, isAnswered, verb.busy !== undefined, flush);
  }

  return {
    async apply<Request extends RecordId, Result>(requests: readonly Request[], verb: Verb<Request, Result>) {
      checkIds(requests);
      const results: (Result | undefined)[] = requests.map(() => undefined);
      const flush = { hasWritten: false };
      let open = requests.map((request, i) => ({ i, request, place: keys.of(request) }));
      while (open.length > 0) {
        const first = onceEach(open);
        await once(first.length === open.length ? open : first, verb, flush, results);
        if (first.length === open.length) break;
        const taken = new Set(first);
        open = open.filter((row) => !taken.has(row));
      }
      return results.map((result) => result ?? (verb.busy as Result));
    },
    read: async (places) => (await repliesOf(places)).map(foundIn),
    async readReadable(places) {
      const found = (await repliesOf(places)).map(readable);
      return found.map((one) => ('error' in one ? null : one.reply));
    },
    write: writeOne,
  };
}

interface Row<Request> extends GroupRow<Request> {
  /** Where its result goes. */
  readonly i: number;
}

/** The first row of each record. */
function onceEach<Request>(rows: readonly Row<Request>[]): readonly Row<Request>[] {
  if (rows.length === 1) return rows;
  const ids = new Set<string>();
  return rows.filter(({ place: { id } }) => {
    if (ids.has(id)) return false;
    ids.add(id);
    return true;
  });
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

/** The same; what cannot be read fails alone. */
function readable(reply: readonly unknown[]): Answer<Seen | null> {
  try {
    return { reply: foundIn(reply) };
  } catch (error) {
    if (error instanceof StoreError) return { error };
    throw error;
  }
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

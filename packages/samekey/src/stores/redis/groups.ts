/**
 * Rows that one script does together, because calling a script costs as much as what it does. A script may only touch
 * keys of one slot in a Cluster, so there the rows of each shard go together; elsewhere all do.
 *
 * Invariants: each row is decided for itself, and answered as if it had gone alone · a group is bounded, so that the
 * server does not stand still for long.
 */

import type { Place } from './key-names.ts';
import type { Argument } from './client.ts';
import { replyCode, storeError, unexpectedReply } from './errors.ts';
import type { Answer, Server } from './server.ts';
import type { Script } from './statements.ts';

/** What a script for many takes. */
export interface Many<Request> {
  readonly script: Script;
  /** Whether a row goes with others; else it goes alone. */
  takes(request: Request): boolean;
  /** Puts a row behind the others. */
  add(request: Request, place: Place, keys: string[], args: Argument[]): void;
}

/** A row on its way. */
export interface GroupRow<Request> {
  readonly request: Request;
  readonly place: Place;
}

/** Some 15 µs of the server each. */
const ROWS_MAX = 64;

/** How rows go together. */
interface Groups {
  /**
   * What a script for one row would have answered to each; undefined for those that go alone. Ends when all are
   * answered.
   */
  send<Request>(
    rows: readonly GroupRow<Request>[],
    many: Many<Request>,
  ): Promise<readonly (Answer<readonly unknown[]> | undefined)[]>;
}

interface Member<Request> extends GroupRow<Request> {
  readonly n: number;
}

/** Makes it; `time` is the test's clock as text, or empty. */
export function createGroups(server: Server, time: () => string): Groups {
  let byShard = server.isCluster;

  function parted<Request>(members: readonly Member<Request>[]): readonly Member<Request>[][] {
    const open = new Map<number, Member<Request>[]>();
    const parts: Member<Request>[][] = [];
    for (const member of members) {
      const shard = byShard ? member.place.shard : 0;
      let part = open.get(shard);
      if (part === undefined || part.length === ROWS_MAX) {
        part = [];
        open.set(shard, part);
        parts.push(part);
      }
      part.push(member);
    }
    return parts;
  }

  async function sendPart<Request>(
    members: readonly Member<Request>[],
    many: Many<Request>,
    answers: (Answer<readonly unknown[]> | undefined)[],
  ): Promise<void> {
    const keys: string[] = [];
    const args: Argument[] = [time()];
    for (const member of members) {
      many.add(member.request, member.place, keys, args);
    }
    const wasByShard = byShard;
    try {
      const replies = await server.run(many.script, keys, args);
      if (replies.length !== members.length + 1) throw unexpectedReply();
      const now = replies[0];
      for (const [i, { n }] of members.entries()) {
        const reply = replies[i + 1];
        answers[n] = { reply: Array.isArray(reply) ? [0, now, reply] : [1, now, reply] };
      }
    } catch (error) {
      const fault = storeError(error);
      if (!wasByShard && replyCode(fault.cause) === 'CROSSSLOT') {
        // A Cluster behind what looks like one server: nothing was run.
        byShard = true;
        await Promise.all(parted(members).map((part) => sendPart(part, many, answers)));
        return;
      }
      for (const { n } of members) answers[n] = { error: fault };
    }
  }

  return {
    async send(rows, many) {
      const answers = rows.map((): Answer<readonly unknown[]> | undefined => undefined);
      const members = rows
        .map(({ request, place }, n) => ({ request, place, n }))
        .filter(({ request }) => many.takes(request));
      await Promise.all(parted(members).map((part) => sendPart(part, many, answers)));
      return answers;
    },
  };
}

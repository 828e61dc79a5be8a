/** What people do with dead letters: once more in line, or gone; each with its row in the audit. */

import { checkByHand } from '../../store/audit.ts';
import { idText, type SamekeyRecord } from '../../core/record.ts';
import { type MessageStore, messageRow, ofAttempt, type StoredMessage } from '../../store/message.ts';
import { decideHandOverAgain } from '../../store/machine/index.ts';
import { decideRequeue, mayRequeue } from '../../store/machine/messages.ts';
import { insertAudit } from './audit.ts';
import type { Link } from './link.ts';
import { readDead, writeMessages } from './message-rows.ts';
import { enqueueAgain, lockGroups } from './messages-in.ts';
import { apply, read } from './records.ts';
import type { Tables } from './tables.ts';

/** Makes the verbs. `ring`: there are messages to take. */
export function createByHand(
  tables: Tables,
  writes: Link,
  ring: () => void,
): Pick<MessageStore, 'requeue' | 'drop'> {
  return {
    async requeue(ids, by) {
      checkByHand([by]);
      const done = await writes.together(async (ask) => {
        const dead = await readDead(ask, tables, ids, 'FOR UPDATE');
        const owners = dead.flatMap(({ message }) => message.owner ?? []);
        const records = await read(ask, tables, owners, 'FOR UPDATE');
        const recordOf = ({ owner }: StoredMessage): SamekeyRecord | null =>
          (owner === null ? undefined : records.get(idText(owner)))?.record ?? null;
        const again = dead.filter(({ message }) => mayRequeue(message, recordOf(message)));
        const handed = again.flatMap(({ message }) => message.owner ?? []);
        await apply(ask, tables, handed, decideHandOverAgain, { lock: 'FOR UPDATE' });
        await lockGroups(
          ask,
          tables,
          again.map(({ message }) => message),
        );
        await writeMessages(
          ask,
          tables,
          again.map(({ message, now }) => ({
            before: message,
            after:
              message.group === null ? decideRequeue(message, message.place, now, recordOf(message)) : null,
          })),
        );
        const moved = again.filter(({ message }) => message.group !== null);
        await enqueueAgain(
          ask,
          tables,
          moved.map(({ message, now }) => decideRequeue(message, 0, now, recordOf(message))),
        );
        await insertAudit(
          ask,
          tables,
          again.map(({ message }) => messageRow('requeue', message, recordOf(message), by)),
        );
        return again.map(({ message }) => message.id);
      });
      if (done.length > 0) ring();
      return done;
    },
    async drop(ids, by) {
      checkByHand([by]);
      return writes.together(async (ask) => {
        const dead = await readDead(ask, tables, ids, 'FOR UPDATE');
        const owners = dead.flatMap(({ message }) => message.owner ?? []);
        const records = await read(ask, tables, owners, 'FOR UPDATE');
        const recordOf = (message: StoredMessage): SamekeyRecord | null =>
          message.owner === null
            ? null
            : ofAttempt(message, records.get(idText(message.owner))?.record ?? null);
        await insertAudit(
          ask,
          tables,
          dead.map(({ message }) => messageRow('drop', message, recordOf(message), by)),
        );
        await writeMessages(
          ask,
          tables,
          dead.map(({ message }) => ({ before: message, after: null })),
        );
        return dead.map(({ message }) => message.id);
      });
    },
  };
}

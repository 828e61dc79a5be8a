/** One record with everything that Samekey knows of it, for an operator who has to decide what happened. Reads only. */

import type { AuditRow } from '../store/audit.ts';
import type { MessageStore, StoredMessage, StoreWithMessages } from '../store/message.ts';
import { isHandedOver, type RecordId, type SamekeyRecord } from '../core/record.ts';
import { type IntentCall, readSteps } from '../ways/steps.ts';
import type { Store } from '../store/store.ts';

/** A recorded step of a phased operation. */
export type StepView =
  | { readonly kind: 'phase'; readonly name: string; readonly result: unknown }
  | {
      readonly kind: 'effect';
      readonly name: string;
      /** Whether its result is stored. If not, the call was intended, and nobody has said how it ended. */
      readonly isDone: boolean;
      /** What it gave; null while it is open. */
      readonly result: unknown;
      /**
       * Of an open one: who may have made the call, under which rule, for how long; null in what earlier code has
       * stored.
       */
      readonly call: IntentCall | null;
    };

/** A record and what belongs to it. */
export interface WholeRecord {
  readonly record: SamekeyRecord;
  /** In order; null when they cannot be read here: written by newer code, or sealed. */
  readonly steps: readonly StepView[] | null;
  /** The effect whose intent is stored and whose result is not; null when there is none, or steps cannot be read. */
  readonly openEffect: string | null;
  /** Whether the work is with the worker of a message. */
  readonly isHandedOver: boolean;
  /** Messages that attempts of this record handed over, at most {@link MESSAGES_MAX}; delivered ones are gone. */
  readonly messages: readonly StoredMessage[];
  /** What was done to it by hand and what contradicted itself, newest first, at most {@link AUDIT_MAX}. */
  readonly audit: readonly AuditRow[];
}

/** Older rows are paged by `operator.audit`. */
const AUDIT_MAX = 100;

/** An attempt hands over one message: more is another life of the key, or a fault. */
const MESSAGES_MAX = 100;

/** Reads it; null when there is no such record. Throws `StoreError`. */
export async function lookAt(store: Store, id: RecordId): Promise<WholeRecord | null> {
  const [record] = await store.find([{ scope: id.scope, key: id.key }]);
  if (record === null || record === undefined) return null;
  const steps = stepsOf(record);
  const last = steps?.at(-1);
  return {
    record,
    steps,
    openEffect: last?.kind === 'effect' && !last.isDone ? last.name : null,
    isHandedOver: isHandedOver(record),
    messages: await messagesFor(store, id),
    audit: await store.audit({ scope: id.scope, key: id.key, limit: AUDIT_MAX }),
  };
}

async function messagesFor(store: Store, { scope, key }: RecordId): Promise<readonly StoredMessage[]> {
  const messages = messagesIn(store);
  return messages === null ? [] : messages.list({ owner: { scope, key }, limit: MESSAGES_MAX });
}

/** The messages of a store; null where it keeps none. */
export function messagesIn(store: Store): MessageStore | null {
  return (store as Partial<StoreWithMessages>).messages ?? null;
}

function stepsOf({ steps, unreadable }: SamekeyRecord): readonly StepView[] | null {
  if (unreadable !== undefined) return null;
  try {
    const read = readSteps(steps);
    return (
      read?.map((step) =>
        step.kind === 'phase'
          ? { kind: 'phase', name: step.name, result: step.result }
          : {
              kind: 'effect',
              name: step.name,
              isDone: step.done !== null,
              result: step.done?.result ?? null,
              call: step.call ?? null,
            },
      ) ?? null
    );
  } catch {
    // Sealed, and the store was opened without its keys.
    return null;
  }
}

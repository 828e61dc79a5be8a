/**
 * What the page may ask, verb by verb. Each says which right it needs and whether it needs a reason, and is called
 * only with both: a verb cannot forget to ask.
 */

import type { RecordId } from 'samekey';
import { createOperator, type Operator } from 'samekey/operator';
import { act, preview, readAct } from './record-acts.ts';
import type { Audit, BulkRow, ConsoleRight, Me } from './api.ts';
import { objectOf, reasonOf, textOf } from './asked-body.ts';
import type { BulkJobs } from './bulk-jobs.ts';
import { erase, previewErase } from './erase.ts';
import { ConsoleFault } from './fault.ts';
import { bulk, letterWork, listLetters, readBulk, topicOf } from './dead-letters.ts';
import { lookGently } from './gentle-look.ts';
import { listRecords } from './lists.ts';
import { mintedKeys } from './minted-keys.ts';
import type { ConsoleUser } from './options.ts';
import type { OverviewReader, StoreOfConsole } from './overview.ts';
import { checkJob, readJob, recordWork } from './record-bulk.ts';
import { reveal } from './reveal.ts';
import { wholeOf } from './shown.ts';

type Body = Readonly<Record<string, unknown>>;

/** What a verb works with. */
interface Asked {
  readonly store: StoreOfConsole;
  readonly overview: OverviewReader;
  readonly jobs: BulkJobs;
  readonly user: Required<ConsoleUser>;
  readonly body: Body;
}

interface VerbCall extends Asked {
  readonly operator: Operator;
  /** Empty where the verb needs none. */
  readonly reason: string;
}

interface Verb {
  /** What whoever asks must have; null: looking. */
  readonly right: (body: Body, jobs: BulkJobs) => ConsoleRight | null;
  /** Whether it changes something, and so needs a reason. */
  readonly isAct: boolean;
  answer(call: VerbCall): Promise<object>;
}

const look = (answer: Verb['answer']): Verb => ({ right: () => null, isAct: false, answer });
const hand = (right: ConsoleRight, answer: Verb['answer']): Verb => ({
  right: () => right,
  isAct: true,
  answer,
});

const VERBS: Readonly<Record<string, Verb>> = {
  me: look(
    async ({ store, user }): Promise<Me> => ({
      ...user,
      store: store.name,
      keepsMessages: store.messages !== undefined,
      keepsReferences: store.references !== undefined,
    }),
  ),
  overview: look(({ overview }) => overview.read()),
  records: look(({ store, operator, body }) => listRecords(store, operator, body, Date.now())),
  record: look(async ({ store, body }) => {
    const whole = await lookGently(store, idOf(body));
    if (whole === null)
      throw new ConsoleFault(
        404,
        'absent',
        'There is no such record: it was never stored here, or has expired and been deleted.',
      );
    return wholeOf(whole, Date.now());
  }),
  minted: look(({ operator, body }) => mintedKeys(operator, textOf(body, 'caller'), Date.now())),
  audit: look(({ operator, body }) => auditOf(operator, body)),
  letters: look(async ({ overview, operator, body }) =>
    listLetters(operator, await overview.dead(), {
      topic: textOf(body, 'topic'),
      after: Number(body['after'] ?? 0),
      now: Date.now(),
    }),
  ),
  'bulk-jobs': look(async ({ jobs, user }) => ({ jobs: jobs.list(user.rights) })),
  bulk: look(async ({ jobs, user, body }) =>
    jobs.page(jobOf(body), user.rights, {
      after: Number(body['after'] ?? 0),
      end: endOf(body),
      limit: Number(body['limit'] ?? 0),
    }),
  ),
  'bulk-try': {
    right: (body) => letterActOf(body) ?? readJob(body).act,
    isAct: false,
    async answer({ store, jobs, user, body }) {
      const letters = letterActOf(body);
      if (letters !== null)
        return jobs.begin(letterWork(store, letters, topicOf(objectOf(body, 'filter'))), user.actor);
      const job = readJob(body);
      await checkJob(store, user.actor, job);
      return jobs.begin(recordWork(store, user.actor, job), user.actor);
    },
  },
  'bulk-do': {
    right: (body, jobs) => jobs.actOf(jobOf(body)),
    isAct: true,
    answer: async ({ jobs, user, body, reason }) => jobs.perform(jobOf(body), { actor: user.actor, reason }),
  },
  'bulk-stop': {
    right: (body, jobs) => jobs.actOf(jobOf(body)),
    isAct: false,
    answer: async ({ jobs, body }) => jobs.stop(jobOf(body)),
  },
  // A preview needs the right too: what an act says of a record is not for those who may not act.
  preview: {
    right: (body) => readAct(body).request.act,
    isAct: false,
    answer: ({ store, user, body }) => preview(store, user.actor, readAct(body)),
  },
  act: {
    right: (body) => readAct(body).request.act,
    isAct: true,
    answer: ({ store, user, body, reason }) => act(store, user.actor, readAct(body), reason),
  },
  reveal: hand('reveal', ({ store, user, body, reason }) =>
    reveal(store, idOf(body), { actor: user.actor, reason }),
  ),
  'preview-requeue': {
    ...hand('requeue', ({ operator, body }) => bulk(operator, 'requeue', readBulk(body), null)),
    isAct: false,
  },
  requeue: hand('requeue', ({ operator, body, reason }) => bulk(operator, 'requeue', readBulk(body), reason)),
  'preview-drop': {
    ...hand('drop', ({ operator, body }) => bulk(operator, 'drop', readBulk(body), null)),
    isAct: false,
  },
  drop: hand('drop', ({ operator, body, reason }) => bulk(operator, 'drop', readBulk(body), reason)),
  'preview-erase': {
    ...hand('erase', ({ operator, body }) => previewErase(operator, callerOfBody(body))),
    isAct: false,
  },
  erase: hand('erase', ({ operator, body, reason }) => erase(operator, callerOfBody(body), reason)),
};

/** Answers a verb. Throws `ConsoleFault`. */
export async function answerVerb(name: string, asked: Asked): Promise<object> {
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (verb === undefined) throw new ConsoleFault(404, 'no-verb', 'There is nothing of this name.');
  const { store, user, body } = asked;
  const right = verb.right(body, asked.jobs);
  if (right !== null && !user.rights.includes(right)) {
    throw new ConsoleFault(
      403,
      'no-right',
      `You may not ${right} here: this console was opened without that right.`,
    );
  }
  const reason = verb.isAct ? reasonOf(body) : '';
  return verb.answer({ ...asked, operator: createOperator({ store, actor: user.actor }), reason });
}

function idOf({ scope, key }: Body): RecordId {
  if (typeof scope === 'string' && typeof key === 'string') return { scope, key };
  throw new ConsoleFault(400, 'bad-request', 'scope and key name the record.');
}

function jobOf(body: Body): string {
  return textOf(body, 'id') ?? '';
}

/** What is to be done to dead letters; null: it is about records. */
function letterActOf(body: Body): 'requeue' | 'drop' | null {
  const { act: wanted } = objectOf(body, 'request');
  return wanted === 'requeue' || wanted === 'drop' ? wanted : null;
}

function endOf(body: Body): BulkRow['end'] | undefined {
  return textOf(body, 'end') as BulkRow['end'] | undefined;
}

function callerOfBody(body: Body): string {
  const caller = textOf(body, 'caller');
  if (caller === undefined) throw new ConsoleFault(400, 'bad-request', 'caller is missing.');
  return caller;
}

const AUDIT_ROWS = 100;

async function auditOf(operator: Operator, body: Body): Promise<Audit> {
  const scope = textOf(body, 'scope');
  const key = textOf(body, 'key');
  const before = textOf(body, 'before');
  const rows = await operator.audit({
    ...(scope === undefined ? {} : { scope }),
    ...(key === undefined ? {} : { key }),
    ...(before === undefined ? {} : { before }),
    limit: AUDIT_ROWS,
  });
  return { now: Date.now(), rows, before: rows.length < AUDIT_ROWS ? null : (rows.at(-1)?.seq ?? null) };
}

/**
 * Clients, operators and the provider's webhooks. Operators are honest: they look into the provider's books, after a while, and act on what
 * they had found; two of them may act at once.
 */

import type { SamekeyRecord } from 'samekey/internals/core/record';
import { response } from 'samekey/internals/core/response';
import { createOperator, type Operator } from 'samekey/internals/operator/index';
import { FREEZE_MAX_MS } from '../simulator/scenario.ts';
import type { ActFacts } from './facts.ts';
import { type Charged, idOf, pause, SCOPE, type WorkersContext } from './context.ts';
import { tookPlace, whatOf } from './inquiries.ts';
import type { WorkPlan } from './scenario.ts';

/** A client at work. */
export interface WorkersClient {
  readonly work: WorkPlan;
  ended: boolean;
}

/** After the faults a client is told an end within this many tries, or something is stuck. */
const CALM_TRIES_MAX = 200;

/** Asks until it is told an end, and once more a while later. */
export async function beClient(context: WorkersContext, client: WorkersClient): Promise<void> {
  const { timeline, random } = context;
  const { work } = client;
  await pause(timeline, work.startMs);
  for (let calmTries = 0; calmTries < CALM_TRIES_MAX; calmTries += context.calm ? 1 : 0) {
    if (await askOnce(context, work)) {
      client.ended = true;
      return;
    }
    await pause(timeline, work.retryMs + random.between(0, 30));
  }
  context.auditor.report(idOf(work.operation, work.key), 'outside', 'its client is never told an end');
}

/** One request; whether it was told an end. */
export async function askOnce(context: WorkersContext, work: WorkPlan): Promise<boolean> {
  const { timeline, random, auditor } = context;
  const { operation, key } = work;
  const apis = context.machines.filter(
    ({ role, application, world }) =>
      role === 'api' && application.knows(operation) && world.state !== 'dead',
  );
  const { world, application } = random.pick(apis);
  return new Promise((resolve) => {
    const patience = timeline.setTimer(context.calm ? 5_000 : random.pick([300, 2_000]), () =>
      resolve(false),
    );
    world.deliver(() => {
      application.ask(work).then(
        (outcome) => {
          context.trace(idOf(operation, key), () => `${world.name} answers ${outcome.kind}`);
          const isEnd =
            outcome.kind === 'replay' || (outcome.kind === 'executed' && outcome.state === 'completed');
          const value = isEnd || outcome.kind === 'executed' ? outcome.value : null;
          const body = (value as { readonly body?: number } | null)?.body ?? null;
          auditor.answered(idOf(operation, key), isEnd ? JSON.stringify(value) : null, body);
          patience.cancel();
          timeline.setTimer(random.between(0, 5), () =>
            resolve(
              isEnd ||
                outcome.kind === 'response-not-stored' ||
                (outcome.kind === 'executed' && outcome.state === 'failed'),
            ),
          );
        },
        () => {
          patience.cancel();
          timeline.setTimer(random.between(0, 5), () => resolve(false));
        },
      );
    });
  });
}

/** Looks now and then, for as long as the history lasts. */
export async function beOperator(context: WorkersContext, actor: string): Promise<void> {
  const { random, scenario, timeline } = context;
  const operator = createOperator({ store: context.store, actor });
  for (;;) {
    await pause(timeline, random.between(200, 900));
    if (!context.calm && !random.chance(scenario.rates.operator)) continue;
    await decide(context, operator, actor);
    await deliverAgain(context, operator, actor);
  }
}

function did({ auditor }: WorkersContext, act: ActFacts): void {
  auditor.facts.acts.push(act);
}

async function decide(context: WorkersContext, operator: Operator, actor: string): Promise<void> {
  const { random, timeline } = context;
  const found = await operator.list({ states: ['unknown', 'failed'], limit: 20 });
  for (const record of found) {
    const { key, claimId, attempt } = record;
    // Others act meanwhile: it is done to what was seen.
    await pause(timeline, random.between(0, 200));
    const seen = { seen: { claimId, attempt }, reason: 'looked into the books' };
    if (record.state === 'failed') {
      if (context.calm || !random.chance(0.3)) continue;
      const { kind } = await operator.reopen(record, { ...seen, effect: 'none' });
      if (kind === 'applied') did(context, { act: 'reopen', actor, key });
      continue;
    }
    const settlement = await settlementOf(context, operator, record);
    if (settlement === null) continue;
    const { kind } = await operator.settle(record, { ...seen, ...settlement });
    context.trace(record, () => `${actor} settles as ${settlement.to}: ${kind}`);
    if (kind === 'applied') did(context, { act: 'settle', actor, key });
  }
}

type Settlement = Omit<Parameters<Operator['settle']>[1], 'reason'>;

/** Null: it is left as it is for now. */
async function settlementOf(
  context: WorkersContext,
  operator: Operator,
  record: SamekeyRecord,
): Promise<Settlement | null> {
  const { random, storeNow } = context;
  const [charge] = context.auditor.facts.charges.get(whatOf(record)) ?? [];
  if (record.operation === 'pay') {
    const whole = await operator.find(record);
    if (charge !== undefined)
      return (whole?.openEffect ?? null) === null
        ? { to: 'completed', response: answer(201, { charge }) }
        : { to: 'retryable', effectResult: { charge } };
    // Nobody can stand still before its call any more, because its signal was aborted by then.
    const isLongAgo = storeNow() - record.lockedUntil > FREEZE_MAX_MS + 2_000;
    return isLongAgo ? { to: 'retryable', because: 'owner-gone', callTimeMaxMs: 0 } : null;
  }
  if (charge !== undefined) return { to: 'completed', response: answer(201, { charge }) };
  // A person may lose patience, although its message could be delivered again; who did it all the same must say so.
  return !context.calm && random.chance(0.5)
    ? { to: 'failed', response: answer(402, { by: 'operator' }) }
    : null;
}

function answer(status: number, value: unknown): ReturnType<typeof response> {
  return response(status, [['content-type', 'application/json']], JSON.stringify(value));
}

/** Dead letters that may be delivered are, and others are dropped now and then. */
async function deliverAgain(context: WorkersContext, operator: Operator, actor: string): Promise<void> {
  const { random, timeline } = context;
  const letters = await operator.deadLetters({ limit: 50 });
  const requests = await operator.requestsOf(letters);
  await pause(timeline, random.between(0, 200));
  for (const [i, letter] of letters.entries()) {
    const isNobodys = requests[i] === 'decided' || requests[i] === 'gone';
    const act = isNobodys ? 'drop' : 'requeue';
    if (isNobodys && !random.chance(0.3)) continue;
    const done = await operator[act]([letter.id], { reason: `it is ${requests[i] ?? ''}` });
    for (const _ of done) did(context, { act, actor, key: letter.owner?.key ?? letter.id });
  }
}

/** Tells what the provider has done, once or twice, late, and again while it is told to come again. */
export async function beWebhook(
  context: WorkersContext,
  { operation, key, charge }: Charged,
  tries = 8,
): Promise<void> {
  const { random, timeline } = context;
  await pause(timeline, random.between(10, 3_000));
  const open = context.machines.filter(
    ({ reconciler, world }) => reconciler !== null && world.state === 'running',
  );
  const machine = random.pick(open);
  const told = await Promise.race([
    pause(timeline, 2_000).then(() => null),
    new Promise<string | null>((resolve) => {
      if (machine === undefined) return resolve(null);
      machine.reconciler
        ?.tell({
          by: { scope: SCOPE, operation, key },
          verdict: tookPlace(operation, charge),
          source: 'webhook:test',
        })
        .then(
          (result) => resolve(result.kind),
          () => resolve(null),
        );
    }),
  ]);
  if (told === 'contradiction' && machine !== undefined)
    context.auditor.facts.contradictions.push({ machine: machine.name, key });
  context.trace(idOf(operation, key), () => `a webhook of charge ${charge}: ${told ?? 'nobody'}`);
  if (tries > 0 && (told === null || told === 'not-yet'))
    await beWebhook(context, { operation, key, charge }, tries - 1);
}

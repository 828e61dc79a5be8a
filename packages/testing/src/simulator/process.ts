/**
 * A simulated process: an engine of its own on the shared store, behind a connection that misbehaves, on a machine that
 * freezes and dies.
 */

import type { Attempt, RunningAttempt } from 'samekey/internals/engine/attempt';
import { reply, toResponse } from 'samekey/internals/ways/reply';
import { response, type StoredResponse } from 'samekey/internals/core/response';
import type { Outcome } from 'samekey/internals/core/outcome';
import { StepError } from 'samekey/internals/core/errors';
import type { Fence } from 'samekey/internals/core/record';
import type { ClaimRequest } from 'samekey/internals/store/store';
import { createSamekey, type Samekey } from 'samekey/internals/samekey';
import type { AuditedRequest, RunFacts } from '../audit/facts.ts';
import { type FakeWorld, FAKE_WALL_START, fakeWorld } from '../fake-world.ts';
import { faultyStore } from '../faulty-store.ts';
import { type Context, shown } from './context.ts';
import { drawPassage } from './connection.ts';
import { becomes, drawHandler, HandlerDeclined, HandlerFailure, type HandlerPlan } from './handler.ts';
import { servePhased } from './phased-operations.ts';
import { Refused, ReplyLost } from './provider.ts';
import { CALL_TIME_MAX_MS, type Intent, RECORD_SIZE_MAX_BYTES } from './scenario.ts';

/** A process of the history. */
export interface SimProcess {
  readonly name: string;
  readonly world: FakeWorld;
  readonly samekey: Samekey;
  /** Whether it runs the code after the deploy. */
  readonly isNew: boolean;
  closing: boolean;
  /** Requests it is working on. */
  open: number;
}

/** What a request came to: an outcome, or what its handler threw. */
export type Served = Outcome | { readonly kind: 'threw' };

/** Starts a process; its name is never used again. */
export function startProcess(context: Context): SimProcess {
  const name = `p${(context.processCount += 1)}`;
  const { timeline, random, scenario, auditor } = context;
  const sentAt = new Map<string, number>();
  const base = fakeWorld({
    name,
    timeline,
    random,
    digest: 'fast',
    // Clocks that are hours apart must not matter (F45).
    wallStart: FAKE_WALL_START + random.between(-10, 10) * 3_600_000,
    monotonicStart: random.next() * 1e6,
  });
  const { probe } = scenario.rates;
  const isPhased = scenario.operations.some(({ effects }) => effects.length > 0);
  const world: FakeWorld = {
    ...base,
    get state() {
      return base.state;
    },
    ...(probe === 0 && !isPhased
      ? {}
      : {
          probe(point): Promise<void> | undefined {
            if (point.startsWith('effect.') && random.chance(0.2)) context.strikeWorld(base);
            return !context.calm && probe > 0 && random.chance(probe)
              ? pause(base, random.between(1, 300))
              : undefined;
          },
        }),
  };
  const connection = faultyStore(context.connect(), {
    timers: timeline,
    callerTimers: world,
    plan(call) {
      if (call.verb === 'claim') {
        for (const { claimId } of call.requests as readonly ClaimRequest[])
          if (!sentAt.has(claimId)) sentAt.set(claimId, timeline.now);
      }
      return drawPassage(context, name, call);
    },
  });
  claimTimes.set(world, sentAt);
  auditor.process(name);
  const samekey = createSamekey({
    store: context.client(connection, world),
    world,
    batchRowsMax: random.pick([1, 2, 500]),
    saveCountMax: random.pick([0, 1, 1_000]),
    saveKeepMaxMs: random.pick([1_000, 20_000]),
    storeTimeMaxMs: CALL_TIME_MAX_MS,
    saveTimeMaxMs: 300,
    onEvent(event) {
      context.trace('id' in event ? event.id : null, () => `${name} event ${shown(event)}`);
      if (event.type === 'store-error' && isBug(event.error))
        auditor.report(null, 'outside', String((event.error as Error).cause));
      auditor.event(name, event);
    },
  });
  return { name, world, samekey, isNew: random.chance(0.5), closing: false, open: 0 };
}

const claimTimes = new WeakMap<FakeWorld, Map<string, number>>();

/** Serves a request in a process; resolves unless the process dies. */
export async function serve(
  context: Context,
  process: SimProcess,
  request: AuditedRequest,
  intent: Intent,
): Promise<Served> {
  const { settings, name, renamed } = intent.operation;
  const names =
    renamed && process.isNew ? { operation: `${name}-renamed`, formerly: [name] } : { operation: name };
  let run: RunFacts | null = null;
  process.open += 1;
  try {
    if (intent.operation.effects.length > 0) {
      const outcome = await servePhased({
        context,
        process,
        request,
        intent,
        begin: (fence) => (run = begin(context, process, request, intent, fence)),
      });
      context.auditor.answered(request, run, outcome);
      return outcome;
    }
    const outcome = await process.samekey.run(
      { ...settings, ...names, scope: intent.scope, key: intent.key, fingerprint: intent.body },
      (attempt) => {
        run = begin(context, process, request, intent, (attempt as RunningAttempt).fence);
        return work(context, process, run, intent, attempt);
      },
    );
    context.auditor.answered(request, run, outcome);
    return outcome;
  } catch (error) {
    if (!isPlanned(error)) context.auditor.report(request.id, 'outside', `run rejected: ${String(error)}`);
    return { kind: 'threw' };
  } finally {
    process.open -= 1;
  }
}

function begin(
  { auditor, scenario, trace }: Context,
  process: SimProcess,
  request: AuditedRequest,
  intent: Intent,
  fence: Fence,
): RunFacts {
  const sentAt = claimTimes.get(process.world)?.get(fence.claimId) ?? 0;
  trace(
    request.id,
    () => `${process.name} runs request ${request.n} under ${fence.claimId}#${fence.attempt}`,
  );
  // A pause at a probe point lies between the last look at `closing` and the handler.
  if (process.closing && scenario.rates.probe === 0)
    auditor.report(request.id, 'outside', 'a handler starts in a process that closes');
  const { claimTtlMs, attemptTimeMaxMs } = intent.operation.settings;
  return auditor.runs(request, fence, { sentAt, ttlMs: claimTtlMs, timeMaxMs: attemptTimeMaxMs });
}

/** The handler: its steps, its effect, its end. */
async function work(
  context: Context,
  process: SimProcess,
  run: RunFacts,
  intent: Intent,
  attempt: Attempt,
): Promise<unknown> {
  const { auditor, random, scenario, trace } = context;
  const { operation } = intent;
  const plan: HandlerPlan = drawHandler(operation, scenario.rates, context.calm, random);
  const { id } = run.request;
  trace(id, () => `run ${run.n} plans ${shown(plan)}`);
  if (plan.extendMs > 0) attempt.extend(plan.extendMs);
  for (const [i, ms] of plan.steps.entries()) {
    if (i === plan.effectBefore) {
      if (operation.heedsSignal && attempt.signal.aborted) {
        auditor.ends(run, becomes(operation, { kind: 'throw' }), response(500));
        throw new HandlerFailure('told to stop');
      }
      trace(id, () => `run ${run.n} HAS ITS EFFECT`);
      auditor.effect(run);
    }
    context.strike(process);
    await pause(process.world, ms);
  }
  const { end } = plan;
  const ended = (answer: StoredResponse | null): void => {
    const to = becomes(operation, end);
    trace(id, () => `run ${run.n} ends as ${to}`);
    auditor.ends(run, to, answer);
  };
  switch (end.kind) {
    case 'hang':
      return new Promise(() => undefined);
    case 'throw':
      ended(response(500));
      throw new HandlerFailure('on purpose');
    case 'not-executed':
      ended(null);
      if (end.byThrowing) throw new HandlerDeclined('nothing done', { correctable: end.correctable });
      attempt.notExecuted({ correctable: end.correctable });
      return { nothing: 'done' };
    case 'answer': {
      const value =
        end.status === 204
          ? undefined
          : {
              scope: intent.scope[0],
              body: intent.body,
              ...(operation.answersDiffer ? { run: run.n } : {}),
              ...(operation.answersLarge ? { text: 'x'.repeat(RECORD_SIZE_MAX_BYTES) } : {}),
            };
      const answer = reply(end.status, value, [['x-scope', intent.scope[0] ?? '']]);
      ended(toResponse(answer));
      return answer;
    }
    default:
      return end satisfies never;
  }
}

function pause(world: FakeWorld, ms: number): Promise<void> {
  return new Promise((resolve) => void world.setTimer(ms, resolve));
}

function isPlanned(error: unknown): boolean {
  if (error instanceof HandlerFailure || error instanceof HandlerDeclined) return true;
  return error instanceof Refused || error instanceof ReplyLost || error instanceof StepError;
}

/** A broken assertion comes wrapped in a `StoreError`. */
function isBug(error: unknown): boolean {
  const { cause } = error as { readonly cause?: { readonly code?: unknown } };
  return cause?.code === 'ERR_SAMEKEY_INVARIANT';
}

/**
 * The simulated application's phased operations: effects at the provider, one after the other, and an answer made of what they gave.
 * Between intent and call, and at every step of the way, the process may stand still or die.
 */

import { reply, toResponse } from 'samekey/internals/ways/reply';
import { response } from 'samekey/internals/core/response';
import type { EffectCall, EffectRule } from 'samekey/internals/ways/effect';
import type { Outcome } from 'samekey/internals/core/outcome';
import type { RecordId, SamekeyRecord } from 'samekey/internals/core/record';
import type { InputCodec } from 'samekey/internals/ways/input';
import type { Operation } from 'samekey/internals/ways/define-operation';
import type { PhasedAttempt } from 'samekey/internals/ways/phased';
import { ownerOf, type AuditedRequest, type RunFacts } from '../audit/facts.ts';
import { keptSteps } from '../audit/transitions.ts';
import type { Context } from './context.ts';
import { becomes, HandlerFailure } from './handler.ts';
import type { SimProcess } from './process.ts';
import { type Charge, Refused } from './provider.ts';
import { type EffectPlan, FREEZE_MAX_MS, type Intent, LATENESS_MAX_MS } from './scenario.ts';

/** What a request of a phased operation is, for the handler that runs in it. */
interface Serving {
  readonly context: Context;
  readonly process: SimProcess;
  readonly request: AuditedRequest;
  readonly intent: Intent;
  readonly begin: (fence: { readonly claimId: string; readonly attempt: number }) => RunFacts;
}

/** An input, which each request reads anew from its bytes: whose handler runs is known by the object. */
interface Input {
  readonly body: number;
}

const serving = new WeakMap<Input, Serving>();
/** Whose input is read next: in the same turn. */
let arriving: Serving | null = null;

const codec: InputCodec<Input> = {
  encode: ({ body }) => new TextEncoder().encode(String(body)),
  decode(bytes) {
    const input = { body: Number(new TextDecoder().decode(bytes)) };
    if (arriving !== null) serving.set(input, arriving);
    return input;
  },
};
const operations = new WeakMap<SimProcess, Map<string, Operation<Input, unknown>>>();

/** Serves one request of a phased operation. */
export function servePhased(now: Serving): Promise<Outcome> {
  const { process, intent } = now;
  const { scope, key, body } = intent;
  arriving = now;
  return operationOf(process, intent).run({ scope, key, input: { body } });
}

function operationOf(process: SimProcess, { operation }: Intent): Operation<Input, unknown> {
  const known = operations.get(process) ?? new Map<string, Operation<Input, unknown>>();
  operations.set(process, known);
  const { name, settings, renamed, effects } = operation;
  let own = known.get(name);
  if (own === undefined) {
    const names = renamed && process.isNew ? { name: `${name}-renamed`, formerly: [name] } : { name };
    own = process.samekey.phased({
      ...settings,
      ...names,
      input: codec,
      run: (input: Input, attempt) => work(effects, input, attempt),
    });
    known.set(name, own);
  }
  return own;
}

async function work(
  effects: readonly EffectPlan[],
  input: Input,
  attempt: PhasedAttempt<unknown>,
): Promise<unknown> {
  const { context, process, request, intent, begin } = serving.get(input) as Serving;
  const { auditor, random, trace, scenario } = context;
  const own = [...auditor.facts(request.id).attempts.values()].findLast(
    (one) => one.attempt === attempt.number && ownerOf(one) === process.name,
  );
  const run = begin(own ?? { claimId: `${process.name}.0`, attempt: attempt.number });
  const charges: number[] = [];
  const failed = (): void => {
    const to = intent.operation.settings.policy === 'stripe' ? 'failed' : 'retryable';
    auditor.ends(run, to, response(500));
  };
  for (const effect of effects) {
    const rule = ruleOf(context, process, run, effect);
    const { charge } = await attempt
      .effect(effect.name, (call) => charged(context, process, run, effect, call), rule)
      .catch((error: unknown) => {
        // Its intent is taken back, and it ends the handler like any other error.
        if (error instanceof Refused) failed();
        throw error;
      });
    trace(request.id, () => `run ${run.n} has ${effect.name}: charge ${charge}`);
    if (!context.provider.has(whatOf(run, effect)))
      auditor.report(request.id, 'outside', `${effect.name} gave what the provider does not know`);
    charges.push(charge);
    context.strike(process);
    await pause(process, random.pick([0, 1, 10]));
  }
  const isThrowing = !context.calm && random.chance(0.15);
  if (isThrowing && scenario.kind !== 'calm') {
    failed();
    throw new HandlerFailure('on purpose');
  }
  const status = random.chance(0.85) ? 201 : 402;
  const answer = reply(status, { scope: intent.scope[0], charges }, [['x-scope', intent.scope[0] ?? '']]);
  auditor.ends(run, becomes(intent.operation, { kind: 'answer', status }), toResponse(answer));
  return answer;
}

function ruleOf(
  { provider, trace }: Context,
  process: SimProcess,
  run: RunFacts,
  effect: EffectPlan,
): EffectRule<Charge> {
  const { callTimeMaxMs } = effect;
  switch (effect.rule) {
    case 'downstreamKey':
      return { rule: effect.rule, callTimeMaxMs, retentionMs: 86_400_000 };
    case 'reconcile':
      return { rule: effect.rule, callTimeMaxMs };
    default:
      return {
        rule: 'inquire',
        callTimeMaxMs,
        async inquire() {
          const found = await provider.find(process.world, whatOf(run, effect), callTimeMaxMs);
          trace(run.request.id, () => `run ${run.n} asked about ${effect.name}: ${String(found?.charge)}`);
          return found === null ? null : { result: found };
        },
      };
  }
}

/** Makes the call, perhaps after the process has stood still for as long as it likes. */
async function charged(
  context: Context,
  process: SimProcess,
  run: RunFacts,
  effect: EffectPlan,
  { signal, downstreamKey }: EffectCall,
): Promise<Charge> {
  const { auditor, provider, random, timeline, trace } = context;
  const { id } = run.request;
  const { name, rule, callTimeMaxMs, asksSignal } = effect;
  const call = auditor.calls(run, { effect: name, rule, callTimeMaxMs, asksSignal });
  const startedAt = timeline.now;
  if (random.chance(0.15)) context.standStill(process);
  else context.strike(process);
  await pause(process, random.between(0, Math.floor(callTimeMaxMs / 3)));
  if (asksSignal) signal.throwIfAborted();
  auditor.sends(run, call);
  trace(id, () => `run ${run.n} SENDS ${name}`);
  const leftMs = startedAt + callTimeMaxMs - timeline.now;
  return provider.charge(process.world, {
    what: whatOf(run, effect),
    downstreamKey: rule === 'downstreamKey' ? downstreamKey : null,
    landsWithinMs: leftMs > 0 ? leftMs : callTimeMaxMs,
    landed(charge) {
      call.charge = charge;
      trace(id, () => `${name} of run ${run.n} LANDS: charge ${charge}`);
    },
  });
}

/** What of an effect there should be one: in each life of a key. */
function whatOf({ request, attempt }: RunFacts, { name }: EffectPlan): string {
  return whatText(request.id, attempt?.life.n ?? 0, name);
}

function whatText({ scope, key }: RecordId, life: number, effect: string): string {
  return `${scope} ${key} ${life} ${effect}`;
}

/**
 * What an honest person makes of an unknown outcome: what the provider's books say. That nothing happened is known only when nobody can
 * stand still before the call any more.
 */
export function settledHonestly(
  { auditor, provider, random, scenario, storeNow }: Context,
  record: SamekeyRecord,
): 'completed' | 'failed' | 'retryable' {
  const open = openEffect(record);
  if (open === null) return random.pick(['completed', 'failed']);
  if (provider.has(whatText(record, auditor.facts(record).life.n, open))) return 'completed';
  const isLongAgo = storeNow() - record.lockedUntil > FREEZE_MAX_MS + LATENESS_MAX_MS;
  return isLongAgo && scenario.rates.storeClock === 0 ? 'retryable' : 'failed';
}

/** The effect whose intent is stored and whose result is not. */
export function openEffect({ steps }: SamekeyRecord): string | null {
  const last = keptSteps(steps).at(-1);
  return last?.done === null ? last.name : null;
}

function pause({ world }: SimProcess, ms: number): Promise<void> {
  return new Promise((resolve) => void world.setTimer(ms, resolve));
}

/**
 * What happens to the processes and the store while faults last: freezes, kills, restarts, operators, sweeps. And the order
 * that is made afterwards.
 */

import { response } from 'samekey/internals/core/response';
import { callerScope } from 'samekey/internals/core/scope';
import type { Context } from './context.ts';
import { openEffect, settledHonestly } from './phased-operations.ts';
import { type SimProcess, startProcess } from './process.ts';
import { DRAIN_MS, FREEZE_MAX_MS } from './scenario.ts';

/** Starts chaos; it ends by itself when the context is calm. */
export function startChaos(context: Context): void {
  const { timeline, random, scenario } = context;
  const { rates } = scenario;
  context.strike = (process) => {
    const what = random.chance(rates.freeze) ? freeze : random.chance(rates.kill) ? kill : null;
    if (what === null || context.calm) return;
    timeline.setTimer(0, () => {
      if (process.world.state === 'running') what(context, process);
    });
  };
  context.standStill = (process) => {
    if (rates.freeze === 0 || context.calm) return;
    timeline.setTimer(0, () => freeze(context, process, FREEZE_MAX_MS - 1_000));
  };
  context.strikeWorld = (world) => {
    const process = context.processes.find((one) => one.world.name === world.name);
    if (process !== undefined) context.strike(process);
  };
  const look = (): void => {
    if (context.calm) return;
    // One event each: what two of them did in one instant could not be told apart.
    const maybe = (rate: number, act: () => void): void => {
      if (!random.chance(rate)) return;
      timeline.setTimer(random.between(0, 40), () => {
        if (!context.calm) act();
      });
    };
    maybe(rates.freeze, () => freeze(context, random.pick(context.processes)));
    maybe(rates.kill, () => kill(context, random.pick(context.processes)));
    maybe(rates.restart, () => restart(context, random.pick(context.processes)));
    maybe(rates.storeClock, () => jump(context));
    maybe(rates.operator, () => void settleSome(context, 0.5));
    maybe(rates.forget, () => void forgetSome(context, 0.3));
    if (rates.forget > 0) maybe(ERASE_RATE, () => void eraseCaller(context));
    maybe(0.5, () => void context.store.sweep(10));
    maybe(0.3, () => void context.store.reap(10));
    // Then it waits for those who come back late.
    const late = timeline.now > scenario.faultTimeMs;
    timeline.setTimer(late ? random.between(1_000, 6_000) : random.between(50, 400), look);
  };
  timeline.setTimer(random.between(0, 300), look);
}

/** The faults are over: frozen processes go on, the sweeper and the reaper come by regularly. */
export function makeCalm(context: Context): void {
  const { timeline, processes, store } = context;
  context.calm = true;
  context.trace(null, () => '--- the faults are over ---');
  for (const { world } of processes) world.thaw();
  const tidy = (): void => {
    void store.sweep(100);
    timeline.setTimer(500, () => void store.reap(100));
    timeline.setTimer(context.tidyEveryMs, tidy);
  };
  timeline.setTimer(500, tidy);
}

/** An operator decides outcomes nobody knew, with probability `p` each, and opens some failures again. */
export async function settleSome(context: Context, p: number): Promise<void> {
  const { store, random } = context;
  for (const record of await store.list({ states: ['unknown', 'failed'] })) {
    if (!random.chance(p)) continue;
    const { scope, key, claimId, attempt, state } = record;
    const fence = { scope, key, claimId, attempt };
    if (state === 'failed') {
      if (context.calm || !random.chance(0.3) || openEffect(record) !== null) continue;
      context.trace(record, () => `operator reopens ${claimId}#${attempt}`);
      await store.reopen([{ ...fence, reason: 'operator', actor: null }]);
      continue;
    }
    const isPhased = context.scenario.operations.some(({ effects }) => effects.length > 0);
    const to = isPhased
      ? settledHonestly(context, record)
      : random.pick(['completed', 'failed', 'retryable'] as const);
    context.trace(record, () => `operator settles ${claimId}#${attempt} as ${to}`);
    const settled = response(to === 'failed' ? 402 : 200, [['x-scope', 'settled']], '{"by":"operator"}');
    await store.settle([
      {
        ...fence,
        to,
        reason: 'operator',
        actor: null,
        response: to === 'retryable' || random.chance(0.3) ? null : settled,
      },
    ]);
  }
}

async function forgetSome({ store, random, trace }: Context, p: number): Promise<void> {
  for (const record of await store.list({})) {
    if (!random.chance(p)) continue;
    const { scope, key, claimId, attempt, state } = record;
    trace(record, () => `operator forgets ${claimId}#${attempt}`);
    await store.forget([{ scope, key, claimId, attempt, state, reason: 'operator', actor: null }]);
  }
}

/** A privacy request. Seldom: nothing happens to its keys afterwards. */
async function eraseCaller({ store, random, scenario, trace }: Context): Promise<void> {
  const { scope } = random.pick(scenario.intents);
  trace(null, () => `operator erases ${scope.join('/')}`);
  await store.erase({ scope: callerScope(scope), limit: 100, reason: 'operator', actor: null });
}

/** Of erasing a caller at each look, where operators forget keys. */
const ERASE_RATE = 0.03;

function freeze(context: Context, process: SimProcess, leastMs = 50): void {
  const { timeline, random, auditor } = context;
  if (process.world.state !== 'running') return;
  const facts = auditor.process(process.name);
  facts.disturbed = true;
  facts.frozen = true;
  process.world.freeze();
  const ms = random.between(leastMs, FREEZE_MAX_MS);
  context.trace(null, () => `${process.name} freezes for ${ms} ms`);
  // While it stands still, others act on what it left.
  const { rates } = context.scenario;
  const meanwhile = (part: number, p: number, act: () => Promise<unknown>): void => {
    if (random.chance(p)) timeline.setTimer(ms * part, () => void act());
  };
  meanwhile(0.5, 0.7, () => context.store.sweep(10));
  meanwhile(0.6, rates.operator, () => settleSome(context, 1));
  meanwhile(0.7, 4 * rates.forget, () => forgetSome(context, 1));
  timeline.setTimer(ms, () => {
    context.trace(null, () => `${process.name} goes on`);
    process.world.thaw();
  });
}

function kill(context: Context, process: SimProcess): void {
  const { auditor } = context;
  context.trace(null, () => `${process.name} is killed`);
  const facts = auditor.process(process.name);
  facts.disturbed = true;
  facts.gone = true;
  process.world.kill();
  replace(context, process);
}

function restart(context: Context, process: SimProcess): void {
  const { auditor, random, scenario } = context;
  if (process.closing || process.world.state !== 'running') return;
  const drainMs = scenario.kind === 'rolling' ? DRAIN_MS : random.pick([0, 50, 500, DRAIN_MS]);
  const facts = auditor.process(process.name);
  if (scenario.kind !== 'rolling') facts.disturbed = true;
  context.trace(null, () => `${process.name} closes within ${drainMs} ms`);
  process.closing = true;
  context.processes.push(startProcess(context));
  void process.samekey.close({ drainMs }).then((left) => {
    context.trace(null, () => `${process.name} is closed, ${left} left`);
    if (left > 0) {
      facts.disturbed = true;
      facts.gone = true;
      if (scenario.kind === 'rolling')
        auditor.report(null, 'outside', `${process.name} left ${left} running`);
    }
    process.world.kill();
    const at = context.processes.indexOf(process);
    if (at >= 0) context.processes.splice(at, 1);
  });
}

/** Another one takes the place of a dead one; for one that was closing it has done so already. */
function replace(context: Context, process: SimProcess): void {
  const at = context.processes.indexOf(process);
  if (at >= 0) context.processes.splice(at, 1);
  if (!process.closing) context.processes.push(startProcess(context));
}

function jump(context: Context): void {
  const ms = context.random.between(100, 5_000);
  context.trace(null, () => `the store's clock jumps by ${ms} ms`);
  context.jumpStoreClock(ms);
}

/**
 * Judges an HTTP service as a black box, in whatever language it is written.
 *
 * Invariants: only the given URLs are asked · what cannot be judged is told as that and never as a pass · requests are
 * bounded by a rate, scenarios by a time · a fault of verify itself is thrown, never told as a fault of the service.
 */

import { fieldOf } from './counting.ts';
import { VerifyError } from './error.ts';
import { resolveOptions, type VerifyOptions } from './options.ts';
import { createPace } from './pace.ts';
import { type Intent, isSuccess, Probe } from './probe.ts';
import type { Finding, VerifyReport } from './findings.ts';
import type { Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios/all.ts';
import { NotJudged, notJudged, type Verdict } from './judgement.ts';

/**
 * Asks a service every question that can be asked with what is given. Throws `OptionsError`, and `VerifyError` when a
 * plain request does not succeed.
 *
 * @example
 * const report = await verify({
 *   url: 'http://localhost:4000/payments',
 *   body: '{"amountCents":1200}',
 *   count: { field: 'id' },
 * });
 * if (!report.isClean) console.error(verifyText(report));
 */
export async function verify(options: VerifyOptions): Promise<VerifyReport> {
  const names = SCENARIOS.map(({ name }) => name);
  const settings = resolveOptions(options, names);
  const startedAt = performance.now();
  const probe = new Probe(
    settings,
    createPace(settings.rateMax, Math.max(settings.raceSize, settings.rateMax)),
  );
  const started = new Date(Date.now()).toISOString();
  await look(probe);
  const findings: Finding[] = [];
  for (const scenario of asked(settings)) {
    const at = performance.now();
    const isLate = at - startedAt > settings.timeMaxMs;
    const verdict = isLate
      ? notJudged('not judged: the time was up: give --time-max')
      : await judge(scenario, probe);
    findings.push(findingOf(scenario, verdict, performance.now() - at));
  }
  const { origin, pathname } = new URL(settings.url);
  return {
    url: `${origin}${pathname}`,
    method: settings.method,
    profile: settings.profile,
    isClean: !findings.some(({ level, verdict }) => level === 'MUST' && verdict === 'fault'),
    isComplete: !findings.some(({ level, verdict }) => level === 'MUST' && verdict === 'not-judged'),
    leftOut: SCENARIOS.filter(
      ({ name, level }) => level === 'MUST' && !findings.some(({ scenario }) => scenario === name),
    ).map(({ name }) => name),
    findings,
    requests: probe.requests,
    startedAt: started,
    durationMs: Math.round(performance.now() - startedAt),
  };
}

/** The names of all scenarios, in their order. */
export function scenarioNames(): readonly string[] {
  return SCENARIOS.map(({ name }) => name);
}

/** The scenarios that the options ask for. */
export function asked({ only, skip }: Pick<VerifyOptions, 'only' | 'skip'>): readonly Scenario[] {
  return SCENARIOS.filter(({ name }) => (only?.includes(name) ?? true) && !(skip?.includes(name) ?? false));
}

async function judge(scenario: Scenario, probe: Probe): Promise<Verdict> {
  probe.begin();
  try {
    const verdict = await scenario.run(probe);
    if (verdict.verdict !== 'held' || probe.missing === null) return verdict;
    return notJudged(`not judged: a request was not answered: ${probe.missing}`);
  } catch (error) {
    if (!(error instanceof NotJudged)) throw error;
    return notJudged(error.message.startsWith('not judged') ? error.message : `not judged: ${error.message}`);
  }
}

function findingOf({ name, title, level, source }: Scenario, verdict: Verdict, ms: number): Finding {
  return {
    scenario: name,
    title,
    level,
    source,
    verdict: verdict.verdict,
    found: verdict.found,
    means: verdict.verdict === 'fault' ? verdict.means : null,
    durationMs: Math.round(ms),
  };
}

/** A plain request succeeds, in one of the two forms of the key, and what counts executions counts one. */
async function look(probe: Probe): Promise<void> {
  const { count } = probe.settings;
  const refused: string[] = [];
  for (const form of ['quoted', 'bare'] as const) {
    probe.form = form;
    const intent = probe.intent();
    let problem = '';
    const counted = await probe.executions(async () => {
      const reply = await probe.tell(intent);
      if ('none' in reply) throw new VerifyError(`The service does not answer: ${reply.none}.`);
      probe.marksAll = probe.hasMarker(reply);
      if (!isSuccess(reply)) problem = `${reply.status} with the key ${form}`;
      else if (typeof count === 'object' && 'field' in count && fieldOf(reply, count.field) === undefined)
        throw new VerifyError(
          `The answer has no "${count.field}": name a member of the JSON answer that differs for each execution.`,
        );
      else if (
        typeof count === 'object' &&
        'field' in count &&
        isSupplied(fieldOf(reply, count.field), probe, intent)
      )
        throw new VerifyError(
          `The answer's "${count.field}" is what the request supplied, the same for every execution of it: name a member that the service makes.`,
        );
    });
    if (problem !== '') {
      refused.push(problem);
      continue;
    }
    if (counted !== null && counted !== 1)
      throw new VerifyError(
        `One fresh request moved the counter by ${counted}, not by 1: nothing else may use the service meanwhile, and the counter has to be of this operation. If it lags behind the answers, give --settle.`,
      );
    return;
  }
  throw new VerifyError(
    `A plain request does not succeed (${refused.join(', ')}): give --body and --header of one that does.`,
  );
}

/**
 * Whether a text of an answer is the request's own, and of no other request: it tells intents apart, and no executions.
 */
function isSupplied(value: string | undefined, probe: Probe, { body }: Intent): boolean {
  if (value === undefined || !value.startsWith('"')) return false;
  return Buffer.from(body).includes(value) && !Buffer.from(probe.intent().body).includes(value);
}

/**
 * The auditor: watches a history from both sides (every change at the store, every run, effect and answer outside) and
 * lists what must not happen. It shares no code with the engine and the state table it judges.
 *
 * Invariants it holds a history to (contract §1, §3, §4)
 * - One effect for each life of a key, unless the attempt before was ended by its claim on the resuming way or by a person.
 * - One run for each claim; no run without a granted claim, nor under one that is certainly over.
 * - A final answer stands, and is not given once the key ran again (F62); equal retries get it to the byte; other requests get nothing of it and change nothing.
 * - `unknown` moves by its living owner or by a person only, and never arises without a cause.
 * - Of each effect one charge for each life of a key, under `inquire` unless a contradiction was told; no call without its intent, none
 *   after its claim; what is recorded of a step stays.
 * - What is told as stored is stored. What an owner finds against its answer is told as a contradiction, and nothing else is.
 * Sources: TigerBeetle's simulator and state checker (VOPR); Kingsbury, Alvaro: Elle (answers judged against what stood).
 */

import { isStoreError } from 'samekey/internals/core/errors';
import { idText, type RecordId, type SamekeyRecord } from 'samekey/internals/core/record';
import type { ClaimRequest } from 'samekey/internals/store/store';
import { faultOfAnswer } from './audit/answers.ts';
import { faultOfCall, faultOfCharges } from './audit/effects.ts';
import {
  type AttemptFacts,
  type AuditedRequest,
  type CallFacts,
  emptyAttempt,
  emptyKey,
  inNewLife,
  fenceText,
  type KeyFacts,
  ownerOf,
  type ProcessFacts,
  type RunFacts,
} from './audit/facts.ts';
import type { Auditor, AuditorOptions, Violation } from './audit/interface.ts';
import { faultOfEnd, faultOfUnknown } from './audit/ends.ts';
import { beginsLife, faultOf, type Transition } from './audit/transitions.ts';

export type { Auditor, AuditorOptions, Violation } from './audit/interface.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** Makes the auditor of one history. */
export function createAuditor(options: AuditorOptions): Auditor {
  const violations: Violation[] = [];
  const keys = new Map<string, KeyFacts>();
  const processes = new Map<string, ProcessFacts>();
  const runs: RunFacts[] = [];
  const bodies = new Map<string, number>();
  /** Claims that the store has answered, whatever it said. */
  const claims = new Set<string>();
  /** Whether all replays of a process for a key in one instant came from its memory. */
  const replays = new Map<string, { readonly at: number; readonly fromCache: boolean }>();
  const bodyOf = (digest: string): number | undefined => bodies.get(digest);

  function report(id: RecordId | null, seen: Violation['seen'], what: string): void {
    violations.push({ at: options.now(), id, seen, what });
  }

  function facts(id: RecordId): KeyFacts {
    const text = idText(id);
    let known = keys.get(text);
    if (known === undefined) {
      known = emptyKey({ scope: id.scope, key: id.key });
      keys.set(text, known);
    }
    return known;
  }

  function process(name: string): ProcessFacts {
    const known = processes.get(name) ?? { name, disturbed: false, frozen: false, gone: false };
    processes.set(name, known);
    return known;
  }

  function changed(transition: Transition): void {
    const { before, after, verb, request } = transition;
    const claimId = verb === 'claim' ? (request as ClaimRequest).claimId : null;
    const repeated = claimId !== null && claims.has(claimId);
    if (claimId !== null) claims.add(claimId);
    const id = after ?? before;
    if (id === null || before === after) return;
    const key = facts(id);
    const fault = faultOf(transition);
    if (fault !== null) report(key.id, 'state', fault);
    const fresh = beginsLife(transition) || (before !== null && after === null);
    if (fresh) key.life = { n: key.life.n + 1, attempts: [] };
    key.current = after;
    stand(key, before, after);
    // What is left of a forgotten or an erased key is nobody's attempt.
    if (after === null || verb === 'forget' || verb === 'erase') return;
    if (verb === 'reopen') {
      const opened = before === null ? undefined : key.attempts.get(fenceText(before));
      if (opened !== undefined) opened.settled = true;
      return;
    }
    if (fresh || before === null || before.attempt !== after.attempt || before.claimId !== after.claimId) {
      granted(key, fresh ? null : before, after, repeated);
    } else {
      const attempt = key.attempts.get(fenceText(after));
      if (verb === 'finish' && attempt !== undefined) {
        attempt.wrote.add(after.state);
        attempt.calledUnknown ||= after.state === 'unknown';
      }
      if (verb === 'settle' && attempt !== undefined) attempt.settled = true;
      const isRenewal = verb === 'renew' || verb === 'checkpoint';
      if (isRenewal && attempt !== undefined) attempt.renewedAt = options.now();
      const isEnded = after.state === 'unknown' && after.reason !== 'attempts-exhausted';
      if (isEnded && (verb === 'claim' || verb === 'sweep')) ended(key, after);
    }
  }

  /** Keeps what stood when: final answers and bindings. */
  function stand(key: KeyFacts, before: SamekeyRecord | null, after: SamekeyRecord | null): void {
    const now = options.now();
    const last = key.finals.at(-1);
    if (last !== undefined && last.record === before) last.to = now;
    if (after !== null && (after.state === 'completed' || after.state === 'failed'))
      key.finals.push({ life: key.life, record: after, from: now, to: NEVER, nextAt: NEVER });
    const binding = key.bindings.at(-1);
    const digest = after?.fingerprint?.digest ?? null;
    if (binding !== undefined && binding.to > now && binding.digest === digest) return;
    if (binding !== undefined) binding.to = Math.min(binding.to, now);
    key.bindings.push({ digest, from: now, to: Number.POSITIVE_INFINITY });
  }

  function granted(
    key: KeyFacts,
    before: SamekeyRecord | null,
    after: SamekeyRecord,
    repeated: boolean,
  ): void {
    for (const final of key.finals) final.nextAt = Math.min(final.nextAt, options.now());
    const previous = before === null ? undefined : key.attempts.get(fenceText(before));
    if (previous !== undefined && before !== null) {
      const claimEnded = before.state === 'in_progress' || before.reason === 'claim-ended';
      const excused =
        (before.state === 'retryable' && before.proof === 'settled') ||
        (claimEnded && before.whenClaimEnds === 'resume' && !previous.calledUnknown);
      previous.left = excused ? 'excused' : 'proven';
      judgeEffects(key, previous);
    }
    const known = key.attempts.get(fenceText(after));
    if (known !== undefined && !repeated) report(key.id, 'state', `the fence ${fenceText(after)} came twice`);
    // Deleted by a person and made again by a late repetition of its claim: still the attempt of its owner, in a new life.
    const attempt = known === undefined ? emptyAttempt(key.life, after) : inNewLife(known, key.life);
    attempt.repeated ||= repeated;
    key.attempts.set(fenceText(after), attempt);
    key.life.attempts.push(attempt);
  }

  /** A claim ended in `unknown`: that has a cause outside of Samekey, or it is a fault (F65). */
  function ended(key: KeyFacts, record: SamekeyRecord): void {
    const repeated = key.attempts.get(fenceText(record))?.repeated === true;
    if (options.claimsMayEnd || repeated || process(ownerOf(record)).disturbed) return;
    report(key.id, 'state', `an undisturbed claim (${record.claimId}) ended in unknown`);
  }

  function isFromCache(request: AuditedRequest): boolean {
    const last = replays.get(`${request.process} ${idText(request.id)}`);
    return last?.fromCache === true && last.at === options.now();
  }

  function judgeEffects(key: KeyFacts, attempt: AttemptFacts): void {
    if (attempt.effects === 0 || attempt.left !== 'proven') return;
    report(
      key.id,
      'state',
      `attempt ${attempt.attempt} had an effect, and the record was left as without one`,
    );
    const others = attempt.life.attempts.filter((other) => other !== attempt && other.effects > 0);
    if (others.length > 0) report(key.id, 'outside', 'a second effect under one key');
  }

  return {
    violations,
    process,
    changed,
    facts,
    report,

    runs(request, fence, { sentAt, ttlMs, timeMaxMs }) {
      const key = facts(request.id);
      const attempt = key.attempts.get(fenceText(fence)) ?? null;
      // Its process counts from when it asked, which is before the claim was sent, and not before the request came.
      const heldUntil = Math.min(request.startedAt + ttlMs, options.now() + timeMaxMs);
      const run: RunFacts = { n: runs.length + 1, request, attempt, heldUntil, ended: null };
      runs.push(run);
      if (attempt === null) {
        report(key.id, 'outside', `a handler runs under ${fenceText(fence)}, which was never granted`);
        return run;
      }
      attempt.run.push(run);
      const sameClaim = [...key.attempts.values()].filter(
        ({ claimId, run: all }) => claimId === fence.claimId && all.length > 0,
      );
      if (attempt.run.length > 1 || sameClaim.length > 1)
        report(key.id, 'outside', `two runs under the claim ${fence.claimId}`);
      if (ownerOf(fence) !== request.process)
        report(key.id, 'outside', `a run under another process's claim ${fence.claimId}`);
      const { current } = key;
      const holds =
        current !== null && current.state === 'in_progress' && fenceText(current) === fenceText(fence);
      const since = options.now() - Math.max(sentAt, attempt.renewedAt);
      if (since >= ttlMs && !holds) report(key.id, 'outside', 'a handler starts under a claim that is over');
      if (holds && current.fingerprint !== null) {
        const body = bodies.get(current.fingerprint.digest) ?? request.body;
        if (body !== request.body) report(key.id, 'outside', 'a request runs under a key bound to another');
        bodies.set(current.fingerprint.digest, body);
      }
      return run;
    },

    effect(run) {
      const { attempt, request } = run;
      if (attempt === null) return;
      attempt.effects += 1;
      for (const other of attempt.life.attempts) judgeEffects(facts(request.id), other);
    },

    calls(run, call) {
      const key = facts(run.request.id);
      const { attempt } = run;
      const known: CallFacts = {
        ...call,
        life: attempt?.life ?? key.life,
        process: run.request.process,
        attempt: attempt?.attempt ?? 0,
        charge: null,
      };
      key.calls.push(known);
      const fault = options.clockJumps === true ? null : faultOfCall(key, run, call.effect);
      if (fault !== null) report(key.id, 'state', fault);
      return known;
    },

    sends(run, { effect, asksSignal }) {
      if (!asksSignal || options.clockJumps === true) return;
      const fault = faultOfCall(facts(run.request.id), run, effect);
      if (fault !== null) report(run.request.id, 'outside', `${fault}, although its client asked`);
    },

    ends(run, to, response) {
      run.ended = { to, response };
    },

    answered(request, run, outcome) {
      const key = facts(request.id);
      const { frozen } = process(request.process);
      // From memory it is given in the instant it is asked for: no reply was under way.
      const slackMs = isFromCache(request) ? 0 : frozen ? options.slackMs.frozen : options.slackMs.quiet;
      const fault = faultOfAnswer(key, {
        request,
        outcome,
        now: options.now(),
        slackMs,
        clockJumps: options.clockJumps ?? false,
        run,
        bodyOf,
      });
      if (fault !== null) report(key.id, 'outside', fault);
    },

    event(name, event) {
      if (event.type === 'outcome' && event.kind === 'replay' && event.id !== null) {
        const text = `${name} ${idText(event.id)}`;
        const last = replays.get(text);
        const others = last?.at !== options.now() || last.fromCache;
        replays.set(text, { at: options.now(), fromCache: event.fromCache && others });
      }
      if (event.type === 'outcome' || !('attempt' in event)) return;
      const key = facts(event.id);
      if (event.type === 'contradiction' && event.effect !== undefined)
        key.told.push({ effect: event.effect, process: name, attempt: event.attempt });
      // Numbers begin again in a new life: an event may speak of several.
      const attempts = [...key.attempts.values()].filter(
        (one) => one.attempt === event.attempt && ownerOf(one) === name && one.run.length > 0,
      );
      for (const attempt of attempts) {
        if (event.type === 'save-delayed') attempt.saveDelayed = true;
        if (event.type === 'save-abandoned') attempt.saveAbandoned = true;
        if (event.type === 'contradiction') attempt.contradicted.add(event.wanted);
      }
      const isGivenUp = event.type === 'handler-error' && isStoreError(event.error);
      const [held, ...others] = attempts;
      const { current: now } = key;
      // Of two lives with one number the event may be of the earlier, whose record is gone.
      if (isGivenUp && held !== undefined && others.length === 0 && now?.state === 'in_progress') {
        const lives = fenceText(held) === fenceText(now) && options.now() < (held.run[0]?.heldUntil ?? 0);
        if (lives) report(key.id, 'outside', 'a checkpoint was given up while its claim lived (F70)');
      }
      if (event.type === 'finished' && !attempts.some(({ wrote }) => wrote.has(event.to)))
        report(key.id, 'outside', `"finished" as ${event.to}, which was never written`);
      const [attempt] = attempts;
      if (event.type !== 'contradiction' || attempt === undefined || attempts.length > 1) return;
      const { current } = key;
      const stands =
        current?.claimId === attempt.claimId &&
        current.state === event.wanted &&
        current.reason !== 'attempts-exhausted' &&
        !attempt.settled;
      if (stands && attempt.wrote.has(event.wanted))
        report(key.id, 'outside', `a contradiction about its own ${event.wanted}`);
    },

    judgeUnknown() {
      for (const key of keys.values()) {
        const fault = faultOfUnknown(key, process);
        if (fault !== null) report(key.id, 'state', fault);
      }
    },

    conclude() {
      for (const key of keys.values()) {
        if (key.current?.state === 'in_progress') report(key.id, 'state', 'stuck in progress');
        const fault = faultOfCharges(key, process, options.clockJumps ?? false);
        if (fault !== null) report(key.id, 'outside', fault);
      }
      for (const run of runs) {
        const { request } = run;
        const fault = process(request.process).gone ? null : faultOfEnd(facts(request.id), run);
        if (fault !== null) report(request.id, 'outside', fault);
      }
    },
  };
}

/**
 * Many at once, as an object that can be left and found again: first a dry run over everything that a filter matches,
 * then the act on what the dry run showed, row by row.
 *
 * Invariants: what is done is what the dry run showed, under the fence that it saw; what came since is none of it ·
 * each row says what became of it, and what the store left unsaid is `uncertain`, which is not `failed` · it is kept by
 * this process, and ends with it: the audit has a row of everything that was done.
 */

import type { BulkJob, BulkLine, BulkPage, BulkRow, ConsoleRight } from './api.ts';
import { ConsoleFault } from './fault.ts';

/** What one bite of a dry run found. */
export interface Bite {
  readonly lines: readonly BulkLine[];
  readonly looked: number;
  /** Some that match cannot be listed. */
  readonly isCut: boolean;
  /** Does those of `lines` that would be done, and tells of each by its place what became of it. */
  perform(by: By, told: (place: number, line: BulkLine) => void, isStopped: () => boolean): Promise<void>;
}

/** Who does it, and why. */
export interface By {
  readonly actor: string;
  readonly reason: string;
}

/** What is to be done, to which. */
export interface BulkWork {
  readonly act: ConsoleRight;
  /** For people: the filter and the act. */
  readonly words: string;
  /** Bite by bite; it is ended early where more match than one job takes. */
  bites(): AsyncIterable<Bite>;
}

/** The jobs of one console. */
export interface BulkJobs {
  /** Starts a dry run. Throws `ConsoleFault` where too many run. */
  begin(work: BulkWork, actor: string): BulkJob;
  /** Does what its dry run showed. Throws `ConsoleFault` for what was not tried, or was done. */
  perform(id: string, by: By): BulkJob;
  stop(id: string): BulkJob;
  /** What it does, and so which right it needs. Throws `ConsoleFault` where there is none. */
  actOf(id: string): ConsoleRight;
  /** The newest first. */
  list(): readonly BulkJob[];
  /** A job with its lines from a place on. Throws `ConsoleFault` where there is none. */
  page(id: string, after: number, end: BulkRow['end'] | undefined): BulkPage;
  close(): void;
}

/** Of one job: more are left for the next one, and it says so. */
const LINES_MAX = 10_000;
const LOOKED_MAX = 250_000;
const JOBS_MAX = 20;
const RUNNING_MAX = 2;
const PAGE = 100;
const WHYS_MAX = 20;

interface Job {
  readonly id: string;
  readonly work: BulkWork;
  readonly startedAt: number;
  actor: string;
  phase: BulkJob['phase'];
  endedAt: number | null;
  reason: string | null;
  looked: number;
  isCut: boolean;
  isStopped: boolean;
  fault: string | null;
  readonly bites: Bite[];
  /** By place. */
  readonly lines: BulkLine[];
}

/** Makes them; `told` hears of bugs. */
export function bulkJobs(told: (error: unknown) => void): BulkJobs {
  const jobs = new Map<string, Job>();

  const isRunning = ({ phase }: Job): boolean => phase === 'looking' || phase === 'doing';
  const find = (id: string): Job => {
    const job = jobs.get(id);
    if (job !== undefined) return job;
    throw new ConsoleFault(
      404,
      'no-job',
      'There is no such job here: its process was started anew, or newer ones have taken its place. The audit says what was done.',
    );
  };
  function makeRoom(): void {
    if ([...jobs.values()].filter(isRunning).length >= RUNNING_MAX)
      throw new ConsoleFault(409, 'busy', `${RUNNING_MAX} jobs are running. Wait for one, or stop it.`);
    for (const job of jobs.values()) {
      if (jobs.size < JOBS_MAX) return;
      if (!isRunning(job)) jobs.delete(job.id);
    }
  }

  /** Runs it to its end; an error ends it, with what was done until then. */
  async function run(job: Job, work: () => Promise<void>, end: BulkJob['phase']): Promise<void> {
    try {
      await work();
      job.phase = job.isStopped ? 'stopped' : end;
    } catch (error) {
      job.phase = 'stopped';
      job.fault = wordsOf(error, told);
    }
    job.endedAt = Date.now();
  }

  async function look(job: Job): Promise<void> {
    for await (const bite of job.work.bites()) {
      job.bites.push(bite);
      job.lines.push(...bite.lines);
      job.looked += bite.looked;
      const isFull = job.lines.length >= LINES_MAX || job.looked >= LOOKED_MAX;
      job.isCut ||= bite.isCut || isFull;
      if (isFull || job.isStopped) return;
    }
  }

  async function act(job: Job, by: By): Promise<void> {
    let from = 0;
    for (const bite of job.bites) {
      if (job.isStopped) return;
      const first = from;
      await bite.perform(
        by,
        (place, line) => {
          job.lines[first + place] = line;
        },
        () => job.isStopped,
      );
      from += bite.lines.length;
    }
  }

  return {
    begin(work, actor) {
      makeRoom();
      const job: Job = {
        id: globalThis.crypto.randomUUID(),
        work,
        actor,
        startedAt: Date.now(),
        phase: 'looking',
        endedAt: null,
        reason: null,
        looked: 0,
        isCut: false,
        isStopped: false,
        fault: null,
        bites: [],
        lines: [],
      };
      jobs.set(job.id, job);
      void run(job, () => look(job), 'tried');
      return shownOf(job);
    },
    perform(id, by) {
      const job = find(id);
      if (job.phase !== 'tried')
        throw new ConsoleFault(409, 'not-tried', 'Only what was tried is done, and once: try it again.');
      makeRoom();
      Object.assign(job, { ...by, phase: 'doing', endedAt: null });
      void run(job, () => act(job, by), 'done');
      return shownOf(job);
    },
    stop(id) {
      const job = find(id);
      // What is under way ends first: a row is done or it is not.
      if (isRunning(job)) job.isStopped = true;
      return shownOf(job);
    },
    actOf: (id) => find(id).work.act,
    list: () => [...jobs.values()].map(shownOf).toReversed(),
    page(id, after, end) {
      const job = find(id);
      const lines = job.lines.flatMap((line, place) =>
        place >= after && (end === undefined || line.end === end) ? [{ ...line, place }] : [],
      );
      const shown = lines.slice(0, PAGE);
      const last = shown.at(-1);
      return {
        now: Date.now(),
        job: shownOf(job),
        lines: shown,
        after: lines.length > PAGE && last !== undefined ? last.place + 1 : null,
      };
    },
    close() {
      for (const job of jobs.values()) job.isStopped = true;
    },
  };
}

function shownOf(job: Job): BulkJob {
  const { id, work, actor, phase, startedAt, endedAt, reason, looked, isCut, isStopped, fault } = job;
  const counts: Partial<Record<BulkRow['end'], number>> = {};
  const whys = new Map<string, BulkJob['whys'][number]>();
  for (const { end, why } of job.lines) {
    counts[end] = (counts[end] ?? 0) + 1;
    if (why === null) continue;
    const name = `${end} ${why}`;
    whys.set(name, { end, why, count: (whys.get(name)?.count ?? 0) + 1 });
  }
  return {
    id,
    act: work.act,
    words: work.words,
    actor,
    phase,
    startedAt,
    endedAt,
    reason,
    looked,
    isCut,
    isStopping: isStopped && (phase === 'looking' || phase === 'doing'),
    fault,
    counts,
    whys: [...whys.values()].toSorted((a, b) => b.count - a.count).slice(0, WHYS_MAX),
  };
}

function wordsOf(error: unknown, told: (error: unknown) => void): string {
  if (error instanceof ConsoleFault && error.cause === undefined) return error.message;
  told(error);
  return 'The store or the console failed. What was done until then is below.';
}

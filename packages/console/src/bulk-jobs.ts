/**
 * Many at once, as an object that can be left and found again: first a dry run over everything that a filter matches,
 * then the act on what the dry run showed, row by row.
 *
 * Invariants: what is done is what the dry run showed, under the fence that it saw; what came since is none of it ·
 * each row says what became of it, and what the store left unsaid is `uncertain`, which is not `failed` · it is kept by
 * this process, and ends with it: the audit has a row of everything that was done · a job that runs is never dropped,
 * and a dry run never takes the place of one that has done something.
 */

import type { BulkCut, BulkJob, BulkLine, BulkPage, BulkRow, ConsoleRight } from './api.ts';
import { ConsoleFault, faultOf } from './fault.ts';
import { isStoreError } from 'samekey/internals/core/errors';

/** What one bite of a dry run found. */
export interface Bite {
  readonly lines: readonly BulkLine[];
  readonly looked: number;
  /** Some that match cannot be listed. */
  readonly isUnlisted: boolean;
  /** Does those of `lines` that would be done, call by call. */
  perform(by: By, told: Told, isStopped: () => boolean): Promise<void>;
}

/** Of one call of the store: what became of each that it was about, by its place. */
type Told = (...ended: readonly (readonly [place: number, line: BulkLine])[]) => void;

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
  /** The same for those who have not the right. */
  readonly lookersWords: string;
  /** For people: what it brings about. */
  readonly does: BulkJob['does'];
  /** For those who have the right: with what. */
  readonly given: BulkPage['given'];
  /** Bite by bite; it is ended early where more match than one job takes. */
  bites(): AsyncIterable<Bite>;
}

type Rights = readonly ConsoleRight[];

/** Which lines are wanted: from a place on, of one end or any, so many. */
interface Wanted {
  readonly after: number;
  readonly end: BulkRow['end'] | undefined;
  readonly limit: number;
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
  /** The newest first, each as far as the rights go. */
  list(rights: Rights): readonly BulkJob[];
  /** A job with its lines. Throws `ConsoleFault` where there is none. */
  page(id: string, rights: Rights, wanted: Wanted): BulkPage;
  /** Ends them after the row that is under way, and waits for it; none begins any more. */
  close(): Promise<void>;
}

/** That one job does: more are left for the next one, and it says so. */
const WOULD_MAX = 10_000;
/** Of the others so many are listed; all are counted. */
const OTHERS_MAX = 10_000;
const LOOKED_MAX = 250_000;
/** Kept of those that were tried alone, and of those that have done something. */
const JOBS_MAX = 20;
const RUNNING_MAX = 2;
const PAGE = 100;
const PAGE_MAX = 1_000;
const WHYS_MAX = 20;
const WHYS_KEPT = 1_000;
/** Calls in a row: then the store is down, and each that is tried leaves more that nobody knows of. */
const FAULTS_MAX = 3;

interface Job {
  readonly id: string;
  readonly work: BulkWork;
  readonly startedAt: number;
  /** When what runs of it has. */
  ended: Promise<void>;
  actor: string;
  phase: BulkJob['phase'];
  endedAt: number | null;
  reason: string | null;
  looked: number;
  readonly cut: Set<BulkCut>;
  isStopped: boolean;
  fault: string | null;
  /** Each with the places of its lines among those of the job. */
  readonly bites: { readonly bite: Pick<Bite, 'perform'>; readonly places: readonly number[] }[];
  /** By place. */
  readonly lines: BulkLine[];
  readonly counts: Partial<Record<BulkRow['end'], number>>;
  readonly whys: Map<string, BulkJob['whys'][number]>;
}

/** Makes them; `told` hears of bugs. */
export function bulkJobs(told: (error: unknown) => void): BulkJobs {
  const jobs = new Map<string, Job>();
  let isClosed = false;

  const find = (id: string): Job => {
    const job = jobs.get(id);
    if (job !== undefined) return job;
    throw new ConsoleFault(
      404,
      'no-job',
      'There is no such job here: its process was started anew, or newer ones have taken its place. The audit says what was done.',
    );
  };
  function refuseBusy(): void {
    if (isClosed) throw new ConsoleFault(503, 'closed', 'This console is being closed: no job begins here.');
    if ([...jobs.values()].filter(isRunning).length >= RUNNING_MAX)
      throw new ConsoleFault(409, 'busy', `${RUNNING_MAX} jobs are running. Wait for one, or stop it.`);
  }
  /** The oldest go; of those that did something, first those of which nobody need look at a record again. */
  function makeRoom(): void {
    const idle = [...jobs.values()].filter((job) => !isRunning(job));
    const tried = idle.filter(({ reason }) => reason === null);
    const acted = idle
      .filter(({ reason }) => reason !== null)
      .toSorted((a, b) => Number(isOwed(a)) - Number(isOwed(b)));
    // The one that begins is tried.
    for (const { id } of [...tried.slice(0, -JOBS_MAX + 1), ...acted.slice(0, -JOBS_MAX)]) jobs.delete(id);
  }

  /** Runs it to its end; an error ends it, with what was done until then. */
  async function run(job: Job, work: () => Promise<boolean>, end: BulkJob['phase']): Promise<void> {
    try {
      job.phase = (await work()) ? end : 'stopped';
    } catch (error) {
      job.phase = 'stopped';
      job.fault = wordsOf(error, told);
    }
    job.endedAt = Date.now();
    // Only what was tried is done; of what has ended nothing is held but its lines.
    if (job.phase !== 'tried') job.bites.length = 0;
  }

  return {
    begin(work, actor) {
      refuseBusy();
      makeRoom();
      const job = newJob(work, actor);
      jobs.set(job.id, job);
      job.ended = run(job, () => look(job), 'tried');
      return shownOf(job, true);
    },
    perform(id, by) {
      const job = find(id);
      if (job.phase !== 'tried')
        throw new ConsoleFault(409, 'not-tried', 'Only what was tried is done, and once: try it again.');
      refuseBusy();
      Object.assign(job, { ...by, phase: 'doing', endedAt: null });
      job.ended = run(job, () => act(job, by), 'done');
      return shownOf(job, true);
    },
    stop(id) {
      const job = find(id);
      // What is under way ends first: a row is done or it is not.
      if (isRunning(job)) job.isStopped = true;
      return shownOf(job, true);
    },
    actOf: (id) => find(id).work.act,
    list: (rights) =>
      [...jobs.values()].map((job) => shownOf(job, rights.includes(job.work.act))).toReversed(),
    page(id, rights, wanted) {
      const job = find(id);
      const mayAct = rights.includes(job.work.act);
      return {
        now: Date.now(),
        job: shownOf(job, mayAct),
        given: mayAct ? job.work.given : [],
        ...(mayAct ? linesOf(job, wanted) : { lines: [], after: null }),
      };
    },
    async close() {
      isClosed = true;
      for (const job of jobs.values()) job.isStopped = true;
      await Promise.all([...jobs.values()].map(({ ended }) => ended));
    },
  };
}

function newJob(work: BulkWork, actor: string): Job {
  return {
    id: globalThis.crypto.randomUUID(),
    work,
    actor,
    startedAt: Date.now(),
    ended: Promise.resolve(),
    phase: 'looking',
    endedAt: null,
    reason: null,
    looked: 0,
    cut: new Set(),
    isStopped: false,
    fault: null,
    bites: [],
    lines: [],
    counts: {},
    whys: new Map(),
  };
}

function isRunning({ phase }: Job): boolean {
  return phase === 'looking' || phase === 'doing';
}

/** Whether somebody has to look at a record of it again. */
function isOwed({ counts }: Job): boolean {
  return (counts.uncertain ?? 0) > 0;
}

/** Tries it to its end, or until it has as many as one job takes; false: it was stopped before. */
async function look(job: Job): Promise<boolean> {
  for await (const bite of job.work.bites()) {
    job.bites.push({ bite, places: bite.lines.map((line) => add(job, line)) });
    job.looked += bite.looked;
    if (bite.isUnlisted) job.cut.add('unlisted');
    // Those that are refused are no reason to end: the next job would see the same ones, and come no further.
    if ((job.counts.would ?? 0) >= WOULD_MAX) job.cut.add('many');
    else if (job.looked >= LOOKED_MAX) job.cut.add('far');
    if (job.cut.has('many') || job.cut.has('far')) return true;
    if (job.isStopped) return false;
  }
  return true;
}

/** Does it; false: some were left. */
async function act(job: Job, by: By): Promise<boolean> {
  let faults = 0;
  const isOver = (): boolean => job.isStopped || faults >= FAULTS_MAX;
  for (const { bite, places } of job.bites) {
    if (isOver()) break;
    const told: Told = (...ended) => {
      for (const [at, line] of ended) replace(job, places[at] ?? 0, line);
      faults = ended.some(([, { end }]) => end === 'failed' || end === 'uncertain') ? faults + 1 : 0;
    };
    await bite.perform(by, told, isOver);
  }
  const isWhole = (job.counts.would ?? 0) === 0;
  if (!isWhole && faults >= FAULTS_MAX)
    job.fault = `The store failed ${FAULTS_MAX} times in a row: the others were not done. Look at the uncertain ones, then try again.`;
  return isWhole;
}

/** Its place; -1: it is counted and not listed. */
function add(job: Job, line: BulkLine): number {
  const { counts, whys, lines } = job;
  const { end } = line;
  const others = lines.length - (counts.would ?? 0);
  counts[end] = (counts[end] ?? 0) + 1;
  tellWhy(whys, line);
  if (end !== 'would' && others >= OTHERS_MAX) return -1;
  return lines.push(line) - 1;
}

/** One that would be done has been. */
function replace({ counts, whys, lines }: Job, place: number, line: BulkLine): void {
  lines[place] = line;
  const left = (counts.would ?? 0) - 1;
  if (left > 0) counts.would = left;
  else delete counts.would;
  counts[line.end] = (counts[line.end] ?? 0) + 1;
  tellWhy(whys, line);
}

function tellWhy(whys: Job['whys'], { end, why }: BulkLine): void {
  if (why === null) return;
  const name = `${end} ${why}`;
  const before = whys.get(name);
  if (before === undefined && whys.size >= WHYS_KEPT) return;
  whys.set(name, { end, why, count: (before?.count ?? 0) + 1 });
}

function linesOf(job: Job, { after, end, limit }: Wanted): Pick<BulkPage, 'lines' | 'after'> {
  const most = Math.min(PAGE_MAX, Math.max(PAGE, limit || 0));
  const found: (readonly [place: number, line: BulkLine])[] = [];
  for (const [place, line] of job.lines.entries()) {
    if (place >= after && (end === undefined || line.end === end)) found.push([place, line]);
    if (found.length > most) break;
  }
  const shown = found.slice(0, most);
  const last = shown.at(-1);
  return {
    lines: shown.map(([, line]) => line),
    after: found.length > most && last !== undefined ? last[0] + 1 : null,
  };
}

/** What a job is to whoever looks; why some are not, and what a provider knows, only to those who may do it. */
function shownOf(job: Job, mayAct: boolean): BulkJob {
  const { id, work, actor, phase, startedAt, endedAt, reason, looked, cut, isStopped, fault } = job;
  const whys = mayAct ? [...job.whys.values()] : [];
  return {
    id,
    act: work.act,
    words: mayAct ? work.words : work.lookersWords,
    does: work.does,
    actor,
    phase,
    startedAt,
    endedAt,
    reason,
    looked,
    cut: [...cut],
    isStopping: isStopped && isRunning(job),
    fault,
    counts: { ...job.counts },
    whys: whys.toSorted((a, b) => b.count - a.count).slice(0, WHYS_MAX),
  };
}

function wordsOf(error: unknown, told: (error: unknown) => void): string {
  // What a store says of one statement ("nothing was done") is not so of a job.
  const fault = isStoreError(error) ? null : faultOf(error);
  if (fault !== null && fault.cause === undefined) return fault.message;
  told(error);
  return 'The store or the console failed. What was done until then is below.';
}

/** Jobs as objects, whatever they do: what is kept, what a cap counts, when one ends, and what whom is shown. */

import { StoreError } from 'samekey';
import { describe, expect, it } from 'vitest';
import type { BulkJob, BulkLine, ConsoleRight } from '../src/api.ts';
import { type Bite, type BulkJobs, bulkJobs, type BulkWork } from '../src/bulk-jobs.ts';

const MAY: readonly ConsoleRight[] = ['reopen'];
const BY = { actor: 'bob', reason: 'why' };
const ALL = { after: 0, end: undefined, limit: 0 };

const line = (key: string, end: BulkLine['end'], why: string | null = null): BulkLine => ({
  scope: 's',
  key,
  end,
  why,
});
const lines = (many: number, end: BulkLine['end'], why: string | null = null): readonly BulkLine[] =>
  Array.from({ length: many }, (_, i) => line(`${end}-${i}`, end, why));

/** A bite of which each that would be done ends as told. */
function bite(of: readonly BulkLine[], ends: (at: number) => BulkLine['end'] = () => 'done'): Bite {
  return {
    lines: of,
    looked: of.length,
    isUnlisted: false,
    async perform(_by, told, isStopped) {
      for (const [place, { key, end }] of of.entries()) {
        if (isStopped()) return;
        if (end === 'would') told([place, line(key, ends(place))]);
      }
    },
  };
}

function work(...bites: readonly Bite[]): BulkWork {
  return {
    act: 'reopen',
    words: 'reopen · reference: pi_1',
    lookersWords: 'reopen · reference: …',
    does: ['It runs again.'],
    given: [['Body', 'secret']],
    async *bites() {
      yield* bites;
    },
  };
}

const none = (error: unknown): never => {
  throw error;
};

async function ended(jobs: BulkJobs, { id }: BulkJob): Promise<BulkJob> {
  await expect.poll(() => jobs.page(id, MAY, ALL).job.phase).not.toMatch(/ing$/);
  return jobs.page(id, MAY, ALL).job;
}
const tried = async (jobs: BulkJobs, of: BulkWork): Promise<BulkJob> => ended(jobs, jobs.begin(of, 'alice'));
const done = async (jobs: BulkJobs, of: BulkWork): Promise<BulkJob> =>
  ended(jobs, jobs.perform((await tried(jobs, of)).id, BY));

describe('which jobs are kept', () => {
  it('keeps one that is done while many others were tried, and what it did', async () => {
    const jobs = bulkJobs(none);
    const first = await tried(jobs, work(bite(lines(2, 'would'))));
    for (let i = 0; i < 19; i += 1) await tried(jobs, work());
    jobs.perform(first.id, BY);
    expect(await ended(jobs, first)).toMatchObject({ phase: 'done', counts: { done: 2 } });
  });

  it('never drops what has done something for a dry run, nor what somebody owes a look for another', async () => {
    const jobs = bulkJobs(none);
    const owed = await done(jobs, work(bite(lines(1, 'would'), () => 'uncertain')));
    for (let i = 0; i < 21; i += 1) await done(jobs, work(bite(lines(1, 'would'))));
    for (let i = 0; i < 25; i += 1) await tried(jobs, work());
    const kept = jobs.list(MAY);
    expect(kept.filter(({ reason }) => reason !== null)).toHaveLength(20);
    expect(kept.filter(({ reason }) => reason === null)).toHaveLength(20);
    expect(jobs.page(owed.id, MAY, ALL).job.counts).toEqual({ uncertain: 1 });
  });
});

describe('how far a job goes', () => {
  it('counts only what would be done toward its cap, so that the next job comes further', async () => {
    const jobs = bulkJobs(none);
    const refused = Array.from({ length: 60 }, () => bite(lines(200, 'refused', 'It is completed.')));
    const job = await tried(jobs, work(...refused, bite(lines(1, 'would'))));
    expect(job).toMatchObject({ counts: { refused: 12_000, would: 1 }, cut: [] });
    expect(job.whys).toEqual([{ end: 'refused', why: 'It is completed.', count: 12_000 }]);
    expect(jobs.page(job.id, MAY, { ...ALL, end: 'would' }).lines).toHaveLength(1);
    jobs.perform(job.id, BY);
    expect((await ended(jobs, job)).counts).toEqual({ refused: 12_000, done: 1 });
    expect(jobs.page(job.id, MAY, { ...ALL, end: 'done' }).lines).toMatchObject([{ key: 'would-0' }]);
  });

  it('says whether the next one has the rest, or none reaches it', async () => {
    const jobs = bulkJobs(none);
    const many = Array.from({ length: 51 }, () => bite(lines(200, 'would')));
    expect(await tried(jobs, work(...many))).toMatchObject({ counts: { would: 10_000 }, cut: ['many'] });
    const far = [{ ...bite(lines(1, 'would')), looked: 250_000 }, bite(lines(1, 'would'))];
    expect(await tried(jobs, work(...far))).toMatchObject({ counts: { would: 1 }, cut: ['far'] });
    const unlisted = { ...bite(lines(1, 'would')), isUnlisted: true };
    expect(await tried(jobs, work(unlisted))).toMatchObject({ cut: ['unlisted'] });
  });

  it('asks a store no more that failed three times in a row, and leaves the others', async () => {
    const jobs = bulkJobs(none);
    const down = bite(lines(10, 'would'), (at) => (at === 1 ? 'done' : 'uncertain'));
    const job = await done(jobs, work(down, bite(lines(5, 'would'))));
    expect(job).toMatchObject({ phase: 'stopped', counts: { uncertain: 4, done: 1, would: 10 } });
    expect(job.fault).toContain('3 times in a row');
  });

  it('counts a call that failed once, however many it was about', async () => {
    const jobs = bulkJobs(none);
    let calls = 0;
    const many: Bite = {
      ...bite(lines(500, 'would')),
      async perform(_by, told, isStopped) {
        for (let from = 0; from < 500 && !isStopped(); from += 100) {
          const end = (calls += 1) === 3 ? 'done' : 'uncertain';
          told(...lines(100, end).map((each, i) => [from + i, each] as const));
        }
      },
    };
    expect(await done(jobs, work(many))).toMatchObject({
      phase: 'done',
      counts: { uncertain: 400, done: 100 },
    });
    expect(calls).toBe(5);
  });

  it('is done where all is done, also when somebody said stop during the last', async () => {
    const jobs = bulkJobs(none);
    let id = '';
    const stopping = bite(lines(2, 'would'), (at) => {
      if (at === 1) jobs.stop(id);
      return 'done';
    });
    ({ id } = await tried(jobs, work(stopping)));
    expect(await ended(jobs, jobs.perform(id, BY))).toMatchObject({ phase: 'done', counts: { done: 2 } });
  });

  it('ends with an error that is told, and what a store says of one statement is not said of all', async () => {
    const heard: unknown[] = [];
    const jobs = bulkJobs((error) => heard.push(error));
    const lost = new StoreError('lost', { applied: 'no', transient: true });
    const job = await done(jobs, work({ ...bite(lines(1, 'would')), perform: () => Promise.reject(lost) }));
    expect(job).toMatchObject({
      phase: 'stopped',
      fault: expect.stringContaining('What was done until then'),
    });
    expect(heard).toEqual([lost]);
  });

  it('begins nothing in a console that is being closed', async () => {
    const jobs = bulkJobs(none);
    const { id } = await tried(jobs, work(bite(lines(1, 'would'))));
    await jobs.close();
    expect(() => jobs.begin(work(), 'alice')).toThrow(/being closed/);
    expect(() => jobs.perform(id, BY)).toThrow(/being closed/);
  });
});

describe('a console that is being closed', () => {
  it('waits for the row that is under way, and does no other', async () => {
    const jobs = bulkJobs(none);
    let go: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow = bite(lines(3, 'would'));
    const { id } = await tried(
      jobs,
      work({
        ...slow,
        async perform(by, told, isStopped) {
          await held;
          told([0, line('would-0', 'done')]);
          await slow.perform(by, told, isStopped);
        },
      }),
    );
    jobs.perform(id, BY);
    let isClosed = false;
    const closing = jobs.close().then(() => {
      isClosed = true;
    });
    await new Promise((resolve) => void setImmediate(resolve));
    expect(isClosed).toBe(false);
    go?.();
    await closing;
    expect(jobs.page(id, MAY, ALL).job).toMatchObject({ phase: 'stopped', counts: { done: 1, would: 2 } });
  });
});

describe('what is shown of a job', () => {
  it('says what it does, and to those who may do it with what, and of each record why not', async () => {
    const jobs = bulkJobs(none);
    const { id } = await tried(
      jobs,
      work(bite([...lines(1, 'would'), ...lines(1, 'refused', 'It is mine.')])),
    );
    const hers = jobs.page(id, MAY, ALL);
    expect(hers).toMatchObject({ job: { does: ['It runs again.'], words: 'reopen · reference: pi_1' } });
    expect([hers.given, hers.lines.length, hers.job.whys.length]).toEqual([[['Body', 'secret']], 2, 1]);
    const lookers = jobs.page(id, ['settle'], ALL);
    expect(lookers).toMatchObject({ job: { does: ['It runs again.'], whys: [] }, given: [], lines: [] });
    expect(JSON.stringify([lookers, jobs.list([])])).not.toMatch(/pi_1|secret|mine/);
  });

  it('gives as many lines as are asked for, up to a bound', async () => {
    const jobs = bulkJobs(none);
    const { id } = await tried(jobs, work(bite(lines(1_500, 'would'))));
    for (const [limit, many] of [
      [0, 100],
      [250, 250],
      [9_999, 1_000],
      [Number.NaN, 100],
    ] as const) {
      const { lines: given, after } = jobs.page(id, MAY, { ...ALL, limit });
      expect([given.length, after]).toEqual([many, many]);
    }
  });
});

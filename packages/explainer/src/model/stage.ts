/**
 * The stage of one run: virtual time, chance from the seed, the database, the provider, and machines that freeze
 * and die. Time, chance and machines are those of the simulator.
 */

import {
  createRandom,
  createTimeline,
  FAKE_WALL_START,
  type FakeWorld,
  fakeWorld,
  type Random,
  type Timeline,
} from '@samekey/testing/world';
import { type MemoryStore, memoryStore } from 'samekey/stores/memory';
import { type Books, openBooks } from './books.ts';
import type { Intent } from './judge.ts';
import { openProvider, type Provider } from './stage-provider.ts';
import type { Fault, Lane, LaneId } from './trace.ts';
import { createRecorder, type Recorder } from './run-recorder.ts';
import { rememberedRow } from './shown-row.ts';
import type { HttpAnswer } from './http-lines.ts';
import { openWays, type Ways } from './ways.ts';

/** Everything that takes part in a run. */
export interface Stage {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly recorder: Recorder;
  /** The database: the memory store of Samekey. */
  readonly database: MemoryStore;
  readonly provider: Provider;
  readonly books: Books;
  /** Rows of the shop whose money is in the books. */
  readonly counted: Set<string>;
  readonly ways: Ways;
  readonly intents: readonly Intent[];
  /** A table for handlers that are written by hand. */
  readonly byHand: HandTable;
  /** Somebody wants to pay. */
  intends(amountCents: number, order?: string): Intent;
  /** The machine of a lane; the same one each time. */
  world(lane: LaneId): FakeWorld;
  pause(ms: number): Promise<void>;
  /** The machine of a lane is busy for so long; longer if it stands still. */
  work(lane: LaneId, ms: number): Promise<void>;
  /** Resolves when the handler of a lane says that it is at work, right after it has said so. */
  atWork(lane: LaneId): Promise<void>;
  tellAtWork(lane: LaneId): void;
  freeze(lane: LaneId, caption: string): void;
  thaw(lane: LaneId, caption: string): void;
  kill(lane: LaneId, caption: string): void;
}

/** A table of answers by key, as people make it: read first, write afterwards. */
interface HandTable {
  read(lane: LaneId, key: string): Promise<HttpAnswer | null>;
  write(lane: LaneId, key: string, answer: HttpAnswer): Promise<void>;
}

/** Opens it. */
export function openStage(lanes: readonly Lane[], seed: number, faults: readonly Fault[] = []): Stage {
  const random = createRandom(seed);
  const timeline = createTimeline(random);
  const recorder = createRecorder(lanes, () => timeline.now);
  const books = openBooks(recorder, 'ch');
  const worlds = new Map<LaneId, FakeWorld>();
  const intents: Intent[] = [];
  const waiting = new Map<LaneId, () => void>();
  const world = (lane: LaneId): FakeWorld => {
    const known = worlds.get(lane);
    if (known !== undefined) return known;
    const made = fakeWorld({ name: lane, timeline, random });
    worlds.set(lane, made);
    return made;
  };
  const stop = (lane: LaneId, how: 'freeze' | 'thaw' | 'kill', caption: string): void => {
    const stopped = { freeze: 'frozen', thaw: null, kill: 'dead' } as const;
    const mark = { freeze: 'frozen', thaw: 'thawed', kill: 'crashed' } as const;
    // What was held back comes after it was said that the machine is awake.
    if (how !== 'thaw') world(lane)[how]();
    recorder.stopped(lane, stopped[how]);
    recorder.happens({ lane, caption, tone: how === 'thaw' ? 'plain' : 'danger', marks: [mark[how]] });
    if (how === 'thaw') world(lane).thaw();
  };
  const ways = openWays({ timeline, recorder, faults, world, stop });
  return {
    timeline,
    random,
    recorder,
    database: memoryStore({ now: () => Math.floor(FAKE_WALL_START + timeline.now) }),
    provider: openProvider({
      now: () => timeline.now,
      ways,
      random,
      recorder,
      books,
      onTaken: () => waiting.get('provider')?.(),
    }),
    books,
    counted: new Set(),
    ways,
    intents,
    byHand: openHandTable(ways, random, recorder, world),
    intends(amountCents, order = `A${intents.length + 1}`) {
      const intent: Intent = { order, amountCents, told: null };
      intents.push(intent);
      recorder.meant(amountCents);
      return intent;
    },
    world,
    pause: (ms) => new Promise((resolve) => void timeline.setTimer(ms, resolve)),
    work: (lane, ms) => new Promise((resolve) => void world(lane).setTimer(ms, resolve)),
    atWork: (lane) => new Promise((resolve) => void waiting.set(lane, resolve)),
    tellAtWork: (lane) => waiting.get(lane)?.(),
    freeze: (lane, caption) => stop(lane, 'freeze', caption),
    thaw: (lane, caption) => stop(lane, 'thaw', caption),
    kill: (lane, caption) => stop(lane, 'kill', caption),
  };
}

function openHandTable(
  ways: Ways,
  random: Random,
  recorder: Recorder,
  world: (lane: LaneId) => FakeWorld,
): HandTable {
  const answers = new Map<string, HttpAnswer>();

  function ask<T>(
    lane: LaneId,
    asks: { readonly label: string; readonly caption: string; readonly body: string },
    apply: () => { readonly result: T; readonly caption: string; readonly reply: string },
  ): Promise<T> {
    const { label, caption, body } = asks;
    const [asked = -1] = recorder.happens({
      lane,
      caption,
      sends: [{ from: lane, to: 'store', label, body }],
    });
    return new Promise((resolve) => {
      ways.go(asked, random.between(2, 8), () => {
        recorder.arrives(asked);
        const { result, caption: says, reply } = apply();
        const [answered = -1] = recorder.happens({
          lane: 'store',
          caption: says,
          sends: [{ from: 'store', to: lane, label: reply }],
        });
        ways.go(answered, random.between(2, 8), () =>
          world(lane).deliver(() => {
            recorder.arrives(answered);
            resolve(result);
          }),
        );
      });
    });
  }

  return {
    read: (lane, key) =>
      ask(
        lane,
        {
          label: 'key known?',
          caption: `${recorder.nameOf(lane)} looks whether the key is known.`,
          body: `SELECT answer FROM keys WHERE key = '${key}'`,
        },
        () => {
          const result = answers.get(key) ?? null;
          const caption =
            result === null
              ? 'The database finds no such key. It writes nothing: looking is not claiming.'
              : 'The database finds the key, and the answer beside it.';
          return { result, caption, reply: result === null ? 'no' : 'yes' };
        },
      ),
    write: (lane, key, answer) =>
      ask(
        lane,
        {
          label: 'remember key',
          caption: `${recorder.nameOf(lane)} remembers the key, now that the work is done.`,
          body: `INSERT INTO keys VALUES ('${key}', '${answer.body}')\nON CONFLICT DO NOTHING`,
        },
        () => {
          const isNew = !answers.has(key);
          if (isNew) answers.set(key, answer);
          const kept = answers.get(key) ?? answer;
          recorder.row(rememberedRow(key, `${kept.status} ${kept.body}`));
          const caption = isNew
            ? 'The database keeps the key and its answer.'
            : 'The database has the key already: another process was quicker. The money is gone all the same.';
          return { result: undefined, caption, reply: 'ok' };
        },
      ),
  };
}

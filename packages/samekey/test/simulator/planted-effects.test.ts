/** Bugs in how effects are called and kept, planted one at a time: the simulator must find each among phased histories. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { isStoreError, StoreError } from '../../src/core/errors.ts';
import { decideCheckpoint } from '../../src/store/machine/index.ts';
import type { CheckpointRequest, Store } from '../../src/store/store.ts';
import { simulate, type SimulateOptions } from '../../../testing/src/index.ts';
import { keptSteps } from '../../../testing/src/audit/transitions.ts';
import { type Bug, plantedStore } from './planted-store.ts';

/** What is wrong in the core at the moment. */
const planted = vi.hoisted(() => ({ noLastLook: false, believedAtOnce: false, nothingTold: false }));

vi.mock(import('../../src/ways/last-look.ts'), async (original) => {
  const real = await original();
  return {
    lookingSignal: (controller, look) =>
      planted.noLastLook ? controller.signal : real.lookingSignal(controller, look),
  };
});

vi.mock(import('../../src/ways/late-call.ts'), async (original) => {
  const real = await original();
  return {
    ...real,
    mayBeUnderWayMs: (asking) => (planted.believedAtOnce ? 0 : real.mayBeUnderWayMs(asking)),
    contradictionOf: (record, call) => (planted.nothingTold ? 'no' : real.contradictionOf(record, call)),
  };
});

/** Every bug is found within so many histories. */
const HISTORIES_MAX = 3_000;
const SIDE_BY_SIDE = 16;

async function firstFound(options: Omit<SimulateOptions, 'seed' | 'phased'>): Promise<string | null> {
  let next = 1;
  let found: string | null = null;
  const lane = async (): Promise<void> => {
    while (found === null && next <= HISTORIES_MAX) {
      const seed = next++;
      const { violations } = await simulate({ ...options, seed, phased: true });
      const [violation] = violations;
      if (violation !== undefined) found ??= `seed ${seed}, ${violation.seen}: ${violation.what}`;
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
  return found;
}

/** A checkpoint that is changed before it is decided. */
function checkpointOf(change: (request: CheckpointRequest) => CheckpointRequest): {
  readonly store: ReturnType<typeof plantedStore>;
} {
  const bug: Bug = {
    checkpoint: (record, request, view) => decideCheckpoint(record, change(request), view),
  };
  return { store: plantedStore(bug) };
}

/** Whatever goes wrong at a checkpoint is taken for the last word. */
async function once<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw isStoreError(error) ? new StoreError(error.message, { applied: 'no', transient: false }) : error;
  }
}

const BUGS: Readonly<
  Record<
    string,
    {
      readonly says: RegExp;
      readonly options: Omit<SimulateOptions, 'seed'>;
      readonly core?: Partial<typeof planted>;
    }
  >
> = {
  'no last look before the call leaves': {
    says: /after its claim was lost|charged twice/,
    options: {},
    core: { noLastLook: true },
  },
  '"not found" believed at once': {
    says: /charged twice under inquire/,
    options: {},
    core: { believedAtOnce: true },
  },
  'a late call of which nothing is told': {
    says: /nobody was told/,
    options: {},
    core: { nothingTold: true },
  },
  'a checkpoint that is not repeated': {
    says: /given up while its claim lived/,
    options: {
      client: (connection: Store) => ({
        ...connection,
        checkpoint: (requests) => once(connection.checkpoint(requests)),
      }),
    },
  },
  'an intent that is dropped': {
    says: /without its intent/,
    options: checkpointOf((request) => {
      const kept = keptSteps(request.steps).filter(({ done }) => done !== null);
      return { ...request, steps: kept.length === 0 ? null : JSON.stringify({ v: 1, steps: kept }) };
    }),
  },
  'a late checkpoint that is written over newer ones': {
    says: /lost or written over/,
    options: checkpointOf((request) => {
      const copy: { renewals?: unknown } & typeof request = { ...request };
      delete copy.renewals;
      return copy;
    }),
  },
  'an emptied list of steps that is kept': {
    says: /F76/,
    options: checkpointOf((request) => ({ ...request, steps: request.steps ?? '{"v":1,"steps":[]}' })),
  },
  'a result that is noted as an intent': {
    says: /behind an open intent/,
    options: checkpointOf((request) => ({
      ...request,
      steps: request.steps?.replaceAll(/"done":\{"result":\{"charge":\d+\}\}/g, '"done":null') ?? null,
    })),
  },
};

describe('planted bugs of effects', () => {
  afterEach(
    () => void Object.assign(planted, { noLastLook: false, believedAtOnce: false, nothingTold: false }),
  );

  it.each(Object.entries(BUGS))(
    'finds %s',
    async (_name, { says, options, core = {} }) => {
      Object.assign(planted, core);
      expect(await firstFound(options)).toMatch(says);
    },
    240_000,
  );
});

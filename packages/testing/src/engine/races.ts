/** Many requests at one moment, in several processes on one store. */

import assert from 'node:assert/strict';
import { response, type StoredResponse } from 'samekey/internals/core/response';
import { type AddEngineTest, type EngineBench, type EngineNode, JSON_TYPE } from './bench.ts';
import { executed, met, replayed } from './expect.ts';

const RACERS = 50;
const PROCESSES = 3;

export function raceTests(test: AddEngineTest): void {
  // F11
  test(`of ${RACERS} requests at once in ${PROCESSES} processes one runs, and all that wait get its answer`, async (bench) => {
    const nodes = await processes(bench);
    const asked = Array.from({ length: RACERS }, (_, i) =>
      nodeOf(nodes, i).ask({ waitMaxMs: 60_000 }, work(bench, nodeOf(nodes, i))),
    );
    const outcomes = await bench.until(Promise.all(asked));
    const [winner, ...more] = outcomes.filter(({ kind }) => kind === 'executed');
    assert.ok(winner !== undefined && more.length === 0, 'exactly one runs');
    const { response: answer } = executed(winner, { attempt: 1, state: 'completed' });
    for (const outcome of outcomes) if (outcome !== winner) replayed(outcome, answer);
    assert.equal(bench.runs, 1);
  });

  // F9, F11, F12, F25
  test('those that do not wait are told "in progress"; other bodies and other tenants are never mixed in', async (bench) => {
    const nodes = await processes(bench);
    const asked = Array.from({ length: RACERS }, async (_, i) => {
      const request = { body: i % 5 === 0 ? 'other' : 'one', scope: [i % 2 === 0 ? 'ann' : 'bob'] };
      const node = nodeOf(nodes, i);
      return {
        request,
        outcome: await node.ask(request, work(bench, node, `${request.scope[0]} ${request.body}`)),
      };
    });
    const told = await bench.until(Promise.all(asked));
    for (const tenant of ['ann', 'bob']) {
      const theirs = told.filter(({ request }) => request.scope[0] === tenant);
      const winners = theirs.filter(({ outcome }) => outcome.kind === 'executed');
      assert.equal(winners.length, 1, `one run for ${tenant}`);
      const body = winners[0]?.request.body;
      for (const { request, outcome } of theirs) {
        if (outcome.kind === 'executed') continue;
        if (request.body === body) met(outcome, 'in-progress');
        else met(outcome, 'mismatch');
      }
      const later = await bench.until((await bench.node()).ask({ scope: [tenant], body: body ?? '' }));
      replayed(later, response(201, JSON_TYPE, JSON.stringify(`${tenant} ${body}`)));
    }
    assert.equal(bench.runs, 2);
  });

  test('many keys at once each run once, and share the store’s calls', async (bench) => {
    const nodes = await processes(bench);
    const keys = Array.from({ length: RACERS }, (_, i) => `key-${i}`);
    const asked = keys.flatMap((key) => nodes.map((node) => node.ask({ key, waitMaxMs: 60_000 })));
    const outcomes = await bench.until(Promise.all(asked));
    assert.equal(outcomes.filter(({ kind }) => kind === 'executed').length, RACERS);
    assert.equal(outcomes.filter(({ kind }) => kind === 'replay').length, (PROCESSES - 1) * RACERS);
    assert.equal(bench.runs, RACERS);
  });

  // A row that somebody holds goes into the next flush; its neighbours must not get each other's results for that.
  test('of many keys that travel together each gets its own answer, whichever rows somebody holds', async (bench) => {
    const a = await bench.node();
    const keys = Array.from({ length: 12 }, (_, i) => `key-${i}`);
    // Every third is known already.
    const known = keys.filter((_, i) => i % 3 === 0);
    await bench.until(Promise.all(known.map((key) => a.ask({ key }, () => own(key)))));
    const b = await bench.node();
    for (const verb of ['claim', 'finish'] as const) b.store.inject('someBusy', { verb, times: 3 });
    let runs = 0;
    const outcomes = await bench.until(
      Promise.all(
        keys.map((key) =>
          b.ask({ key }, () => {
            runs += 1;
            return own(key);
          }),
        ),
      ),
    );
    for (const [i, key] of keys.entries()) {
      const outcome = outcomes[i] as (typeof outcomes)[number];
      if (known.includes(key)) replayed(outcome, own(key));
      else executed(outcome, { attempt: 1, state: 'completed', stored: true, response: own(key) });
      replayed(await bench.until(a.ask({ key })), own(key));
    }
    assert.equal(runs, keys.length - known.length);
  });
}

/** An answer that only this key's handler gives. */
function own(key: string): StoredResponse {
  return response(201, JSON_TYPE, JSON.stringify(key));
}

async function processes(bench: EngineBench): Promise<EngineNode[]> {
  const nodes: EngineNode[] = [];
  for (let i = 0; i < PROCESSES; i += 1) nodes.push(await bench.node());
  return nodes;
}

function nodeOf(nodes: readonly EngineNode[], i: number): EngineNode {
  return nodes[i % nodes.length] as EngineNode;
}

/** Takes a while, so that nobody finds it finished. */
function work(bench: EngineBench, node: EngineNode, text = 'done') {
  return async () => {
    bench.count();
    await node.sleep(100);
    return response(201, JSON_TYPE, JSON.stringify(text));
  };
}

/**
 * Answers and results of every way that need no transaction: what cannot be stored is no proof that nothing happened, what is never
 * stored is stored by nobody, and the first caller gets what the second one gets.
 */

import assert from 'node:assert/strict';
import { errorCode } from 'samekey/internals/core/errors';
import { encodeScope } from 'samekey/internals/core/scope';
import type { Outcome } from 'samekey/internals/core/outcome';
import type { PolicyName } from 'samekey/internals/core/policy';
import type { SamekeyRecord } from 'samekey/internals/core/record';
import { reply } from 'samekey/internals/ways/reply';
import { internalsOf, type Samekey } from 'samekey/internals/samekey';
import { pushDue } from 'samekey/internals/ways/completer';
import type { Operation } from 'samekey/internals/ways/define-operation';
import { HANDED_ON, HEADERS_NEVER_STORED, HEADERS_STORED, UNSTORABLE } from '../hostile-values.ts';
import type { AddEngineTest, EngineBench, EngineNode } from './bench.ts';
import { eventsOf, executed, met } from './expect.ts';

const NAME = 'pay';
const SCOPE = ['tenant-1'];
const POLICIES: readonly PolicyName[] = ['standard', 'payments', 'stripe'];

/** What a handler returns, and how often it ran. */
type Body = () => unknown;
/** Asks once, in one of the ways, and gives what came of the work itself. */
type Ask = (key: string) => Promise<Outcome>;

function asking(operation: Operation<null, unknown>): Ask {
  return (key) => operation.run({ scope: SCOPE, key, input: null });
}

/** By way: defines the operation in a process and gives how it is asked. */
const WAYS: Readonly<Record<string, (samekey: Samekey, policy: PolicyName, body: Body) => Ask>> = {
  run: (samekey, policy, body) => (key) =>
    samekey.run({ operation: NAME, policy, scope: SCOPE, key, fingerprint: null }, () => body()),
  plain: (samekey, policy, body) => asking(samekey.plain({ name: NAME, policy, run: () => body() })),
  phased: (samekey, policy, body) => asking(samekey.phased({ name: NAME, policy, run: () => body() })),
  deferred: (samekey, policy, body) =>
    deferredAsk(samekey, samekey.plain({ name: NAME, policy, run: () => body() })),
  'deferred and phased': (samekey, policy, body) =>
    deferredAsk(samekey, samekey.phased({ name: NAME, policy, run: () => body() })),
};

/** Noted first; then pushed on, as a worker does. A retry finds what the worker left. */
function deferredAsk(samekey: Samekey, operation: Operation<null, unknown>): Ask {
  const ask = asking(samekey.deferred(operation));
  return async (key) => {
    const noted = await ask(key);
    if (noted.kind !== 'pending') return noted;
    const [pushed] = await pushDue(internalsOf(samekey), 1);
    return pushed?.outcome ?? noted;
  };
}

function recordOf(bench: EngineBench, key: string): Promise<SamekeyRecord | null> {
  return bench.t.store.find([{ scope: encodeScope(SCOPE, NAME), key }]).then(([record]) => record ?? null);
}

async function nodes(bench: EngineBench): Promise<readonly [EngineNode, EngineNode]> {
  return [await bench.node(), await bench.node()];
}

/** An answer with the header lines of an upstream. */
function upstreamAnswer(): unknown {
  return reply(201, { id: 1 }, [...HEADERS_NEVER_STORED, ...HEADERS_STORED]);
}

export function valueTests(test: AddEngineTest): void {
  for (const [way, define] of Object.entries(WAYS)) {
    // F66, F78
    for (const policy of POLICIES) {
      test(`${way}, "${policy}": an answer that cannot be stored ends the key without a body, and runs once`, async (bench) => {
        const [a, b] = await nodes(bench);
        let value: unknown;
        const body = (): unknown => {
          bench.count();
          return reply(201, value, [['Location', '/payments/1']]);
        };
        const [askA, askB] = [define(a.samekey, policy, body), define(b.samekey, policy, body)];
        for (const [n, { title, make, path }] of UNSTORABLE.entries()) {
          value = make();
          const key = `key-${n}`;
          const told = [
            await bench.until(askA(key)),
            await bench.until(askB(key)),
            await bench.until(askA(key)),
          ];
          for (const outcome of told) {
            const { state, originalStatus, location } = met(outcome, 'response-not-stored');
            assert.deepEqual([state, originalStatus, location], ['completed', 201, '/payments/1'], title);
          }
          const record = await recordOf(bench, key);
          assert.deepEqual(
            [record?.state, record?.proof, record?.reason, record?.response?.body],
            ['completed', null, 'answer-not-storable', null],
            title,
          );
          assert.equal(bench.runs, n + 1, `${title}: ran once`);
          const error = eventsOf(a, 'handler-error').at(-1)?.error;
          assert.equal(errorCode(error), 'ERR_SAMEKEY_VALUE', title);
          assert.equal((error as { readonly path?: unknown }).path, path, title);
        }
        const [misuse, ...more] = eventsOf(a, 'misuse').filter(({ code }) => code === 'value-not-storable');
        assert.match(misuse?.message ?? '', /"pay": .*rows\[1\]\.id/);
        assert.deepEqual(more, []);
      });
    }

    // F66: its status is what the handler said.
    test(`${way}: of an answer that cannot be stored the status decides, as of any other`, async (bench) => {
      const [a] = await nodes(bench);
      let status = 0;
      const ask = define(a.samekey, 'payments', () => reply(status, { id: 10n }));
      for (status of [422, 500]) await bench.until(ask(`key-${status}`));
      assert.equal((await recordOf(bench, 'key-422'))?.state, 'failed');
      // What a phased operation begins is in its steps, and there are none.
      const five = (await recordOf(bench, 'key-500'))?.state;
      assert.equal(five, way.includes('phased') ? 'retryable' : 'unknown');
    });

    test(`${way}: a return with a status that was not made by reply() is a value, and is told of once`, async (bench) => {
      const [a] = await nodes(bench);
      const quiet = [
        { status: 'paid', body: 'b' },
        { status: 402 },
        { status: 7, body: '' },
        reply(402, { body: 1 }),
      ];
      let value: unknown;
      const ask = define(a.samekey, 'standard', () => value);
      const told = (): { readonly message: string }[] =>
        eventsOf(a, 'misuse').filter(({ code }) => code === 'status-ignored');
      for (const [n, one] of quiet.entries()) {
        value = one;
        await bench.until(ask(`quiet-${n}`));
      }
      assert.deepEqual(told(), []);
      for (value of [
        { status: 402, body: {} },
        { status: 500, headers: {}, data: null },
      ])
        await bench.until(ask(`key-${(value as { readonly status: number }).status}`));
      assert.equal((await recordOf(bench, 'key-402'))?.response?.status, 200);
      const [misuse, ...more] = told();
      assert.match(misuse?.message ?? '', /"pay" returned an object with status 402 .* reply\(402, body\)/);
      assert.deepEqual(more, []);
    });

    // F66: nobody looks into what a handler returned as if that were still its work.
    test(`${way}: a return that cannot be read ends the key, and runs once`, async (bench) => {
      let value: unknown;
      const body = (): unknown => {
        bench.count();
        return value;
      };
      const asks = (await nodes(bench)).map(({ samekey }) => define(samekey, 'standard', body));
      for (const [n, one] of UNSTORABLE.entries()) {
        value = one.make();
        for (const ask of asks) met(await bench.until(ask(`key-${n}`)), 'response-not-stored');
        assert.equal(bench.runs, n + 1, one.title);
      }
    });

    // F77: what is handed on
    test(`${way}: the first caller gets what is read back from the record, as every retry does`, async (bench) => {
      const [a, b] = await nodes(bench);
      const body = HANDED_ON.make;
      const first = await bench.until(define(a.samekey, 'standard', body)('key-1'));
      const again = await bench.until(define(b.samekey, 'standard', body)('key-1'));
      const { response } = executed(first, { state: 'completed' });
      assert.deepEqual(JSON.parse(new TextDecoder().decode(response?.body ?? undefined)), HANDED_ON.back);
      if ('value' in first) assert.deepEqual(first.value, HANDED_ON.back);
      assert.deepEqual(met(again, 'replay').response, response);
      if ('value' in again) assert.deepEqual(again.value, HANDED_ON.back);
    });

    // F79
    test(`${way}: header lines of a connection, a moment or a caller are not stored`, async (bench) => {
      const [a, b] = await nodes(bench);
      const first = executed(await bench.until(define(a.samekey, 'standard', upstreamAnswer)('key-1')));
      const names = first.response?.headers.map(([name]) => name);
      for (const name of [
        'Date',
        'Connection',
        'X-Hop',
        'Transfer-Encoding',
        'Content-Length',
        'Content-Encoding',
      ])
        assert.ok(!names?.includes(name), name);
      // The first caller's session is its own.
      assert.ok(names?.includes('Set-Cookie'));
      assert.deepEqual((await recordOf(bench, 'key-1'))?.response?.headers, HEADERS_STORED);
      const again = met(await bench.until(define(b.samekey, 'standard', upstreamAnswer)('key-1')), 'replay');
      assert.deepEqual(again.response.headers, HEADERS_STORED);
    });
  }

  // F79: who waited in this process is another caller, too.
  test('a duplicate that waited for the first one is told what is stored, without the first one’s cookie', async (bench) => {
    const [a] = await nodes(bench);
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const request = {
      operation: NAME,
      policy: 'standard',
      scope: SCOPE,
      key: 'key-1',
      fingerprint: null,
    } as const;
    const run = (): Promise<Outcome> =>
      a.samekey.run({ ...request, waitMaxMs: 5_000 }, async () => {
        await held;
        return upstreamAnswer();
      });
    const asked = [run(), run()];
    release?.();
    const [first, second] = await bench.until(Promise.all(asked));
    executed(first as Outcome);
    assert.deepEqual(met(second as Outcome, 'replay').response.headers, HEADERS_STORED);
  });

  for (const rule of ['downstreamKey', 'inquire', 'reconcile'] as const) {
    // F66, F69: the operation stands half-done, and completing it would skip what comes after.
    test(`an effect's result that cannot be stored makes its record unknown, and rule ${rule} does not repeat the call`, async (bench) => {
      const [a, b] = await nodes(bench);
      let value: unknown;
      const define = ({ samekey }: EngineNode): Ask =>
        asking(
          samekey.phased({
            name: NAME,
            async run(_input: null, attempt) {
              const how =
                rule === 'downstreamKey'
                  ? { rule, retentionMs: 86_400_000 }
                  : rule === 'inquire'
                    ? { rule, inquire: async () => null }
                    : { rule };
              await attempt.effect(
                'charge',
                () => {
                  bench.count();
                  return value;
                },
                { ...how, callTimeMaxMs: 1_000 },
              );
              return 'never';
            },
          }),
        );
      const [askA, askB] = [define(a), define(b)];
      for (const [n, { title, make, path }] of UNSTORABLE.entries()) {
        value = make();
        const key = `key-${n}`;
        met(await bench.until(askA(key)), 'unknown');
        await bench.pass(30_000);
        for (const ask of [askB, askA]) met(await bench.until(ask(key)), 'unknown');
        const record = await recordOf(bench, key);
        assert.deepEqual([record?.state, record?.reason], ['unknown', 'result-not-storable'], title);
        assert.equal(bench.runs, n + 1, `${title}: called once`);
        const error = eventsOf(a, 'handler-error').at(-1)?.error;
        assert.equal((error as { readonly path?: unknown }).path, path, title);
      }
    });
  }
}

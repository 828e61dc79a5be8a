/** A process of the API: a Samekey instance of its own on the shared database, behind a connection. */

import { createSamekey, type Operation, type Samekey } from 'samekey';
import { handle } from 'samekey/internals/http/handle';
import { compileRoute, type RouteOptions } from 'samekey/internals/http/route';
import { compileServed } from 'samekey/internals/http/serve';
import { internalsOf } from 'samekey/internals/samekey';
import type { Store } from 'samekey/internals/store/store';
import type { MemoryTransaction } from 'samekey/stores/memory';
import { connect } from './connection.ts';
import type { StageHandler } from './stage-exchange.ts';
import { StageExchange } from './stage-exchange.ts';
import type { stageTransactions } from './stage-transactions.ts';
import type { Stage } from './stage.ts';
import type { LaneId } from './trace.ts';
import type { HttpRequest, Serve } from './http-lines.ts';

/** How a process is set up. */
interface ProcessOptions {
  readonly lane: LaneId;
  /** What stands between the connection and the database: where a protection is taken away. Default: nothing. */
  readonly behind?: (store: Store) => Store;
  /** The shop's own transactions, for stories that have some; default none. */
  readonly transactions?: typeof stageTransactions;
}

/** Starts a Samekey instance on the machine of a lane. */
export function startInstance(
  stage: Stage,
  { lane, behind = (store) => store, transactions }: ProcessOptions,
): Samekey<MemoryTransaction> {
  const { ways, random, recorder, database } = stage;
  const world = stage.world(lane);
  const connection = connect({ lane, world, ways, random, recorder, store: behind(database) });
  const shop = transactions?.(stage, lane, connection);
  return createSamekey({
    store: shop?.store ?? connection,
    ...(shop === undefined ? {} : { transactions: shop.source }),
    world,
    onEvent(event) {
      if (event.type === 'contradiction')
        recorder.happens({
          lane,
          caption: `${recorder.nameOf(lane)} tells its operator: my attempt ended, and the record says something else. Look at it.`,
          tone: 'danger',
        });
    },
  });
}

/** A route of that instance, protected. */
export function protect(
  samekey: Samekey<never>,
  options: Omit<RouteOptions<HttpRequest>, 'scope'>,
  handler: StageHandler,
  scope: (request: HttpRequest) => readonly string[] = () => ['shop', 'customer-1'],
): Serve {
  const { engine, defaults } = internalsOf(samekey);
  const route = compileRoute<HttpRequest>(
    defaults,
    { ...options, scope },
    engine.world,
    engine.fingerprintSecrets,
  );
  return async (request) => {
    const exchange = new StageExchange(request, handler);
    await handle(engine, route, exchange);
    return exchange.answer;
  };
}

/** An operation of that instance, served. */
export function serveOperation<Input>(operation: Operation<Input, unknown>): Serve {
  const { engine, route, wrapped } = compileServed<HttpRequest, Input>(operation, {
    scope: () => ['shop', 'customer-1'],
  });
  return async (request) => {
    const exchange = new StageExchange(request, () => Promise.reject(new Error('The operation answers.')));
    await handle(engine, route, exchange, wrapped);
    return exchange.answer;
  };
}

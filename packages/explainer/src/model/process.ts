/** A process of the API: a Samekey instance of its own on the shared database, behind a connection. */

import { createSamekey, type Samekey } from 'samekey';
import { handle } from 'samekey/internals/http/handle';
import { compileRoute, type RouteOptions } from 'samekey/internals/http/route';
import { internalsOf } from 'samekey/internals/samekey';
import type { Store } from 'samekey/internals/store/store';
import { connect } from './connection.ts';
import type { StageHandler } from './stage-exchange.ts';
import { StageExchange } from './stage-exchange.ts';
import type { Stage } from './stage.ts';
import type { LaneId } from './trace.ts';
import type { HttpRequest, Serve } from './http-lines.ts';

/** How a process is set up. */
interface ProcessOptions {
  readonly lane: LaneId;
  /** What stands between the connection and the database: where a protection is taken away. Default: nothing. */
  readonly behind?: (store: Store) => Store;
}

/** Starts a Samekey instance on the machine of a lane. */
export function startInstance(stage: Stage, { lane, behind = (store) => store }: ProcessOptions): Samekey {
  const { timeline, random, recorder, database } = stage;
  const world = stage.world(lane);
  const store = connect({ lane, world, timeline, random, recorder, store: behind(database) });
  return createSamekey({
    store,
    world,
    onEvent(event) {
      if (event.type === 'contradiction')
        recorder.happens({
          lane,
          caption: `${recorder.titleOf(lane)} tells its operator: my attempt ended, and the record says something else. Look at it.`,
          tone: 'danger',
        });
    },
  });
}

/** A route of that instance, protected. */
export function protect(
  samekey: Samekey,
  options: Omit<RouteOptions<HttpRequest>, 'scope'>,
  handler: StageHandler,
): Serve {
  const { engine, defaults } = internalsOf(samekey);
  const route = compileRoute<HttpRequest>(
    defaults,
    { ...options, scope: () => ['shop', 'customer-1'] },
    engine.world,
    engine.fingerprintSecrets,
  );
  return async (request) => {
    const exchange = new StageExchange(request, handler);
    await handle(engine, route, exchange);
    return exchange.answer;
  };
}

/** Every door that answers by HTTP, by its name in `npm run prove -- --only fuzz:<name>`. */

import type { FuzzDoor } from '../../../testing/src/fuzz-contract.ts';
import { fastifyFuzz, koa2Fuzz, koaFuzz, lambdaFuzz, nextFuzz } from './context-doors.ts';
import { fetchFuzz, honoFetchFuzz, honoFuzz } from './fetch-doors.ts';
import { nestExpressFuzz, nestFastifyFuzz } from './nest-doors.ts';
import { express4Fuzz, expressFuzz, nodeFuzz, nodeMiddlewareFuzz } from './node-doors.ts';

export const DOORS: readonly FuzzDoor[] = [
  nodeFuzz,
  nodeMiddlewareFuzz,
  expressFuzz,
  express4Fuzz,
  koaFuzz,
  koa2Fuzz,
  nestExpressFuzz,
  nestFastifyFuzz,
  fastifyFuzz,
  lambdaFuzz,
  fetchFuzz,
  nextFuzz,
  honoFetchFuzz,
  // The last of them: its server puts classes of its own in place of the process's Request and Response.
  honoFuzz,
];

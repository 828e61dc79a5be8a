/** Every mutant, by area. A new area is a file beside this one and a line here. */
import { batcher } from './batcher.mjs';
import { calls } from './calls.mjs';
import { client } from './client.mjs';
import { clientStorage } from './client-storage.mjs';
import { clientLayers } from './client-layers.mjs';
import { operatorsPage } from './console.mjs';
import { operatorsLetters } from './console-letters.mjs';
import { deploys } from './deploys.mjs';
import { dialects } from './dialects.mjs';
import { doors } from './doors.mjs';
import { dynamodb } from './dynamodb.mjs';
import { engine } from './engine.mjs';
import { explainer } from './explainer.mjs';
import { identity } from './identity.mjs';
import { fuzz } from './fuzz.mjs';
import { koa } from './koa.mjs';
import { machine } from './machine.mjs';
import { memory } from './memory.mjs';
import { messages } from './messages.mjs';
import { mysql } from './mysql.mjs';
import { openapi } from './openapi.mjs';
import { phased } from './phased.mjs';
import { postgres } from './postgres.mjs';
import { reconcile } from './reconcile.mjs';
import { redis } from './redis.mjs';
import { reserved } from './reserved.mjs';
import { rpc } from './rpc.mjs';
import { seal } from './seal.mjs';
import { site } from './site.mjs';
import { sqlite } from './sqlite.mjs';
import { values } from './values.mjs';
import { verbs } from './verbs.mjs';
import { workers } from './workers.mjs';

/** @type {readonly import('./mutant.mjs').Area[]} */
export const AREAS = [
  { name: 'machine', mutants: machine },
  { name: 'memory', mutants: memory },
  { name: 'batcher', mutants: batcher },
  { name: 'engine', mutants: engine },
  { name: 'phased', mutants: phased },
  { name: 'reserved', mutants: reserved },
  { name: 'values', mutants: values },
  { name: 'calls', mutants: calls },
  { name: 'messages', mutants: messages },
  { name: 'workers', mutants: workers },
  { name: 'reconcile', mutants: reconcile },
  { name: 'seal', mutants: seal },
  { name: 'doors', mutants: doors },
  { name: 'koa', mutants: koa },
  { name: 'fuzz', mutants: fuzz },
  { name: 'dialects', mutants: dialects },
  { name: 'openapi', mutants: openapi },
  { name: 'client', mutants: client },
  { name: 'client-storage', mutants: clientStorage },
  { name: 'client-layers', mutants: clientLayers },
  { name: 'console', mutants: operatorsPage },
  { name: 'console-letters', mutants: operatorsLetters },
  { name: 'explainer', mutants: explainer },
  { name: 'rpc', mutants: rpc },
  { name: 'deploys', mutants: deploys },
  { name: 'identity', mutants: identity },
  { name: 'verbs', mutants: verbs },
  { name: 'sqlite', mutants: sqlite },
  { name: 'postgres', mutants: postgres },
  { name: 'mysql', mutants: mysql },
  { name: 'redis', mutants: redis },
  { name: 'dynamodb', mutants: dynamodb },
  { name: 'site', mutants: site },
];

/** In the order in which they run. */
export const MUTANTS = AREAS.flatMap(({ mutants }) => mutants);

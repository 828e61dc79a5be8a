/** The door of Koa keeps the adapter contract, on the oldest and the newest Koa that it is for. */

import { createRequire } from 'node:module';
import Koa from 'koa';
import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { koaHarness } from './koa-harness.ts';

// An alias without types of its own; what is used is the same in both versions.
const Koa2 = createRequire(import.meta.url)('koa2') as typeof Koa;

adapterContract({ describe, it }, koaHarness('Koa 2', Koa2));
adapterContract({ describe, it }, koaHarness('Koa 3', Koa));

/** The door of Fastify keeps the adapter contract. */

import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { fastifyHarness } from './fastify-harness.ts';

adapterContract({ describe, it }, fastifyHarness);

/** The Hono adapter keeps the adapter contract. */

import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { honoHarness } from './hono-harness.ts';

adapterContract({ describe, it }, honoHarness);

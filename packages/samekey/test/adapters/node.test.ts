/** The door of node:http keeps the adapter contract, as a listener and as middleware. */

import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { nodeHarness, nodeMiddlewareHarness } from './node-harness.ts';

adapterContract({ describe, it }, nodeHarness);
adapterContract({ describe, it }, nodeMiddlewareHarness);

/** Whole engines on the memory store. */

import { describe, it } from 'vitest';
import { engineContract } from '../../../testing/src/engine-contract.ts';
import { memoryHarness } from '../stores/memory-harness.ts';

engineContract({ describe, it }, memoryHarness());

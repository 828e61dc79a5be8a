/** Whole engines on the memory store. */

import { describe, it } from 'vitest';
import { engineContract } from '../../src/testing/engine-contract.ts';
import { memoryHarness } from '../stores/memory-harness.ts';

engineContract({ describe, it }, memoryHarness());

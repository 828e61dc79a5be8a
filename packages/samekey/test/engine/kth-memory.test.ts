/** The k-th call of the store meets a fault, in every way: on the memory store. */

import { describe, it } from 'vitest';
import { kthContract } from '../../../testing/src/kth-contract.ts';
import { memoryHarness } from '../stores/memory-harness.ts';

kthContract({ describe, it }, memoryHarness());

/** Whole engines on tiered stores. */

import { describe, it } from 'vitest';
import { engineContract } from '../../../testing/src/engine-contract.ts';
import { MEMORY_HARNESSES } from '../stores/tiered-setup.ts';

for (const harness of MEMORY_HARNESSES) engineContract({ describe, it }, harness);

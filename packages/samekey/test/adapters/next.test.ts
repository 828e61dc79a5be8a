/** The door of Next.js keeps the adapter contract. */

import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { nextHarness } from './next-harness.ts';

adapterContract({ describe, it }, nextHarness);

/** The Fetch adapter keeps the adapter contract. */

import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { fetchHarness } from './fetch-harness.ts';

adapterContract({ describe, it }, fetchHarness);

/** The door of NestJS keeps the adapter contract, on both platforms. */

import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { nestExpressHarness, nestFastifyHarness } from './nest-harness.ts';

adapterContract({ describe, it }, nestExpressHarness);
adapterContract({ describe, it }, nestFastifyHarness);

/** Express 4 keeps the adapter contract. */

import { createRequire } from 'node:module';
import type express from 'express';
import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { expressHarness } from './express-harness.ts';
import { expressAnswers } from './express-answers.ts';
import { expressSpecifics } from './express-specifics.ts';

// An alias without types of its own; what the harness uses is the same in both versions.
const express4 = createRequire(import.meta.url)('express4') as typeof express;

adapterContract({ describe, it }, expressHarness('Express 4', express4));
expressSpecifics('Express 4', express4);
expressAnswers('Express 4', express4);

/** Express 5 keeps the adapter contract. */

import express from 'express';
import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { expressHarness } from './express-harness.ts';
import { expressAnswers } from './express-answers.ts';
import { expressSpecifics } from './express-specifics.ts';

adapterContract({ describe, it }, expressHarness('Express 5', express));
expressSpecifics('Express 5', express);
expressAnswers('Express 5', express);

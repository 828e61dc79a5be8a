/** The door of AWS Lambda keeps the adapter contract, in three of the forms that its events have. */

import { describe, it } from 'vitest';
import { adapterContract } from '../../../testing/src/adapter-contract.ts';
import { lambdaHarness } from './lambda-harness.ts';

adapterContract({ describe, it }, lambdaHarness('a REST API'));
adapterContract({ describe, it }, lambdaHarness('an HTTP API'));
adapterContract({ describe, it }, lambdaHarness('a load balancer'));

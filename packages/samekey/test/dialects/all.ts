/** Every dialect there is, in the order of its page. */

import { CLOUDS } from './clouds.ts';
import { COMMERCE } from './commerce.ts';
import { GRAPHQL } from './graphql.ts';
import { PAYMENTS } from './payments.ts';
import type { Spoken } from './spoken.ts';
import { STANDARDS } from './standards.ts';

export const ALL: readonly Spoken[] = [...STANDARDS, ...PAYMENTS, ...GRAPHQL, ...CLOUDS, ...COMMERCE];

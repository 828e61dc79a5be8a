/** What an operator can do about a record, in words. What its state and reason mean is the console's to say too. */

import { reasonInWords, stateInWords } from '@samekey/console/words';
import type { SamekeyRecord } from 'samekey';

export { reasonInWords, stateInWords };

/**
 * The next step of an operator, as a sentence with its command; null when there is nothing to do. `name` names the
 * record.
 */
export function nextStep(record: SamekeyRecord, name: string, claimOver: boolean): string | null {
  switch (record.state) {
    case 'unknown':
      return `Find out what happened (the business tables, the provider), then: npx samekey settle ${name} --to completed|failed|retryable --reason …`;
    case 'in_progress':
      return claimOver
        ? 'Its claim is over and nobody has ended it: run `npx samekey janitor --once`, then look again.'
        : null;
    case 'failed':
      if (record.reason === 'outcome-never-known')
        return `Find out what happened (the business tables, the provider); if nothing did, it may run again: npx samekey reopen ${name} --no-effect --reason …`;
      return `If it may run again: npx samekey reopen ${name} --reason …`;
    default:
      return null;
  }
}

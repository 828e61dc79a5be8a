/** The row of a key, in the words in which it is shown. */

import { FAKE_WALL_START } from '@samekey/testing/world';
import type { SamekeyRecord } from 'samekey/internals/core/record';
import type { Field, Lane, Row } from './trace.ts';
import { seconds } from './http-lines.ts';

const decoder = new TextDecoder();

/** Shows a record as the database has it. */
export function rowOf(record: SamekeyRecord, lanes: readonly Lane[]): Row {
  const fields: Field[] = [
    { name: 'key', value: record.key },
    { name: 'state', value: record.state },
    { name: 'claim', value: claimOf(record, lanes) },
    { name: 'fingerprint', value: record.fingerprint?.digest.slice(0, 10) ?? 'none' },
  ];
  if (record.recoveryPoint !== null) fields.push({ name: 'recovery point', value: record.recoveryPoint });
  if (record.steps !== null) fields.push({ name: 'steps', value: stepsOf(record.steps) });
  if (record.reason !== null) fields.push({ name: 'reason', value: record.reason });
  if (record.proof !== null) fields.push({ name: 'proof', value: record.proof });
  fields.push({ name: 'answer', value: answerOf(record) });
  return { state: record.state, fields };
}

function claimOf({ claimId, attempt, state, lockedUntil }: SamekeyRecord, lanes: readonly Lane[]): string {
  const owner = claimId.split('.')[0] ?? claimId;
  const name = lanes.find(({ id }) => id === owner)?.title ?? owner;
  const until = state === 'in_progress' ? `, until ${seconds(lockedUntil - FAKE_WALL_START)}` : '';
  return `${name}, attempt ${attempt}${until}`;
}

function answerOf({ response }: SamekeyRecord): string {
  if (response === null) return 'none yet';
  return `${response.status} ${response.body === null ? '' : decoder.decode(response.body)}`.trim();
}

/** Steps are JSON that only the engine reads; their names say enough. */
function stepsOf(steps: string): string {
  const names = [...steps.matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name);
  return names.length === 0 ? 'stored' : names.join(', ');
}

/** Shows what a handler written by hand remembers: a key and an answer. */
export function rememberedRow(key: string, answer: string): Row {
  return {
    state: 'remembered',
    fields: [
      { name: 'key', value: key },
      { name: 'answer', value: answer },
    ],
  };
}

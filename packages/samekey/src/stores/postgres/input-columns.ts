/** The rows each statement is given: names, types and order of their columns. `input.ts` fills them. */

import type { InputColumn } from './parameters.ts';

const text = (name: string): InputColumn => ({ name, type: 'text' });
const int = (name: string): InputColumn => ({ name, type: 'int' });
const bigint = (name: string): InputColumn => ({ name, type: 'bigint' });

export const CLAIM_INPUT: readonly InputColumn[] = [
  text('scope'),
  text('key'),
  text('operation'),
  text('claim_id'),
  bigint('claim_ttl_ms'),
  text('when_claim_ends'),
  text('fingerprint_label'),
  text('fingerprint_digest'),
  bigint('retention_ms'),
  bigint('replay_min_ms'),
  bigint('attempt_max'),
  bigint('tombstone_ms'),
  int('format_version'),
];

/** What the locks of a reservation are made of. */
export const RESERVE_INPUT: readonly InputColumn[] = [
  text('scope'),
  text('key'),
  text('fingerprint_label'),
  text('fingerprint_digest'),
];

/** Who asks who has a key, by its place among those that ask. */
export const RESERVATION_INPUT: readonly InputColumn[] = [...RESERVE_INPUT, int('place')];

/** The record of a reserved key; `bodies` follow. */
export const RECORD_INPUT: readonly InputColumn[] = [
  ...CLAIM_INPUT,
  text('state'),
  int('attempt'),
  text('proof'),
  text('reason'),
  int('response_status'),
  text('response_headers'),
  text('response_trailers'),
  int('body_from'),
  int('body_length'),
  bigint('extend_ms'),
];

/** A claim that brings its input along, or is only noted; `bodies` follow. */
export const CLAIM_WITH_INPUT: readonly InputColumn[] = [
  ...CLAIM_INPUT,
  text('state'),
  int('attempt'),
  bigint('locked_ms'),
  int('input_from'),
  int('input_length'),
];

export const CHECKPOINT_INPUT: readonly InputColumn[] = [
  text('scope'),
  text('key'),
  text('claim_id'),
  int('attempt'),
  bigint('claim_ttl_ms'),
  text('recovery_point'),
  text('steps'),
  int('intent_open'),
  int('upon'),
];

/** A checkpoint that brings a reference. */
export const REFERRED_CHECKPOINT_INPUT: readonly InputColumn[] = [
  ...CHECKPOINT_INPUT,
  text('reference'),
  text('effect'),
];

export const HAND_OVER_INPUT: readonly InputColumn[] = [
  text('scope'),
  text('key'),
  text('claim_id'),
  int('attempt'),
];

export const RENEW_INPUT: readonly InputColumn[] = [
  text('scope'),
  text('key'),
  text('claim_id'),
  int('attempt'),
  bigint('claim_ttl_ms'),
];

export const FINISH_INPUT: readonly InputColumn[] = [
  text('scope'),
  text('key'),
  text('claim_id'),
  int('attempt'),
  text('state'),
  text('proof'),
  text('reason'),
  int('response_status'),
  text('response_headers'),
  text('response_trailers'),
  int('body_from'),
  int('body_length'),
  int('unbind'),
  bigint('extend_ms'),
  bigint('reconcile_after_ms'),
  int('handed_over'),
];

export const FIND_INPUT: readonly InputColumn[] = [text('scope'), text('key')];

/** What a row was when it was read: a write decided from it happens only if it still is that, to the version. */
export const SEEN_INPUT: readonly InputColumn[] = [
  text('scope'),
  text('key'),
  text('seen_version'),
  text('seen_claim_id'),
  int('seen_attempt'),
  text('seen_state'),
];

/** The row that an act by hand leaves in the audit, beside what the act writes. */
export const ACT_INPUT: readonly InputColumn[] = [
  text('audit_operation'),
  int('audit_attempt'),
  text('audit_act'),
  text('audit_from'),
  text('audit_to'),
  text('audit_reason'),
  text('audit_actor'),
];

/** A whole record as decided; times in milliseconds. */
export const WRITE_INPUT: readonly InputColumn[] = [
  ...SEEN_INPUT,
  text('operation'),
  text('state'),
  int('attempt'),
  text('claim_id'),
  bigint('locked_until'),
  bigint('claim_ttl_ms'),
  int('renewals'),
  text('when_claim_ends'),
  text('fingerprint_label'),
  text('fingerprint_digest'),
  text('proof'),
  text('reason'),
  int('response_status'),
  text('response_headers'),
  text('response_trailers'),
  int('format_version'),
  text('seal_key_id'),
  bigint('reconcile_after'),
  int('inquiries'),
  bigint('created_at'),
  bigint('finished_at'),
  bigint('expires_at'),
  bigint('replay_min_ms'),
  bigint('attempt_max'),
  bigint('tombstone_ms'),
  text('recovery_point'),
  text('steps'),
  bigint('intent_at'),
  int('body_from'),
  int('body_length'),
  int('input_from'),
  int('input_length'),
];

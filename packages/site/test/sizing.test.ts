import { expect, it } from 'vitest';
import { type Load, needsOf } from '../src/sizing.ts';

const LOAD: Load = {
  keysPerDay: 864_000,
  peakFactor: 10,
  retentionDays: 2,
  answerBytes: 270,
  processes: 4,
  flushMs: 1,
};

it('counts as was measured, for an answer of the size that was measured', () => {
  expect(needsOf(LOAD)).toEqual({
    keysPerSecond: 10,
    keysPerSecondAtPeak: 100,
    rows: 1_728_000,
    bytes: 1_728_000 * 1_022,
    bytesPerRecord: 1_022,
    logBytesPerDay: 864_000 * 1_283,
    flushesPerSecondAtPeak: 200,
    connections: 12,
    dynamodb: { writeUnitsPerSecondAtPeak: 500, readUnitsPerSecondAtPeak: 100, writeUnitsPerDay: 4_320_000 },
  });
});

it('an answer that is larger is stored once, and logged once', () => {
  const needs = needsOf({ ...LOAD, answerBytes: 1_270 });
  expect(needs.bytesPerRecord).toBe(2_022);
  expect(needs.logBytesPerDay).toBe(864_000 * 2_283);
  // Two KB in DynamoDB: one unit more for the write that stores it.
  expect(needs.dynamodb.writeUnitsPerSecondAtPeak).toBe(600);
});

it('a slow disk bounds the flushes: what waits is sent together', () => {
  expect(needsOf({ ...LOAD, peakFactor: 1_000, flushMs: 5 }).flushesPerSecondAtPeak).toBe(2_400);
  expect(needsOf({ ...LOAD, flushMs: 0 }).flushesPerSecondAtPeak).toBe(200);
});

it('nothing needs nothing but connections', () => {
  const needs = needsOf({ ...LOAD, keysPerDay: 0 });
  expect(needs).toMatchObject({
    rows: 0,
    bytes: 0,
    logBytesPerDay: 0,
    flushesPerSecondAtPeak: 0,
    connections: 12,
  });
});

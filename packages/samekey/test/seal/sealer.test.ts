/** A seal says where it stands: moved to any other place it does not open, and it tells nothing twice. */
import { expect, test } from 'vitest';
import { envelopeText, sealInBytes } from '../../src/seal/envelope.ts';
import { createSealer } from '../../src/seal/sealer.ts';
import { keyRing, type Seal } from '../../src/seal/ring.ts';
import { message } from '../../../testing/src/outbox/bench.ts';

const KEY = new Uint8Array(32).fill(7);
const ring = keyRing({ current: 'k1', keys: { k1: KEY } });
const sealer = createSealer(ring);
const ID = { scope: 'tenant-1', key: 'key-1' };
const BROKEN = { keyId: 'k1', cause: 'broken-seal' };

test('Steps open where they were sealed, and under no other scope or key', async () => {
  const steps = await sealer.steps(ID, '[1]');
  expect(await sealer.openSteps(ID, steps)).toBe('[1]');
  for (const other of [{ scope: 'tenant-2' }, { key: 'key-2' }])
    expect(await sealer.openSteps({ ...ID, ...other }, steps)).toMatchObject(BROKEN);
});

test('What was sealed as one part of a record opens as no other', async () => {
  const input = await sealer.input(ID, new TextEncoder().encode('[1]'));
  const asText = envelopeText(sealInBytes(input as Uint8Array) as Seal);
  expect(await sealer.openSteps(ID, asText)).toMatchObject(BROKEN);
});

test('A message opens under its own id and topic, and each of its parts as itself', async () => {
  const clear = { ...message(), headers: '{"a":1}', payload: '{"b":2}' };
  const stored = { ...clear, ...(await sealer.message(clear)) } as never as Parameters<
    typeof sealer.openMessage
  >[0];
  expect(await sealer.openMessage(stored)).toMatchObject({ headers: clear.headers, payload: clear.payload });
  for (const moved of [{ id: 'other' }, { topic: 'other' }, { payload: stored.headers as string }])
    expect((await sealer.openMessage({ ...stored, ...moved })).unreadable).toMatchObject(BROKEN);
});

test('No two seals begin with one IV, whatever they hold', async () => {
  const ivs = new Set<string>();
  for (let i = 0; i < 100; i += 1) {
    const { bytes } = await ring.seal(new Uint8Array(8), new Uint8Array());
    ivs.add(bytes.subarray(0, 12).join());
  }
  expect(ivs.size).toBe(100);
});

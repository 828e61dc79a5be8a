import { describe, expect, it } from 'vitest';
import { settingsOfRequests } from '../../src/core/settings.ts';

describe('settings of requests', () => {
  it('follow what each request brings, whatever the last one of its operation brought', () => {
    const settingsOf = settingsOfRequests({ policy: 'standard', claimTtlMs: 20_000 });
    const first = settingsOf('pay', {});
    expect(settingsOf('pay', {})).toBe(first);
    expect(settingsOf('pay', { claimTtlMs: 5_000 }).claimTtlMs).toBe(5_000);
    expect(settingsOf('pay', { policy: 'payments' }).policy.name).toBe('payments');
    expect(settingsOf('pay', {})).toEqual(first);
    expect(() => settingsOf('pay', { claimTtlMs: 0 })).toThrow(/claimTtlMs/);
    expect(settingsOf('pay', {})).toEqual(first);
  });

  it('are not those of another operation, of however many', () => {
    const settingsOf = settingsOfRequests({ policy: 'standard' });
    for (let i = 1; i <= 1_000; i++)
      expect(settingsOf(`operation-${i}`, { retentionMs: i }).retentionMs).toBe(i);
    expect(settingsOf('operation-1', { retentionMs: 1 }).retentionMs).toBe(1);
  });
});

import { describe, expect, it } from 'vitest';
import { drawnFrom } from './slice.ts';

const none = async (): Promise<void> => undefined;

function collect(
  seed: number,
  share: number,
): { readonly groups: Map<string, string[]>; readonly bare: string[] } {
  const groups = new Map<string, string[]>();
  const bare: string[] = [];
  let group: string[] = bare;
  const drawn = drawnFrom(
    {
      describe(title, body) {
        const around = group;
        group = [];
        groups.set(title, group);
        body();
        group = around;
      },
      it: (title) => void group.push(title),
    },
    seed,
    share,
  );
  drawn.it('bare', none);
  drawn.describe('outer', () => {
    for (let i = 0; i < 100; i += 1) drawn.it(`outer ${i}`, none);
    drawn.describe('inner', () => {
      for (let i = 0; i < 3; i += 1) drawn.it(`inner ${i}`, none);
    });
  });
  return { groups, bare };
}

describe('a part of a contract', () => {
  it('is a part, holds one test of each group at least, and follows from its seed', () => {
    const all = new Set<string>();
    for (let seed = 1; seed <= 60; seed += 1) {
      const { groups, bare } = collect(seed, 0.2);
      const [outer = [], inner = []] = [groups.get('outer'), groups.get('inner')];
      expect(bare).toEqual(['bare']);
      expect(outer.length).toBeGreaterThan(0);
      expect(outer.length).toBeLessThan(60);
      expect(outer.every((title) => title.startsWith('outer'))).toBe(true);
      expect(inner.length).toBeGreaterThan(0);
      expect(collect(seed, 0.2).groups.get('outer')).toEqual(outer);
      for (const title of [...outer, ...inner]) all.add(title);
    }
    // In the long run nothing is left out.
    expect(all.size).toBe(103);
  });
});

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { goldenShop } from '../../golden-shop.ts';

goldenShop('golden-pg/server.mjs');

// What the examples are to show: that the way in which the database is used makes no difference.
it('has the server and the provider of the other golden examples', () => {
  for (const file of ['server.mjs', 'provider.mjs']) {
    const [one, ...others] = ['golden-pg', 'golden-kysely', 'golden-prisma'].map((example) =>
      readFileSync(new URL(`../../${example}/${file}`, import.meta.url), 'utf8'),
    );
    for (const other of others) expect(other).toBe(one);
  }
});

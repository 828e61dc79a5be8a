/** Server actions of Next.js, called as Next calls them: with a form, or with arguments. */

import { describe, expect, it } from 'vitest';
import { type ActionOptions, idempotentAction } from '../../src/adapters/next/index.ts';
import type { Attempt } from '../../src/engine/attempt.ts';
import { createSamekey } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate } from '../../../testing/src/adapter/kit.ts';

type Shown = { readonly paid: string } | { readonly refused: string };
type Options = ActionOptions<[FormData], Shown>;

const OPTIONS: Options = {
  name: 'pay',
  policy: 'payments',
  scope: async () => 'ann',
  keyIn: ({ args: [given] }) => textOf(given, 'key'),
  refused: ({ code }) => ({ refused: code }),
};

function form(fields: Record<string, string | Blob>): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.append(name, value);
  return made;
}

function textOf(given: FormData, field: string): string | null {
  const value = given.get(field);
  return typeof value === 'string' ? value : null;
}

function file(bytes: string): File {
  return new File([bytes], 'a.pdf', { type: 'application/pdf' });
}

/** An error as Next's own functions throw it. */
function thrown(digest: string): Error {
  return Object.assign(new Error(digest), { digest });
}

/** An action, and how often it ran. */
function counted(
  run: (attempt: Attempt | null, given: FormData) => Promise<Shown> | Shown = (_attempt, given) => ({
    paid: textOf(given, 'cents') ?? '',
  }),
  options: Partial<Options> = {},
) {
  const samekey = createSamekey({ store: memoryStore() });
  const ran = { count: 0 };
  const pay = idempotentAction(
    samekey,
    { ...OPTIONS, ...options },
    async (attempt, given: FormData): Promise<Shown> => {
      ran.count += 1;
      return run(attempt, given);
    },
  );
  return { pay, ran };
}

describe('a server action', () => {
  it('runs once for a key, and gives the same to whoever sends the form again', async () => {
    const { pay, ran } = counted((attempt, given) => {
      expect(attempt).not.toBeNull();
      return { paid: textOf(given, 'cents') ?? '' };
    });
    const first = await pay(form({ key: 'k', cents: '1' }));
    expect(first).toEqual({ paid: '1' });
    // What Next adds to a form differs from deploy to deploy.
    expect(await pay(form({ $ACTION_ID_4f: '', key: 'k', cents: '1', $ACTION_KEY: 'x' }))).toEqual(first);
    expect(await pay(form({ key: 'k', cents: '2' }))).toEqual({ refused: 'key-reused' });
    expect(await pay(form({ cents: '1' }))).toEqual({ refused: 'key-missing' });
    expect(ran.count).toBe(1);
  });

  it('that is called twice at once runs once', async () => {
    const held = gate();
    const { pay, ran } = counted(async () => {
      await held.opened;
      return { paid: 'all' };
    });
    const both = [pay(form({ key: 'k' })), pay(form({ key: 'k' }))];
    await expect.poll(() => ran.count).toBe(1);
    held.open();
    expect(await Promise.all(both)).toContainEqual({ paid: 'all' });
    expect(await pay(form({ key: 'k' }))).toEqual({ paid: 'all' });
    expect(ran.count).toBe(1);
  });

  for (const digest of [
    'NEXT_REDIRECT;push;/thanks?a=1;b;303;',
    'NEXT_REDIRECT;replace;/moved;308;',
    'NEXT_HTTP_ERROR_FALLBACK;404',
  ]) {
    it(`that ends by ${digest} has ended, and a retry is led to the same place`, async () => {
      const { pay, ran } = counted(() => {
        throw thrown(digest);
      });
      await expect(pay(form({ key: 'k' }))).rejects.toMatchObject({ digest });
      await expect(pay(form({ key: 'k' }))).rejects.toMatchObject({ digest });
      expect(ran.count).toBe(1);
    });
  }

  it('that throws is thrown on, and nobody knows its outcome', async () => {
    const error = thrown('1234567');
    const { pay, ran } = counted(() => {
      throw error;
    });
    await expect(pay(form({ key: 'k' }))).rejects.toBe(error);
    expect(await pay(form({ key: 'k' }))).toEqual({ refused: 'outcome-unknown' });
    expect(ran.count).toBe(1);
  });

  it('with a file is another one with other bytes of the same name', async () => {
    const { pay, ran } = counted(() => ({ paid: 'x' }));
    await pay(form({ key: 'k', bill: file('one') }));
    expect(await pay(form({ key: 'k', bill: file('one') }))).toEqual({ paid: 'x' });
    expect(await pay(form({ key: 'k', bill: file('two') }))).toEqual({ refused: 'key-reused' });
    expect(ran.count).toBe(1);
  });

  it('may leave out what differs on a retry, and takes plain arguments', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    let runs = 0;
    const pay = idempotentAction(
      samekey,
      {
        name: 'pay',
        policy: 'payments',
        scope: () => 'ann',
        keyIn: ({ args }) => args[1].key,
        input: ({ args }) => args[1],
        refused: ({ code }) => ({ refused: code }),
      },
      async (_attempt: Attempt | null, _state: object | null, { cents }: { key: string; cents: number }) => ({
        paid: cents + (runs += 1),
      }),
    );
    expect(await pay(null, { key: 'k', cents: 1 })).toEqual({ paid: 2 });
    expect(await pay({ paid: 2 }, { key: 'k', cents: 1 })).toEqual({ paid: 2 });
    expect(await pay(null, { key: 'k', cents: 2 })).toEqual({ refused: 'key-reused' });
  });

  it('without a key runs unprotected where that is said', async () => {
    const { pay, ran } = counted((attempt) => ({ paid: attempt === null ? 'null' : 'protected' }), {
      required: false,
    });
    expect(await pay(form({ cents: '1' }))).toEqual({ paid: 'null' });
    expect(await pay(form({ cents: '1' }))).toEqual({ paid: 'null' });
    expect(ran.count).toBe(2);
  });

  it.each([['name'], ['keyIn'], ['refused'], ['scope']])('is refused at once without %s', (missing) => {
    const { [missing as 'name']: _left, ...rest } = OPTIONS;
    expect(() =>
      idempotentAction(createSamekey({ store: memoryStore() }), rest as Options, async () => ({ paid: '' })),
    ).toThrow(expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS' }));
  });
});

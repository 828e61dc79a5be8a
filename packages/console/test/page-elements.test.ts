/**
 * The page's elements without a browser: what is done is what was previewed, whatever somebody types, chooses or opens
 * while the server thinks.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Me, Whole } from '../src/api.ts';
import { ActElement } from '../src/page/act-element.ts';
import { signIn } from '../src/page/ask-server.ts';
import { AuditElement } from '../src/page/audit-element.ts';
import { BulkElement } from '../src/page/bulk-element.ts';
import { LettersElement } from '../src/page/letters-element.ts';
import { OverviewElement } from '../src/page/overview-element.ts';
import { RecordElement } from '../src/page/record-element.ts';

type Fields = Record<string, string>;
type Handler = (event: object) => unknown;
interface Template {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
}
interface Sent {
  readonly verb: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- what a test looks at is what was sent
  readonly body: any;
}

const sent: Sent[] = [];
/** What the server answers to each verb; a promise is one that takes its time. */
const answers: Record<string, (body: Sent['body']) => unknown> = {};
const kept = { fetch: globalThis.fetch, FormData: globalThis.FormData };

beforeAll(() => {
  Object.assign(globalThis, {
    location: { hash: '', pathname: '/', search: '' },
    FormData: class {
      readonly #fields: Fields;
      constructor(fields: Fields) {
        // As a browser does: what stands there now.
        this.#fields = { ...fields };
      }
      get(name: string): string | null {
        return this.#fields[name] ?? null;
      }
    },
    async fetch(url: string, { body }: { body: string }) {
      const verb = url.replace('api/', '');
      const asked = JSON.parse(body);
      sent.push({ verb, body: asked });
      const answer = await answers[verb]?.(asked);
      const isOk = !(answer instanceof Error);
      const value = isOk ? answer : { code: 'away', message: answer.message };
      return { ok: isOk, status: isOk ? 200 : 503, json: async () => value };
    },
  });
  const elements = { ActElement, AuditElement, BulkElement, LettersElement, OverviewElement, RecordElement };
  for (const [name, element] of Object.entries(elements))
    customElements.define(`test-${name.toLowerCase()}`, element);
});
afterAll(() => void Object.assign(globalThis, kept));
beforeEach(() => {
  sent.length = 0;
  for (const verb of Object.keys(answers)) delete answers[verb];
});

/** Something that ends when the test says so. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let go: (() => void) | undefined;
  const opened = new Promise<void>((resolve) => {
    go = resolve;
  });
  return { opened, open: () => go?.() };
}
/** Lets everything that can go on go on. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

function* parts(value: unknown): Generator<{ readonly before: string; readonly value: unknown }> {
  if (Array.isArray(value)) for (const each of value) yield* parts(each);
  if (typeof value !== 'object' || value === null || !('strings' in value)) return;
  const { strings, values } = value as Template;
  for (const [i, each] of values.entries()) {
    yield { before: strings[i] ?? '', value: each };
    yield* parts(each);
  }
}
interface Drawn {
  render(): unknown;
}
function handlers(element: Drawn, ending: string): Handler[] {
  const found: Handler[] = [];
  for (const { before, value } of parts(element.render()))
    if (typeof value === 'function' && before.endsWith(ending)) found.push(value as Handler);
  return found;
}
function textOf(element: Drawn): string {
  return [...parts(element.render())]
    .flatMap(({ before, value }) => [before, typeof value === 'string' ? value : ''])
    .join(' ');
}
/** Gives it another value, as its parent does. */
function set(element: { willUpdate(changed: never): void }, name: string, value: unknown): void {
  const before: unknown = Reflect.get(element, name);
  Reflect.set(element, name, value);
  element.willUpdate(new Map([[name, before]]) as never);
}
const submit = (element: Drawn, target: Fields, which = 0): unknown =>
  handlers(element, '@submit=')[which]?.({ preventDefault: () => undefined, target });
const me = { rights: ['settle', 'reveal', 'requeue', 'drop', 'erase'], keepsMessages: true } as unknown as Me;
const acts = (): readonly Sent[] =>
  sent.filter(({ verb }) => ['act', 'erase', 'requeue', 'drop'].includes(verb));

function whole(key: string, attempt = 1): Whole {
  return {
    now: 0,
    row: {
      scope: 's',
      key,
      claimId: `claim-${key}`,
      attempt,
      state: 'unknown',
      operation: 'op',
      caller: 's',
    },
    meaning: 'm',
    why: null,
    next: null,
    facts: [],
    moments: [],
    openEffect: null,
    answer: { status: 200, headers: [], bytes: 3, outline: null },
    isBodyKept: true,
    input: null,
    results: [],
    messages: [],
    acts: ['settle'],
  } as unknown as Whole;
}

const ANSWER: Fields = { reason: 'why', status: '201', body: '{"id":1}' };
function actElement(): ActElement {
  const element = new ActElement();
  element.whole = whole('A');
  element.me = me;
  answers['preview'] = ({ to }) => ({ kind: 'applied', because: null, row: null, lines: [`shown: ${to}`] });
  answers['act'] = ({ to }) => ({ kind: 'applied', because: null, row: null, lines: [`did: ${to}`] });
  return element;
}

describe('an act on a record', () => {
  it('does exactly what was previewed, once, whatever the fields say by then', async () => {
    const element = actElement();
    handlers(element, '@click=')[0]?.({});
    const fields = { ...ANSWER };
    await submit(element, fields);
    expect(textOf(element)).toContain('shown: completed');
    // A field that changes without an event, as a browser’s own filling does.
    fields['body'] = '{"id":2}';
    const waits = gate();
    answers['act'] = () => waits.opened.then(() => ({ kind: 'applied', row: null, lines: ['did it'] }));
    const first = submit(element, fields);
    const second = submit(element, fields);
    waits.open();
    await Promise.all([first, second]);
    expect(acts().map(({ body }) => body.response.body)).toEqual(['{"id":1}']);
    expect(textOf(element)).toContain('did it');
  });

  it('drops a preview that was under way when something else was chosen or typed', async () => {
    const element = actElement();
    const waits = gate();
    handlers(element, '@click=')[0]?.({});
    answers['preview'] = () => waits.opened.then(() => ({ kind: 'applied', row: null, lines: ['too late'] }));
    const looking = submit(element, ANSWER);
    handlers(element, '@click=')[1]?.({});
    waits.open();
    await looking;
    expect(textOf(element)).not.toContain('too late');
    await submit(element, ANSWER);
    expect(acts()).toEqual([]);
    handlers(element, '@input=')[0]?.({});
    await submit(element, ANSWER);
    expect(acts()).toEqual([]);
  });

  it('drops a preview when the record has moved on, or is another one', async () => {
    for (const next of [whole('A', 2), whole('B')]) {
      const element = actElement();
      handlers(element, '@click=')[0]?.({});
      await submit(element, ANSWER);
      set(element, 'whole', next);
      expect(textOf(element)).not.toContain('shown: completed');
    }
  });

  it('says of an act what became of it, and never on the page of another record', async () => {
    for (const end of [new Error('lost'), { kind: 'applied', row: null, lines: ['did A'] }]) {
      const element = actElement();
      handlers(element, '@click=')[0]?.({});
      await submit(element, ANSWER);
      const waits = gate();
      answers['act'] = () => waits.opened.then(() => end);
      const doing = submit(element, ANSWER);
      set(element, 'whole', whole('B'));
      waits.open();
      await doing;
      expect(textOf(element)).not.toMatch(/did A|lost|Done/);
    }
  });
});

async function lettersOf(topic: string): Promise<LettersElement> {
  const element = new LettersElement();
  element.me = me;
  await turnTo(element, topic);
  return element;
}
async function turnTo(element: LettersElement, topic: string): Promise<void> {
  set(element, 'topic', topic);
  await settled();
}
function chooseAll(element: LettersElement): void {
  handlers(element, '@change=')[0]?.({ target: { checked: true } });
}
async function drop(element: LettersElement): Promise<void> {
  handlers(element, '@click=')[1]?.({});
  await settled();
}

describe('dead letters', () => {
  const dead: Record<string, string[]> = {};
  beforeEach(() => {
    Object.assign(dead, { '': [], A: ['a1', 'a2'], B: ['b1', 'b2', 'b3'] });
    answers['letters'] = ({ topic }) => ({
      now: 0,
      letters: (dead[topic] ?? []).map((id) => ({ id, topic, dueAt: 0, owner: null, lastError: null })),
      after: null,
      topics: [],
    });
    for (const [verb, end] of [
      ['preview-drop', 'would'],
      ['drop', 'done'],
    ] as const)
      answers[verb] = ({ ids }) => {
        const rows = ids.map((id: string) => ({ id, end, why: null }));
        return { rows, counts: { [end]: rows.length } };
      };
  });

  it('of one topic that were tried dry are not those of another that is opened then', async () => {
    const element = await lettersOf('A');
    handlers(element, '@change=')[1]?.({});
    await drop(element);
    expect(textOf(element)).toContain('Drop them');
    await turnTo(element, 'B');
    expect(textOf(element)).not.toContain('Drop them');
    expect(element.chosen).toEqual(new Set());
    await submit(element, { reason: 'mend' });
    expect(acts()).toEqual([]);
  });

  it('of which all are meant begin a job, once, which is led to; nothing is done here', async () => {
    const element = await lettersOf('A');
    const waits = gate();
    answers['bulk-try'] = () => waits.opened.then(() => ({ id: 'j1' }));
    chooseAll(element);
    Object.defineProperty(element, 'isConnected', { value: true });
    await drop(element);
    await drop(element);
    waits.open();
    await settled();
    expect(sent.filter(({ verb }) => verb !== 'letters')).toEqual([
      { verb: 'bulk-try', body: { request: { act: 'drop' }, filter: { topic: 'A' } } },
    ]);
    expect(location.hash).toBe('#/bulk?id=j1');
    location.hash = '';
  });

  it('lead nobody to a job of a topic that was left meanwhile, and tell of one that did not begin', async () => {
    const element = await lettersOf('A');
    const waits = gate();
    answers['bulk-try'] = () => waits.opened.then(() => ({ id: 'j1' }));
    chooseAll(element);
    Object.defineProperty(element, 'isConnected', { value: true });
    await drop(element);
    await turnTo(element, 'B');
    waits.open();
    await settled();
    expect(location.hash).toBe('');
    answers['bulk-try'] = () => new Error('2 jobs are running');
    chooseAll(element);
    await drop(element);
    expect(textOf(element)).toContain('2 jobs are running');
  });

  it('that were ticked while the dry run was under way count for nothing', async () => {
    const element = await lettersOf('B');
    handlers(element, '@change=')[1]?.({});
    const waits = gate();
    const answer = answers['preview-drop'];
    answers['preview-drop'] = (body) => waits.opened.then(() => answer?.(body));
    await drop(element);
    handlers(element, '@change=')[2]?.({});
    waits.open();
    await settled();
    await submit(element, { reason: 'mend' });
    expect(acts()).toEqual([]);
  });

  it('that have died since the dry run are left alone', async () => {
    const element = await lettersOf('A');
    handlers(element, '@change=')[1]?.({});
    handlers(element, '@change=')[2]?.({});
    await drop(element);
    dead['A']?.push('a3');
    await submit(element, { reason: 'mend' });
    expect(acts().map(({ body }) => body)).toEqual([{ ids: ['a1', 'a2'], topic: 'A', reason: 'mend' }]);
  });

  it('tell of a failure after they were read again', async () => {
    const element = await lettersOf('A');
    handlers(element, '@change=')[1]?.({});
    handlers(element, '@change=')[2]?.({});
    await drop(element);
    answers['drop'] = () => new Error('may or may not have been done');
    await submit(element, { reason: 'mend' });
    await settled();
    expect(textOf(element)).toContain('may or may not have been done');
  });
});

describe('erasing a caller', () => {
  it('erases the one that was previewed: not the one that was typed while the server looked', async () => {
    const element = new AuditElement();
    element.me = me;
    answers['audit'] = () => ({ now: 0, rows: [], before: null });
    const waits = gate();
    answers['preview-erase'] = ({ caller }) =>
      waits.opened.then(() => ({ erased: 1, left: 0, lines: [`about ${caller}`] }));
    answers['erase'] = () => ({ erased: 1, left: 0, lines: ['gone'] });
    const fields = { caller: 'acme/alice', reason: 'article 17' };
    const looking = submit(element, fields);
    fields.caller = 'acme';
    handlers(element, '@input=')[0]?.({});
    waits.open();
    await looking;
    expect(textOf(element)).not.toContain('about acme/alice');
    await submit(element, fields);
    expect(acts()).toEqual([]);
    fields.caller = 'somebody else';
    await Promise.all([submit(element, fields), submit(element, fields)]);
    expect(acts().map(({ body }) => body.caller)).toEqual(['acme']);
  });
});

describe('a token in the address', () => {
  it.each(['#token=abc', '#token=a+b/c==', '#token=abc&x=1', '#token=abc%20', '#token='])(
    '%s leaves it, whatever it is',
    async (hash) => {
      const left: string[] = [];
      Object.assign(globalThis.location, { hash });
      Object.assign(globalThis, {
        history: { replaceState: (_state: unknown, _title: string, url: string) => left.push(url) },
      });
      answers['session'] = () => ({ ok: true });
      await signIn();
      Object.assign(globalThis.location, { hash: '' });
      expect(left).toEqual(['/#/']);
      expect(sent).toEqual([{ verb: 'session', body: { token: hash.slice('#token='.length) } }]);
    },
  );
});

describe('a record', () => {
  it('never shows what another one holds, or is', async () => {
    const element = new RecordElement();
    element.me = me;
    const waits = gate();
    answers['record'] = ({ key }) => whole(key);
    answers['reveal'] = ({ key }) =>
      waits.opened.then(() => ({
        answer: { headers: [], body: `held by ${key}` },
        input: null,
        results: [],
        messages: [],
        isCut: false,
      }));
    set(element, 'target', { scope: 's', key: 'A' });
    await settled();
    const revealing = submit(element, { reason: 'ticket' });
    set(element, 'target', { scope: 's', key: 'B' });
    await settled();
    waits.open();
    await revealing;
    expect(element.whole?.row.key).toBe('B');
    expect(textOf(element)).not.toContain('held by A');
    const slow = gate();
    answers['record'] = ({ key }) => (key === 'A' ? slow.opened.then(() => whole(key)) : whole(key));
    set(element, 'target', { scope: 's', key: 'A' });
    set(element, 'target', { scope: 's', key: 'B' });
    await settled();
    slow.open();
    await settled();
    expect(element.whole?.row.key).toBe('B');
  });

  it('are asked for once, however often somebody presses Enter', async () => {
    const element = new RecordElement();
    element.me = me;
    answers['record'] = ({ key }) => whole(key);
    const waits = gate();
    answers['reveal'] = () =>
      waits.opened.then(() => ({ answer: null, input: null, results: [], messages: [] }));
    set(element, 'target', { scope: 's', key: 'A' });
    await settled();
    const looks = [submit(element, { reason: 'ticket' }), submit(element, { reason: 'ticket' })];
    waits.open();
    await Promise.all(looks);
    expect(sent.filter(({ verb }) => verb === 'reveal')).toHaveLength(1);
  });
});

describe('dead letters that could not be counted', () => {
  it.each([
    [null, /not counted yet/],
    [0, /^(?!.*not counted yet)/s],
  ])('counted at %s: are not shown as none', (deadAt, words) => {
    const element = new OverviewElement();
    element.overview = {
      now: 0,
      counts: null,
      unknown: [],
      stuck: [],
      operations: [],
      looked: 0,
      isCut: false,
      dead: [],
      deadAt,
    };
    expect(JSON.stringify(element.render())).toMatch(words);
  });
});

describe('a job', () => {
  const job = {
    id: 'j',
    act: 'settle',
    words: 'settle to completed',
    does: ['It becomes completed, for good.'],
    actor: 'alice',
    phase: 'tried',
    startedAt: 0,
    endedAt: 0,
    reason: null,
    looked: 1,
    cut: [],
    isStopping: false,
    fault: null,
    counts: { would: 2 },
    whys: [],
  };
  const page = { now: 0, job, given: [['status', '201']], after: null };
  const line = { scope: 's', key: 'line', end: 'would', why: null };

  async function jobElement(more: object = {}): Promise<BulkElement> {
    const element = new BulkElement();
    element.me = me;
    answers['bulk'] = ({ after }) => ({
      ...page,
      ...more,
      lines: [{ ...line, key: `line-${after}` }],
      after: after === 0 ? 1 : null,
    });
    set(element, 'job', 'j');
    await settled();
    return element;
  }

  it('says what it does before somebody does it', async () => {
    const element = await jobElement();
    expect(JSON.stringify([...parts(element.render())].map(({ value }) => value))).toMatch(
      /for good.*"Status".*201/s,
    );
  });

  it('keeps the lines that "More" has brought when it is read anew, and what was said of a refused wish', async () => {
    const element = await jobElement();
    const [more] = handlers(element, '@click=');
    more?.({});
    await settled();
    expect(element.lines.map(({ key }) => key)).toEqual(['line-0', 'line-1']);
    answers['bulk-do'] = () => new Error('two are running');
    await submit(element, { reason: 'why' });
    set(element, 'end', '');
    handlers(element, '@change=')[0]?.({ target: { value: '' } });
    await settled();
    expect(sent.findLast(({ verb }) => verb === 'bulk')?.body).toMatchObject({ after: 0, limit: 2 });
    expect(String((element.refused as Error).message)).toContain('two are running');
  });

  it('says of what was left when it stopped that it was not done', async () => {
    const element = await jobElement({ job: { ...job, phase: 'stopped' } });
    expect(textOf(element)).toContain('2 not done');
  });
});

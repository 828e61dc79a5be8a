/** The voice: silent unless somebody switches it on, and never speaking over itself. Without a browser. */

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Reader } from '../src/view/reader.ts';
import { shownOf } from './template-shown.ts';

/** What the voice was told to do. */
let told: string[] = [];
let spoken: EventTarget | null = null;

class Utterance extends EventTarget {
  readonly text: string;
  constructor(text: string) {
    super();
    this.text = text;
  }
}

beforeEach(() => {
  told = [];
  vi.stubGlobal('SpeechSynthesisUtterance', Utterance);
  vi.stubGlobal('speechSynthesis', {
    cancel: () => void told.push('hush'),
    speak(words: Utterance) {
      told.push(words.text);
      spoken = words;
    },
  });
});
afterEach(() => void vi.unstubAllGlobals());

function page(words: string) {
  const host = {
    words,
    addController: () => undefined,
    removeController: () => undefined,
    requestUpdate: () => reader.hostUpdated(),
    updateComplete: Promise.resolve(true),
  };
  const reader = new Reader(host);
  const press = (): void => shownOf(reader.toggle).handlers[0]?.();
  return { host, reader, press };
}

it('says nothing unless it is switched on, each caption once, and is hushed when it is switched off', () => {
  const { host, reader, press } = page('one');
  reader.hostUpdated();
  expect(told).toEqual([]);
  press();
  reader.hostUpdated();
  host.words = 'two';
  reader.hostUpdated();
  press();
  expect(told).toEqual(['hush', 'one', 'hush', 'two', 'hush']);
});

it('is hushed with its page, and says when it has ended', async () => {
  const { reader, press } = page('one');
  let isOver = false;
  press();
  void reader.ended.then(() => {
    isOver = true;
  });
  await Promise.resolve();
  expect(isOver).toBe(false);
  spoken?.dispatchEvent(new Event('end'));
  await reader.ended;
  reader.hostDisconnected();
  expect(told.at(-1)).toBe('hush');
});

it('offers nothing where there is no voice', () => {
  vi.stubGlobal('speechSynthesis', undefined);
  expect(page('one').reader.toggle).toBe('');
});

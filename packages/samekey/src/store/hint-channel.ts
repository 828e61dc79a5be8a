/**
 * Hints over any channel that all processes hear (NOTIFY, PUBLISH): a process that waits for a key is told that the
 * record changed, so that it reads now and not with its next look. Nothing is said unless somebody asked: who waits
 * says so once, on the same channel, and the process that finishes remembers.
 *
 * Invariants: a hint decides nothing, so everything here may be lost · nothing throws, nothing is awaited by a
 * request · on the channel stand 32 bits of each key: enough to find who waits, too few to tell a key · bounded memory
 * and payloads.
 */

import { idText, type RecordId } from '../core/record.ts';
import type { ChangeHints } from './store.ts';

/** Hints over one channel. */
interface HintChannel extends ChangeHints {
  /** A payload of the channel, of this process too. */
  heard(payload: string): void;
  /** The channel is being listened to, for the first time or again: what was said meanwhile is lost. */
  opened(): void;
  /** It is not any more. */
  closed(): void;
}

/** A payload of NOTIFY must be shorter than 8,000 bytes; a name takes nine. */
const NAMES_MAX = 800;
/** Keys of others that are remembered; the oldest is forgotten, and who waits for it reads. */
const ASKED_MAX = 10_000;

const WAITS = 'w';
const CHANGED = 'c';

/** Makes the hints of one process; `send` puts a payload on the channel, and may reject. */
export function createHintChannel(send: (payload: string) => Promise<unknown>): HintChannel {
  const watched = new Map<string, Set<() => void>>();
  const asked = new Set<string>();
  const unsaid = { [WAITS]: new Set<string>(), [CHANGED]: new Set<string>() };
  let isOpen = false;
  let isSaying = false;

  function remember(name: string): void {
    asked.delete(name);
    asked.add(name);
    const [oldest] = asked;
    if (asked.size > ASKED_MAX && oldest !== undefined) asked.delete(oldest);
  }

  function say(kind: typeof WAITS | typeof CHANGED, name: string): void {
    if (!isOpen) return;
    unsaid[kind].add(name);
    // With the turn's end, so that what changed together is told together.
    if (isSaying) return;
    isSaying = true;
    queueMicrotask(() => void sayAll());
  }

  /** One after the other: while one is under way the next gathers. */
  async function sayAll(): Promise<void> {
    for (;;) {
      const kind = unsaid[CHANGED].size > 0 ? CHANGED : WAITS;
      const names = [...unsaid[kind]].slice(0, NAMES_MAX);
      if (names.length === 0 || !isOpen) {
        isSaying = false;
        return;
      }
      for (const name of names) unsaid[kind].delete(name);
      try {
        await send([kind, ...names].join(','));
      } catch {
        // Who waits reads all the same; a lost connection is noticed by its own event.
      }
    }
  }

  return {
    heard(payload) {
      const [kind, ...names] = payload.split(',');
      for (const name of names) {
        if (kind === WAITS) remember(name);
        else {
          asked.delete(name);
          for (const changed of watched.get(name) ?? []) changed();
        }
      }
    },
    opened() {
      isOpen = true;
      // What was said while nobody listened is lost: ask again, and let everybody look once.
      for (const [name, listeners] of watched) {
        say(WAITS, name);
        for (const changed of listeners) changed();
      }
    },
    closed() {
      isOpen = false;
    },
    watch(id, changed) {
      const name = shortName(idText(id));
      const listeners = watched.get(name) ?? new Set();
      watched.set(name, listeners.add(changed));
      say(WAITS, name);
      return () => {
        listeners.delete(changed);
        if (listeners.size === 0 && watched.get(name) === listeners) watched.delete(name);
      };
    },
    changed(id: RecordId) {
      if (asked.size === 0) return;
      const name = shortName(idText(id));
      if (asked.has(name)) say(CHANGED, name);
    },
  };
}

/** FNV-1a, 32 bits. Two keys that share a name cost a read in vain. */
export function shortName(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

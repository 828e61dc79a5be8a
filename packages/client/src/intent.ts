/**
 * `@samekey/client/intent`: what a page shows of one intent, for whatever draws it. Who asks for the same name gets the
 * same state, and the user's other tabs are told by a `BroadcastChannel`.
 *
 * Invariants: nothing is sent because somebody looks · other tabs hear what became of it, never its answer or its key ·
 * tabs of another user hear nothing · what another tab does is `waiting`, for a bounded time.
 */

import type { Client, OpenOperation } from './client.ts';
import type { ClientOperation } from './named-operation.ts';
import { checkNames, type WhenDone } from './options.ts';
import type { ClientResult } from './results.ts';

/** What is shown. */
export interface Shown {
  /**
   * `waiting`: a call is under way, here or in another tab, or the pending store has not been read yet · `open`: an
   * earlier page has left it · else what became of the last call.
   */
  readonly status: 'waiting' | 'open' | 'idle' | ClientResult['outcome'];
  /** What became of the last call; null before. That of another tab has no answer: `next` is `look-up`. */
  readonly result: ClientResult | null;
  /** What an earlier page has left: go on with it, cancel it (never sent) or discard it. */
  readonly open: OpenOperation | null;
}

/** Options of {@link intentOf}. */
export interface IntentOptions {
  /** What an equal call means once it is done; default `ask`. */
  readonly whenDone?: WhenDone;
}

/** One intent. Its functions are the same ones for as long as it is shown. */
export interface Intent {
  /** What is shown; the same object until it changes. */
  readonly state: () => Shown;
  /** Told at each change; returns what ends it. The first one reads the pending store. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Calls, as `operation.fetch`. */
  readonly run: (url: string | URL, init?: RequestInit) => Promise<ClientResult>;
  /** Goes on with what is open; null if nothing is. */
  readonly goOn: () => Promise<ClientResult | null>;
  /** As of the operation; what was dropped is not shown any more. */
  readonly cancel: () => Promise<boolean>;
  readonly discard: (consent: { readonly consented: true }) => Promise<boolean>;
  readonly again: () => Promise<boolean>;
}

/** Before anything is known, and on a server. */
export const NOTHING: Shown = { status: 'waiting', result: null, open: null };

/** A tab that does not say that its call has ended is gone: calls take 90 s at most, unless the caller wants more. */
const ELSEWHERE_MAX_MS = 100_000;
/** Of a client, so many are remembered that nobody shows. */
const INTENTS_MAX = 100;

interface Facts {
  readonly running: number;
  readonly isElsewhere: boolean;
  readonly hasLooked: boolean;
  readonly result: ClientResult | null;
  readonly open: OpenOperation | null;
}

/** What tabs tell each other. */
interface News {
  readonly is: 'asked' | 'running' | 'ended';
  /** Null: it was given up, or is meant again. */
  readonly result?: ClientResult | null;
}

const intents = new WeakMap<Client, Map<string, Shared>>();

/** The intent of a name. Throws `OptionsError`. */
export function intentOf(client: Client, name: string, options: IntentOptions = {}): Intent {
  checkNames(options, ['whenDone']);
  const { whenDone = 'ask' } = options;
  // Says now what is wrong with them.
  client.operation(name, { whenDone });
  const all = intents.get(client) ?? new Map<string, Shared>();
  intents.set(client, all);
  const intent = all.get(name) ?? new Shared(client, name);
  intent.whenDone = whenDone;
  for (const [other, { isIdle }] of all) if (all.size >= INTENTS_MAX && isIdle()) all.delete(other);
  all.set(name, intent);
  return intent;
}

/** Where a page says that it is left, and seen again; not everywhere. */
const page = globalThis as {
  addEventListener?: (type: string, listener: () => void) => void;
  removeEventListener?: (type: string, listener: () => void) => void;
};

class Shared implements Intent {
  whenDone: WhenDone = 'ask';
  readonly #client: Client;
  readonly #name: string;
  readonly #listeners = new Set<() => void>();
  #facts: Facts = { running: 0, isElsewhere: false, hasLooked: false, result: null, open: null };
  #shown = NOTHING;
  #looks = 0;
  #late: ReturnType<typeof setTimeout> | undefined;
  #channel: BroadcastChannel | null = null;

  constructor(client: Client, name: string) {
    this.#client = client;
    this.#name = name;
  }

  readonly isIdle = (): boolean => this.#listeners.size === 0 && this.#facts.running === 0;

  readonly state = (): Shown => this.#shown;

  readonly subscribe = (listener: () => void): (() => void) => {
    // Each subscription is one, whatever it is given.
    const told = (): void => listener();
    this.#listeners.add(told);
    if (this.#listeners.size === 1) {
      page.addEventListener?.('pagehide', this.#hide);
      page.addEventListener?.('pageshow', this.#show);
      this.#show();
    }
    return () => {
      this.#listeners.delete(told);
      if (this.#listeners.size > 0) return;
      page.removeEventListener?.('pagehide', this.#hide);
      page.removeEventListener?.('pageshow', this.#show);
      this.#listen();
    };
  };

  readonly run: Intent['run'] = (url, init) =>
    this.#during(async () => {
      const result = await this.#operation().fetch(url, init);
      // Only who is asked can go on with it: so ask.
      if (result.why === 'age-unknown') await this.#look();
      return result;
    });

  readonly goOn: Intent['goOn'] = () => {
    const { open } = this.#facts;
    return this.#during(async () => open && open.goOn());
  };

  readonly cancel: Intent['cancel'] = () => this.#given(this.#operation().cancel());
  readonly discard: Intent['discard'] = (consent) => this.#given(this.#operation().discard(consent));
  readonly again: Intent['again'] = () => this.#given(this.#operation().again());

  #operation(): ClientOperation {
    return this.#client.operation(this.#name, { whenDone: this.whenDone });
  }

  #set(more: Partial<Facts>): void {
    this.#facts = { ...this.#facts, ...more };
    const { running, isElsewhere, hasLooked, result, open } = this.#facts;
    const known = open === null ? (result?.outcome ?? 'idle') : 'open';
    const status = running > 0 || isElsewhere || !hasLooked ? 'waiting' : known;
    this.#shown = { status, result, open };
    for (const listener of this.#listeners) listener();
  }

  async #look(): Promise<void> {
    const mine = ++this.#looks;
    // A store that cannot be read is told by the call itself.
    const [open = null] = await this.#client.resume({ operations: [this.#name] }).catch(() => []);
    // What began meanwhile is not what an earlier page has left.
    this.#set(mine === this.#looks ? { open, hasLooked: true } : { hasLooked: true });
  }

  async #during<Result extends ClientResult | null>(call: () => Promise<Result>): Promise<Result> {
    this.#looks += 1;
    this.#set({ running: this.#facts.running + 1, open: null });
    this.#listen();
    this.#tell({ is: 'running' });
    let ended: ClientResult | null = null;
    try {
      const now = await call();
      ended = now;
      return now;
    } finally {
      const { running, result } = this.#facts;
      this.#set({ running: running - 1, hasLooked: true, result: ended ?? result });
      if (running === 1) this.#tell({ is: 'ended', ...(ended && { result: heardOf(ended) }) });
      this.#listen();
    }
  }

  async #given(up: Promise<boolean>): Promise<boolean> {
    const isDropped = await up;
    if (isDropped) {
      this.#looks += 1;
      this.#set({ result: null, open: null });
      this.#tell({ is: 'ended', result: null });
    }
    return isDropped;
  }

  /** Hears others while somebody looks or a call runs; not from the back/forward cache, which a page would leave. */
  #listen(): void {
    if (this.isIdle()) this.#hide();
    else if (this.#channel === null) {
      this.#channel = this.#newChannel();
      // Node waits for channels that are open.
      (this.#channel as { unref?: () => void } | null)?.unref?.();
      this.#channel?.addEventListener('message', ({ data }: MessageEvent<News>) => this.#hear(data));
    }
  }

  readonly #hide = (): void => {
    clearTimeout(this.#late);
    // Who is left in the middle of a call says nothing any more: others look, and ask.
    if (this.#facts.running > 0) this.#tell({ is: 'ended' });
    this.#channel?.close();
    this.#channel = null;
  };

  readonly #show = (): void => {
    this.#listen();
    this.#set({ isElsewhere: false });
    this.#tell({ is: 'asked' });
    void this.#look();
  };

  #newChannel(): BroadcastChannel | null {
    const address = `samekey ${JSON.stringify([this.#client.subject, this.#name])}`;
    return typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(address);
  }

  #tell(news: News): void {
    const channel = this.#channel ?? this.#newChannel();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no other origin
    channel?.postMessage(news);
    if (channel !== this.#channel) channel?.close();
  }

  #hear({ is, result }: News): void {
    const { running } = this.#facts;
    if (is === 'asked') {
      if (running > 0) this.#tell({ is: 'running' });
      return;
    }
    clearTimeout(this.#late);
    if (is === 'running') this.#late = setTimeout(() => this.#hear({ is: 'ended' }), ELSEWHERE_MAX_MS);
    // What this tab does itself counts more.
    const more = is === 'ended' && running === 0 && result !== undefined ? { result } : {};
    this.#set({ isElsewhere: is === 'running', ...more });
    if (is === 'ended' && running === 0) void this.#look();
  }
}

/** What other tabs hear of a result: an answer, a key and an error stay where they are. */
function heardOf(result: ClientResult): ClientResult {
  const bare = { ...result, key: null, response: null };
  if (bare.outcome === 'unknown') return { ...bare, error: null };
  return bare.outcome === 'done' ? { ...bare, next: bare.next === 'show' ? 'look-up' : bare.next } : bare;
}

/**
 * What a scenario asks a service with: intents, requests under a pace, and evidence.
 *
 * Invariants: an intent's key is a fresh UUID and its bytes are always the same · a scenario shares answers with another only by
 * `shared` · nothing is sent to
 * a URL that the user did not give.
 */

import { randomUUID } from 'node:crypto';
import { changed } from './bodies.ts';
import { fieldOf, readCount } from './counting.ts';
import { EXPECTATIONS, type Expectations, MARKERS } from './expectations.ts';
import { bytesOf, type Headers, type Settings } from './options.ts';
import { type Pace, pause } from './pace.ts';
import { NotJudged } from './scenario.ts';
import { type Answer, exchange, type Line, type Reply, valuesOf } from './wire.ts';

/** One intended operation: what stays the same on each retry. */
export interface Intent {
  readonly key: string;
  readonly body: Uint8Array;
  /** Whether the hold's query and headers are a part of it. */
  readonly isHeld: boolean;
}

/** What is different about one request. */
export interface Change {
  readonly method?: string;
  readonly url?: string;
  readonly body?: Uint8Array;
  /** Put over the settings' headers. */
  readonly headers?: Headers;
  /** The values of the key's header lines, one each; default the key in the form the service takes. */
  readonly keyLines?: readonly string[];
  readonly query?: Headers;
  readonly hangUpAfterMs?: number;
}

/** How often a first request is sent again when the service asks for patience. */
const PATIENCE = 3;
const PATIENCE_MAX_MS = 2_000;

/** See above. */
export class Probe {
  readonly settings: Settings;
  readonly expects: Expectations;
  /** Which form of the key the service takes; set by the first look. */
  form: 'quoted' | 'bare' = 'quoted';
  /** Whether fresh answers carry the marker too, so that it says nothing; set by the first look. */
  marksAll = false;
  readonly #pace: Pace;
  #requests = 0;
  readonly #shared = new Map<unknown, Promise<unknown>>();
  /** Successful answers of the present scenario, for the evidence of a field. */
  #successes: Answer[] = [];
  /** Answers to requests that met a running one. */
  readonly met: Answer[] = [];
  /** Answers 429 and 503. */
  readonly putOff: Answer[] = [];

  constructor(settings: Settings, pace: Pace) {
    this.settings = settings;
    this.expects = EXPECTATIONS[settings.profile];
    this.#pace = pace;
  }

  /** How many requests were sent. */
  get requests(): number {
    return this.#requests;
  }

  /** A fresh intent: with another body if one is given. */
  intent(body: Uint8Array = bytesOf(this.settings.body)): Intent {
    return { key: randomUUID(), body, isHeld: false };
  }

  /** A fresh intent whose handler is slow; like any other when no hold is given. */
  heldIntent(): Intent {
    const { hold, body } = this.settings;
    return { key: randomUUID(), body: bytesOf(hold?.body ?? body), isHeld: true };
  }

  /** A body that makes another request of it. */
  otherBody(body: Uint8Array): Uint8Array {
    return this.settings.otherBody === undefined ? changed(body) : bytesOf(this.settings.otherBody);
  }

  /** A key in one of its forms. */
  written(key: string, form: 'quoted' | 'bare' = this.form): string {
    return form === 'bare' ? key : `"${key.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  }

  /** Sends a request; what came. */
  async tell(intent: Intent, change: Change = {}): Promise<Reply> {
    await this.#pace.turn(1);
    return this.#exchange(intent, change);
  }

  /** Sends several at once. */
  async tellAll(all: readonly (readonly [Intent, Change?])[]): Promise<readonly Reply[]> {
    await this.#pace.turn(all.length);
    return Promise.all(all.map(([intent, change]) => this.#exchange(intent, change ?? {})));
  }

  /** Sends a request and gives its answer. Throws `NotJudged` if there is none. */
  async send(intent: Intent, change: Change = {}): Promise<Answer> {
    const reply = await this.tell(intent, change);
    if ('none' in reply) throw new NotJudged(reply.none);
    return reply;
  }

  /** Sends an intent for the first time and gives its successful answer. Throws `NotJudged` if it has none. */
  async first(intent: Intent, change: Change = {}): Promise<Answer> {
    for (let left = PATIENCE; ; left--) {
      const answer = await this.send(intent, change);
      if (isSuccess(answer)) return answer;
      const isPutOff = [409, 425, 429, 503].includes(answer.status);
      if (left === 0 || !isPutOff)
        throw new NotJudged(
          `a fresh key was answered ${answer.status}: if each intent needs another body, put {{uuid}} into --body`,
        );
      const seconds = Number(valuesOf(answer.lines, 'retry-after')[0] ?? 1);
      await pause(Math.min(PATIENCE_MAX_MS, Number.isFinite(seconds) ? seconds * 1000 : PATIENCE_MAX_MS));
    }
  }

  /** Does something and tells how many executions were seen meanwhile; null when nothing counts them. */
  async executions(act: () => Promise<unknown>): Promise<number | null> {
    const { count } = this.settings;
    if (count === undefined) {
      await act();
      return null;
    }
    if (typeof count === 'object' && 'field' in count) {
      this.#successes = [];
      await act();
      return new Set(this.#successes.map((answer) => fieldOf(answer, count.field)).filter(isThere)).size;
    }
    const before = await readCount(count);
    await act();
    return (await readCount(count)) - before;
  }

  /** What scenarios that judge the same answers send once for all of them; `make` is what tells it. */
  shared<T>(make: (probe: Probe) => Promise<T>): Promise<T> {
    const made = (this.#shared.get(make) as Promise<T> | undefined) ?? make(this);
    this.#shared.set(make, made);
    return made;
  }

  /** Sends an intent twice; what its second answer was, which is what each further retry has to get. */
  async replayed(intent: Intent): Promise<Answer> {
    await this.first(intent);
    return this.send(intent);
  }

  /** Whether an answer says of itself that it is a replay, and fresh answers do not. */
  isMarked(answer: Answer): boolean {
    return !this.marksAll && this.hasMarker(answer);
  }

  /** Whether it has the header that says so. */
  hasMarker(answer: Answer): boolean {
    const { markerHeader } = this.settings;
    return [...MARKERS, ...(markerHeader === undefined ? [] : [markerHeader])].some((name) =>
      valuesOf(answer.lines, name).some((value) => !/^(false|0|\?0)$/i.test(value)),
    );
  }

  /** What to say where executions would have to be counted. */
  get needsCount(): string {
    return 'not judged: give --count-url, --count-command or --count-field, so that executions can be counted';
  }

  async #exchange(intent: Intent, change: Change): Promise<Reply> {
    const { settings } = this;
    const url = new URL(change.url ?? settings.url);
    const hold = intent.isHeld ? settings.hold : undefined;
    for (const [name, value] of Object.entries({ ...hold?.query, ...change.query }))
      url.searchParams.append(name, value);
    const method = change.method ?? settings.method;
    const keyLines = change.keyLines ?? [this.written(intent.key)];
    const lines: Line[] = [
      ...Object.entries(mergedHeaders(settings.headers, hold?.headers ?? {}, change.headers ?? {})),
      ...keyLines.map((value): Line => [settings.keyHeader, value]),
    ];
    const isSafe = /^(GET|HEAD)$/.test(method);
    this.#requests += 1;
    const reply = await exchange({
      url,
      method,
      lines,
      body: isSafe ? new Uint8Array() : (change.body ?? intent.body),
      hangUpAfterMs: change.hangUpAfterMs ?? null,
      timeMaxMs: settings.requestTimeMaxMs,
    });
    if ('none' in reply) return reply;
    if (isSuccess(reply) && !isSafe) this.#successes.push(reply);
    if (reply.status === 429 || reply.status === 503) this.putOff.push(reply);
    return reply;
  }
}

/** Names are compared without case; a later one wins. */
function mergedHeaders(...all: readonly Headers[]): Headers {
  const merged = new Map<string, readonly [string, string]>();
  for (const headers of all) {
    for (const [name, value] of Object.entries(headers)) merged.set(name.toLowerCase(), [name, value]);
  }
  return Object.fromEntries(merged.values());
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/** 2xx and 3xx: the operation has taken effect. */
export function isSuccess(answer: Answer): boolean {
  return answer.status >= 200 && answer.status < 400;
}

/** 4xx: the request was refused. */
export function isRefusal(answer: Answer): boolean {
  return answer.status >= 400 && answer.status < 500;
}

/** A refusal of what was sent as it was sent, not of who or when: 400, 413, 414, 422, 431. */
export function isRefusedAsSent({ status }: Answer): boolean {
  return [400, 413, 414, 422, 431].includes(status);
}

/** Whether two answers have the same status and the same bytes. */
export function isSameAnswer(one: Answer, other: Answer): boolean {
  return one.status === other.status && one.body.equals(other.body);
}

/** Whether executions are counted by something that sees all of them, not by what is answered. */
export function isCountedOutside({ settings: { count } }: Probe): boolean {
  return typeof count === 'function' || (typeof count === 'object' && 'url' in count);
}

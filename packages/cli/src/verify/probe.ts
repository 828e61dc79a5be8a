/**
 * What a scenario asks a service with: intents, requests under a pace, and evidence.
 *
 * Invariants: an intent's key is a fresh UUID and its bytes are always the same · a scenario shares answers with
 * another only by `shared` · nothing is sent to a URL that the user did not give.
 */

import { randomUUID } from 'node:crypto';
import { changed, changedInside } from './made-bodies.ts';
import { fieldOf, readCount } from './counting.ts';
import { EXPECTATIONS, type Expectations, MARKERS } from './expectations.ts';
import { bytesOf, type Headers, type Settings } from './options.ts';
import { type Pace, pause } from './pace.ts';
import { type Answer, exchange, type Line, type Reply, valuesOf } from './wire.ts';
import { NotJudged } from './judgement.ts';

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
  /** Why an answer of the present scenario did not come; null: all came. */
  #missing: string | null = null;
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

  /** A scenario begins. */
  begin(): void {
    this.#missing = null;
  }

  /**
   * Why an answer that the present scenario waited for did not come; null: all came. What saw no answer is never held
   * (F92).
   */
  get missing(): string | null {
    return this.#missing;
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

  /**
   * One that differs only inside a member of a member; null where there is nothing, or the user says what another body
   * is.
   */
  bodyOtherInside(body: Uint8Array): Uint8Array | null {
    return this.settings.otherBody === undefined ? changedInside(body) : null;
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
      await pauseAsTold(answer);
    }
  }

  /**
   * Sends a request, again while the service asks everybody for patience; its answer. Throws `NotJudged` if there is
   * none.
   */
  async patient(intent: Intent, change: Change = {}): Promise<Answer> {
    for (let left = PATIENCE; ; left--) {
      const answer = await this.send(intent, change);
      if (![429, 503].includes(answer.status)) return answer;
      if (left === 0) throw new NotJudged(`the service goes on answering ${answer.status}`);
      await pauseAsTold(answer);
    }
  }

  /** Whether the service answers a fresh intent at all. */
  async isAlive(): Promise<boolean> {
    return !('none' in (await this.tell(this.intent())));
  }

  /**
   * Sends an intent once more in another way. It is a replay if its answer is the one that a plain retry got; where no
   * two replays are alike, if nothing was executed for it. Throws `NotJudged` where nothing tells.
   */
  async retry(
    intent: Intent,
    replay: Answer,
    change: Change,
  ): Promise<{ readonly retry: Answer; readonly isReplay: boolean }> {
    let retry = replay;
    const count = await this.executions(async () => {
      retry = await this.send(intent, change);
    });
    if (isSameAnswer(replay, retry)) return { retry, isReplay: true };
    if (!isSuccess(retry)) return { retry, isReplay: false };
    const again = await this.send(intent);
    // Plain retries go on getting the one, or from now on get the other: answers stay as they are, and these are two.
    if (isSameAnswer(replay, again) || retry.body.equals(again.body)) return { retry, isReplay: false };
    if (count !== null && isCountedOutside(this)) return { retry, isReplay: count === 0 };
    const [one, two] = [replay, retry].map((answer) => this.#fieldOf(answer));
    if (one === undefined || two === undefined)
      throw new NotJudged('no two retries are answered alike, and nothing counts executions');
    return { retry, isReplay: one === two };
  }

  /**
   * Does something and tells how many executions were seen meanwhile; null when nothing counts them. `caller` is who
   * did it, if it was another: a URL that counts for each caller what is theirs is asked as this one too.
   */
  async executions(act: () => Promise<unknown>, caller?: Headers): Promise<number | null> {
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
    const theirs = this.#countOf(count, caller);
    const before = await this.#settledCount(count);
    const theirsBefore = await theirs();
    await act();
    const moved = (await this.#settledCount(count)) - before;
    const theirsMoved = (await theirs()) - theirsBefore;
    // A count of everything moves for both, one of each caller's own for one of them.
    return Number.isNaN(theirsMoved) ? moved : Math.max(moved, theirsMoved);
  }

  /** What scenarios that judge the same answers send once for all of them; `make` is what tells it. */
  async shared<T>(make: (probe: Probe) => Promise<T>): Promise<T> {
    const made = (this.#shared.get(make) as Promise<Shared<T>> | undefined) ?? this.#make(make);
    this.#shared.set(make, made);
    const { value, missing } = await made;
    this.#missing ??= missing;
    return value;
  }

  async #make<T>(make: (probe: Probe) => Promise<T>): Promise<Shared<T>> {
    const value = await make(this);
    return { value, missing: this.#missing };
  }

  /** Sends an intent twice; what its second answer was, which is what each further retry has to get. */
  async replayed(intent: Intent): Promise<Answer> {
    await this.first(intent);
    return this.send(intent);
  }

  #fieldOf(answer: Answer): string | undefined {
    const { count } = this.settings;
    return typeof count === 'object' && 'field' in count ? fieldOf(answer, count.field) : undefined;
  }

  /**
   * Reads the count as another caller; NaN where there is none, or the caller may not. Headers go to the service's own
   * origin only.
   */
  #countOf(count: Parameters<typeof readCount>[0], caller: Headers | undefined): () => Promise<number> {
    const isOwn =
      typeof count === 'object' && new URL(count.url).origin === new URL(this.settings.url).origin;
    if (caller === undefined || !isOwn) return () => Promise.resolve(Number.NaN);
    const asked = { ...count, headers: mergedHeaders(count.headers ?? {}, caller) };
    return () => readCount(asked).catch(() => Number.NaN);
  }

  /**
   * What has taken effect, also of what the service does after its answers: else it is booked to the next scenario
   * (F119).
   */
  async #settledCount(count: Parameters<typeof readCount>[0]): Promise<number> {
    if (this.settings.settleMs > 0) await pause(this.settings.settleMs);
    return readCount(count);
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
    if ('none' in reply) {
      if (change.hangUpAfterMs === undefined) this.#missing ??= reply.none;
      return reply;
    }
    if (isSuccess(reply) && !isSafe) this.#successes.push(reply);
    if (reply.status === 429 || reply.status === 503) this.putOff.push(reply);
    return reply;
  }
}

/** What several scenarios judge, and which answer it lacks. */
interface Shared<T> {
  readonly value: T;
  readonly missing: string | null;
}

/** As long as an answer asks for, within bounds. */
function pauseAsTold(answer: Answer): Promise<void> {
  const seconds = Number(valuesOf(answer.lines, 'retry-after')[0] ?? 1);
  return pause(Math.min(PATIENCE_MAX_MS, Number.isFinite(seconds) ? seconds * 1000 : PATIENCE_MAX_MS));
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

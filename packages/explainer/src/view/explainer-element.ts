/** The page: one story, one version, one seed, one step; and what the reader has done so far. */

import { type CSSResultGroup, html, LitElement, type PropertyDeclarations, type TemplateResult } from 'lit';
import {
  type Fault,
  type Knob,
  play,
  SCENARIOS,
  type Scenario,
  type Task,
  type Trace,
  type Variant,
} from '../model/index.ts';
import { counterpartOf, isTyping } from './choices.ts';
import { DESK_STYLE } from './desk-style.ts';
import { addressOf, type Place, placeOf } from './step-address.ts';
import {
  knobs,
  type Missing,
  missing,
  type Shown,
  stage,
  stories,
  tasks,
  transcript,
  variants,
} from './explainer-parts.ts';
import { faultPanel } from './fault-panel.ts';
import { PAGE_STYLE } from './explainer-style.ts';
import { type Played, Player } from './player.ts';
import { type Read, Reader } from './reader.ts';
import { questions } from './questions.ts';
import type { GoEvent } from './stage-element.ts';
import { THEME } from './theme.ts';
import { keySteps, TOUR, TOUR_STEP_MS } from './tour.ts';

const SEED_MAX = 9_999;

/** `samekey-explainer`. */
export class ExplainerElement extends LitElement implements Played, Read {
  static override properties: PropertyDeclarations = {
    live: { type: String },
    place: { state: true },
    trace: { state: true },
    other: { state: true },
    isCompared: { state: true },
    missing: { state: true },
  };
  static override styles: CSSResultGroup = [THEME, DESK_STYLE, PAGE_STYLE];

  /** Where a page with buttons for a real API is; empty for nowhere. */
  declare live: string;
  declare place: Place;
  declare trace: Trace | null;
  /** The version to compare with. */
  declare other: Trace | null;
  declare isCompared: boolean;
  /** What could not be loaded. */
  declare missing: Missing | null;
  readonly #done = new Set<Task>();
  readonly #player = new Player(this);
  readonly #reader = new Reader(this);
  #plays = 0;
  /** The story that was last brought into sight. */
  #sight: Scenario | null = null;
  /** Which part of the tour is shown; null: none is. */
  #scene: number | null = null;

  constructor() {
    super();
    this.live = '';
    this.place = placeOf(location.hash);
    this.trace = null;
    this.other = null;
    this.isCompared = false;
    this.missing = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener('hashchange', this.#onHash);
    window.addEventListener('keydown', this.#onKey);
    void this.#replay();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener('hashchange', this.#onHash);
    window.removeEventListener('keydown', this.#onKey);
  }

  get caption(): string | null {
    const step = this.trace?.steps[this.place.step];
    if (step === undefined) return null;
    const isOver = this.#scene === null || this.#scene === TOUR.length - 1;
    return this.#isAtEnd && isOver ? null : step.caption;
  }

  get paceMs(): number | null {
    return this.#scene === null ? null : TOUR_STEP_MS;
  }

  get words(): string {
    const said = this.trace?.steps[this.place.step]?.caption ?? '';
    return this.#isAtEnd ? `${said} ${this.trace?.verdict}` : said;
  }

  get said(): Promise<unknown> {
    return this.#reader.ended;
  }

  next(): void {
    const { trace, place } = this;
    if (this.#scene === null || trace === null) return this.#go(place.step + 1);
    const key = keySteps(trace).find((step) => step > place.step);
    if (key === undefined) void this.#play(this.#scene + 1);
    else this.#go(key);
  }

  override render(): TemplateResult {
    const { place, trace } = this;
    const { scenario } = place;
    const variant = this.#variant(place.variant);
    return html`<div class="page" @go=${this.#onGo} @toggle-play=${() => this.#toggle()}>
      <header>
        <p class="brand">Samekey</p>
        <p class="lead">Same key, same answer. Watch what happens to a payment that is sent twice.</p>
        <button class="tour" @click=${() => void this.#startTour()}>The story in sixty seconds</button>
        <button class="link" @click=${() => this.#showStory('.questions')}>Five questions</button>
        ${this.live === '' ? '' : html`<a class="live" href=${this.live}>Buttons for your own API</a>`}
      </header>
      ${stories(
        SCENARIOS,
        scenario,
        (one) => one.tasks.every((task) => this.#done.has(task)),
        (one) => this.#open(one),
      )}
      <div class=${this.isCompared ? 'runs two' : 'runs'}>
        <div class="story">
          <h1>${scenario.title}</h1>
          <p>${scenario.story}</p>
        </div>
        ${tasks(
          scenario.tasks,
          (task) => this.#done.has(task),
          (task) => this.#show(task),
          this.#nextStory(),
        )}
        <div class="desk ${scenario.takesFaults === true ? 'placing' : ''}">
          ${variants(scenario.variants, place.variant, (id) => this.#choose({ variant: id }))}
          <p class="says">${variant?.says}</p>
          ${missing(this.missing, { story: () => void this.#replay(), picture: () => void this.#savePoster() })}
          ${trace === null || variant === undefined ? '' : this.#stages(trace, variant)}
        </div>
        ${trace === null || variant === undefined ? '' : this.#behind(trace, variant)}
        ${trace === null ? '' : transcript(trace, place.step, (one) => addressOf({ ...place, step: one }))}
      </div>
      ${questions(() => this.#showStory())}
    </div>`;
  }

  /** The story that is told is in sight among the others. */
  protected override updated(): void {
    const list = this.renderRoot.querySelector('nav ol');
    const current = list?.querySelector<HTMLElement>('[aria-current]');
    if (!list || !current) return;
    const left = current.offsetLeft - (list.clientWidth - current.offsetWidth) / 2;
    if (Math.abs(list.scrollLeft - left) > 1 && this.#sight !== this.place.scenario) list.scrollLeft = left;
    this.#sight = this.place.scenario;
  }

  #stages(trace: Trace, variant: Variant): TemplateResult {
    const { place, isCompared } = this;
    const beside = this.#beside();
    return html`
      <div class="stages">
        ${stage({ trace, step: place.step, variant }, isCompared ? null : beside, this.#scene === null ? this.#knobs(true) : [])}
        ${isCompared && beside !== null ? stage(beside, null, null) : ''}
      </div>
      ${place.scenario.takesFaults === true ? this.#faults(trace) : ''}
      <div class="card bar">
        <samekey-controls
          .step=${place.step}
          .count=${trace.steps.length}
          .playing=${this.#player.isPlaying}
          .said=${trace.steps[place.step]?.caption ?? ''}
        ></samekey-controls>
      </div>
      <div class="knobs">
        ${this.#knobs(false)}
        <button @click=${() => this.#choose({ seed: (place.seed % SEED_MAX) + 1 })}>
          Other timing <small>seed ${place.seed}</small>
        </button>
        <button @click=${() => void this.#savePoster()}>
          ${this.#scene === null ? 'Save as a picture' : 'Save the story as a picture'}
        </button>
        <button @click=${() => this.#player.faster()}>Speed <small>${this.#player.speed}×</small></button>
        <label>
          <input type="checkbox" .checked=${isCompared} @change=${this.#onCompare} />
          Two versions side by side
        </label>
        ${this.#reader.toggle}
      </div>
    `;
  }

  #knobs(isBeside: boolean): readonly TemplateResult[] {
    const { scenario, knobs: values } = this.place;
    return knobs(scenario, isBeside, values, (knob, value) => this.#turn(knob, value));
  }

  /** The whole run, whatever step is shown; while the story is told, all of it. */
  async #savePoster(): Promise<void> {
    try {
      const { savePoster } = await import('./poster.ts');
      await savePoster(this.#scene === null ? [this.place] : TOUR);
      this.missing = null;
    } catch (error) {
      reportError(error);
      this.missing = 'picture';
    }
  }

  #faults(trace: Trace): TemplateResult {
    const { step, faults } = this.place;
    return faultPanel(trace, step, faults, {
      place: (next) => this.#place(next),
      go: (at) => this.#go(at),
    });
  }

  #behind(trace: Trace, { code }: Variant): TemplateResult {
    const { step } = this.place;
    return html`<aside aria-label="Behind the stage">
      <section class="card">
        <h2 class="small">The row in the database</h2>
        <samekey-row .trace=${trace} .step=${step}></samekey-row>
      </section>
      <section class="card">
        <h2 class="small">Messages of this step</h2>
        <samekey-messages .trace=${trace} .step=${step}></samekey-messages>
      </section>
      <section class="card">
        <h2 class="small">The code of this version</h2>
        <pre tabindex="0"><code>${code}</code></pre>
      </section>
    </aside>`;
  }

  /** The other version, at the same moment; at the end, at its end. */
  #beside(): Shown | null {
    const { other } = this;
    const variant = this.#variant(other?.variant ?? '');
    if (other === null || variant === undefined) return null;
    const now = this.trace?.steps[this.place.step]?.at ?? 0;
    const passed = other.steps.filter(({ at }) => at <= now).length;
    const step = this.#isAtEnd ? other.steps.length - 1 : Math.max(0, passed - 1);
    return { trace: other, step, variant };
  }

  get #isAtEnd(): boolean {
    return this.trace !== null && this.place.step >= this.trace.steps.length - 1;
  }

  #variant(id: string): Variant | undefined {
    return this.place.scenario.variants.find((variant) => variant.id === id);
  }

  async #startTour(): Promise<void> {
    this.isCompared = matchMedia('(min-width: 64rem)').matches;
    await this.#play(0);
    await this.updateComplete;
    this.#playInSight('.runs', 'start');
  }

  #showStory(part = '.runs'): void {
    this.renderRoot.querySelector(part)?.scrollIntoView();
  }

  /** Shows a scene of the tour. */
  async #play(scene: number): Promise<void> {
    this.#scene = scene;
    this.place = TOUR[scene] ?? this.place;
    await this.#replay();
  }

  /** Whoever does something himself has left the tour. */
  #leaveTour(): void {
    this.#scene = null;
    this.#player.pause();
  }

  /** Another run, from its beginning. */
  #choose(change: Partial<Place>): void {
    this.#leaveTour();
    this.place = { ...this.place, ...change, step: 0 };
    void this.#replay();
  }

  #open(scenario: Scenario): void {
    this.#choose({ scenario, variant: scenario.variants[0]?.id ?? '', knobs: {}, faults: [] });
  }

  /** What went before is as it was: the reader stays at the step. */
  #place(faults: readonly Fault[]): void {
    this.#leaveTour();
    this.place = { ...this.place, faults };
    void this.#replay();
  }

  #show({ variant, knobs: turned = {}, faults = [] }: Task): void {
    this.#choose({ variant, knobs: turned, faults });
    this.#playInSight();
  }

  #turn(knob: Knob, value: number): void {
    this.#choose({ knobs: { ...this.place.knobs, [knob.id]: value } });
  }

  async #replay(): Promise<void> {
    const turn = (this.#plays += 1);
    const { scenario, variant, seed, knobs: values, faults } = this.place;
    const choice = { scenario, seed, knobs: values, faults };
    let trace: Trace | null = null;
    let other: Trace | null = null;
    try {
      trace = await play({ ...choice, variant });
      other = await play({ ...choice, variant: counterpartOf(scenario, variant) });
    } catch (error) {
      reportError(error);
    }
    if (turn !== this.#plays) return;
    this.trace = trace;
    this.other = other;
    this.missing = trace === null ? 'story' : null;
    if (trace !== null) this.#go(Math.min(this.place.step, trace.steps.length - 1));
  }

  #go(step: number): void {
    const { trace } = this;
    if (trace === null) return;
    const at = Math.min(Math.max(0, step), trace.steps.length - 1);
    this.place = { ...this.place, step: at };
    for (const task of this.place.scenario.tasks) if (task.isDone(trace, at)) this.#done.add(task);
    const address = addressOf(this.place);
    if (location.hash !== address) history.replaceState(null, '', address);
  }

  #nextStory(): (() => void) | null {
    const next = SCENARIOS[SCENARIOS.indexOf(this.place.scenario) + 1];
    if (next === undefined) return null;
    return () => this.#open(next);
  }

  #toggle(): void {
    if (this.#player.isPlaying) return this.#player.pause();
    if (this.#isAtEnd) {
      this.#leaveTour();
      this.#go(0);
    }
    this.#playInSight();
  }

  /** Nobody plays what stands below the edge of the screen. */
  #playInSight(part = '.stages', block: ScrollLogicalPosition = 'nearest'): void {
    this.renderRoot.querySelector(part)?.scrollIntoView({ block });
    this.#player.play();
  }

  readonly #onGo = (event: GoEvent): void => {
    this.#leaveTour();
    this.#go(event.step);
  };

  readonly #onCompare = (event: Event): void => {
    this.isCompared = (event.target as HTMLInputElement).checked;
  };

  readonly #onHash = (): void => {
    const { step, ...run } = placeOf(location.hash);
    const before = this.place;
    this.#leaveTour();
    this.place = { ...run, step };
    const isSameRun = addressOf({ ...before, step: 0 }) === addressOf({ ...this.place, step: 0 });
    if (isSameRun) this.#go(step);
    else void this.#replay();
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey || isTyping(event)) return;
    const { step } = this.place;
    const last = (this.trace?.steps.length ?? 1) - 1;
    const to = { ArrowRight: step + 1, ArrowLeft: step - 1, Home: 0, End: last }[event.key];
    if (to === undefined && event.key !== ' ') return;
    event.preventDefault();
    if (to === undefined) return this.#toggle();
    this.#leaveTour();
    this.#go(to);
  };
}

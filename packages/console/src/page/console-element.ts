/** The console's frame: who looks, where they are, and the view that the address names. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  type TemplateResult,
} from 'lit';
import type { Me } from '../api.ts';
import { faultNote, strange } from './pieces.ts';
import { type Route, routeOf } from './view-route.ts';
import { ask, signIn } from './ask-server.ts';
import { THEME } from './console-theme.ts';

const VIEWS: readonly (readonly [view: Route['view'], href: string, title: string])[] = [
  ['overview', '#/', 'Overview'],
  ['records', '#/records', 'Records'],
  ['letters', '#/letters', 'Dead letters'],
  ['bulk', '#/bulk', 'Jobs'],
  ['audit', '#/audit', 'Audit'],
];

/** `samekey-console`. */
export class ConsoleElement extends LitElement {
  static override properties: PropertyDeclarations = {
    me: { state: true },
    route: { state: true },
    fault: { state: true },
  };
  static override styles: CSSResultGroup = [
    THEME,
    css`
      :host {
        min-height: 100vh;
        background: var(--paper);
      }
      header {
        border-bottom: 1px solid var(--line);
        background: var(--card);
      }
      .bar {
        display: flex;
        flex-wrap: wrap;
        gap: 0.25rem 1.25rem;
        align-items: center;
      }
      .bar,
      main {
        max-width: 76rem;
        margin: 0 auto;
        padding: 0.625rem 1.25rem;
      }
      main {
        padding-block: 1.25rem 4rem;
      }
      .brand {
        font-weight: 700;
      }
      nav {
        display: flex;
        flex-wrap: wrap;
        gap: 0.125rem;
        margin-inline-start: -0.625rem;
      }
      nav a {
        color: inherit;
        text-decoration: none;
        padding: 0.375rem 0.625rem;
        border-radius: 8px;
      }
      nav a:hover {
        background: var(--sunk);
      }
      nav a[aria-current='page'] {
        background: var(--claim-wash);
        color: var(--claim);
        font-weight: 600;
      }
      .who {
        margin-inline-start: auto;
        min-width: 0;
        overflow-wrap: anywhere;
      }
      .skip {
        position: absolute;
        left: -100vw;
      }
      .skip:focus {
        left: 1rem;
        top: 0.5rem;
        background: var(--card);
        padding: 0.5rem;
      }
      @media (max-width: 40rem) {
        .bar,
        main {
          padding-inline: 0.75rem;
        }
        .who {
          margin-inline-start: 0;
        }
        nav a {
          padding-inline: 0.4375rem;
        }
      }
    `,
  ];

  declare me: Me | null;
  declare route: Route;
  declare fault: unknown;

  constructor() {
    super();
    this.me = null;
    this.fault = null;
    this.route = routeOf(location.hash);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener('hashchange', this.#onHash);
    void this.#begin();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener('hashchange', this.#onHash);
  }

  async #begin(): Promise<void> {
    this.fault = null;
    try {
      await signIn();
      this.route = routeOf(location.hash);
      this.me = await ask<Me>('me');
    } catch (error) {
      this.fault = error;
    }
  }

  override render(): TemplateResult {
    const { me, route } = this;
    return html`<header>
        <button class="skip" @click=${() => this.#focusTitle()}>To the content</button>
        <div class="bar">
          <span class="brand">Samekey console</span>
          <nav aria-label="Views">
            ${VIEWS.map(
              ([view, href, title]) =>
                html`<a href=${href} aria-current=${isIn(route.view, view) ? 'page' : 'false'}>${title}</a>`,
            )}
          </nav>
          ${me === null ? '' : html`<span class="who small soft">${strange(me.actor, 60)}, ${rightsOf(me)} · ${me.store}</span>`}
        </div>
      </header>
      <main>${this.fault === null ? (me === null ? html`<p class="soft">Signing in …</p>` : viewOf(route, me)) : faultNote(this.fault)}</main>`;
  }

  /** A view that changed is read from its title on. */
  readonly #onHash = (): void => {
    if (location.hash.startsWith('#token=')) void this.#begin();
    else void this.#go();
  };

  async #go(): Promise<void> {
    this.route = routeOf(location.hash);
    await this.updateComplete;
    window.scrollTo(0, 0);
    // The view is made with the next frame.
    requestAnimationFrame(() => this.#focusTitle());
  }

  #focusTitle(): void {
    const view = this.shadowRoot?.querySelector('main > *');
    view?.shadowRoot?.querySelector<HTMLElement>('h1')?.focus();
  }
}

function isIn(at: Route['view'], view: Route['view']): boolean {
  return at === view || ((at === 'record' || at === 'minted') && view === 'records');
}

function rightsOf({ rights }: Me): string {
  return rights.length === 0 ? 'may look' : `may look, ${rights.join(', ')}`;
}

function viewOf(route: Route, me: Me): TemplateResult {
  switch (route.view) {
    case 'overview':
      return html`<samekey-overview></samekey-overview>`;
    case 'records':
      return html`<samekey-records .filter=${route.filter} .me=${me}></samekey-records>`;
    case 'record':
      return html`<samekey-record .target=${route.id} .me=${me}></samekey-record>`;
    case 'letters':
      return html`<samekey-letters .topic=${route.topic} .me=${me}></samekey-letters>`;
    case 'minted':
      return html`<samekey-minted .caller=${route.caller}></samekey-minted>`;
    case 'bulk':
      return html`<samekey-bulk .job=${route.job} .me=${me}></samekey-bulk>`;
    case 'audit':
      return html`<samekey-audit .me=${me}></samekey-audit>`;
    default:
      return route satisfies never;
  }
}

/**
 * Three questions, one program: shows the part of a page of code that was asked for. Without scripts the pages are
 * linked below.
 */

const STORES = ['PostgreSQL', 'MySQL', 'SQLite', 'DynamoDB', 'Redis', 'distributed PostgreSQL'];
const WAYS = ['Plain', 'Transactional', 'Phased', 'Deferred'];

class Chooser extends HTMLElement {
  readonly #result = document.createElement('div');
  readonly #note = document.createElement('p');
  /** The last question, so that a slow answer does not stand above a later one. */
  #asked = 0;

  connectedCallback(): void {
    const pages = [...document.querySelectorAll<HTMLAnchorElement>('article li a')];
    const framework = question(
      'Framework',
      pages.map((page): Choice => [page.href, page.textContent ?? '']),
    );
    const store = question(
      'Store',
      STORES.map((name): Choice => [name, name]),
    );
    const way = question(
      'Way',
      WAYS.map((name): Choice => [name, name]),
    );
    const ask = (): void => {
      const isPlain = way.select.value === 'Plain';
      store.select.disabled = !isPlain;
      const heading = isPlain ? `Plain, on ${store.select.value}` : way.select.value;
      void this.#show(framework.select.value, heading);
    };
    const form = document.createElement('form');
    form.append(framework.label, store.label, way.label);
    form.addEventListener('change', ask);
    this.#note.setAttribute('role', 'status');
    this.append(form, this.#note, this.#result);
    ask();
  }

  async #show(address: string, heading: string): Promise<void> {
    const asked = ++this.#asked;
    const text = await (await fetch(address)).text();
    if (asked !== this.#asked) return;
    const page = new DOMParser().parseFromString(text, 'text/html');
    const at = [...page.querySelectorAll('h2')].find((one) => one.firstChild?.textContent === heading);
    const shown: Element[] = [];
    for (let next = at?.nextElementSibling; next && next.tagName !== 'H2'; next = next.nextElementSibling)
      shown.push(next);
    // Links of that page are relative to it.
    for (const link of shown.flatMap((one) => [...one.querySelectorAll('a')]))
      link.href = new URL(link.getAttribute('href') ?? '', address).href;
    this.#result.replaceChildren(...shown);
    this.#note.textContent = shown.length === 0 ? 'There is no code for this.' : `${heading}:`;
    this.dispatchEvent(new CustomEvent('samekey-shown', { bubbles: true }));
  }
}

type Choice = readonly [value: string, words: string];

function question(
  name: string,
  choices: readonly Choice[],
): { label: HTMLElement; select: HTMLSelectElement } {
  const label = document.createElement('label');
  const select = document.createElement('select');
  select.append(...choices.map(([value, words]) => new Option(words, value)));
  label.append(name, select);
  return { label, select };
}

customElements.define('samekey-chooser', Chooser);

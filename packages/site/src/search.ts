/** The search: an index that was made with the site, so that nothing is asked of anybody. */

import MiniSearch, { type AsPlainObject, type Options } from 'minisearch';

interface Found {
  readonly title: string;
  readonly page: string;
  readonly section: string;
  readonly url: string;
  readonly start: string;
}

const SHOWN_MAX = 20;

/** Who searches at night wants a runbook before a chapter on how Samekey is made. */
const WEIGHT: Readonly<Record<string, number>> = {
  Runbooks: 1.5,
  'Begin here': 1.5,
  Exports: 0.6,
  Internals: 0.3,
};

let dialog: HTMLDialogElement | undefined;

/** Opens it; the first time, it is made. `root` leads to the folder of the site. */
export async function openSearch(root: string): Promise<void> {
  dialog ??= await makeDialog(root);
  if (!dialog.open) dialog.showModal();
  dialog.querySelector('input')?.select();
}

async function makeDialog(root: string): Promise<HTMLDialogElement> {
  const { options, index } = (await (await fetch(`${root}assets/search.json`)).json()) as {
    options: Options;
    index: AsPlainObject;
  };
  const search = MiniSearch.loadJS(index, options);
  const made = document.createElement('dialog');
  made.className = 'search';
  made.setAttribute('aria-label', 'Search');
  const input = document.createElement('input');
  input.type = 'search';
  input.setAttribute('aria-label', 'Search these pages');
  input.placeholder = 'waitMaxMs, 409, outbox …';
  const status = document.createElement('p');
  status.setAttribute('role', 'status');
  const list = document.createElement('ul');
  made.append(input, status, list);
  input.addEventListener('input', () => {
    showFound(search, input.value, root, status, list);
  });
  made.addEventListener('keydown', (event) => {
    moveFocus(event, made);
  });
  // A click beside the box.
  made.addEventListener('click', (event) => {
    if (event.target === made || (event.target instanceof Element && event.target.closest('a') !== null))
      made.close();
  });
  document.body.append(made);
  return made;
}

function showFound(
  search: MiniSearch,
  text: string,
  root: string,
  status: HTMLElement,
  list: HTMLElement,
): void {
  const found = (text.trim() === ''
    ? []
    : search.search(text, { boostDocument: weigh })) as unknown as readonly Found[];
  status.textContent = text.trim() === '' ? '' : `${found.length} found`;
  list.replaceChildren(
    ...found.slice(0, SHOWN_MAX).map(({ title, page, section, url, start }) => {
      const link = document.createElement('a');
      link.href = `${root}${url}`;
      const where = document.createElement('small');
      where.textContent = [section, page].filter((one) => one !== '' && one !== title).join(' › ');
      const name = document.createElement('strong');
      name.textContent = title;
      const words = document.createElement('span');
      words.textContent = start;
      link.append(name, where, words);
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
}

function weigh(_id: unknown, _term: string, stored?: Record<string, unknown>): number {
  return WEIGHT[String(stored?.['section'])] ?? 1;
}

/** Arrows move from the field through what was found. */
function moveFocus(event: KeyboardEvent, box: HTMLElement): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by === undefined) {
    if (event.key === 'Enter' && event.target instanceof HTMLInputElement) box.querySelector('a')?.click();
    return;
  }
  event.preventDefault();
  const stops = [...box.querySelectorAll<HTMLElement>('input, a')];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  stops[Math.min(stops.length - 1, Math.max(0, at + by))]?.focus();
}

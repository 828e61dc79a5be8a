/** What every page does. Without it each page can be read, and all links lead on. */

const html = document.documentElement;

function find(selector: string): HTMLElement {
  const element = document.querySelector<HTMLElement>(selector);
  if (element === null) throw new Error(`The page has no ${selector}.`);
  return element;
}

/** The button names what it leads to. */
function startLook(): void {
  const button = find('.look');
  const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
  const isDark = (): boolean =>
    (html.dataset['look'] ?? (systemIsDark.matches ? 'dark' : 'light')) === 'dark';
  const tell = (): void => {
    button.textContent = isDark() ? 'Light' : 'Dark';
  };
  button.addEventListener('click', () => {
    html.dataset['look'] = isDark() ? 'light' : 'dark';
    localStorage.setItem('samekey-look', html.dataset['look']);
    tell();
  });
  systemIsDark.addEventListener('change', tell);
  tell();
}

function startMenu(): void {
  const button = find('.menu');
  const show = (isShown: boolean): void => {
    button.setAttribute('aria-expanded', String(isShown));
    find('#pages').classList.toggle('shown', isShown);
  };
  button.addEventListener('click', () => {
    show(button.getAttribute('aria-expanded') !== 'true');
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && button.getAttribute('aria-expanded') === 'true') {
      show(false);
      button.focus();
    }
  });
  find('#pages').querySelector('[aria-current]')?.scrollIntoView({ block: 'center' });
  scrollTo({ top: location.hash === '' ? 0 : scrollY });
}

/** A box that scrolls must be reached by keyboard; one that does not would be a stop for nothing. */
function markBoxes(): void {
  for (const box of document.querySelectorAll<HTMLElement>('pre.code, .table')) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute('tabindex');
  }
}

function startBoxes(): void {
  new ResizeObserver(markBoxes).observe(document.body);
  // The chooser has shown another program.
  document.addEventListener('samekey-shown', () => {
    startCopy();
    markBoxes();
  });
  markBoxes();
}

function startCopy(): void {
  for (const box of document.querySelectorAll('pre.code:not(.copied > *)')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', () => {
      void navigator.clipboard.writeText(box.querySelector('code')?.textContent ?? '').then(() => {
        button.textContent = 'Copied';
      });
    });
    const frame = document.createElement('div');
    frame.className = 'copied';
    box.replaceWith(frame);
    frame.append(box, button);
  }
}

/** Loaded when it is wanted: most readers follow links. */
async function search(): Promise<void> {
  const { openSearch } = await import('./search.ts');
  await openSearch(document.body.dataset['root'] ?? './');
}

function startSearch(): void {
  find('.find').addEventListener('click', () => void search());
  document.addEventListener('keydown', (event) => {
    const isTyping =
      event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
    const isAsked =
      (event.key === '/' && !isTyping) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
    if (!isAsked) return;
    event.preventDefault();
    void search();
  });
}

startLook();
startMenu();
startCopy();
startBoxes();
startSearch();

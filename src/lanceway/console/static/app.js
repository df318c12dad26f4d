// The console: who one is, the frame, and the page that the address names.

import { own, token } from './base/api.js';
import { h, icon, meta, replace } from './base/dom.js';
import { here, to } from './base/router.js';
import './base/tree.js';
import { accessPage } from './pages/access/access.js';
import { activityPage } from './pages/activity/activity.js';
import { homePage } from './pages/home.js';
import { catalogsPage, namespacePage } from './pages/namespace.js';
import { comeBack, followLink, isReturn, signIn, signOut } from './pages/signin.js';
import { operationsPage } from './pages/operations.js';
import { tablePage } from './pages/table/table.js';
import { act, failure, noPage } from './base/widgets.js';

const THEME = 'lanceway.theme';
const app = document.getElementById('app');
let shell = null;

/**
 * The pages, by the first word of their addresses: the section that each is in, and what draws it from
 * { page, names, query } and { me, changed }. A page is one line.
 */
const PAGES = {
  home: ['home', homePage],
  catalogs: ['catalogs', catalogsPage],
  namespace: ['catalogs', namespacePage],
  table: ['catalogs', tablePage],
  access: ['access', accessPage],
  activity: ['activity', activityPage],
  operations: ['operations', operationsPage],
};

/** The sections of the navigation: the page that each opens with, its name and its icon. One without pages is left out. */
const SECTIONS = [
  ['home', 'Home', 'home'],
  ['catalogs', 'Data', 'catalog'],
  ['access', 'Access', 'access'],
  ['activity', 'Activity', 'runs'],
  ['operations', 'Operations', 'operations'],
].filter(([page]) => page in PAGES);

class Shell {
  constructor(me) {
    this.me = me;
    this.tree = /** @type {any} */ (document.createElement('lw-tree'));
    this.main = h('main', { id: 'main', tabindex: '-1' });
    this.links = SECTIONS.map(([page, title, shape]) => h('a', { href: to(page === 'home' ? '' : page), 'data-page': page }, icon(shape), title));
    this.side = h('aside', { id: 'side', 'aria-label': 'Navigation' }, h('nav', { 'aria-label': 'Sections' }, this.links), h('h2', { class: 'side-title' }, 'Catalogs'), this.tree);
    this.menu = h('button', { class: 'quiet menu', 'aria-controls': 'side', 'aria-expanded': 'false', 'aria-label': 'Navigation', onclick: () => this.drawer() }, icon('menu'));
    this.header = h('header', { class: 'top' }, this.menu, h('a', { class: 'brand', href: '#/' }, logo(), 'Lanceway'), h('span', { class: 'grow' }),
      h('button', { class: 'quiet', 'aria-label': 'Light or dark', onclick: switchTheme }, icon('theme')),
      h('span', { class: 'who' }, icon('user'), h('span', { class: 'name' }, me.name), me.admin && h('span', { class: 'badge' }, 'admin')),
      token.get() && act('Sign out', leave, 'quiet'));
    this.side.addEventListener('click', (event) => event.target.closest('a') && this.drawer(false));
    this.side.addEventListener('keydown', (event) => event.key === 'Escape' && (this.drawer(false), this.menu.focus()));
    this.main.addEventListener('click', () => this.drawer(false));
  }

  drawer(open = !this.side.classList.contains('open')) {
    this.side.classList.toggle('open', open);
    this.menu.setAttribute('aria-expanded', String(open));
  }

  draw() {
    replace(app, h('a', { class: 'skip', href: '#main', onclick: (event) => (event.preventDefault(), this.main.focus()) }, 'Skip to content'), this.header, h('div', { class: 'body' }, this.side, this.main), h('div', { id: 'notices', role: 'status', 'aria-live': 'polite' }));
  }

  /** What pages use: who asks, and a tree that they tell of changes. */
  get context() {
    return { me: this.me, changed: (names) => this.tree.refresh(names) };
  }
}

const logo = () => h('img', { class: 'logo', src: new URL('icon.svg', import.meta.url).href, alt: '' });

function switchTheme() {
  const root = document.documentElement;
  const dark = getComputedStyle(root).colorScheme === 'dark' || (!root.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches);
  root.dataset.theme = dark ? 'light' : 'dark';
  localStorage.setItem(THEME, root.dataset.theme);
}

async function leave() {
  shell = null;
  replace(app);
  await signOut();
  start();
}

let drawn = '';

async function show() {
  if (!shell) return;
  const route = here();
  const [section, page] = Object.hasOwn(PAGES, route.page) ? PAGES[route.page] : [];
  const place = JSON.stringify([route.page, route.names]);
  const moved = place !== drawn;
  drawn = place;
  shell.links.forEach((link) => {
    if (link.dataset.page === section) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  });
  const title = [...route.names].reverse().join(' · ') || SECTIONS.find(([name]) => name === section)?.[1] || 'Lanceway';
  document.title = title === 'Lanceway' ? title : `${title} · Lanceway`;
  const hadFocus = shell.main.contains(document.activeElement);
  replace(shell.main, page ? page(route, shell.context) : noPage(h('a', { class: 'button', href: '#/' }, 'Home')));
  // Whoever works by keyboard or hears the page goes on where the new content begins.
  if (hadFocus) shell.main.focus({ preventScroll: true });
  if (moved) {
    shell.main.scrollTop = 0;
    scrollTo(0, 0);
  }
  if (section === 'catalogs' && route.names.length) shell.tree.reveal(route.names, route.page);
  else shell.tree.reveal([], '');
}

async function start() {
  shell = null;
  replace(app);
  const isLink = here().page === 'sign-in';
  if (isLink || isReturn()) {
    try {
      await (isLink ? followLink(here().query) : comeBack());
    } catch (error) {
      return replace(app, signIn(start, error));
    }
  }
  if (!token.get() && meta('token') === 'required') return replace(app, signIn(start));
  try {
    shell = new Shell(await own('GET', 'me'));
  } catch (error) {
    const refusal = token.get() ? error : null;
    if (error.status === 401) token.clear();
    replace(app, error.status === 401 ? signIn(start, refusal) : h('main', { class: 'center' }, failure(error, start)));
    return;
  }
  shell.draw();
  drawn = '';
  await show();
}

document.documentElement.dataset.theme = localStorage.getItem(THEME) ?? '';
addEventListener('hashchange', () => (here().page === 'sign-in' ? start() : show()));
addEventListener('signed-out', () => {
  if (!shell) return;
  shell = null;
  start();
});
start();


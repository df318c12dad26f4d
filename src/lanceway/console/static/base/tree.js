// The tree of catalogs, namespaces and tables: a page of children at a time, by mouse and by keyboard.

import { Children } from './api.js';
import { h, icon, replace } from './dom.js';
import { toObject } from './router.js';

const PAGE = 100;
const key = (names) => JSON.stringify(names);

/** One opened object: its children as far as they are loaded, and how they are shown. */
class Branch {
  constructor(names, level) {
    Object.assign(this, { names, level, children: null, open: false, word: '', shown: PAGE, error: null, pinned: null, loading: null, filter: null });
    this.list = h('ul', { role: 'group' });
  }
}

class LancewayTree extends HTMLElement {
  connectedCallback() {
    this._branches = new Map();
    this._chosen = '';
    this._root = this._branch([]);
    this._root.open = true;
    this._root.list.setAttribute('role', 'tree');
    this._root.list.setAttribute('aria-label', 'Catalogs');
    this.append(this._root.list);
    this.addEventListener('keydown', (event) => this._onkey(event));
    this._typed = '';
    this._load(this._root);
  }

  /** @returns {HTMLElement[]} */
  _all(selector) {
    return [...this.querySelectorAll(selector)];
  }

  _branch(names) {
    const id = key(names);
    if (!this._branches.has(id)) this._branches.set(id, new Branch(names, names.length));
    return this._branches.get(id);
  }

  /** Read a page of children; who asks while one is on its way waits for that one. */
  _load(branch) {
    branch.loading ??= this._read(branch).finally(() => (branch.loading = null));
    return branch.loading;
  }

  async _read(branch) {
    branch.error = null;
    const children = (branch.children ??= new Children(branch.names));
    this._draw(branch, true);
    try {
      await children.more(PAGE);
    } catch (error) {
      branch.error = error;
    }
    if (branch.children !== children) return this._read(branch); // something changed in it meanwhile
    this._draw(branch);
  }

  /** Open all that leads to an object, and mark it. */
  async reveal(names, kind) {
    this._chosen = key(names);
    const branches = names.map((_, depth) => this._branch(names.slice(0, depth)));
    branches.forEach((branch) => (branch.open = true));
    this._unpin(new Set(names.map((_, depth) => key(names.slice(0, depth + 1)))));
    for (const [depth, branch] of branches.entries()) {
      if (!branch.children || branch.loading) await this._load(branch);
      if (this._chosen !== key(names)) return; // another page was opened meanwhile
      const child = names.slice(0, depth + 1);
      const last = depth === names.length - 1;
      if (!branch.children.items.slice(0, branch.shown).some((item) => key(item.names) === key(child))) {
        branch.pinned = { kind: depth === 0 ? 'catalog' : last ? kind : 'namespace', names: child };
      }
      this._draw(branch);
    }
    this.querySelectorAll('[role=treeitem]').forEach((item) => this._mark(item));
    this.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }

  /** Take out what an address brought that is not open any more: it may not even exist. */
  _unpin(kept) {
    for (const branch of this._branches.values()) {
      if (!branch.pinned || kept.has(key(branch.pinned.names))) continue;
      branch.pinned = null;
      this._draw(branch);
    }
  }

  /** Read the children of an object again. */
  async refresh(names) {
    const branch = this._branch(names);
    branch.children = null;
    branch.pinned = null;
    if (branch.open) await this._load(branch);
  }

  _rows(branch) {
    const { items } = branch.children;
    if (branch.word) {
      const word = branch.word.toLowerCase();
      return items.filter((item) => item.names.at(-1).toLowerCase().includes(word));
    }
    const pinned = branch.pinned && !items.slice(0, branch.shown).some((item) => key(item.names) === key(branch.pinned.names));
    return pinned ? [branch.pinned, ...items] : items;
  }

  _draw(branch, loading) {
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const focused = this.contains(active) ? active.dataset.key : null;
    const lines = [];
    if (branch.children) {
      const rows = this._rows(branch);
      if (branch.children.items.length > 20) lines.push(this._filter(branch));
      lines.push(...rows.slice(0, branch.shown).map((item) => this._item(item, branch)));
      if (loading) lines.push(h('li', { role: 'none', class: 'tree-note' }, 'Loading…'));
      else if (branch.error) lines.push(this._problem(branch));
      else if (!rows.length) lines.push(h('li', { role: 'none', class: 'tree-note' }, branch.word ? 'No such name' : 'Empty'));
      const more = rows.length > branch.shown || (!branch.word && !branch.children.complete);
      if (more && !loading && !branch.error) lines.push(h('li', { role: 'none' }, h('button', { class: 'tree-more', 'data-key': `more:${key(branch.names)}`, onclick: () => this._more(branch) }, 'More')));
    }
    replace(branch.list, lines);
    if (focused) this._all('[data-key]').find((node) => node.dataset.key === focused)?.focus();
    this._rove();
  }

  _problem(branch) {
    const { status, message } = branch.error;
    if (status === 403) return h('li', { role: 'none', class: 'tree-note', title: message }, 'Not for you');
    return h('li', { role: 'none' }, h('button', { class: 'tree-more', title: message, 'data-key': `again:${key(branch.names)}`, onclick: () => this._load(branch) }, 'Cannot be listed: try again'));
  }

  _filter(branch) {
    const existing = branch.filter;
    if (existing) return existing;
    let timer;
    const input = h('input', { type: 'search', 'data-key': `filter:${key(branch.names)}`, 'aria-label': `Filter ${branch.names.at(-1) ?? 'catalogs'}`, placeholder: 'Filter', spellcheck: 'false', autocomplete: 'off',
      oninput: () => {
        clearTimeout(timer);
        timer = setTimeout(async () => {
          branch.word = input.value.trim();
          branch.shown = PAGE;
          if (branch.word && !branch.children.complete) await branch.children.all().catch((error) => (branch.error = error));
          this._draw(branch);
        }, 120);
      } });
    return (branch.filter = h('li', { role: 'none', class: 'tree-filter' }, input));
  }

  async _more(branch) {
    branch.shown += PAGE;
    if (!branch.word && branch.children.items.length < branch.shown && !branch.children.complete) await this._load(branch);
    else this._draw(branch);
  }

  _item({ kind, names, format }, parent) {
    const id = key(names);
    const leaf = kind === 'table';
    const inner = leaf ? null : this._branch(names);
    const link = h('a', { role: 'treeitem', href: toObject(kind, names, { format }), 'data-key': id, 'aria-level': parent.level + 1, 'aria-expanded': leaf ? null : String(inner.open), class: kind, tabindex: '-1', title: names.join(' › '),
      onclick: () => !leaf && !inner.open && this._toggle(names, true) },
      leaf ? h('span', { class: 'chevron' }) : h('span', { class: 'chevron', onclick: (event) => (event.preventDefault(), event.stopPropagation(), this._toggle(names)) }, icon('open')),
      icon(kind), h('span', { class: 'name' }, names.at(-1)));
    this._mark(link);
    return h('li', { role: 'none' }, link, inner?.open && inner.list);
  }

  _mark(item) {
    const chosen = item.dataset.key === this._chosen;
    item.setAttribute('aria-selected', String(chosen));
    if (chosen) item.setAttribute('aria-current', 'page');
    else item.removeAttribute('aria-current');
  }

  async _toggle(names, open = !this._branch(names).open) {
    const branch = this._branch(names);
    branch.open = open;
    const link = this._all('[role=treeitem]').find((item) => item.dataset.key === key(names));
    link?.setAttribute('aria-expanded', String(open));
    if (open) link?.parentElement.append(branch.list);
    else branch.list.remove();
    if (open && !branch.children) await this._load(branch);
  }

  // One item takes part in the order of Tab; arrows lead to the others.
  _rove(to) {
    const items = this._all('[role=treeitem]');
    const focus = to ?? items.find((item) => item === document.activeElement) ?? items.find((item) => item.hasAttribute('aria-current')) ?? items[0];
    items.forEach((item) => item.setAttribute('tabindex', item === focus ? '0' : '-1'));
    to?.focus();
  }

  _onkey(event) {
    const item = event.target.closest('[role=treeitem]');
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const items = this._all('[role=treeitem]');
    const at = items.indexOf(item);
    const names = JSON.parse(item.dataset.key);
    const expanded = item.getAttribute('aria-expanded');
    const moves = { ArrowDown: items[at + 1], ArrowUp: items[at - 1], Home: items[0], End: items.at(-1) };
    if (event.key in moves) {
      if (moves[event.key]) this._rove(moves[event.key]);
    } else if (event.key === 'ArrowRight' && expanded === 'false') this._toggle(names);
    else if (event.key === 'ArrowRight' && expanded) this._rove(items[at + 1] ?? item);
    else if (event.key === 'ArrowLeft' && expanded === 'true') this._toggle(names);
    else if (event.key === 'ArrowLeft') this._rove(items.find((other) => other.dataset.key === key(names.slice(0, -1))) ?? item);
    else if (event.key.length === 1 && event.key !== ' ') {
      clearTimeout(this._forget);
      this._forget = setTimeout(() => (this._typed = ''), 700);
      this._typed += event.key.toLowerCase();
      const order = [...items.slice(at + (this._typed.length === 1 ? 1 : 0)), ...items.slice(0, at)];
      const next = order.find((other) => other.textContent.toLowerCase().startsWith(this._typed));
      if (next) this._rove(next);
    } else return;
    event.preventDefault();
  }
}

customElements.define('lw-tree', LancewayTree);

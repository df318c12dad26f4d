// What pages are made of: states, dialogs, notices, grids.

import { h, icon, replace } from './dom.js';

export const act = (label, onclick, kind) => h('button', { class: kind, onclick }, label);

/** An error of the console's own, with a status as the server's have. */
export const problem = (text, status = 400) => Object.assign(new Error(text), { status });

/** The top of a page, which is one of a section's. */
export const headline = (shape, title, actions) => h('div', { class: 'heading' }, h('div', { class: 'title' }, h('h1', {}, icon(shape), title), actions && h('div', { class: 'actions' }, actions)));

export const note = (...children) => h('p', { class: 'muted small' }, children);

// -- states ----------------------------------------------------------------------------------------

export const empty = (title, text, ...actions) =>
  h('div', { class: 'state' }, h('p', { class: 'state-title' }, title), text && h('p', {}, text), actions.length > 0 && h('div', { class: 'actions' }, actions));

export const noPage = (...actions) => empty('There is no such page', 'The address does not name a page of the console.', ...actions);

const HEADINGS = { 0: 'No connection', 403: 'Not allowed', 404: 'Not found', 409: 'Conflict', 503: 'Not available' };

export const failure = (error, again) =>
  h('div', { class: 'state failed', role: 'alert' },
    h('p', { class: 'state-title' }, icon('warning'), HEADINGS[error.status] ?? 'That did not work'),
    h('p', { class: 'reason' }, error.message),
    error.instance && note('Request ', h('code', {}, error.instance)),
    (again || error.status === 403) && h('div', { class: 'actions' }, again && act('Try again', again), error.status === 403 && h('a', { class: 'button', href: '#/access/me' }, 'My rights')));

export const skeleton = (lines = 3) => h('div', { class: 'skeleton', role: 'status', 'aria-label': 'Loading' }, Array.from({ length: lines }, () => h('div')));

/** A place that shows what a promise brings: first lines in grey, then the content, or the error and a button. */
export function pending(load, render, /** @type {{ lines?: number, onfailure?: (error: any, run: () => void) => unknown }} */ { lines, onfailure } = {}) {
  const box = h('div', { class: 'pending' });
  async function run() {
    replace(box, skeleton(lines));
    box.setAttribute('aria-busy', 'true');
    try {
      replace(box, render(await load(), run));
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (!('status' in error)) console.error(error);
      replace(box, onfailure?.(error, run) ?? failure(error, run));
    } finally {
      box.removeAttribute('aria-busy');
    }
  }
  run();
  box.reload = run;
  return box;
}

// -- notices ---------------------------------------------------------------------------------------

/** Say what was done, in a corner and to screen readers. */
export function notice(text) {
  const place = document.getElementById('notices');
  const line = h('div', { class: 'notice' }, text);
  place.append(line);
  setTimeout(() => line.remove(), 6000);
}

// -- dialogs ---------------------------------------------------------------------------------------

/** Give the focus back to what opened a dialog, or to the page where that is gone. */
const giveBack = (opener) => (opener?.isConnected ? opener : document.getElementById('main'))?.focus({ preventScroll: true });

/**
 * Ask in a dialog. `fields` are [name, label, options]; `act` gets their values, and the dialog closes when it succeeds.
 * A refusal is shown in the dialog, which stays.
 * @param {{ title: string, text?: string | null, fields?: any[], action: string, danger?: boolean, act: (values: any) => unknown, body?: unknown }} dialog
 */
export function ask({ title, text, fields = [], action, danger, act, body }) {
  const opener = /** @type {HTMLElement | null} */ (document.activeElement);
  const inputs = fields.map(([name, label, options = {}]) => field(name, label, options));
  const refusal = h('div');
  const button = h('button', { type: 'submit', class: danger ? 'danger' : 'primary' }, action);
  const form = h('form', { method: 'dialog', novalidate: false }, h('h2', { id: 'dialog-title' }, title), text && h('p', {}, text), body, inputs.map(({ row }) => row), refusal,
    h('div', { class: 'actions end' }, h('button', { onclick: () => dialog.close() }, 'Cancel'), button));
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await act(Object.fromEntries(inputs.map(({ name, read }) => [name, read()])));
      dialog.close();
    } catch (error) {
      replace(refusal, failure(error));
    } finally {
      button.disabled = false;
    }
  });
  dialog.addEventListener('close', () => (dialog.remove(), giveBack(opener)));
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Show something in a dialog that one closes. */
export function show(title, content) {
  const opener = /** @type {HTMLElement | null} */ (document.activeElement);
  const dialog = h('dialog', { class: 'wide', 'aria-label': title }, h('form', { method: 'dialog' }, h('h2', {}, title), content, h('div', { class: 'actions end' }, h('button', { type: 'submit' }, 'Close'))));
  dialog.addEventListener('close', () => (dialog.remove(), giveBack(opener)));
  document.body.append(dialog);
  dialog.showModal();
}

let ids = 0;

/** A labelled field: text, a choice from `options`, a `checkbox`, or several lines. */
export function field(name, label, /** @type {{ value?: any, options?: any[], type?: string, lines?: number, hint?: string, required?: boolean, placeholder?: string, oninput?: (event: any) => unknown, onchange?: (event: any) => unknown }} */ { value = '', options, type = 'text', lines, hint, required, placeholder, oninput, onchange } = {}) {
  const id = `field-${++ids}`;
  const common = { id, name, required, placeholder, oninput, onchange, 'aria-describedby': hint ? `${id}-hint` : null };
  let input;
  if (options) {
    input = h('select', common, options.map((option) => {
      const [key, text] = Array.isArray(option) ? option : [option, option];
      return h('option', { value: key, selected: key === value }, text);
    }));
  } else if (lines) input = h('textarea', { ...common, rows: lines, spellcheck: 'false', value });
  else input = h('input', { ...common, type, value: type === 'checkbox' ? null : value, autocomplete: 'off', spellcheck: 'false' });
  if (type === 'checkbox') input.checked = Boolean(value);
  const row = h('div', { class: type === 'checkbox' ? 'field check' : 'field' }, h('label', { for: id }, label), input, hint && h('p', { class: 'hint', id: `${id}-hint` }, hint));
  return { name, row, input, read: () => (type === 'checkbox' ? input.checked : input.value.trim()) };
}

/** A form whose fields are in the address: what is asked can be shared and loaded again. */
export function addressed(fields, action, show, ...others) {
  return h('form', { class: 'search asked', onsubmit: (event) => {
    event.preventDefault();
    show(Object.fromEntries(fields.map(({ name, read }) => [name, read()])));
  } }, fields.map(({ row }) => row), h('div', { class: 'actions' }, h('button', { type: 'submit', class: 'primary' }, action), others));
}

/** Lines of `key = value` as an object. */
export function readPairs(text) {
  const pairs = text.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => {
    const at = line.indexOf('=');
    if (at < 1) throw problem(`“${line}” is not a property. Write one line each, such as owner = sales.`);
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs);
}

export const writePairs = (pairs) => Object.entries(pairs ?? {}).map(([key, value]) => `${key} = ${value}`).join('\n');

// -- parts -----------------------------------------------------------------------------------------

/** A table of rows: columns are [heading, cell function, class]. */
export function grid(label, columns, rows) {
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
    h('table', { class: 'grid' },
      h('thead', {}, h('tr', {}, columns.map(([heading, , kind]) => h('th', { scope: 'col', class: kind }, heading)))),
      h('tbody', {}, rows.map((row) => h('tr', {}, columns.map(([, cell, kind]) => h('td', { class: kind }, cell(row))))))));
}

export const facts = (pairs) => h('dl', { class: 'facts' }, pairs.filter(Boolean).map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));

export const section = (title, actions, ...content) =>
  h('section', { class: 'panel' }, h('header', {}, h('h2', {}, title), actions && h('div', { class: 'actions' }, actions)), content);

export const badge = (text, kind = '') => h('span', { class: `badge ${kind}` }, text);

export const isEnabled = ({ enabled }) => badge(enabled ? 'enabled' : 'disabled', enabled ? 'good' : 'warn');

/** A button that copies a text, and says whether it did: browsers refuse it on pages of http:// from other machines. */
export function copyable(text, label = 'Copy') {
  const said = h('span', { 'aria-live': 'polite' }, label);
  const copy = () => navigator.clipboard.writeText(text);
  return h('button', { class: 'quiet', onclick: async () => {
    replace(said, await Promise.resolve().then(copy).then(() => 'Copied', () => 'Not possible here: select the text'));
    setTimeout(() => replace(said, label), 6000);
  } }, icon('copy'), said);
}

export const snippet = (title, text) => h('figure', { class: 'snippet' }, h('figcaption', {}, title, copyable(text)), h('pre', { tabindex: '0' }, h('code', {}, text)));

/** Links that look like tabs; each has an address. */
export const tabs = (label, items, chosen) =>
  h('nav', { class: 'tabs', 'aria-label': label }, items.map(([key, text, href]) => h('a', { href, 'aria-current': key === chosen ? 'page' : null }, text)));

/** A list of pages, with a button for the next. `page(token)` returns {rows, next}. */
export function paged(page, render, whenEmpty) {
  const body = h('div', { class: 'pages' });
  let rows = [];
  async function load(after) {
    const { rows: further, next } = await page(after);
    rows = [...rows, ...further];
    const more = next && act('More', (event) => {
      event.target.disabled = true;
      load(next).catch((error) => {
        event.target.disabled = false;
        body.append(failure(error));
      });
    });
    replace(body, rows.length ? render(rows) : whenEmpty, more && h('div', { class: 'actions' }, more));
    return body;
  }
  return pending(() => ((rows = []), load(null)), (content) => content);
}

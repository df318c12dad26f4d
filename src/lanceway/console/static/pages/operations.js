// Operations: how the server is, what happens in it, and tokens.

import { address, listed, own, pathOf, request } from '../base/api.js';
import { ago, count, h, plural, replace, sparkline } from '../base/dom.js';
import { adjust, to, toObject } from '../base/router.js';
import { act, addressed, ask, badge, copyable, empty, facts, failure, field, grid, headline, noPage, note, notice, paged, pending, problem, section, tabs } from '../base/widgets.js';
import { suggest } from './access/parts.js';
import { choice } from './activity/live.js';

const TABS = [['', 'Health'], ['events', 'Events'], ['tokens', 'Tokens']];
const SECONDS = 2, SAMPLES = 60, MOST_EVENTS = 300;

export function operationsPage({ names, query }, context) {
  const part = names[0] ?? '';
  const parts = { '': healthPage, events: () => eventsPage(query), tokens: () => tokensPage(query, context) };
  return [
    headline('operations', 'Operations'),
    tabs('Operations', TABS.map(([key, text]) => [key, text, to('operations', [key])]), part),
    Object.hasOwn(parts, part) && names.length < 2 ? parts[part]() : noPage(),
  ];
}

// -- health and requests ---------------------------------------------------------------------------

function healthPage() {
  const health = pending(async () => {
    const began = performance.now();
    const { version, status } = await request('GET', 'health');
    const took = performance.now() - began;
    const ready = await request('GET', 'ready').then(() => '', (error) => error.message);
    return { version, status, took, ready, configs: await request('GET', 'configs') };
  }, ({ version, status, took, ready, configs }) => facts([
    ['State', badge(status, status === 'ok' ? 'good' : 'bad')], ['Ready', ready ? [badge('no', 'bad'), ' ', ready] : badge('yes', 'good')], ['Version', version], ['Answers in', `${took.toFixed(0)} ms`],
    ...Object.entries(configs).filter(([, value]) => typeof value !== 'object').map(([name, value]) => [name, h('code', {}, String(value))]),
    ['Interfaces', h('span', { class: 'summary' }, [['Lance REST', 'openapi.json'], ['Lanceway', 'openapi-lanceway.json']].map(([text, path]) => h('a', { href: address(path), target: '_blank', rel: 'noreferrer' }, text)))],
  ]));
  return [section('Server', null, health), requests()];
}

/** Totals by operation and status, from Prometheus' text. */
function readMetrics(text) {
  const totals = new Map();
  let seconds = 0;
  for (const [, name, operation, status, value] of text.matchAll(/^lanceway_(requests_total|request_seconds_sum)\{operation="([^"]*)"(?:,status="(\d+)")?\} (\S+)$/gm)) {
    if (name === 'request_seconds_sum') { seconds += Number(value); continue; }
    const row = totals.get(operation) ?? { operation, all: 0, refused: 0, failed: 0 };
    row.all += Number(value);
    if (status >= '500') row.failed += Number(value);
    else if (status >= '400') row.refused += Number(value);
    totals.set(operation, row);
  }
  const all = [...totals.values()].reduce((sum, row) => sum + row.all, 0);
  return { totals, all, seconds };
}

function requests() {
  const body = h('div', { class: 'pending' }), rates = [];
  let before = null;
  async function tick() {
    try {
      const answer = await fetch(address('metrics'), { cache: 'no-store', credentials: 'omit' });
      if (!answer.ok) throw problem(`The metrics were answered with status ${answer.status}.`, answer.status);
      const now = { ...readMetrics(await answer.text()), at: performance.now() };
      if (before) draw(now);
      before = now;
    } catch (error) {
      replace(body, failure('status' in error ? error : problem('The server cannot be reached. It is asked again.', 0)));
    }
    setTimeout(() => body.isConnected && tick(), SECONDS * 1000);
  }
  function draw(now) {
    const span = (now.at - before.at) / 1000, passed = now.all - before.all;
    rates.push(Math.max(0, passed / span));
    rates.splice(0, rates.length - SAMPLES);
    const rows = [...now.totals.values()].map((row) => ({ ...row, rate: (row.all - (before.totals.get(row.operation)?.all ?? 0)) / span })).sort((a, b) => b.rate - a.rate || b.all - a.all);
    const rate = rates.at(-1).toFixed(1);
    replace(body,
      h('p', { class: 'big' }, h('strong', {}, rate), ' requests a second ', sparkline(rates, `Requests a second in the last ${plural(rates.length * SECONDS, 'second')}, now ${rate}`)),
      h('p', { class: 'muted' }, passed ? `On average ${(((now.seconds - before.seconds) / passed) * 1000).toFixed(1)} ms until the last byte` : 'Nothing was asked in the last seconds'),
      grid('Requests by operation', [['Operation', (row) => h('code', {}, row.operation)], ['A second', (row) => row.rate.toFixed(1), 'number'], ['All', (row) => count(row.all), 'number'], ['Refused', (row) => count(row.refused), 'number'], ['Failed', (row) => (row.failed ? badge(count(row.failed), 'bad') : '0'), 'number']], rows.slice(0, 50)));
  }
  replace(body, h('p', { class: 'muted' }, 'Counting…'));
  tick();
  return section('Requests', null, body);
}

// -- events ----------------------------------------------------------------------------------------

function eventsPage({ types, under, from }) {
  const list = h('ol', { class: 'events', role: 'log', 'aria-label': 'Events', tabindex: '0' });
  const state = note();
  const pause = act('Pause', () => {
    running = !running;
    pause.textContent = running ? 'Pause' : 'Continue';
    if (running) follow();
    else controller.abort();
  });
  const kind = field('types', 'Types', { value: types, placeholder: 'table, version.created' }), below = field('under', 'Object and what is inside', { value: under, placeholder: 'lake$team' });
  const start = field('from', 'From', { options: [['', 'now on'], ['oldest', 'the oldest that is kept']], value: from });
  const form = addressed([kind, below, start], 'Show', adjust, pause);
  let running = true, cursor = from === 'oldest' ? null : 'latest', controller = new AbortController();
  const leave = () => setTimeout(() => {
    if (list.isConnected) return;
    running = false;
    controller.abort();
    removeEventListener('hashchange', leave);
  });
  addEventListener('hashchange', leave);

  async function follow() {
    controller = new AbortController();
    replace(state, 'Connecting…');
    try {
      while (running) {
        // Where the feed is now is answered at once; nothing is missed from then on.
        const wait = cursor === 'latest' ? 0 : list.children.length ? 25 : 5;
        const page = await own('GET', 'events', { query: { after: cursor, types, under, wait }, signal: controller.signal });
        cursor = page.cursor;
        replace(state, 'Live: events appear here as they happen.');
        list.prepend(...page.events.map(eventRow).reverse());
        while (list.children.length > MOST_EVENTS) list.lastChild.remove();
      }
    } catch (error) {
      if (error.name !== 'AbortError') replace(state, failure(error, () => follow()));
    }
    if (!running) replace(state, 'Paused.');
  }
  follow();
  return section('Events', null, form, state, list);
}

function eventRow(event) {
  const { kind, object, actor, run, pipeline, number } = event.data;
  const type = event.type.replace('io.lanceway.', '');
  const subject = Array.isArray(object) && object.length ? h('a', { href: toObject(kind === 'table' || type.startsWith('job') ? 'table' : 'namespace', object) }, object.join(' › '))
    : run ? h('a', { href: to('activity', ['runs', run]) }, `${pipeline}, run ${number}`) : h('span', {}, event.subject);
  const known = ['kind', 'object', 'actor', 'run', 'pipeline', 'number'];
  const rest = Object.entries(event.data).filter(([name, value]) => !known.includes(name) && value !== '' && value != null).map(([name, value]) => `${name} = ${typeof value === 'object' ? JSON.stringify(value) : value}`);
  return h('li', {}, h('div', { class: 'actions' }, ago(Date.parse(event.time)), badge(type), subject, actor && h('span', { class: 'muted' }, `by ${actor}`)), rest.length > 0 && h('p', { class: 'muted small whole' }, rest.join(', ')));
}

// -- tokens ----------------------------------------------------------------------------------------

const LIVES = [['86400', 'a day'], ['2592000', '30 days'], ['31536000', 'a year'], ['', 'until it is revoked']];

function tokensPage(query, context) {
  const page = listed('tokens', 'tokens', { all: query.all, user: query.user });
  const ended = (row) => (row.revoked_at ? badge('revoked', 'warn') : row.expires_at && row.expires_at < Date.now() ? badge('expired', 'warn') : badge('valid', 'good'));
  const revoke = (row) => ask({
    title: `Revoke ${row.prefix}?`, action: 'Revoke', danger: true, text: `Whatever uses this token of ${row.user} is refused from the next request on. This cannot be undone.`,
    act: async () => {
      await own('DELETE', pathOf('tokens', row.prefix));
      notice('The token is revoked.');
      adjust({});
    },
  });
  return section('Tokens', act('New token', () => create(context), 'primary'), h('div', { class: 'search' }, choice('all', 'Show', [['', 'those that are valid'], ['true', 'all']], query.all)), paged(page, (rows) => grid('Tokens', [
    ['Token', (row) => h('code', { class: 'key' }, `${row.prefix}…`)], ['Label', (row) => row.label ?? ''], ['User', (row) => row.user], ['State', ended], ['Created', (row) => ago(row.created_at)], ['Last used', (row) => ago(row.last_used_at)], ['Ends', (row) => (row.expires_at ? ago(row.expires_at) : 'never')],
    ['', (row) => !row.revoked_at && act('Revoke', () => revoke(row), 'danger quiet')],
  ], rows), empty('No tokens', 'A token lets a client or a person sign in as you.')));
}

function create(context) {
  const fields = [context.me.admin && ['user', 'User', { value: context.me.name, required: true }], ['label', 'Label', { placeholder: 'what it is for' }], ['expires_in', 'Valid for', { options: LIVES, value: '2592000' }]].filter(Boolean);
  const dialog = ask({
    title: 'New token', action: 'Create', fields,
    act: async ({ user, label, expires_in }) => {
      const made = await own('POST', 'tokens', { body: { user: user ?? null, label: label || null, expires_in: expires_in ? Number(expires_in) : null } });
      const secret = h('div', {}, h('pre', { tabindex: '0', 'aria-label': 'The token' }, h('code', {}, made.token)), copyable(made.token));
      ask({ title: `The token of ${made.user}`, text: 'Copy it now: it is shown this once.', body: secret, action: 'I have it', act: () => adjust({}) });
    },
  });
  if (context.me.admin) suggest(dialog.querySelector('input'), 'users');
}

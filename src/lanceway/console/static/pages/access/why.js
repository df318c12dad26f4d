// May this user do that to this object, and why; and the audit trail.

import { delimiterOf, listed, own } from '../../base/api.js';
import { ago, h } from '../../base/dom.js';
import { adjust, go, to } from '../../base/router.js';
import { addressed, badge, empty, facts, field, grid, note, paged, pending, section } from '../../base/widgets.js';
import { loadPrivileges, placeName, placeOf, toAccess } from './grants.js';
import { suggest } from './parts.js';

// -- why -------------------------------------------------------------------------------------------

export function whyPage(names, query, context) {
  const delimiter = delimiterOf(names);
  const action = field('action', 'Action', { required: true, value: query.action ?? 'read table', hint: 'A rule, an operation or a privilege.' });
  const object = field('object', 'Object', { value: names.join(delimiter), hint: 'Names joined by $, such as lake$team$sales; empty for everything.' });
  const user = field('user', 'User', { value: query.user, placeholder: context.me.name, hint: 'You, unless you name another user.' });
  const form = addressed([user, action, object], 'Ask', (values) =>
    go(to('access', ['why', ...values.object.split(delimiter).filter(Boolean)], { action: values.action, user: values.user, kind: values.object === names.join(delimiter) ? query.kind : null })));
  const actions = own('GET', 'access/actions').then((answer) => answer.actions);
  actions.then((all) => {
    action.input.after(h('datalist', { id: 'actions' }, all.map(({ name }) => h('option', { value: name }))));
    action.input.setAttribute('list', 'actions');
  }, () => null);
  suggest(user.input, 'users').catch(() => null);
  const answer = query.action && pending(async () => [
    await own('GET', 'access/why', { query: { ...placeOf(names, query.kind), action: query.action, user: query.user } }), await actions, await loadPrivileges(),
  ], ([verdict, all, privileges]) => verdictOf(verdict, all.find(({ name }) => name === verdict.action), privileges, names, query.kind));
  return [section('May X do Y on Z, and why?', null, form), answer && section('The answer', null, answer)];
}

function verdictOf(verdict, action, privileges, names, kind) {
  const refused = verdict.demands.filter(({ allowed }) => !allowed);
  const title = (right) => privileges.find(({ name }) => name === right)?.title;
  const sets = (action?.demands ?? []).filter(({ rule }) => !verdict.demands.length || refused.some((demand) => demand.rule === rule)).flatMap(({ sufficient }) => sufficient);
  return [
    h('p', { role: 'status' }, badge(verdict.allowed ? 'yes' : 'no', verdict.allowed ? 'good' : 'bad'), ' ', h('strong', { class: 'reason' }, verdict.text)),
    verdict.if_enabled && h('p', { class: 'muted' }, 'Access control is off. With it on: ', verdict.if_enabled.text),
    verdict.demands.length > 1 && h('ul', { class: 'checks' }, verdict.demands.map((demand) => h('li', {}, badge(demand.allowed ? 'yes' : 'no', demand.allowed ? 'good' : 'bad'), h('span', {}, demand.text)))),
    !verdict.allowed && sets.length > 0 && [h('p', { class: 'muted' }, 'Any one of these lines would be enough:'), h('ul', { class: 'checks' }, sets.map((rights) => h('li', {}, rights.map((right) => badge(title(right) ? `${right}: ${title(right)}` : right)))))],
    verdict.not_asked.length > 0 && note('A request asks more: ', verdict.not_asked.join('; ')),
    h('p', {}, h('a', { href: toAccess(names, kind) }, `Rights on ${placeName(names)}`)),
  ];
}

// -- the audit trail -------------------------------------------------------------------------------

const OUTCOMES = { done: 'good', denied: 'bad', failed: 'warn', attempted: '' };

const local = (millis) => (millis ? new Date(Number(millis) - new Date(Number(millis)).getTimezoneOffset() * 60000).toISOString().slice(0, 16) : '');

export function auditPage(query, context) {
  const fields = [
    context.me.admin && field('user', 'User', { value: query.user }),
    field('object', 'Object and what is inside', { value: query.object, placeholder: 'lake$team' }),
    field('operation', 'Operation', { value: query.operation, placeholder: 'drop_table' }),
    field('outcome', 'Outcome', { options: [['', 'any'], ...Object.keys(OUTCOMES)], value: query.outcome }),
    field('since', 'Since', { type: 'datetime-local', value: local(query.since) }),
    field('until', 'Until', { type: 'datetime-local', value: local(query.until) }),
  ].filter(Boolean);
  const millis = (text) => (text ? String(Date.parse(text)) : null);
  const form = addressed(fields, 'Show', (values) => adjust({ ...values, since: millis(values.since), until: millis(values.until) }));
  const { user, object, operation, outcome, since, until } = query;
  const page = listed('audit', 'events', { user, object, operation, outcome, since, until });
  return section('Audit trail', null, form, paged(page, (rows) => grid('Audit trail', [
    ['When', (row) => ago(row.at)], ['Who', (row) => row.user], ['Operation', (row) => [h('code', { class: 'key' }, row.operation), h('div', { class: 'muted small' }, row.via)]], ['Object', (row) => h('span', { class: 'whole' }, readable(row.object))],
    ['Outcome', (row) => badge(row.outcome, OUTCOMES[row.outcome])], ['Reason', (row) => details(row)],
  ], rows), empty('Nothing was recorded', 'No change and no denial fits, or the server keeps its trail in a file: see the setting audit.')));
}

/** An object as people read it: its path is JSON for tables and namespaces, and a path of the API for others. */
function readable(object) {
  try {
    const names = JSON.parse(object ?? '');
    return Array.isArray(names) ? placeName(names) : object;
  } catch {
    const [path, query] = (object ?? '–').split('?');
    return query ? `${path}: ${[...new URLSearchParams(query)].map((pair) => pair.join(' = ')).join(', ')}` : path;
  }
}

const details = (row) => h('details', {}, h('summary', {}, row.reason ?? 'Details'), facts([
  ['Time', new Date(row.at).toISOString()], ['Request', h('code', {}, row.request_id)], row.client && ['Client', row.client], row.agent && ['Agent', row.agent], row.code != null && ['Code', String(row.code)],
]));

// Background jobs: how far each is, what it did, and how it is cancelled or asked for again.

import { lance, listed, own, pathOf } from '../../base/api.js';
import { ago, count, h } from '../../base/dom.js';
import { go, to, toObject } from '../../base/router.js';
import { act, ask, empty, facts, grid, notice, paged, section } from '../../base/widgets.js';
import { choice, duration, live, state } from './live.js';

const STATES = ['queued', 'running', 'done', 'failed', 'cancelled'];
/** By which request of Lance REST a job is asked for. */
const AGAIN = { backfill: ['table', 'backfill_column'], refresh: ['materialized_view', 'refresh'] };
const hasEnded = (job) => !['queued', 'running'].includes(job.state);

export function jobsPage(query, context) {
  return section('Background jobs', null,
    h('div', { class: 'search' }, choice('state', 'State', [['', 'any'], ...STATES], query.state), context.me.admin && choice('all', 'Whose', [['', 'mine'], ['true', 'everyone’s']], query.all)),
    paged(listed('jobs', 'jobs', { state: query.state, all: query.all }), (rows) => grid('Background jobs', [
      ['Job', (row) => h('a', { href: to('activity', ['jobs', row.id]) }, row.kind)], ['Table', (row) => h('a', { href: toObject('table', row.table) }, row.table.join(' › '))],
      ['State', (row) => [state(row.state), hasEnded(row) || bar(row)]], ['By', (row) => row.requested_by], ['Asked for', (row) => ago(row.created_at)], ['Took', (row) => duration(row.began_at, row.ended_at), 'number'],
    ], rows), empty('No jobs', 'Indices, compaction, views and columns are computed in the background when lanceway tables … --background asks for it.')));
}

function bar({ progress }) {
  if (!progress) return null;
  const { done = 0, total, rows, message } = progress;
  const text = [total ? `${count(done)} of ${count(total)} parts` : `${count(done)} parts`, rows && `${count(rows)} rows`, message].filter(Boolean).join(', ');
  return h('div', { class: 'progress' }, h('progress', { max: total, value: total ? done : null, 'aria-label': text }), h('span', { class: 'muted small' }, text));
}

const described = (value) => (value !== null && typeof value === 'object' ? JSON.stringify(value) : String(value));

export const pairs = (values) => Object.entries(values ?? {}).map(([name, value]) => [name.replaceAll('_', ' '), described(value)]);

export function jobPage(id) {
  return live(() => own('GET', pathOf('jobs', id)), (job) => [
    section(`${job.kind} of ${job.table.at(-1)}`, [hasEnded(job) || act('Cancel', () => cancel('job', job.kind, 'jobs', job.id), 'danger quiet'), AGAIN[job.kind] && ['failed', 'cancelled'].includes(job.state) && act('Retry', () => retry(job), 'primary')],
      h('div', { role: 'status' }, state(job.state), hasEnded(job) || bar(job)),
      job.error && h('p', { class: 'reason failed' }, job.error),
      facts([['Job', h('code', {}, job.id)], ['Table', h('a', { href: toObject('table', job.table) }, job.table.join(' › '))], ['Asked for', [ago(job.created_at), ` by ${job.requested_by}`]], ['Attempts', count(job.attempts)],
        ['Took', duration(job.began_at, job.ended_at)], job.worker && ['Worker', job.worker], job.cancelled_by && ['Cancelled by', job.cancelled_by]])),
    section('What was asked for', null, Object.keys(job.request).length ? facts(pairs(job.request)) : h('p', { class: 'muted' }, 'Nothing in particular: the defaults.')),
    job.result && section('What it did', null, facts(pairs(job.result))),
  ], { over: hasEnded });
}

/** Ask before a job or a run is cancelled. Its path here is the interface's too. */
export const cancel = (kind, what, ...path) => ask({
  title: `Cancel this ${what}?`, action: `Cancel the ${kind}`, danger: true, text: 'What it has written stays.',
  act: async () => {
    await own('POST', `${path.join('/')}/cancel`);
    notice(`The ${kind} is being cancelled.`);
    go(to('activity', path));
  },
});

const retry = (job) => ask({
  title: `Ask for this ${job.kind} again?`, action: 'Retry', text: 'A new job does the same, with your rights as they are now.',
  act: async () => {
    const [kind, verb] = AGAIN[job.kind];
    const { job_id: id } = await lance(kind, job.table, verb, job.request);
    notice('A new job is queued.');
    go(to('activity', ['jobs', id]));
  },
});

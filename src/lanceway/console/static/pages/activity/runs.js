// Pipelines and their runs: steps, what they read and wrote, the results of expectations, and what went wrong.

import { listed, own, pathOf } from '../../base/api.js';
import { ago, bytes, count, h, plural } from '../../base/dom.js';
import { to } from '../../base/router.js';
import { act, badge, empty, facts, grid, paged, section, snippet } from '../../base/widgets.js';
import { cancel, pairs } from './jobs.js';
import { choice, duration, live, state } from './live.js';

const STATES = ['running', 'done', 'failed', 'stopped', 'given up', 'killed'];
/** Without the time in which a resumed run was stopped. */
const took = (run) => (run.seconds ? duration(0, 1000 * run.seconds) : duration(run.began_at, run.ended_at));
const toLineage = (location) => to('activity', ['lineage'], { location });

const none = empty('No pipeline was run yet', 'lanceway pipeline run pipeline.yaml runs one. Its steps and lineage are shown here.');

export const pipelinesPage = () => section('Pipelines', null, paged(listed('pipelines', 'pipelines'), (rows) => grid('Pipelines', [
  ['Pipeline', (row) => h('a', { href: to('activity', ['runs'], { pipeline: row.name }) }, row.name)], ['Newest run', (row) => state(row.state)], ['Began', (row) => ago(row.began_at)],
  ['Took', (row) => duration(row.began_at, row.ended_at), 'number'], ['Runs', (row) => count(row.runs), 'number'], ['Held by', (row) => (row.held_by ? [row.held_by, ' since ', ago(row.held_since)] : '–')],
], rows), none));

export const runsPage = ({ pipeline, state: wanted }) => section(pipeline ? `Runs of ${pipeline}` : 'Runs', pipeline && h('a', { class: 'button', href: to('activity', ['runs']) }, 'All runs'),
  h('div', { class: 'search' }, choice('state', 'State', [['', 'any'], ...STATES], wanted)),
  paged(listed('runs', 'runs', { pipeline, state: wanted }), (rows) => grid('Runs', [
    ['Run', (row) => h('a', { href: to('activity', ['runs', row.key]) }, `${row.pipeline} ${row.number}`)], ['State', (row) => state(row.state)], ['Began', (row) => ago(row.began_at)], ['Took', took, 'number'],
    ['Rows', (row) => count(row.rows), 'number'], ['Wrote', (row) => row.written?.join(', ') || '–'], ['By', (row) => row.started_by], ['Problem', (row) => row.error ?? ''],
  ], rows), none));

export function runPage(key) {
  return live(() => own('GET', pathOf('runs', key)), (run) => [
    section(`${run.pipeline}, run ${run.number}`, run.state === 'running' && act('Cancel', () => cancel('run', 'run', 'runs', run.key), 'danger quiet'),
      h('div', { role: 'status' }, state(run.state), ' ', h('span', { class: 'muted' }, `${plural(run.steps.filter(({ state: each }) => each !== 'waiting').length, 'step')} of ${run.steps.length} begun, ${plural(run.rows, 'row')} written`)),
      run.error && h('p', { class: 'reason failed' }, run.error),
      run.warnings.map((text) => h('p', { class: 'reason' }, badge('warning', 'warn'), ' ', text)),
      facts([['Began', [ago(run.began_at), ` by ${run.started_by}`]], ['Took', took(run)], ['Attempts', count(run.attempts)], ['Reads', run.full ? 'everything' : 'what is new'], ['Run', h('code', {}, run.key)]])),
    section('Steps', null, run.steps.length ? steps(run) : empty('No steps yet', 'The run is still being planned.')),
    expectations(run),
    run.reads.length > 0 && section('What was read', null, grid('What was read', [
      ['Step', (row) => row.step], ['Source', (row) => (row.location ? h('a', { href: toLineage(row.location) }, row.table_name ?? row.source) : row.source)], ['Kind', (row) => row.kind], ['Versions', (row) => (row.after ? `${count(row.after)} to ${count(row.version)}` : `up to ${count(row.version)}`), 'number'],
    ], run.reads)),
    !['done', 'given up'].includes(run.state) && section('To resume it', null, h('p', {}, 'What has ended stays. This does the rest:'), snippet('Shell', `lanceway pipeline run FILE    # the file of ${run.pipeline}`)),
  ], { over: (run) => run.state !== 'running' });
}

const steps = (run) => grid('Steps', [
  ['Step', (row) => h('strong', {}, row.name)], ['Kind', (row) => row.kind], ['State', (row) => state(row.state)],
  ['Table', (row) => (row.location ? h('a', { href: toLineage(row.location) }, row.table_name) : row.table_name ?? '–')], ['Version', (row) => count(row.version), 'number'], ['Rows', (row) => count(row.rows), 'number'], ['Size', (row) => bytes(row.bytes), 'number'],
  ['Took', (row) => duration(row.began_at, row.ended_at), 'number'], ['Log', log],
], run.steps);

/** What a step said: its error, its warnings, and the rest of its details. */
function log({ error, details }) {
  const { warnings = [], expectations: _, ...rest } = details ?? {};
  const more = pairs(rest).filter(([name]) => name !== 'state');
  return [error && h('p', { class: 'reason failed' }, error), warnings.map((text) => h('p', {}, badge('warning', 'warn'), ' ', text)), more.length > 0 && h('details', {}, h('summary', {}, 'Details'), facts(more))];
}

function expectations(run) {
  const rows = run.steps.flatMap((step) => Object.entries(step.details?.expectations ?? {}).flatMap(([of, { rows: total, expectations: rules = {} }]) =>
    Object.entries(rules).map(([name, { broken, otherwise }]) => ({ output: step.name, of, name, broken, otherwise, total }))));
  return rows.length > 0 && section('Expectations', null, grid('Expectations', [
    ['Of', (row) => row.of], ['Expectation', (row) => row.name], ['Result', (row) => badge(row.broken ? `${plural(row.broken, 'row')} broke it` : 'held', row.broken ? 'warn' : 'good')], ['Of rows', (row) => count(row.total), 'number'], ['Otherwise', (row) => row.otherwise], ['Output', (row) => row.output],
  ], rows));
}

// Home: the tables of the lake that changed last, what went wrong, and what one may see. An empty lake shows how to begin.

import { address, lance, nameOf, own } from '../base/api.js';
import { ago, count, h, icon, replace, sparkline } from '../base/dom.js';
import { go, to, toObject } from '../base/router.js';
import { act, ask, empty, grid, headline, isEnabled, notice, pending, section, show, snippet } from '../base/widgets.js';
import { state } from './activity/live.js';
import { mount } from './namespace.js';
import { change, happened } from './table/versions.js';

const TABLES = 10, VERSIONS = 12, PROBLEMS = 5;

export function homePage(route, context) {
  const load = async () => {
    const [{ tables }, { catalogs }] = await Promise.all([own('GET', 'tables/recent', { query: { limit: TABLES } }), own('GET', 'catalogs', { query: { limit: 1000 } })]);
    return { tables, catalogs };
  };
  return [
    headline('home', 'Home'),
    pending(load, ({ tables, catalogs }) => [
      tables.length > 0 ? section('Changed last', null, changedLast(tables)) : catalogs.length > 0 && section('Begin here', null, begin(catalogs, context)),
      h('div', { class: 'columns' },
        section('What went wrong', h('a', { class: 'button', href: to('activity') }, 'Activity'), pending(() => problems(context.me), wentWrong)),
        section('What you may see', h('a', { class: 'button', href: to('access', ['me']) }, 'My rights'), maySee(catalogs))),
    ], { lines: 8 }),
  ];
}

// -- tables ----------------------------------------------------------------------------------------

function changedLast(tables) {
  const rows = tables.map((table) => ({ ...table, parts: ['rows', 'line', 'what', 'change'].map(() => h('span', { 'aria-busy': 'true' })) }));
  rows.forEach(fillRow);
  return grid('Changed last', [
    ['Table', (row) => [h('a', { href: toObject('table', row.id) }, icon('table'), row.id.at(-1)), h('span', { class: 'muted small path' }, row.id.slice(0, -1).join(' › '))]],
    ['Rows', (row) => row.parts[0], 'number'],
    ['Versions', (row) => row.parts[1]],
    ['What happened', (row) => row.parts[2]],
    ['Change', (row) => row.parts[3], 'number'],
    ['When', (row) => ago(row.changed_at)],
  ], rows);
}

/** Ask for the versions of a table, which may take a moment, while the names are there already. */
async function fillRow({ id, parts }) {
  let texts = ['–', '–', '–', '–'];
  try {
    const { versions } = await own('GET', 'tables/history', { query: { ...nameOf('table', id), limit: VERSIONS } });
    const sizes = versions.map((one) => one.rows).filter((rows) => rows != null).reverse();
    if (versions.length) texts = [count(versions[0].rows), h('a', { href: toObject('table', id, { tab: 'versions' }), 'aria-label': `Versions of ${id.at(-1)}` }, sizes.length ? line(sizes) : versions.length), happened(versions[0]), change(versions[0])];
  } catch (error) {
    if (!('status' in error)) throw error;
  } finally {
    parts.forEach((part, i) => (replace(part, texts[i]), part.removeAttribute('aria-busy')));
  }
}

const line = (sizes) => sparkline(sizes, `Rows of the last ${sizes.length === 1 ? 'version' : `${sizes.length} versions`}: ${[...new Set([sizes[0], sizes.at(-1)])].map(count).join(' to ')}`);

// -- what went wrong, and what there is ------------------------------------------------------------

async function problems(me) {
  const listed = (list, query) => own('GET', list, { query: { ...query, limit: PROBLEMS } }).then((answer) => answer[list]);
  const [failed, killed, jobs] = await Promise.all([listed('runs', { state: 'failed' }), listed('runs', { state: 'killed' }), listed('jobs', { state: 'failed', all: me.admin || null })]);
  const runs = [...failed, ...killed].map((run) => ({ ...run, at: run.ended_at ?? run.began_at, title: `${run.pipeline}, run ${run.number}`, href: to('activity', ['runs', run.key]) }));
  const rows = [...runs, ...jobs.map((job) => ({ ...job, at: job.ended_at ?? job.created_at, title: `${job.kind} of ${job.table.at(-1)}`, href: to('activity', ['jobs', job.id]) }))];
  return rows.sort((a, b) => b.at - a.at).slice(0, PROBLEMS);
}

const wentWrong = (rows) => (rows.length === 0 ? empty('Nothing', 'No run of a pipeline and no background job that you may see has failed.') : grid('What went wrong', [
  ['What', (row) => [h('a', { href: row.href }, row.title), row.error && h('span', { class: 'muted small problem' }, row.error)]],
  ['State', (row) => state(row.state)],
  ['When', (row) => ago(row.at)],
], rows));

const maySee = (catalogs) => (catalogs.length === 0 ? empty('No catalogs that you may use', 'An administrator grants them: USE_CATALOG on a catalog lets you in.') : [
  grid('Catalogs', [
    ['Catalog', (row) => h('a', { href: toObject('namespace', [row.name]) }, icon('catalog'), row.name)],
    ['Type', (row) => row.type],
    ['State', isEnabled],
  ], catalogs.slice(0, TABLES)),
  catalogs.length > TABLES && h('p', {}, h('a', { href: to('catalogs') }, `All ${count(catalogs.length)} catalogs`)),
]);

// -- an empty lake ---------------------------------------------------------------------------------

const begin = (catalogs, context) => h('div', { class: 'cards' }, [
  ['table', 'A table to look at', 'Fruit, with pictures, and with vectors of how it tastes.', act('Make a sample table', () => makeSample(catalogs, context), 'primary')],
  ['namespace', 'Tables that you have', 'A folder of the server, a bucket, or another catalog becomes a part of the tree.', act('Register a folder', () => mount(context))],
  ['copy', 'Your own client', 'What Python, LanceDB or curl type to write the first table.', act('Connect a client', connect)],
].map(([shape, title, text, button]) => h('div', { class: 'card' }, h('h3', {}, icon(shape), title), h('p', { class: 'muted' }, text), button)));

function makeSample(catalogs, context) {
  const lakes = catalogs.filter((catalog) => catalog.type === 'lake' && catalog.enabled).map((catalog) => catalog.name);
  ask({
    title: 'Make a sample table', action: 'Create', text: 'The table fruit, in a namespace samples. Drop both when you have seen enough.',
    fields: [['catalog', 'Catalog', lakes.length ? { options: lakes } : { required: true }]],
    act: async ({ catalog }) => {
      const namespace = [catalog, 'samples'], names = [...namespace, 'fruit'];
      const file = await fetch(new URL('../sample.arrow', import.meta.url));
      const rows = new Blob([await file.arrayBuffer()], { type: file.headers.get('Content-Type') });
      await own('POST', 'schemas', { body: { name: namespace } }).catch((error) => {
        if (error.status !== 409) throw error;
      });
      await lance('table', names, 'create', rows);
      notice('The table fruit is there. “More like this” beside a vector shows what tastes alike.');
      await Promise.all([context.changed([catalog]), context.changed(namespace)]);
      go(toObject('table', names));
    },
  });
}

function connect() {
  const uri = JSON.stringify(address('lance'));
  show('Connect a client', [
    h('p', { class: 'muted' }, 'Put a token of yours into the variable LANCEWAY_TOKEN first: Operations, Tokens makes one.'),
    snippet('Python', `# pip install lanceway\nimport os, lanceway\n\nlake = lanceway.connect(${uri}, token=os.environ["LANCEWAY_TOKEN"])\nlake.create("lake.fruit", [{"id": 1, "name": "apple", "taste": [0.9, 0.2]}])`),
    snippet('LanceDB', `# pip install lancedb\nimport os, lancedb\n\ndb = lancedb.connect("db://lake", api_key=os.environ["LANCEWAY_TOKEN"], host_override=${uri})\ndb.create_table("fruit", [{"id": 1, "name": "apple", "vector": [0.9, 0.2]}])`),
    snippet('curl', `curl -H "Authorization: Bearer $LANCEWAY_TOKEN" ${address('lanceway/v1/me')}`),
  ]);
}

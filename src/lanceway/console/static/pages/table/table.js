// One table: what it is, and its parts, each with an address.

import { lance } from '../../base/api.js';
import { typeName } from '../../base/cells.js';
import { bytes, count, h, plural } from '../../base/dom.js';
import { adjust, go, toObject } from '../../base/router.js';
import { icebergPage, otherFormat } from './iceberg.js';
import { indicesTab } from './indices.js';
import { heading } from '../namespace.js';
import { quoted, rowsTab } from './rows.js';
import { useTab } from './snippets.js';
import { versionsTab } from './versions.js';
import { act, ask, badge, empty, facts, failure, notice, pending, problem, section, tabs } from '../../base/widgets.js';

const TABS = [['rows', 'Rows'], ['schema', 'Schema'], ['versions', 'Versions'], ['indices', 'Indices'], ['use', 'Use it']];

// What Lance REST says of a table that is of another format.
const NOT_LANCE = 13;

export function tablePage(route, context) {
  const { names, query } = route;
  if (query.format === 'iceberg') return icebergPage(names);
  const tab = query.tab ?? 'rows';
  const branch = query.branch;
  const at = (key) => toObject('table', names, { tab: key === 'rows' ? null : key, branch });
  const load = () => lance('table', names, 'describe', { load_detailed_metadata: true, check_declared: true, branch, version: query.version && Number(query.version) });
  return [
    heading(names, 'table', act('Rename', () => rename(names, context)), act('Drop', () => drop(names, context), 'danger quiet')),
    pending(load, (table) => [summary(table, branch), tabs('Parts', TABS.map(([key, text]) => [key, text, at(key)]), tab), content(tab, names, table, query)], { lines: 8, onfailure: (error, again) => (error.code === NOT_LANCE ? otherFormat(names, error) : failure(error, again)) }),
  ];
}

function summary(table, branch) {
  const rows = table.metadata?.total_rows, files = table.metadata?.total_files_size;
  return h('p', { class: 'summary' },
    rows != null && h('span', {}, plural(Number(rows), 'row')), table.version != null && h('span', {}, `version ${count(table.version)}`),
    table.schema && h('span', {}, plural(table.schema.fields.length, 'column')), files != null && h('span', {}, bytes(Number(files))),
    h('span', {}, badge(table.managed_versioning ? 'server-managed' : 'storage-managed')), branch && h('span', {}, badge(`branch ${branch}`, 'warn')),
    table.is_only_declared && badge('declared only', 'warn'));
}

function content(tab, names, table, query) {
  if (tab === 'use') return useTab(names, table);
  if (table.is_only_declared || !table.schema) {
    return section('Rows', null, empty('Declared, but not yet created', 'The name is taken, and no client has written rows yet. “Use it” shows how.'));
  }
  if (tab === 'schema') return schemaTab(names, table, atBranch(query));
  if (tab === 'versions') return versionsTab(names, query);
  if (tab === 'indices') return indicesTab(names, table, query);
  return rowsTab(names, table, query);
}

// -- schema ----------------------------------------------------------------------------------------

function fieldRows(fields, depth = 0) {
  return fields.flatMap((field) => {
    const nested = field.type.type === 'struct' ? field.type.fields : (field.type.fields?.[0]?.type.type === 'struct' ? field.type.fields[0].type.fields : []);
    return [{ field, depth }, ...fieldRows(nested, depth + 1)];
  });
}

const atBranch = (query) => (query.branch ? { branch: query.branch } : {});

function schemaTab(names, table, at) {
  const rows = fieldRows(table.schema.fields);
  const columns = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Columns' }, h('table', { class: 'grid' },
    h('thead', {}, h('tr', {}, ['Column', 'Type', 'Nulls', 'Notes', ''].map((text) => h('th', { scope: 'col' }, text)))),
    h('tbody', {}, rows.map(({ field, depth }) => h('tr', {}, h('td', { class: `depth-${Math.min(depth, 5)}` }, h('strong', {}, field.name)), h('td', {}, h('code', {}, typeName(field.type))), h('td', {}, field.nullable ? 'yes' : 'no'), h('td', {}, notes(field.metadata)), h('td', {}, depth === 0 && h('span', { class: 'actions' }, act('Rename', () => renameColumn(names, field, at), 'quiet'), act('Drop', () => dropColumn(names, field, at), 'danger quiet'))))))));
  const statistics = pending(() => lance('table', names, 'stats', at), (stats) => facts([
    ['Rows', count(stats.num_rows)], ['Size', bytes(stats.total_bytes)], ['Indices', count(stats.num_indices)], ['Fragments', count(stats.fragment_stats.num_fragments)],
    ['Small fragments', count(stats.fragment_stats.num_small_fragments)], ['Rows in a fragment', `${count(stats.fragment_stats.lengths.min)} to ${count(stats.fragment_stats.lengths.max)}, on average ${count(stats.fragment_stats.lengths.mean)}`],
    ['Deleted rows', count(table.stats?.num_deleted_rows)],
  ]));
  const properties = Object.entries(table.properties ?? {});
  return [
    section('Columns', [act('New column', () => addColumn(names, at), 'primary')], columns), section('Statistics', null, statistics),
    section('Properties', null, facts([['Location', h('code', {}, table.location)], ...properties.map(([key, value]) => [key, value])])),
  ];
}

const notes = (metadata) => Object.entries(metadata ?? {}).map(([key, value]) => h('span', { class: 'note' }, `${key} = ${value}`));

// -- changes ---------------------------------------------------------------------------------------

const addColumn = (names, at) => ask({
  title: 'New column', action: 'Add', text: 'Every row gets the value of an SQL expression over its other columns.',
  fields: [['name', 'Name', { required: true }], ['expression', 'Expression', { required: true, placeholder: 'price * 1.2' }]],
  act: async ({ name, expression }) => {
    await lance('table', names, 'add_columns', { new_columns: [{ name, expression }], ...at });
    notice(`The column ${name} is added.`);
    adjust({});
  },
});

const renameColumn = (names, { name: before }, at) => ask({
  title: `Rename the column ${before}`, action: 'Rename', text: 'Earlier versions keep the old name.', fields: [['name', 'New name', { required: true, value: before }]],
  act: async ({ name }) => {
    await lance('table', names, 'alter_columns', { alterations: [{ path: quoted(before), rename: name }], ...at });
    notice(`${before} is called ${name} now.`);
    adjust({});
  },
});

const dropColumn = (names, { name }, at) => ask({
  title: `Drop the column ${name}?`, action: 'Drop', danger: true, text: 'Earlier versions keep it until they are cleaned up.',
  act: async () => {
    await lance('table', names, 'drop_columns', { columns: [quoted(name)], ...at });
    notice(`The column ${name} is dropped.`);
    adjust({});
  },
});

function rename(names, context) {
  ask({
    title: `Rename ${names.at(-1)}`, action: 'Rename', text: 'Clients that use the old name will not find it. Grants and owners stay with the table.',
    fields: [['name', 'New name', { required: true, value: names.at(-1) }]],
    act: async ({ name }) => {
      await lance('table', names, 'rename', { new_table_name: name });
      notice(`${names.at(-1)} is called ${name} now.`);
      await context.changed(names.slice(0, -1));
      go(toObject('table', [...names.slice(0, -1), name]));
    },
  });
}

function drop(names, context) {
  ask({
    title: `Drop ${names.at(-1)}?`, action: 'Drop', danger: true, text: 'The table and its data are deleted. This cannot be undone. Type its name to confirm.',
    fields: [['name', 'Name of the table', { required: true }]],
    act: async ({ name }) => {
      if (name !== names.at(-1)) throw problem(`That is not the name of the table, which is ${names.at(-1)}.`);
      await lance('table', names, 'drop', undefined);
      notice(`${names.at(-1)} is dropped.`);
      await context.changed(names.slice(0, -1));
      go(toObject('namespace', names.slice(0, -1)));
    },
  });
}

// Indices of a table: what each covers, and how they are made and dropped.

import { lance } from '../../base/api.js';
import { isVector, typeName } from '../../base/cells.js';
import { ago, bytes, count, h } from '../../base/dom.js';
import { adjust } from '../../base/router.js';
import { quoted } from './rows.js';
import { act, ask, badge, empty, facts, grid, notice, pending, section, show } from '../../base/widgets.js';

const KINDS = [['BTREE', 'BTREE: ranges and sorting'], ['BITMAP', 'BITMAP: few different values'], ['LABEL_LIST', 'LABEL_LIST: lists of labels'], ['FTS', 'FTS: full text'], ['IVF_PQ', 'IVF_PQ: vectors, compressed'], ['IVF_FLAT', 'IVF_FLAT: vectors, exact in partitions'], ['IVF_HNSW_SQ', 'IVF_HNSW_SQ: vectors, a graph']];

export function indicesTab(names, table, query) {
  const branch = query.branch ? { branch: query.branch } : {};
  const list = pending(() => lance('table', names, 'index/list', branch), ({ indexes }) =>
    indexes.length === 0
      ? empty('No indices', 'Searches read the whole table. An index makes them quick: FTS for text, IVF_PQ for vectors, BTREE for filters.')
      : grid('Indices', [
        ['Name', (row) => h('strong', {}, row.index_name)],
        ['Columns', (row) => row.columns.join(', ')],
        ['Type', (row) => h('code', {}, row.index_type ?? '–')],
        ['State', (row) => badge(row.status, row.status === 'done' ? 'good' : 'warn')],
        ['Rows', (row) => count(row.num_indexed_rows), 'number'],
        ['Not indexed', (row) => count(row.num_unindexed_rows), 'number'],
        ['Size', (row) => bytes(row.size_bytes), 'number'],
        ['Created', (row) => ago(row.created_at && Date.parse(row.created_at))],
        ['', (row) => [act('Details', () => details(row), 'quiet'), act('Drop', () => drop(names, row, branch), 'danger quiet')]],
      ], indexes));
  return section('Indices', [act('New index', () => create(names, table, branch), 'primary')], list);
}

function details(row) {
  const inner = (() => {
    try {
      return Object.entries(JSON.parse(row.index_details ?? '{}')).filter(([, value]) => value != null);
    } catch {
      return [];
    }
  })();
  show(row.index_name, facts([['Uuid', h('code', {}, row.index_uuid)], ['Segments', count(row.num_segments)], ...inner.map(([key, value]) => [key, typeof value === 'object' ? JSON.stringify(value) : String(value)])]));
}

function create(names, table, branch) {
  const fields = table.schema.fields;
  const vector = fields.find((field) => isVector(field.type));
  ask({
    title: 'New index', action: 'Create', text: 'It is built at once, which takes a while for a large table.',
    fields: [
      ['column', 'Column', { options: fields.map((field) => [field.name, `${field.name}: ${typeName(field.type)}`]), value: vector?.name }],
      ['index_type', 'Type', { options: KINDS, value: vector ? 'IVF_FLAT' : 'BTREE' }],
      ['name', 'Name', { hint: 'Chosen by the server if left out.' }],
    ],
    act: async ({ column, index_type, name }) => {
      const scalar = ['BTREE', 'BITMAP', 'LABEL_LIST', 'FTS'].includes(index_type);
      await lance('table', names, scalar ? 'create_scalar_index' : 'create_index', { column: quoted(column), index_type, ...(name && { name }), ...branch });
      notice('The index is built.');
      adjust({});
    },
  });
}

function drop(names, row, branch) {
  ask({
    title: `Drop the index ${row.index_name}?`, action: 'Drop', danger: true, text: 'Searches that use it read the whole table from then on.',
    act: async () => {
      await lance('table', names, `index/${encodeURIComponent(row.index_name)}/drop`, undefined, { query: branch });
      notice('The index is dropped.');
      adjust({});
    },
  });
}


// Rows of a table: a page at a time, filtered and searched, each with an address.

import { lance } from '../../base/api.js';
import { cell, isBinary, isNumber, isText, isVector } from '../../base/cells.js';
import { count, h, icon } from '../../base/dom.js';
import { adjust, toObject } from '../../base/router.js';
import { act, empty, field, note, pending, problem, section, show } from '../../base/widgets.js';

const SIZE = 25;
/** As many columns are asked for and drawn at once. */
const COLUMNS = 100;
const ID = '_rowid';
const TOO_LARGE = /too large for JSON/;

/** A column as Lance's field paths have it: what is no plain name stands in backticks. */
export const quoted = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll('`', '``')}\``);

export function rowsTab(names, table, query) {
  const fields = table.schema.fields;
  return query.row != null ? oneRow(names, fields, query) : allRows(names, fields, query);
}

// -- asking ----------------------------------------------------------------------------------------

/** The request for the rows that an address names. */
async function wanted(names, fields, query) {
  const request = { k: SIZE + 1, offset: Number(query.from) || 0, vector: { single_vector: [] }, with_row_id: true };
  if (fields.length > COLUMNS) request.columns = { column_names: someColumns(fields, query).map((one) => quoted(one.name)) };
  if (query.filter) Object.assign(request, { filter: query.filter, prefilter: true });
  if (query.text) request.full_text_query = { string_query: { query: query.text } };
  if (query.version) request.version = Number(query.version);
  if (query.branch) request.branch = query.branch;
  if (query.near != null || query.vector) {
    request.vector_column = quoted(query.by);
    request.vector = { single_vector: query.vector ? numbers(query.vector) : await vectorOf(names, query) };
  }
  return request;
}

const someColumns = (fields, { column }) => fields.slice(Number(column) || 0, (Number(column) || 0) + COLUMNS);

function numbers(text) {
  const values = text.split(/[\s,[\]]+/).filter(Boolean).map(Number);
  if (values.some(Number.isNaN)) throw problem('A vector is numbers with commas between them, such as 0.1, 0.25, -1.');
  return values;
}

/** The filter for one row, whose address comes from a link that anyone may have written. */
function isRow(address) {
  if (!/^\d{1,20}$/.test(address)) throw problem('The address names no row: it must be a number.');
  return `${ID} = ${address}`;
}

async function vectorOf(names, { near, by, branch, version }) {
  const request = { k: 1, vector: { single_vector: [] }, filter: isRow(near), columns: { column_names: [quoted(by)] } };
  const { rows } = await lance('table', names, 'query', { ...request, ...(branch && { branch }), ...(version && { version: Number(version) }) });
  if (!rows[0]?.[by]) throw problem(`Row ${near} is gone, or has no vector.`, 404);
  return rows[0][by];
}

/** Ask for rows. Where they are too large for a page, bytes are left out, and `left` says which columns. */
async function fetchRows(names, fields, request) {
  try {
    return { ...(await lance('table', names, 'query', request)), left: [] };
  } catch (error) {
    const left = fields.filter((one) => isBinary(one.type)).map((one) => one.name);
    if (!TOO_LARGE.test(error.message) || !left.length) throw error;
    const asked = request.columns?.column_names;
    const kept = fields.filter((one) => !isBinary(one.type) && (!asked || asked.includes(quoted(one.name)))).map((one) => quoted(one.name));
    return { ...(await lance('table', names, 'query', { ...request, columns: { column_names: kept } })), left };
  }
}

// -- many rows -------------------------------------------------------------------------------------

function allRows(names, fields, query) {
  const from = Number(query.from) || 0;
  const load = async () => fetchRows(names, fields, await wanted(names, fields, query));
  const list = pending(load, ({ schema, rows, left }) => {
    const shown = rows.slice(0, SIZE);
    if (!shown.length && !from) return empty('No rows', query.filter || query.text ? 'No row matches. Take something out of the filter or of the search.' : 'Nothing has been written to this table yet.');
    return [
      left.length > 0 && note(`Left out, since the page would be too large: ${left.join(', ')}. Open a row to see them.`),
      fields.length > COLUMNS && columnPager(fields, query),
      rowGrid(names, schema.fields, shown, query),
      h('div', { class: 'pager' },
        h('button', { disabled: from === 0, onclick: () => adjust({ from: Math.max(0, from - SIZE) || null }) }, 'Previous'),
        h('span', { class: 'muted small' }, shown.length ? `Rows ${count(from + 1)} to ${count(from + shown.length)}` : 'No more rows'),
        h('button', { disabled: rows.length <= SIZE, onclick: () => adjust({ from: from + SIZE }) }, 'Next')),
    ];
  }, { lines: 8 });
  return [searchPanel(names, fields, query), section('Rows', [act('Plan', () => showPlan(names, fields, query))], list)];
}

function columnPager(fields, query) {
  const first = Number(query.column) || 0, last = Math.min(fields.length, first + COLUMNS);
  return h('div', { class: 'pager' },
    h('button', { disabled: first === 0, onclick: () => adjust({ column: Math.max(0, first - COLUMNS) || null }) }, 'Columns before'),
    h('span', { class: 'muted small' }, `Columns ${count(first + 1)} to ${count(last)} of ${count(fields.length)}`),
    h('button', { disabled: last === fields.length, onclick: () => adjust({ column: last }) }, 'Columns after'));
}

const ofSearch = new Set(['_distance', '_score', '_relevance_score']);

function rowGrid(names, fields, rows, query) {
  // How well a row fits comes first.
  const columns = [...fields.filter((one) => ofSearch.has(one.name)), ...fields.filter((one) => one.name !== ID && !ofSearch.has(one.name))];
  const here = (changes) => toObject('table', names, { ...query, ...changes });
  return h('div', { class: 'scroll rows', tabindex: '0', role: 'region', 'aria-label': 'Rows' }, h('table', { class: 'grid' },
    h('thead', {}, h('tr', {}, h('th', { scope: 'col', class: 'pin' }, h('span', { class: 'sr' }, 'Row')), columns.map((one) => h('th', { scope: 'col', class: isNumber(one.type) ? 'number' : null }, one.name)))),
    h('tbody', {}, rows.map((row) => h('tr', {},
      h('td', { class: 'pin' }, h('a', { href: here({ row: row[ID] }), 'aria-label': `Row ${row[ID]}`, title: `Row ${row[ID]}` }, icon('open'))),
      columns.map((one) => h('td', { class: isNumber(one.type) ? 'number' : null },
        ofSearch.has(one.name) ? h('strong', {}, Number(row[one.name]).toPrecision(4)) : cell(row[one.name], one.type, { near: isVector(one.type) ? like(names, row, one.name, query) : null }))))))));
}

const like = (names, row, by, { branch, version, filter }) => toObject('table', names, { near: row[ID], by, branch, version, filter });

function searchPanel(names, fields, query) {
  const vectors = fields.filter((one) => isVector(one.type)).map((one) => one.name);
  const filter = field('filter', 'Filter', { value: query.filter, placeholder: 'price < 3' });
  const text = fields.some((one) => isText(one.type)) && field('text', 'Full text', { value: query.text, placeholder: 'words' });
  const vector = vectors.length > 0 && field('vector', 'Vector', { value: query.vector ?? '', placeholder: query.near != null ? `like row ${query.near}` : '0.1, 0.25, …' });
  const by = vectors.length > 1 && field('by', 'Vector column', { value: query.by, options: vectors });
  const clear = { filter: null, text: null, vector: null, near: null, by: null, from: null };
  const searched = ['filter', 'text', 'vector', 'near'].some((key) => query[key] != null);
  const form = h('form', { class: 'search', role: 'search', 'aria-label': 'Rows', onsubmit: (event) => {
    event.preventDefault();
    const typed = vector && vector.read();
    const near = vector && !typed ? query.near : null;
    adjust({ filter: filter.read(), text: text && text.read(), vector: typed || null, near, by: typed || near != null ? (by ? by.read() : (query.by ?? vectors[0])) : null, from: null, row: null });
  } }, filter.row, text && text.row, vector && vector.row, by && by.row, h('div', { class: 'actions' }, h('button', { type: 'submit', class: 'primary' }, icon('search'), 'Search'), searched && act('Clear', () => adjust(clear))));
  const chips = [query.near != null && chip(`Like row ${query.near} by ${query.by}`, { near: null, by: null }), query.version && chip(`Version ${query.version}`, { version: null }), query.branch && chip(`Branch ${query.branch}`, { branch: null })].filter(Boolean);
  return h('section', { class: 'panel', 'aria-label': 'Search' }, form, chips.length > 0 && h('p', { class: 'chips' }, chips));
}

const chip = (text, changes) => h('span', { class: 'badge' }, text, h('button', { class: 'quiet', 'aria-label': `Remove ${text}`, onclick: () => adjust({ ...changes, from: null }) }, '×'));

function showPlan(names, fields, query) {
  const load = async () => {
    const { with_row_id: _, ...request } = await wanted(names, fields, query);
    return lance('table', names, 'explain_plan', { query: request, verbose: true });
  };
  show('Plan of the query', pending(load, (plan) => h('pre', { tabindex: '0' }, plan)));
}

// -- one row ---------------------------------------------------------------------------------------

function oneRow(names, fields, query) {
  const load = async () => {
    const request = { k: 1, vector: { single_vector: [] }, filter: isRow(query.row), with_row_id: true, ...(query.branch && { branch: query.branch }), ...(query.version && { version: Number(query.version) }) };
    return lance('table', names, 'query', request);
  };
  const back = h('a', { class: 'button', href: toObject('table', names, { ...query, row: null }) }, 'All rows');
  return section(`Row ${query.row}`, [back], pending(load, ({ schema, rows: [row] }) =>
    row
      ? h('dl', { class: 'facts row' }, schema.fields.filter((one) => one.name !== ID).map((one) => h('div', {}, h('dt', {}, one.name), h('dd', {}, cell(row[one.name], one.type, { whole: true, near: isVector(one.type) ? like(names, row, one.name, query) : null })))))
      : empty('This row is gone', 'It was deleted, or written again under another address.')));
}


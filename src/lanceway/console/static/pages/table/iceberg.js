// A table of Iceberg: what its metadata says. Its rows are read by Iceberg clients.

import { iceberg } from '../../base/api.js';
import { ago, bytes, count, h, plural } from '../../base/dom.js';
import { toObject } from '../../base/router.js';
import { heading } from '../namespace.js';
import { badge, empty, facts, failure, grid, pending, section, snippet } from '../../base/widgets.js';

export function icebergPage(names) {
  const load = () => iceberg(names.slice(0, -1), `tables/${encodeURIComponent(names.at(-1))}`);
  return [heading(names, 'table'), pending(load, ({ metadata }) => [summary(metadata), parts(names, metadata)], { lines: 8 })];
}

/** What a page of a Lance table shows for a name that is not one: the way to the other page, where there is one. */
export const otherFormat = (names, error) =>
  /Iceberg table/.test(error.message)
    ? empty('An Iceberg table', error.message, h('a', { class: 'button', href: toObject('table', names, { format: 'iceberg' }) }, 'Show it'))
    : failure(error);

const current = (metadata) => metadata.snapshots?.find((snapshot) => snapshot['snapshot-id'] === metadata['current-snapshot-id']);

function summary(metadata) {
  const facts = current(metadata)?.summary ?? {};
  const size = facts['total-files-size'];
  return h('p', { class: 'summary' }, badge('Iceberg'), h('span', {}, `format version ${metadata['format-version']}`),
    facts['total-records'] && h('span', {}, plural(Number(facts['total-records']), 'row')), h('span', {}, plural(fieldsOf(metadata).length, 'column')),
    size && h('span', {}, bytes(Number(size))), h('span', {}, plural(metadata.snapshots?.length ?? 0, 'snapshot')));
}

const fieldsOf = (metadata) => metadata.schemas.find((schema) => schema['schema-id'] === metadata['current-schema-id']).fields;

function typeText(type) {
  if (typeof type === 'string') return type;
  if (type.type === 'list') return `list<${typeText(type.element)}>`;
  if (type.type === 'map') return `map<${typeText(type.key)}, ${typeText(type.value)}>`;
  return `struct<${type.fields.map((field) => `${field.name}: ${typeText(field.type)}`).join(', ')}>`;
}

function parts(names, metadata) {
  const partition = metadata['partition-specs']?.find((spec) => spec['spec-id'] === metadata['default-spec-id'])?.fields ?? [];
  const properties = Object.entries(metadata.properties ?? {});
  return [
    section('Columns', null, grid('Columns', [
      ['Column', (field) => h('strong', {}, field.name)], ['Type', (field) => h('code', {}, typeText(field.type))], ['Nulls', (field) => (field.required ? 'no' : 'yes')], ['Notes', (field) => field.doc ?? ''],
    ], fieldsOf(metadata))),
    section('Details', null, facts([
      ['Location', h('code', {}, metadata.location)], ['Changed', ago(metadata['last-updated-ms'])], ['Snapshot', current(metadata) ? count(metadata['current-snapshot-id']) : 'none yet'],
      partition.length > 0 && ['Partitions', partition.map((field) => `${field.name} (${field.transform})`).join(', ')], ...properties,
    ])),
    section('Use it', null, h('p', {}, 'Iceberg clients read and write its rows through this server. Lance clients see it once it was copied:'), snippet('Copy it into a Lance table', `lanceway tables import ${names.join('.')} ${[...names.slice(0, -1), `${names.at(-1)}_lance`].join('.')}`)),
  ];
}

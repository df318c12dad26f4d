// Catalogs and namespaces: what is in them, and how they are made, changed and dropped.

import { Children, lance, own, pathOf, request } from '../base/api.js';
import { ago, h, icon, plural, replace } from '../base/dom.js';
import { adjust, go, to, toObject } from '../base/router.js';
import { act, ask, badge, empty, facts, failure, grid, headline, isEnabled, note, notice, pending, problem, readPairs, section, show, tabs, writePairs } from '../base/widgets.js';
import { toAccess } from './access/grants.js';

const PAGE = 100;
/** Of properties that the server keeps itself. */
const RESERVED = 'lanceway.';

export function breadcrumbs(names) {
  const links = [h('a', { href: to('catalogs') }, 'Catalogs'), ...names.slice(0, -1).map((name, i) => h('a', { href: toObject('namespace', names.slice(0, i + 1)) }, name))];
  return h('nav', { class: 'crumbs', 'aria-label': 'Path' }, h('ol', {}, links.map((link) => h('li', {}, link))));
}

export const heading = (names, shape, ...actions) =>
  h('div', { class: 'heading' }, breadcrumbs(names), h('div', { class: 'title' }, h('h1', {}, icon(shape), names.at(-1)), h('div', { class: 'actions' }, h('a', { class: 'button', href: toAccess(names, shape === 'table' ? 'table' : 'schema') }, icon('access'), 'Access'), actions)));

// -- all catalogs ----------------------------------------------------------------------------------

export function catalogsPage(route, context) {
  const list = pending(() => own('GET', 'catalogs', { query: { limit: 1000 } }), ({ catalogs }) =>
    catalogs.length === 0
      ? empty('No catalogs that you may use', 'An administrator grants them: USE_CATALOG on a catalog lets you in.')
      : grid('Catalogs', [
        ['Name', (row) => h('a', { href: toObject('namespace', [row.name]) }, row.name)],
        ['Type', (row) => row.type],
        ['State', isEnabled],
        ['From', (row) => row.source],
        ['Owner', (row) => row.owner ?? '–'],
        ['Comment', (row) => row.comment ?? ''],
      ], catalogs));
  return [headline('catalog', 'Catalogs', act('Mount a catalog', () => mount(context), 'primary')), section('All catalogs', null, list)];
}

const MOUNT_FIELDS = [
  ['name', 'Name', { required: true, hint: 'The first name of all that is in it.' }],
  ['type', 'Type', { value: 'dir', options: [['lake', 'lake: nested namespaces of this server'], ['dir', 'dir: a folder or a bucket'], ['rest', 'rest: a Lance REST server'], ['glue', 'glue: AWS Glue'], ['unity', 'unity: Unity Catalog'], ['hive', 'hive: a Hive Metastore'], ['iceberg', 'iceberg: an Iceberg REST catalog'], ['gravitino', 'gravitino: Apache Gravitino'], ['polaris', 'polaris: generic tables of Polaris or Lakekeeper']] }],
  ['settings', 'Settings', { lines: 4, placeholder: 'path = /srv/tables', hint: 'One a line, as the configuration file has them. Secrets are sent once and never shown.' }],
  ['comment', 'Comment', {}],
];

const catalogOf = (/** @type {any} */ { name, type, settings, comment }) => ({ name, type, settings: readPairs(settings), comment: comment || null });

function checksOf({ checks }) {
  return h('ul', { class: 'checks' }, checks.map((check) => {
    const outcome = check.outcome ?? (check.passed ? 'passed' : 'failed');
    const text = check.reason ?? check.message;
    return h('li', {}, badge(outcome, { failed: 'bad', passed: 'good' }[outcome]), h('span', {}, h('strong', {}, check.name), text && `: ${text}`));
  }));
}

export function mount(context) {
  const results = h('div', { role: 'status' });
  const dialog = ask({
    title: 'Mount a catalog', action: 'Mount', fields: MOUNT_FIELDS, body: null,
    text: 'Its tables become a branch of the tree at once. It is connected to and asked before it is added.',
    act: async (values) => {
      await own('POST', 'catalogs', { body: catalogOf(values) });
      notice(`The catalog ${values.name} is here now.`);
      context.changed([]);
      go(toObject('namespace', [values.name]));
    },
  });
  const read = () => Object.fromEntries(new FormData(dialog.querySelector('form')));
  const test = act('Test', async () => {
    try {
      replace(results, checksOf(await own('POST', 'catalogs/test', { body: catalogOf(read()) })));
    } catch (error) {
      replace(results, failure(error));
    }
  });
  dialog.querySelector('.actions').before(results);
  dialog.querySelector('.actions').prepend(test);
}

// -- one catalog or namespace ----------------------------------------------------------------------

export function namespacePage(route, context) {
  const { names, query } = route;
  const isCatalog = names.length === 1;
  const tab = query.tab ?? 'contents';
  const actions = [
    act('New namespace', () => createNamespace(names, context)),
    act('New table', () => createTable(names, context)),
    act('Properties', () => changeProperties(names, context)),
    act('Drop', () => dropNamespace(names, context), 'danger quiet'),
  ];
  const pages = { contents: () => contents(names), details: () => details(names, context) };
  return [
    heading(names, isCatalog ? 'catalog' : 'namespace', actions),
    tabs('Parts', [['contents', 'Contents', toObject('namespace', names)], ['details', 'Details', toObject('namespace', names, { tab: 'details' })]], tab),
    (pages[tab] ?? pages.contents)(),
  ];
}

function contents(names) {
  const children = new Children(names);
  const body = h('div', { class: 'pages' });
  const box = pending(() => children.more(PAGE), () => (draw(), body));
  async function more(event) {
    event.target.disabled = true;
    try {
      await children.more(PAGE);
      draw();
    } catch (error) {
      body.append(failure(error));
    }
  }
  function draw() {
    const rows = children.items;
    replace(body,
      rows.length === 0
        ? empty('Nothing here yet', 'There is nothing in this namespace, or nothing that you may see.')
        : grid('Contents', [
          ['Name', (row) => h('a', { href: toObject(row.kind, row.names, { format: row.format }) }, icon(row.kind), row.names.at(-1))],
          ['Kind', (row) => (row.format ? 'Iceberg table' : row.kind)],
        ], rows),
      !children.complete && h('div', { class: 'actions' }, act('More', more)),
      rows.length > 0 && note(`${plural(rows.length, 'object')}${children.complete ? '' : ' so far'}`),
      children.through && note(`A way through to what you may see. ${children.through}`));
  }
  return section('Contents', null, box);
}

const through = (error, run) =>
  error.status === 403
    ? h('div', { class: 'state' }, h('p', { class: 'state-title' }, 'A way through'), h('p', {}, 'You may see something further inside, but not what this namespace itself is.'), h('p', { class: 'reason' }, error.message))
    : failure(error, run);

function details(names, context) {
  const properties = pending(() => lance('namespace', names, 'describe'), (answer) => {
    const pairs = Object.entries(answer.properties ?? {});
    return pairs.length ? facts(pairs) : empty('No properties', 'Add some with the button Properties, such as comment = what this is for.');
  }, { onfailure: through });
  const catalog = names.length === 1 && section('Catalog', [act('Test', () => testCatalog(names[0])), act('Check its storage', () => testStorage(names[0]))],
    pending(() => own('GET', pathOf('catalogs', names[0])), (info) => [facts([
      ['Type', info.type], ['State', isEnabled(info)], ['From', info.source],
      info.owner && ['Owner', info.owner], info.separator && ['Separator', h('code', {}, info.separator)], info.policy && ['Names', info.policy],
      info.changed_at && ['Changed', ago(info.changed_at)], ...Object.entries(info.settings ?? {}).map(([name, value]) => [name, String(value)]),
      info.secrets?.length > 0 && ['Secrets that are set', info.secrets.join(', ')],
    ]), h('div', { class: 'actions' }, act('Change', () => changeCatalog(info, context)), act(info.enabled ? 'Disable' : 'Enable', () => enable(info)))], { onfailure: through }));
  return [catalog, section('Properties', null, properties)];
}

function changeCatalog({ name: before, comment, settings }, context) {
  ask({
    title: `Change ${before}`, action: 'Save', text: 'New settings are tried out first.',
    fields: [['name', 'Name', { required: true, value: before }], ['comment', 'Comment', { value: comment ?? '' }], ['settings', 'Settings', { lines: 4, value: writePairs(settings), hint: 'One a line. What is taken away here is removed; secrets stay as they are.' }]],
    act: async (values) => {
      const set = readPairs(values.settings), unset = Object.keys(settings).filter((key) => !(key in set));
      await own('POST', pathOf('catalogs', before, 'alter'), { body: { name: values.name, comment: values.comment || null, set, unset } });
      notice('The catalog is changed.');
      await context.changed([]);
      go(toObject('namespace', [values.name], { tab: 'details' }));
    },
  });
}

const enable = ({ name, enabled }) => ask({
  title: `${enabled ? 'Disable' : 'Enable'} ${name}?`, action: enabled ? 'Disable' : 'Enable', danger: enabled, text: enabled ? 'Every request for what is in it is refused until it is enabled.' : 'What is in it can be reached again.',
  act: async () => {
    await own('POST', pathOf('catalogs', name, enabled ? 'disable' : 'enable'));
    adjust({});
  },
});

const results = (title, load) => show(title, pending(load, checksOf));

const testCatalog = (name) => results(`Test of ${name}`, async () => {
  const trial = await own('POST', pathOf('catalogs', name, 'test'));
  return trial.checks.length ? trial : { checks: [{ name: 'It is part of the lake, which answers', passed: true }] };
});
const testStorage = (name) => results(`Storage of ${name}`, () => own('POST', 'storage/check', { body: { catalog: name } }));

// -- changes ---------------------------------------------------------------------------------------

/** What a name may hold, in the words of the catalog that it will be in, where that answers. */
async function rulesOf([catalog]) {
  const { separator, nested, policy } = await own('GET', pathOf('catalogs', catalog)).catch(() => ({}));
  if (!separator) return 'One level of the tree.';
  return `One level of the tree. Dots and spaces are fine${nested || policy === 'restricted' ? `; “${separator}” is not: it joins levels, as in a${separator}b, for clients of Gravitino` : ''}.`;
}

async function createNamespace(names, context) {
  const hint = await rulesOf(names);
  ask({
    title: 'New namespace', action: 'Create', text: `In ${names.join(' › ')}.`,
    fields: [['name', 'Name', { required: true, hint }], ['comment', 'Comment', {}]],
    act: async ({ name, comment }) => {
      await own('POST', 'schemas', { body: { name: [...names, name], properties: comment ? { comment } : null } });
      notice(`The namespace ${name} is created.`);
      await context.changed(names);
      go(toObject('namespace', [...names, name]));
    },
  });
}

/** The address of a table's schema in Gravitino REST, which takes columns as JSON. */
async function gravitino(names) {
  const [catalog, ...levels] = names;
  const { metalake, separator } = await own('GET', pathOf('catalogs', catalog));
  if (!metalake || !levels.length) throw problem('Tables are created here in namespaces of the lake. Choose one, or use a client.');
  return `api/metalakes/${encodeURIComponent(metalake)}/catalogs/${encodeURIComponent(catalog)}/schemas/${encodeURIComponent(levels.join(separator ?? ':'))}/tables`;
}

function createTable(names, context) {
  ask({
    title: 'New table', action: 'Create', text: `In ${names.join(' › ')}, without rows. Clients create tables with rows: see “Use it” of any table.`,
    fields: [['name', 'Name', { required: true }],
      ['columns', 'Columns', { lines: 5, required: true, value: 'id = long\nname = string', hint: 'One a line: a name and a type, such as long, integer, double, string, date, timestamp, binary, decimal(10,2), list<string>.' }],
      ['comment', 'Comment', {}]],
    act: async ({ name, columns, comment }) => {
      const fields = Object.entries(readPairs(columns)).map(([column, type]) => ({ name: column, type: parseType(type), nullable: true }));
      await request('POST', await gravitino(names), { body: { name, comment: comment || null, columns: fields, properties: { format: 'lance' } } });
      notice(`The table ${name} is created.`);
      await context.changed(names);
      go(toObject('table', [...names, name]));
    },
  });
}

function parseType(text) {
  const list = text.match(/^list<(.+)>$/);
  return list ? { type: 'list', elementType: parseType(list[1]), containsNull: true } : text;
}

function changeProperties(names, context) {
  let before = {};
  const dialog = ask({
    title: 'Properties', action: 'Save', text: names.join(' › '),
    fields: [['properties', 'Properties', { lines: 6, hint: 'One a line, such as owner = sales. What is taken away here is removed.' }]],
    act: async ({ properties }) => {
      const after = readPairs(properties);
      const unset = Object.keys(before).filter((key) => !(key in after));
      await own('POST', 'schemas/alter', { body: { name: names, set: after, unset } });
      notice('The properties are saved.');
      adjust({});
    },
  });
  const area = dialog.querySelector('textarea');
  area.disabled = true;
  lance('namespace', names, 'describe').then((answer) => {
    before = Object.fromEntries(Object.entries(answer.properties ?? {}).filter(([name]) => !name.startsWith(RESERVED)));
    area.value = writePairs(before);
    area.disabled = false;
  }, (error) => dialog.querySelector('.actions').before(failure(error)));
}

function dropNamespace(names, context) {
  const isCatalog = names.length === 1;
  ask({
    title: `Drop ${names.at(-1)}?`, action: 'Drop', danger: true,
    text: isCatalog ? 'A mounted catalog is taken out of the tree, and its service stays as it is. A catalog of the lake must be empty.' : 'The namespace must be empty.',
    act: async () => {
      if (isCatalog) await own('DELETE', pathOf('catalogs', names[0]));
      else await own('POST', 'schemas/drop', { body: { name: names } });
      notice(`${names.at(-1)} is dropped.`);
      await context.changed(names.slice(0, -1));
      go(toObject('namespace', names.slice(0, -1)));
    },
  });
}


// Versions of a table as a graph: its branches and tags, what each version brought, and how one is brought back.

import { lance, nameOf, own } from '../../base/api.js';
import { ago, count, h, plural, svg } from '../../base/dom.js';
import { adjust, go, to, toObject } from '../../base/router.js';
import { act, ask, badge, empty, failure, grid, note, notice, pending, section } from '../../base/widgets.js';

const PAGE = 50;
/** As many branches are drawn beside the main one; the others are drawn when they are chosen. */
const MOST = 7;
const LANE = 16;

const OPERATIONS = {
  Append: 'rows appended', Overwrite: 'rows replaced', Delete: 'rows deleted', Update: 'rows updated', Rewrite: 'files compacted', CreateIndex: 'index built', Merge: 'columns added or changed',
  Project: 'columns dropped or renamed', Restore: 'version restored', Clone: 'branched off', UpdateConfig: 'settings changed', DataReplacement: 'files replaced',
};

/** The versions of one branch, as far as they are read, newest first. */
class Line {
  constructor(names, branch, facts) {
    this.names = names;
    this.branch = branch;
    this.from = facts?.parentVersion;
    this.parent = facts?.parentBranch ?? null;
    this.versions = [];
    this.after = null;
    this.complete = false;
  }

  async more() {
    if (this.complete) return;
    const answer = await own('GET', 'tables/history', { query: { ...nameOf('table', this.names), branch: this.branch, limit: PAGE, page_token: this.after } });
    this.versions.push(...answer.versions.map((one) => ({ ...one, line: this })));
    this.after = answer.page_token;
    this.complete = !this.after;
  }
}

async function everything(names, verb, key) {
  const all = {};
  for (let token = null; ;) {
    const answer = await lance('table', names, `${verb}/list`, undefined, { query: { page_token: token } });
    Object.assign(all, answer[key]);
    token = answer.page_token;
    if (!token) return all;
  }
}

export function versionsTab(names, query) {
  const load = async () => {
    const [branches, tags] = await Promise.all([everything(names, 'branches', 'branches'), everything(names, 'tags', 'tags')]);
    const known = Object.entries(branches).sort(([, a], [, b]) => b.createAt - a.createAt);
    const drawn = known.filter(([name], i) => (query.branch ? name === query.branch : i < MOST));
    const lines = [new Line(names, null), ...drawn.map(([name, facts]) => new Line(names, name, facts))];
    await Promise.all(lines.map((line) => line.more()));
    return { lines, known, tags };
  };
  return pending(load, (past) => {
    const body = h('div', { class: 'pending' });
    draw(body, names, past);
    const { known, tags, lines } = past;
    return [
      section('Versions', null, known.length > lines.length - 1 && note(`${lines.length - 1} of ${plural(known.length, 'branch', 'branches')} are drawn. Choose another below.`), body),
      (known.length > 0 || Object.keys(tags).length > 0) && section('Branches and tags', null, references(names, known, tags)),
    ];
  }, { lines: 8 });
}

// -- the graph -------------------------------------------------------------------------------------

/** Rows of all lines, the newest first, as far back as every line is known. */
function merged(lines) {
  const known = Math.max(...lines.map((line) => (line.complete ? -Infinity : line.versions.at(-1)?.at ?? Infinity)));
  const rows = lines.flatMap((line) => line.versions).filter((row) => row.at == null || row.at >= known);
  return rows.sort((a, b) => (a.line === b.line ? b.version - a.version : (b.at ?? 0) - (a.at ?? 0)));
}

/** Where each line begins and ends among the rows, and the row that it comes from. */
function lanes(lines, rows) {
  return lines.map((line, lane) => {
    const own = rows.flatMap((row, i) => (row.line === line ? [i] : []));
    const parent = lines.find((other) => other.branch === line.parent);
    const origin = line.branch == null ? -1 : rows.findIndex((row) => row.line === parent && row.version === line.from);
    return { lane, first: own[0] ?? Infinity, last: own.at(-1) ?? -1, origin, goes: line.branch != null, parent: lines.indexOf(parent), open: !line.complete };
  });
}

function node(row, i, all, width) {
  const x = (lane) => LANE / 2 + lane * LANE;
  const line = (x1, y1, x2, y2, kind) => svg('line', { x1, y1, x2, y2, class: kind });
  const parts = all.flatMap(({ lane, first, last, origin, goes, parent, open }) => {
    const kind = lane ? 'side' : null;
    const end = origin >= 0 ? origin : goes || open ? Infinity : last;
    if (i < first || i > end) return [];
    if (i === origin) return [line(x(lane), '0', x(parent), '50%', kind)];
    return [i > first && line(x(lane), '0', x(lane), '50%', kind), i < end && line(x(lane), '50%', x(lane), '100%', kind)];
  });
  const own = all.findIndex((each) => each.lane === row.lane);
  return [svg('svg', { width, height: 1, 'aria-hidden': 'true' }), svg('svg', { class: 'graph', width, 'aria-hidden': 'true' }, parts, svg('circle', { cx: x(own), cy: '50%', r: 4, class: own ? 'side' : null }))];
}

function draw(body, names, past) {
  const { lines, tags } = past;
  const rows = merged(lines);
  rows.forEach((row) => (row.lane = lines.indexOf(row.line)));
  const all = lanes(lines, rows);
  const width = lines.length * LANE;
  const marks = (row) => Object.entries(tags).filter(([, tag]) => tag.version === row.version && (tag.branch ?? null) === row.line.branch).map(([name]) => badge(name, 'good'));
  const more = lines.some((line) => !line.complete) && h('div', { class: 'actions' }, act('More', async (event) => {
    event.target.disabled = true;
    try {
      await Promise.all(lines.map((line) => line.more()));
      draw(body, names, past);
    } catch (error) {
      body.append(failure(error));
    }
  }));
  body.replaceChildren(rows.length ? grid('Versions', [
    ['', (row) => node(row, rows.indexOf(row), all, width), 'graphed'],
    ['Version', (row) => h('span', { class: 'actions' }, h('a', { href: toObject('table', names, { version: row.version, branch: row.line.branch }), 'aria-label': `Rows of version ${row.version}${row.line.branch ? ` of ${row.line.branch}` : ''}` }, count(row.version)), row === row.line.versions[0] && badge('latest'), row.line.branch && badge(row.line.branch, 'warn'), marks(row))],
    ['What happened', happened],
    ['Rows', (row) => count(row.rows), 'number'],
    ['Change', change, 'number'],
    ['When', (row) => ago(row.at)],
    ['By', (row) => [row.by ?? '–', row.pipeline && [', ', row.run ? h('a', { href: to('activity', ['runs', row.run]) }, `pipeline ${row.pipeline}`) : `pipeline ${row.pipeline}`]]],
    ['', (row) => h('span', { class: 'actions end' }, row !== row.line.versions[0] && act('Restore', () => restore(names, row), 'quiet'), act('Tag', () => tag(names, row, tags), 'quiet'), act('Branch', () => branch(names, row), 'quiet'))],
  ], rows) : empty('No versions', 'The service that keeps this table lists none.'), more || '');
}

/** What a version did, in words. */
export const happened = ({ version, operation }) => h('span', { title: operation }, version === 1 ? 'table created' : (OPERATIONS[operation] ?? operation ?? '–'));

/** Rows that came and went. */
export function change({ added, removed }) {
  if (added == null && removed == null) return '–';
  return [added > 0 && h('span', { class: 'gain' }, `+${count(added)}`), added > 0 && removed > 0 && ' ', removed > 0 && h('span', { class: 'loss' }, `−${count(removed)}`), !added && !removed && h('span', { class: 'muted' }, '0')];
}

const references = (names, known, tags) => grid('Branches and tags', [
  ['Name', (row) => h('a', { href: toObject('table', names, row.kind === 'branch' ? { branch: row.name } : { version: row.version, branch: row.branch }) }, row.name)],
  ['Kind', (row) => badge(row.kind, row.kind === 'branch' ? 'warn' : 'good')],
  ['Version', (row) => [row.kind === 'branch' && 'from ', count(row.version), row.branch && ` of ${row.branch}`]],
  ['Since', (row) => ago(row.at && row.at * 1000)],
  ['', (row) => h('span', { class: 'actions end' }, row.kind === 'branch' && h('a', { class: 'button quiet', href: toObject('table', names, { tab: 'versions', branch: row.name }) }, 'Versions'), act('Drop', () => dropReference(names, row), 'danger quiet'))],
], [
  ...known.map(([name, facts]) => ({ kind: 'branch', name, version: facts.parentVersion, branch: facts.parentBranch, at: facts.createAt })),
  ...Object.entries(tags).map(([name, facts]) => ({ kind: 'tag', name, version: facts.version, branch: facts.branch })),
]);

// -- changes ---------------------------------------------------------------------------------------

const of = (row) => (row.line.branch ? { branch: row.line.branch } : {});

const restore = (names, row) => ask({
  title: `Restore version ${row.version}?`, action: 'Restore', text: `A new version${row.line.branch ? ` of the branch ${row.line.branch}` : ''} gets the rows and columns of version ${row.version}. The versions in between stay.`,
  act: async () => {
    await lance('table', names, 'restore', { version: row.version, ...of(row) });
    notice(`Version ${row.version} is restored.`);
    adjust({});
  },
});

const tag = (names, row, tags) => ask({
  title: `Tag version ${row.version}`, action: 'Tag', text: 'A version with a tag is never cleaned up, and is read by the name of its tag. A tag that exists is moved here.', fields: [['name', 'Tag', { required: true, placeholder: 'reviewed' }]],
  act: async ({ name }) => {
    await lance('table', names, Object.hasOwn(tags, name) ? 'tags/update' : 'tags/create', { tag: name, version: row.version, ...of(row) });
    notice(`Version ${row.version} has the tag ${name}.`);
    adjust({});
  },
});

const branch = (names, row) => ask({
  title: `Branch off version ${row.version}`, action: 'Create', text: 'A branch has versions of its own: what is written to it changes nothing here.', fields: [['name', 'Branch', { required: true, placeholder: 'trial' }]],
  act: async ({ name }) => {
    await lance('table', names, 'branches/create', { name, from_version: row.version, ...(row.line.branch && { from_branch: row.line.branch }) });
    notice(`The branch ${name} is created.`);
    adjust({ branch: null });
  },
});

const dropReference = (names, { kind, name }) => ask({
  title: `Drop the ${kind} ${name}?`, action: 'Drop', danger: true, text: kind === 'branch' ? 'The versions of the branch and their rows are deleted. This cannot be undone.' : 'The version stays until it is cleaned up.',
  act: async () => {
    await lance('table', names, kind === 'branch' ? 'branches/delete' : 'tags/delete', kind === 'branch' ? { name } : { tag: name });
    notice(`The ${kind} ${name} is dropped.`);
    go(toObject('table', names, { tab: 'versions' }));
  },
});

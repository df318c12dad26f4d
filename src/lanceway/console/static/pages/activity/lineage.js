// Lineage, one hop at a time: what a table was made from, and what was made from it.

import { lance, own } from '../../base/api.js';
import { ago, count, h, icon, plural, replace } from '../../base/dom.js';
import { go, to } from '../../base/router.js';
import { addressed, empty, field, pending, section } from '../../base/widgets.js';

const PAGE = 25;

export function lineagePage(names, query) {
  const table = field('table', 'Table', { value: query.table ?? query.location ?? names.join('.'), required: true, hint: 'By a name that a pipeline uses, or its location.' });
  const form = addressed([table], 'Show', ({ table: text }) => go(to('activity', ['lineage'], { [/^\/|:\/\//.test(text) ? 'location' : 'table']: text })));
  const wanted = async () => (names.length ? { location: (await lance('table', names, 'describe')).location } : { table: query.table, location: query.location });
  const isAsked = names.length || query.table || query.location;
  const found = isAsked && pending(async () => {
    const place = await wanted();
    return { place, lineage: await ask(place) };
  }, ({ place, lineage }) => {
    const here = new Set(lineage.locations);
    const name = names.at(-1) ?? lineage.upstream.find((edge) => here.has(edge.location))?.table ?? lineage.downstream.find((edge) => here.has(edge.source_location))?.source ?? place.table ?? place.location;
    return h('div', { class: 'lineage' },
      side('Made from', lineage, here, 'upstream', 'No run has recorded what it was made from.'),
      h('div', { class: 'panel hub' }, icon('table'), h('h2', {}, name), [...here].map((location) => h('code', { class: 'muted' }, location))),
      side('Used by', lineage, here, 'downstream', 'No run has read it.'));
  });
  return [section('Lineage', null, form), found || empty('Which table?', 'Runs of pipelines record the tables and versions that they read and write.')];
}

/** Two hops, so that each neighbour says how many it has of its own; one where that would be too much. */
async function ask(place, direction) {
  const query = { ...place, direction, depth: 2 };
  try {
    return await own('GET', 'lineage', { query });
  } catch (error) {
    if (error.status !== 400) throw error;
    return { ...(await own('GET', 'lineage', { query: { ...query, depth: 1 } })), isCut: true };
  }
}

/** The neighbours of some places in one direction, each once, with the number of its own. */
function neighbours(lineage, places, direction) {
  const [from, until, name] = direction === 'upstream' ? ['location', 'source_location', 'source'] : ['source_location', 'location', 'table'];
  const keyOf = (edge) => edge[until] ?? edge[name];
  const next = new Map();
  for (const edge of lineage[direction]) {
    if (!next.has(edge[from])) next.set(edge[from], new Set());
    next.get(edge[from]).add(keyOf(edge));
  }
  const rows = new Map();
  for (const edge of lineage[direction]) if (places.has(edge[from]) && !rows.has(keyOf(edge))) rows.set(keyOf(edge), { edge, name: edge[name], location: edge[until], more: lineage.isCut ? null : (next.get(edge[until])?.size ?? 0) });
  return [...rows.values()].sort((a, b) => a.name.localeCompare(b.name));
}

const side = (title, lineage, places, direction, none) => h('section', { class: 'panel', 'aria-label': title }, h('header', {}, h('h2', {}, title)), list(lineage, places, direction, new Set(places)) ?? empty('Nothing', none));

/** A page of neighbours; each can be opened for its own. `path` are those that lead here, which are not opened again. */
function list(lineage, places, direction, path) {
  const rows = neighbours(lineage, places, direction);
  if (!rows.length) return null;
  const items = h('ul', { class: 'hops' });
  const more = h('button', { class: 'quiet', onclick: () => show() });
  let shown = 0;
  function show() {
    items.append(...rows.slice(shown, shown + PAGE).map((row) => hop(row, direction, path)));
    shown = Math.min(rows.length, shown + PAGE);
    more.textContent = `${count(rows.length - shown)} more`;
    more.hidden = shown === rows.length;
  }
  show();
  return h('div', {}, items, more);
}

function hop({ edge, name, location, more }, direction, path) {
  const isLoop = path.has(location), canOpen = location && !isLoop && more !== 0;
  const inner = h('div', { class: 'inner' });
  const label = more == null ? 'more' : plural(more, direction === 'upstream' ? 'source' : 'user');
  const button = canOpen && h('button', { class: 'quiet', 'aria-expanded': 'false', 'aria-label': `${name}: ${label}`, onclick: open }, icon('open'), label);
  async function open() {
    const isOpen = button.getAttribute('aria-expanded') === 'true';
    button.setAttribute('aria-expanded', String(!isOpen));
    if (isOpen) return replace(inner);
    replace(inner, pending(() => ask({ location }, direction), (lineage) => list(lineage, new Set([location]), direction, new Set([...path, location])) ?? h('p', { class: 'muted' }, 'Nothing further.'), { lines: 1 }));
  }
  return h('li', {}, h('div', { class: 'hop' }, location ? h('a', { href: to('activity', ['lineage'], { location }) }, name) : h('strong', {}, name), isLoop && h('span', { class: 'muted small' }, 'is above'), button,
    h('div', { class: 'muted small' }, `version ${direction === 'upstream' ? edge.source_version : edge.version} · ${edge.pipeline}, run ${edge.run}, step ${edge.step} · `, ago(edge.at))), inner);
}

// What the pages on access share: tabs, names of people, and whether access control is on.

import { own } from '../../base/api.js';
import { h, plural } from '../../base/dom.js';
import { adjust, to } from '../../base/router.js';
import { act, ask, grid, note, notice, pending, tabs } from '../../base/widgets.js';

const TABS = [['', 'Grants'], ['users', 'Users'], ['groups', 'Groups'], ['roles', 'Roles'], ['why', 'May I?'], ['me', 'My rights'], ['audit', 'Audit']];

export const accessTabs = (chosen) => tabs('Access', TABS.map(([key, text]) => [key, text, to('access', [key])]), chosen);

export const holder = (kind, name) => h('a', { href: to('access', [`${kind}s`, name]) }, kind === 'group' ? `${name} (group)` : name);

let lists = 0;

/** Offer names below an input as one types; who does not get them types the whole name. */
export async function suggest(input, list) {
  try {
    const answer = await own('GET', list, { query: { limit: 1000 } });
    const id = `names-${++lists}`;
    input.after(h('datalist', { id }, answer[list].map(({ name }) => h('option', { value: name }))));
    input.setAttribute('list', id);
  } catch (error) {
    if (!('status' in error)) throw error;
  }
}

export const personFields = () => [['kind', 'Kind', { options: [['user', 'A user'], ['group', 'A group']] }], ['name', 'Name', { required: true }]];
export const readHolder = ({ kind, name }) => ({ [kind]: name });

/** Say so where access control is off: then no grant decides anything. */
export const accessControl = () => pending(() => own('GET', 'access'), ({ enabled }) => (enabled ? [] : h('div', { class: 'panel note-panel', role: 'note' },
  h('p', {}, h('strong', {}, 'Access control is off: '), 'all who sign in may do everything, whatever is granted.'), act('Switch it on', switchOn, 'primary'))), { lines: 0, onfailure: () => [] });

async function switchOn() {
  ask({
    title: 'Switch access control on?', action: 'Switch on', text: 'From then on grants decide. This is what users other than administrators keep:',
    body: pending(() => own('POST', 'access/enable', { body: {} }), ({ losses, losses_count: total, catalogs_count: all }) => (losses.length ? [
      grid('Effect', [['User', (row) => row.user], ['Reaches', (row) => `${row.catalogs} of ${plural(all, 'catalog')}`], ['Owns', (row) => plural(row.objects, 'object')]], losses),
      total > losses.length && note(`${losses.length} of ${plural(total, 'user')} are shown.`)] : h('p', {}, 'There are no others, so no one loses anything.'))),
    act: async () => {
      await own('POST', 'access/enable', { body: { confirm: true } });
      notice('Access control is on.');
      adjust({});
    },
  });
}

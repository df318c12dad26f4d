// Who may do what on one object: privileges and roles as a matrix, changed together once their effect was seen.

import { objectOf, own, pathOf } from '../../base/api.js';
import { ago, h, icon, plural, replace } from '../../base/dom.js';
import { to } from '../../base/router.js';
import { act, ask, badge, empty, failure, field, grid, note, notice, pending, section } from '../../base/widgets.js';
import { accessControl, holder, personFields, readHolder, suggest } from './parts.js';

const MOST_ROLES = 40;

/** The address of the rights on an object: a table or a schema by its kind, which mounted catalogs cannot look up. */
export const toAccess = (names, kind) => (names.length ? to('access', ['on', ...names], { kind: names.length > 1 ? kind : null }) : to('access'));

export const placeOf = (names, kind) => ({ ...objectOf(names), kind: ['metalake', 'catalog'][names.length] ?? kind });

export const placeName = (names) => (names.length ? names.join(' › ') : 'everything');

const placeLink = (place) => h('a', { href: toAccess(place.names, place.kind) }, placeName(place.names));

let privileges = null;
export const loadPrivileges = async () => (privileges ??= (await own('GET', 'access/privileges')).privileges);

export function grantsPage(names, kind) {
  const place = placeOf(names, kind);
  const load = async () => [await own('GET', 'access/who', { query: place }), await loadPrivileges()];
  const box = pending(load, ([rights, all]) => [
    matrixSection(rights, all, place, () => box.reload()),
    whoSection(rights), ownersSection(rights, place, () => box.reload()),
  ], { lines: 8, onfailure: (error, again) => (error.status === 403 ? [failure(error), ownRights(names)] : failure(error, again)) });
  box.classList.add('page');
  return [accessControl(), box];
}

// -- the matrix ------------------------------------------------------------------------------------

const key = (privilege, role) => `${privilege}\n${role}`;

/** What a role has of a privilege: on the object itself, and from above, where a denial wins. */
function cells(rights) {
  const table = new Map();
  const depth = rights.names.length;
  for (const grant of rights.grants) {
    const at = key(grant.privilege, grant.role);
    if (!table.has(at)) table.set(at, { allow: null, deny: null, above: null });
    const cell = table.get(at);
    if (grant.names.length === depth) cell[grant.effect] = grant;
    else if (cell.above?.effect !== 'deny' || grant.effect === 'deny') cell.above = grant;
  }
  return table;
}

const stateOf = (cell) => (cell?.deny ? 'deny' : cell?.allow ? 'allow' : '');

function matrixSection(rights, all, place, reload) {
  const table = cells(rights);
  const staged = new Map();
  const added = new Set();
  const body = h('div', { class: 'pending' }), bar = h('div', { class: 'actions', role: 'status' });
  const filter = field('roles', 'Only roles named like', { oninput: () => draw() });
  const rows = all.filter(({ name, allows }) => allows[rights.kind] || rights.grants.some((grant) => grant.privilege === name));

  function change(privilege, role, want) {
    const at = key(privilege, role);
    if (want === stateOf(table.get(at))) staged.delete(at);
    else staged.set(at, { privilege, role, want, cell: table.get(at) });
    draw();
    document.getElementById(`cell-${at}`)?.focus();
  }

  function cellOf(row, role) {
    const at = key(row.name, role), cell = table.get(at);
    const state = staged.get(at)?.want ?? stateOf(cell), above = cell?.above;
    const inherited = above && `${above.effect === 'deny' ? 'denied' : 'allowed'} from ${placeName(above.names)}`;
    const overruled = above?.effect === 'deny' && state === 'allow';
    const grant = cell?.[stateOf(cell)] ?? above;
    const origin = grant && `${grant.effect === 'deny' ? 'Denied' : 'Allowed'} on ${placeName(grant.names)} by ${grant.granted_by}, ${new Date(grant.granted_at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    if (!row.allows[rights.kind]) return h('td', { class: 'inherited', title: origin }, inherited ?? '–');
    const input = h('select', { id: `cell-${at}`, 'aria-label': `${row.title} for ${role}`, title: origin, onchange: () => change(row.name, role, input.value) },
      Object.entries({ '': inherited ?? '–', allow: 'Allow', deny: 'Deny' }).map(([value, text]) => h('option', { value, selected: value === state }, text)));
    return h('td', { class: `${state || (inherited ? 'inherited' : 'unset')}${staged.has(at) ? ' changed' : ''}` }, input, overruled && h('div', { class: 'small inherited' }, `but ${inherited}`));
  }

  function draw() {
    const known = [...new Set([...rights.grants.map((grant) => grant.role), ...added])].sort();
    const chosen = known.filter((role) => role.toLowerCase().includes(filter.read().toLowerCase()));
    const roles = chosen.slice(0, MOST_ROLES);
    replace(body,
      known.length > 12 && h('div', { class: 'narrow' }, filter.row),
      roles.length === 0 ? empty('No role has rights here', 'Add a role, and choose what it may do. What is granted here holds for all that is inside, too.')
        : h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Grants' }, h('table', { class: 'grid matrix' },
          h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Privilege'), roles.map((role) => h('th', { scope: 'col' }, h('a', { href: to('access', ['roles', role]) }, role))))),
          h('tbody', {}, rows.map((row) => h('tr', {}, h('th', { scope: 'row', title: row.allows[rights.kind] ? `${row.description} Here: ${row.allows[rights.kind]}.` : row.description }, row.title, h('code', { class: 'muted' }, row.name)), roles.map((role) => cellOf(row, role))))))),
      chosen.length > roles.length && note(`${roles.length} of ${plural(chosen.length, 'role')} are shown. Type a part of a name to see others.`),
      rights.truncated && note('There are more grants than are shown here.'));
    replace(bar, staged.size > 0 && [h('span', { class: 'grow' }, `${plural(staged.size, 'change')}, not saved yet`),
      act('Discard', () => (staged.clear(), draw())),
      act('Review and save', () => review([...staged.values()], place, rights, reload), 'primary')]);
    bar.className = staged.size ? 'actions staged' : '';
  }
  draw();

  const add = () => {
    const dialog = ask({
      title: 'Add a role', action: 'Add', text: 'It becomes a column. Nothing changes until you choose what it may do.', fields: [['role', 'Role', { required: true }]],
      act: async ({ role }) => {
        await own('GET', pathOf('roles', role));
        added.add(role);
        draw();
      },
    });
    suggest(dialog.querySelector('input'), 'roles');
  };
  return section('Grants', act('Add a role', add), body, bar);
}

/** The single changes that make a cell what it should be; each expects what was seen. */
function changesOf({ privilege, role, want, cell }, place) {
  const base = { role, privilege, ...place };
  const gone = ['allow', 'deny'].filter((effect) => cell?.[effect] && effect !== want).map((effect) => ({ ...base, deny: effect === 'deny', revoke: true, expected: true }));
  return want && !cell?.[want] ? [...gone, { ...base, deny: want === 'deny', expected: false }] : gone;
}

function effectText({ effects, effects_count: total }) {
  if (!total) return 'No one has this role yet.';
  const say = (counter, verb) => {
    const touched = effects.filter((effect) => effect[counter]);
    const named = touched.slice(0, 5).map((effect) => `${effect.kind === 'group' ? 'the group ' : ''}${effect.name} on ${plural(effect[counter], 'object')}`);
    return touched.length ? `${verb}: ${named.join(', ')}${touched.length > 5 ? ` and ${touched.length - 5} more` : ''}.` : '';
  };
  if (effects.some((effect) => effect.gained == null)) return `${plural(total, 'holder')} of the role: ${effects.slice(0, 5).map(({ name }) => name).join(', ')}. What is in a mounted catalog is not counted.`;
  return [say('gained', 'Gain it'), say('lost', 'Lose it'), total > effects.length && `Of ${total} holders the first ${effects.length} were looked at.`].filter(Boolean).join(' ')
    || 'It changes nothing for those who have the role: other grants, or a denial, decide.';
}

function review(staged, place, rights, reload) {
  const changes = staged.flatMap((each) => changesOf(each, place));
  const list = h('ul', { class: 'review' }, changes.map((change) => h('li', {},
    h('p', {}, badge(change.revoke ? (change.deny ? 'denial taken back' : 'revoked') : change.deny ? 'denied' : 'allowed', change.deny !== Boolean(change.revoke) ? 'bad' : 'good'), ' ', h('code', {}, change.privilege), ` for ${change.role}`),
    pending(() => own('POST', 'grants/what-if', { body: change }), (answer) => h('p', { class: 'effect' }, effectText(answer)), { lines: 1 }))));
  ask({
    title: `Change rights on ${placeName(rights.names)}`, action: 'Save', body: list,
    text: changes.length > 1 ? 'All of it is done, or nothing. Each effect is counted by itself, on what is so now.' : 'What is granted here holds for all that is inside, too.',
    act: async () => {
      await own('POST', 'grants', { body: { changes } });
      notice('The rights are changed.');
      reload();
    },
  });
}

// -- who, and owners -------------------------------------------------------------------------------

function whoSection(rights) {
  const people = new Map();
  for (const each of rights.holders) {
    const at = `${each.kind}\n${each.name}`;
    if (!people.has(at)) people.set(at, { ...each, roles: [] });
    people.get(at).roles.push(each.role);
  }
  const having = (roles, effect) => [...new Set(rights.grants.filter((grant) => grant.effect === effect && roles.includes(grant.role)).map((grant) => grant.privilege))];
  const rows = [...people.values()].map((row) => {
    const denied = having(row.roles, 'deny');
    return { ...row, denied, allowed: having(row.roles, 'allow').filter((name) => !denied.includes(name)) };
  });
  const list = (names, kind) => (names.length ? h('span', { class: 'chips' }, names.map((name) => badge(name, kind))) : '–');
  return section('Who can do what here', null, rows.length === 0 ? empty('Owners and administrators alone', 'No user and no group has a role with rights here.')
    : grid('Who can do what here', [
      ['Who', (row) => holder(row.kind, row.name)], ['By', (row) => row.roles.join(', ')], ['May', (row) => list(row.allowed)], ['Denied', (row) => list(row.denied, 'bad')],
    ], rows));
}

function ownersSection(rights, place, reload) {
  const change = () => ask({
    title: `Owner of ${placeName(rights.names)}`, action: 'Change owner', text: 'An owner may do everything here and inside, which no denial takes away.', fields: personFields(),
    act: async (values) => {
      await own('PUT', 'owners', { body: { ...place, ...readHolder(values) } });
      notice('The owner is changed.');
      reload();
    },
  });
  return section('Owners', act('Change owner', change), grid('Owners', [
    ['Object', (row) => placeLink(row)], ['Owner', (row) => holder(row.owner_kind, row.owner)], ['', (row) => row.names.length < rights.names.length && badge('from above')],
  ], [...rights.owners].reverse()));
}

// -- one's own rights ------------------------------------------------------------------------------

export const grantGrid = (label, grants) => grid(label, [
  ['Object', placeLink], ['Privilege', (row) => h('code', {}, row.privilege)], ['Effect', (row) => badge(row.effect, row.effect === 'deny' ? 'bad' : 'good')],
  ['Role', (row) => row.role], ['Since', (row) => [ago(row.granted_at), h('span', { class: 'muted' }, ` by ${row.granted_by}`)]], ['', (row) => row.dangling && badge('object is gone', 'warn')],
], grants);

/** What the roles of a user allow; with `names`, on this object and above. */
export const rightsSection = (title, load, names) => section(title, null, pending(load, (rights) => {
  const grants = names ? rights.grants.filter((grant) => grant.names.every((name, i) => name === names[i])) : rights.grants;
  return [
    h('p', {}, rights.is_admin && badge('admin: may do everything', 'good'), !rights.enabled && badge('access control is off', 'warn')),
    h('p', { class: 'chips' }, icon('user'), 'Groups: ', rights.groups.length ? rights.groups.join(', ') : 'none', ' · Roles: ', rights.roles.length ? [...new Set(rights.roles.map(({ role }) => role))].join(', ') : 'none'),
    grants.length ? grantGrid(title, grants) : empty('No grants', names ? 'No role of yours is granted anything here. Ask the owner, or who manages grants.' : 'No role allows anything.'),
    rights.truncated && note('There are more grants than are shown here.'),
  ];
}));

const ownRights = (names) => rightsSection('What you may do here', () => own('GET', 'access/me'), names);

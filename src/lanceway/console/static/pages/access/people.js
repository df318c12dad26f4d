// Users, groups and roles: lists of them, and who is in which.

import { listed, own, pathOf } from '../../base/api.js';
import { ago, h, icon } from '../../base/dom.js';
import { adjust, go, to } from '../../base/router.js';
import { act, ask, badge, empty, facts, grid, isEnabled, notice, paged, pending, section } from '../../base/widgets.js';
import { grantGrid, rightsSection } from './grants.js';
import { holder, personFields, readHolder, suggest } from './parts.js';

const named = (list) => ['Name', (row) => h('a', { href: to('access', [list, row.name]) }, row.name)];
const made = ['Created', (row) => [ago(row.created_at), h('span', { class: 'muted' }, ` by ${row.created_by}`)]];

/** Ask for the fields, send them, and show the page again. */
function change(title, action, said, fields, send, /** @type {{ danger?: boolean, text?: string, then?: (values: any) => unknown }} */ { danger, text, then = () => adjust({}) } = {}) {
  return ask({ title, action, danger, text, fields, act: async (values) => {
    await send(values);
    notice(said);
    then(values);
  } });
}

const back = (list) => () => go(to('access', [list]));

const drop = (list, word, name, text) =>
  act('Delete', () => change(`Delete the ${word} ${name}?`, 'Delete', `The ${word} ${name} is deleted.`, [], () => own('DELETE', pathOf(list, name)), { danger: true, text, then: back(list) }), 'danger quiet');

const title = (shape, name, ...actions) => h('div', { class: 'title' }, h('h2', {}, icon(shape), ' ', name), h('div', { class: 'actions' }, actions));

// -- users -----------------------------------------------------------------------------------------

export function usersPage() {
  const fields = [['name', 'Name', { required: true }], ['admin', 'An admin, who may do everything', { type: 'checkbox' }]];
  const create = () => change('New user', 'Create', 'Created the user. A token to sign in with is made under Operations.', fields, (values) => own('POST', 'users', { body: values }), { then: ({ name }) => go(to('access', ['users', name])) });
  return section('Users', act('New user', create, 'primary'), paged(listed('users', 'users'), (rows) => grid('Users', [
    named('users'), ['State', isEnabled], ['', (row) => row.admin && badge('admin')], ['Issuer', (row) => row.issuer ?? '–'], made,
  ], rows), empty('No users', 'Create one, and give it a role and a token.')));
}

const TURNS = {
  disable: ['Disable', 'is disabled', 'All of its tokens are refused from the next request on.'],
  enable: ['Enable', 'is enabled', 'Its tokens are accepted again.'],
  promote: ['Make an admin', 'is an admin now', 'It may do everything then.'],
  demote: ['Take admin away', 'is a user like others now', 'It is a user like others then.'],
};

export function userPage(name, context) {
  const me = context.me.name === name, admin = context.me.admin;
  const account = pending(() => own('GET', pathOf('users', name)), (user) => {
    const turn = (verb) => {
      const [label, done, text] = TURNS[verb];
      return act(label, () => change(`${label} ${name}?`, label, `${name} ${done}.`, [], () => own('POST', pathOf('users', name, verb)), { text }));
    };
    return [
      title('user', name,
        !me && turn(user.enabled ? 'disable' : 'enable'),
        admin && !me && turn(user.admin ? 'demote' : 'promote'),
        !me && drop('users', 'user', name, 'Its tokens and roles are deleted with it.')),
      facts([['State', isEnabled(user)], ['Admin', user.admin ? 'yes' : 'no'], user.issuer && ['Issuer', user.issuer], ['Created', [ago(user.created_at), ` by ${user.created_by}`]]]),
    ];
  });
  return [h('section', { class: 'panel' }, account), rightsSection(`What ${me ? 'you' : name} can do`, () => own('GET', 'access/user', { query: { name: me ? null : name } }))];
}

// -- groups ----------------------------------------------------------------------------------------

export function groupsPage() {
  const create = () => change('New group', 'Create', 'Created the group.', [['name', 'Name', { required: true }]], (values) => own('POST', 'groups', { body: values }), { then: ({ name }) => go(to('access', ['groups', name])) });
  return section('Groups', act('New group', create, 'primary'), paged(listed('groups', 'groups'), (rows) => grid('Groups', [named('groups'), made], rows), empty('No groups', 'There is no group, or you are not in one.')));
}

export function groupPage(name) {
  const member = (user, verb) => own('POST', pathOf('groups', name, verb), { body: { user } });
  const add = () => {
    const dialog = change(`Add to ${name}`, 'Add', 'The user is in the group now.', [['user', 'User', { required: true }]], ({ user }) => member(user, 'add'), { text: 'A member has all roles of the group.' });
    suggest(dialog.querySelector('input'), 'users');
  };
  const remove = (user) => change(`Take ${user} out of ${name}?`, 'Remove', `${user} is out of the group.`, [], () => member(user, 'remove'), { danger: true });
  return [
    h('section', { class: 'panel' }, title('user', name, drop('groups', 'group', name, 'Its roles go with it; what it owns is the administrator’s then.'))),
    section('Members', act('Add a member', add, 'primary'), paged(listed(pathOf('groups', name), 'members'), (rows) => grid('Members', [
      ['User', (row) => holder('user', row)], ['', (row) => act('Remove', () => remove(row), 'quiet')],
    ], rows), empty('No members', 'Users whom an issuer puts into the group are not listed here.'))),
  ];
}

// -- roles -----------------------------------------------------------------------------------------

export function rolesPage() {
  const fields = [['name', 'Name', { required: true }], ['comment', 'Comment', {}]];
  const create = () => change('New role', 'Create', 'Created the role. It may do nothing yet.', fields, ({ name, comment }) => own('POST', 'roles', { body: { name, comment: comment || null } }), { then: ({ name }) => go(to('access', ['roles', name])) });
  return section('Roles', act('New role', create, 'primary'), paged(listed('roles', 'roles'), (rows) => grid('Roles', [named('roles'), ['Comment', (row) => row.comment ?? ''], made], rows), empty('No roles', 'There is no role, or you do not have one.')));
}

export function rolePage(name) {
  const give = () => {
    const dialog = change(`Give the role ${name}`, 'Give', 'The role is given.', personFields(), (values) => own('POST', pathOf('roles', name, 'give'), { body: readHolder(values) }));
    suggest(dialog.querySelector('input'), 'users');
  };
  const take = ({ kind, name: who }) => change(`Take the role ${name} from ${who}?`, 'Take away', `${who} does not have the role any more.`, [], () => own('POST', pathOf('roles', name, 'take'), { body: { [kind]: who } }), { danger: true });
  const holders = pending(() => own('GET', pathOf('roles', name)), (role) => [
    role.comment && h('p', { class: 'muted' }, role.comment),
    !role.holders ? h('p', { class: 'muted' }, 'Who has the role is shown to those who may manage roles.')
      : role.holders.length === 0 ? empty('No one has this role', 'Give it to a user or to a group.')
        : grid('Holders', [['Who', (row) => holder(row.kind, row.name)], ['Since', (row) => [ago(row.granted_at), h('span', { class: 'muted' }, ` by ${row.granted_by}`)]], ['', (row) => act('Take away', () => take(row), 'quiet')]], role.holders),
  ]);
  return [
    h('section', { class: 'panel' }, title('access', name, drop('roles', 'role', name, 'All that it was granted and denied goes with it.'))),
    section('Who has it', act('Give it', give, 'primary'), holders),
    section('What it is granted and denied', null, paged(listed('grants', 'grants', { role: name }), (rows) => grantGrid('Grants of the role', rows), empty('Nothing yet', 'Open Access of a catalog, a namespace or a table, and choose what the role may do there.'))),
  ];
}

// Access: rights on every object, users, groups, roles, questions, and the audit trail. Each part has an address.

import { own } from '../../base/api.js';
import { h } from '../../base/dom.js';
import { toObject } from '../../base/router.js';
import { headline, noPage } from '../../base/widgets.js';
import { grantsPage, rightsSection, toAccess } from './grants.js';
import { accessTabs } from './parts.js';
import { groupPage, groupsPage, rolePage, rolesPage, userPage, usersPage } from './people.js';
import { auditPage, whyPage } from './why.js';

export function accessPage({ names, query }, context) {
  const [part = '', name, ...rest] = names;
  const object = part === 'on' ? names.slice(1) : [];
  const parts = {
    '': () => grantsPage([]),
    on: () => grantsPage(object, query.kind),
    users: () => (name ? userPage(name, context) : usersPage()),
    groups: () => (name ? groupPage(name) : groupsPage()),
    roles: () => (name ? rolePage(name) : rolesPage()),
    why: () => whyPage(names.slice(1), query, context),
    me: () => rightsSection('What you can do', () => own('GET', 'access/me')),
    audit: () => auditPage(query, context),
  };
  const isKnown = Object.hasOwn(parts, part) && (rest.length === 0 || part === 'on' || part === 'why');
  const isTable = query.kind === 'table';
  const above = object.slice(0, -1).map((name, i) => [h('a', { href: toAccess(object.slice(0, i + 1), 'schema') }, name), ' › ']);
  const heading = object.length ? ['Access to ', above, h('a', { href: toObject(isTable ? 'table' : 'namespace', object) }, object.at(-1))] : 'Access';
  return [
    headline('access', h('span', {}, heading)),
    accessTabs(part === 'on' ? '' : part),
    isKnown ? parts[part]() : noPage(),
  ];
}

// Every state of the console has an address behind the #, which no server sees.

/** Return the address of a page: to('table', ['lake', 'orders'], {tab: 'rows'}). */
export function to(page, names = [], query = {}) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value != null && value !== ''));
  const path = [page, ...names].filter(Boolean).map(encodeURIComponent).join('/');
  return `#/${path}${search.size ? `?${search}` : ''}`;
}

export const toObject = (kind, names, query) => (names.length ? to(kind === 'table' ? 'table' : 'namespace', names, query) : to('catalogs'));

export function here() {
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  let parts;
  try {
    parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    parts = ['unreadable'];
  }
  return { page: parts[0] ?? 'home', names: parts.slice(1), query: Object.fromEntries(new URLSearchParams(search)) };
}

export const go = (hash) => {
  if (location.hash === hash) dispatchEvent(new Event('hashchange'));
  else location.hash = hash;
};

/** Change parts of the query, and show the page again. */
export function adjust(changes) {
  const { page, names, query } = here();
  go(to(page === 'home' ? '' : page, names, { ...query, ...changes }));
}

// The server's public REST interfaces, with the user's own token, which this tab alone keeps.

const KEY = 'lanceway.token', MADE = 'lanceway.made';
const BASE = new URL('.', location.href.split('#')[0]);
const PAGE = 100;
// Ended with the token: what it still asks for would be refused.
let session = new AbortController();

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set(value, made = false) {
    sessionStorage.setItem(KEY, value);
    if (made) sessionStorage.setItem(MADE, 'by a link');
    else sessionStorage.removeItem(MADE);
  },
  clear() {
    [KEY, MADE].forEach((key) => sessionStorage.removeItem(key));
    session.abort();
    session = new AbortController();
  },
  /** Whether it was made for this tab, by a link. */
  get made() {
    return sessionStorage.getItem(MADE) != null;
  },
};

/** What the server refused, in its own words. */
export class ApiError extends Error {
  constructor(status, body, fallback) {
    // Iceberg REST has its words one level further inside.
    super(body?.error?.message || body?.error || body?.message || fallback);
    Object.assign(this, { status, code: body?.code, instance: body?.instance });
  }
}

/** The server's address, as clients of other languages need it. */
export const address = (path = '') => new URL(path, BASE).href;

// Whole numbers beyond 2^53 keep all of their digits.
const exact = (key, value, context) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '') ? BigInt(context.source) : value;

/**
 * Send a request, and return its JSON. Raises ApiError.
 * @returns {Promise<any>}
 */
export async function request(method, path, /** @type {{ query?: object, body?: unknown, signal?: AbortSignal, bearer?: string | null }} */ { query, body, signal, bearer = token.get() } = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query ?? {})) if (value != null && value !== '') url.searchParams.set(name, value);
  const headers = { Accept: 'application/json' };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const over = session.signal;
  let answer, text;
  try {
    const content = body === undefined ? undefined : body instanceof Blob ? body : JSON.stringify(body);
    if (body instanceof Blob) headers['Content-Type'] = body.type;
    const ends = signal ? AbortSignal.any([signal, over]) : over;
    answer = await fetch(url, { method, headers, body: content, signal: ends, cache: 'no-store', credentials: 'omit', redirect: 'error' });
    text = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, null, over.aborted ? 'You have signed out.' : 'The server cannot be reached. Check that it is running, then try again.');
  }
  let content = null;
  try {
    content = text ? JSON.parse(text, exact) : null;
  } catch {
    content = { error: text.slice(0, 500) };
  }
  if (answer.ok) return content;
  if (answer.status === 401 && bearer === token.get()) dispatchEvent(new Event('signed-out'));
  throw new ApiError(answer.status, content, `The server answered with status ${answer.status}.`);
}

// -- names -----------------------------------------------------------------------------------------

/** What joins names on the wire: a character that none of them holds. */
export const delimiterOf = (names) => (names.some((name) => name.includes('$')) ? '\x1f' : '$');

const named = (names) => {
  const delimiter = delimiterOf(names);
  return { id: names.join(delimiter) || delimiter, delimiter };
};

/** Lance REST about a table or a namespace: lance('table', ['lake', 'orders'], 'describe', {}). */
export function lance(kind, names, verb, /** @type {unknown} */ body = {}, /** @type {{ query?: object, signal?: AbortSignal }} */ { query, signal } = {}) {
  const { id, delimiter } = named(names);
  const method = kind === 'namespace' && verb.endsWith('list') ? 'GET' : 'POST';
  const extra = delimiter === '$' ? {} : { delimiter };
  return request(method, `lance/v1/${kind}/${encodeURIComponent(id)}/${verb}`, {
    query: { ...query, ...extra }, body: method === 'GET' ? undefined : body, signal,
  });
}

/** Iceberg REST about the tables of a namespace, or about one: iceberg(['lake', 'shop'], 'tables/orders'). */
export const iceberg = ([catalog, ...levels], path, /** @type {object | undefined} */ query = undefined) =>
  request('GET', `iceberg/v1/${encodeURIComponent(catalog)}/namespaces/${encodeURIComponent(levels.join('\x1f'))}/${path}`, { query });

export const own = (method, path, /** @type {{ query?: object, body?: unknown, signal?: AbortSignal } | undefined} */ options = undefined) => request(method, `lanceway/v1/${path}`, options);

/** The path of one of a list, or of what can be done with it: pathOf('catalogs', 'lake', 'test'). */
export const pathOf = (list, name, /** @type {string | undefined} */ verb = undefined) => `${list}/${encodeURIComponent(name)}${verb ? `/${verb}` : ''}`;

/** A list of the Lanceway API, page by page, as `paged` shows it. */
export const listed = (path, key, query = {}) => async (token) => {
  const answer = await own('GET', path, { query: { ...query, page_token: token } });
  return { rows: answer[key], next: answer.page_token };
};

/** How the Lanceway API names something in a query: nameOf('table', ['lake', 'orders']). */
export const nameOf = (key, names) => ({ [key]: names.join(delimiterOf(names)), ...(delimiterOf(names) === '$' ? {} : { delimiter: '\x1f' }) });

/** The same for an object, which is the metalake without names. */
export const objectOf = (names) => (names.length ? nameOf('object', names) : { object: 'metalake' });

// -- lists -----------------------------------------------------------------------------------------

/** What is directly inside, page by page: namespaces first, then tables, those of Iceberg among them. */
export class Children {
  constructor(names) {
    this.names = names;
    this.items = [];
    this._kinds = names.length ? ['namespace', 'table'] : ['namespace'];
    this._after = null;
    /** @type {boolean | undefined} whether there may be tables of Iceberg too: asked once */
    this._mixed = undefined;
    this._lance = { names: new Set(), after: null };
    /** @type {string | null} why its tables are not shown, where one only passes through to what is further inside */
    this.through = null;
  }

  get complete() {
    return !this._kinds.length;
  }

  async more(limit = PAGE) {
    const before = this.items.length;
    while (!this.complete && this.items.length - before < limit) {
      const [kind] = this._kinds;
      const size = limit - (this.items.length - before);
      const [children, after] = kind === 'namespace' ? await this._namespaces(size) : await this._tables(size).catch((error) => this._passed(error));
      this.items.push(...children);
      this._after = after || null;
      if (!this._after) this._kinds.shift();
    }
    return this;
  }

  async _namespaces(limit) {
    const answer = await lance('namespace', this.names, 'list', undefined, { query: { limit, page_token: this._after } });
    return [answer.namespaces.map((name) => this._item(this.names.length ? 'namespace' : 'catalog', name)), answer.page_token];
  }

  /** Iceberg REST has all tables of a lake in order, Lance REST those of Lance: pages of one size, so that the latter is never behind. */
  async _tables(limit) {
    this._mixed ??= this.names.length > 1 && (await own('GET', pathOf('catalogs', this.names[0]))).metalake != null;
    const list = (after) => lance('namespace', this.names, 'table/list', undefined, { query: { limit, page_token: after } });
    if (!this._mixed) {
      const { tables, page_token } = await list(this._after);
      return [tables.map((name) => this._item('table', name)), page_token];
    }
    const answer = await iceberg(this.names, 'tables?pageToken=', { pageSize: limit, pageToken: this._after });
    if (this._lance.after !== undefined) {
      const { tables, page_token } = await list(this._lance.after);
      tables.forEach((name) => this._lance.names.add(name));
      this._lance.after = page_token || undefined;
    }
    return [answer.identifiers.map(({ name }) => this._item('table', name, !this._lance.names.has(name))), answer['next-page-token']];
  }

  /** Whoever sees a namespace inside, but not this one, gets that alone. */
  _passed(error) {
    if (error.status !== 403 || !this.items.length) throw error;
    this.through = error.message;
    return [[], null];
  }

  _item(kind, name, isIceberg = false) {
    return { kind, names: [...this.names, name], format: isIceberg ? 'iceberg' : null };
  }

  async all(most = 10000) {
    while (!this.complete && this.items.length < most) await this.more(1000);
    return this;
  }
}

// Signing in: by a token, which is tried, by a link of `lanceway console`, or at an issuer. What signs in stays in this tab.

import { address, request, token } from '../base/api.js';
import { h, meta, replace } from '../base/dom.js';
import { failure, field, problem } from '../base/widgets.js';

const BEGUN = 'lanceway.begun';

/**
 * Sign in with the code of a link, which is taken out of the address first, and is good for once.
 * @param {{ code?: string }} query
 */
export async function followLink({ code }) {
  history.replaceState(null, '', '#/');
  const { token: text } = await request('POST', 'lanceway/v1/sign-in', { body: { code: code ?? '' }, bearer: null });
  token.set(text, true);
}

/** Forget the token; one that a link made is good for nothing from now on, too. */
export async function signOut() {
  const text = token.get();
  const made = token.made;
  token.clear();
  const prefix = text?.match(/^lw_[0-9a-f]+/)?.[0];
  if (made && prefix) await request('DELETE', `lanceway/v1/tokens/${prefix}`, { bearer: text }).catch(() => {});
}

// -- an issuer: the authorization code flow of OpenID Connect, with PKCE -----------------------------

const url64 = (content) => btoa(String.fromCharCode(...content)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const random = () => url64(crypto.getRandomValues(new Uint8Array(32)));

/** Go to the issuer. What it gives back is good only together with a secret that stays here. */
async function goTo(issuer) {
  if (!crypto.subtle) throw problem('Browsers sign in at an issuer from https:// addresses alone. Open the console at one, or sign in with a token.', 400);
  const verifier = random(), state = random();
  sessionStorage.setItem(BEGUN, JSON.stringify({ verifier, state, hash: location.hash }));
  const challenge = url64(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
  const place = new URL(issuer.address);
  const query = { response_type: 'code', client_id: issuer.client, scope: issuer.scopes, redirect_uri: address(), state, code_challenge: challenge, code_challenge_method: 'S256' };
  for (const [name, value] of Object.entries(query)) place.searchParams.set(name, value);
  location.assign(place);
}

export const isReturn = () => new URLSearchParams(location.search).has('state');

/** Come back from the issuer, to the page that was asked for before. */
export async function comeBack() {
  const query = new URLSearchParams(location.search);
  const { verifier, state, hash } = JSON.parse(sessionStorage.getItem(BEGUN) ?? '{}');
  sessionStorage.removeItem(BEGUN);
  history.replaceState(null, '', location.pathname + (hash || '#/'));
  if (!state || state !== query.get('state')) throw problem('This tab has not asked to sign in there. Sign in from here.', 400);
  if (!query.get('code')) throw problem(query.get('error_description') || query.get('error') || 'The issuer sent no code.', 401);
  const { token: text } = await request('POST', 'lanceway/v1/sign-in/issuer', { body: { code: query.get('code'), verifier, redirect_uri: address() }, bearer: null });
  token.set(text);
}

// -- the form --------------------------------------------------------------------------------------

export function signIn(then, error) {
  const issuer = JSON.parse(meta('issuer') || 'null');
  const secret = field('token', 'Token', { type: 'password', required: true, placeholder: 'lw_…', hint: 'On the server’s own machine, lanceway console prints a link that signs in. Tokens are made by lanceway tokens create.' });
  const refused = h('div', {}, error && failure(error));
  const button = h('button', { type: 'submit', class: issuer ? null : 'primary' }, 'Sign in');
  const elsewhere = issuer && h('div', { class: 'actions' }, h('button', { class: 'primary', onclick: () => goTo(issuer).catch((problem) => replace(refused, failure(problem))) }, `Sign in with ${issuer.name}`));
  const form = h('form', {
    class: 'panel signin',
    onsubmit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        const value = secret.read();
        await request('GET', 'lanceway/v1/me', { bearer: value });
        token.set(value);
        then();
      } catch (refusal) {
        replace(refused, failure(refusal));
        secret.input.focus();
      } finally {
        button.disabled = false;
      }
    },
  }, h('h1', {}, 'Lanceway'), elsewhere, h('p', { class: 'muted' }, `${issuer ? 'Or sign' : 'Sign'} in with a token of this server. It stays in this tab alone, and is forgotten when the tab is closed.`), secret.row, refused, h('div', { class: 'actions end' }, button));
  queueMicrotask(() => (issuer ? form.querySelector('button') : secret.input).focus());
  return h('main', { class: 'center' }, form);
}

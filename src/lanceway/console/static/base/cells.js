// Values as a person reads them: by the column's Arrow type, and for bytes by what they begin with.

import { bytes, count, h, sparkline } from './dom.js';

const MOST_TEXT = 160;
const FLOATS = new Set(['halffloat', 'float16', 'float', 'float32', 'double', 'float64']);

/** Name an Arrow type: `vector of 32 float32`, `list<utf8>`, `decimal128(10, 2)`. */
export function typeName(type) {
  const inner = (type.fields ?? []).map((field) => field);
  if (isVector(type)) return `vector of ${count(type.length)} ${inner[0].type.type}`;
  if (type.type === 'struct') return `struct<${inner.map((field) => `${field.name}: ${typeName(field.type)}`).join(', ')}>`;
  if (type.type.startsWith('decimal')) return `${type.type}(${Math.floor(type.length / 1000)}, ${type.length % 1000})`;
  if (inner.length) return `${type.type}<${inner.map((field) => typeName(field.type)).join(', ')}>${type.length ? `[${type.length}]` : ''}`;
  return type.length ? `${type.type}(${type.length})` : type.type;
}

export const isVector = (type) => type.type === 'fixed_size_list' && FLOATS.has(type.fields?.[0]?.type.type);
export const isText = (type) => ['utf8', 'large_utf8', 'utf8_view'].includes(type.type);
export const isBinary = (type) => /binary/.test(type.type);
export const isNumber = (type) => FLOATS.has(type.type) || /^u?int\d+$|^decimal/.test(type.type);

// Only what browsers draw without running anything: never SVG, never HTML.
/** @type {[string, number[]][]} */
const IMAGES = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
];

export function sniff(content) {
  for (const [type, head] of IMAGES) if (head.every((byte, i) => content[i] === byte)) return type;
  const text = String.fromCharCode(...content.subarray(0, 12));
  return text.startsWith('RIFF') && text.endsWith('WEBP') ? 'image/webp' : null;
}

function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function binary(text) {
  const content = fromBase64(text);
  const type = sniff(content);
  if (!type) {
    const head = [...content.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    return h('span', { class: 'muted' }, `${bytes(content.length)} `, head && h('code', {}, `${head}${content.length > 8 ? ' …' : ''}`));
  }
  const source = URL.createObjectURL(new Blob([content], { type }));
  const done = () => URL.revokeObjectURL(source);
  return h('img', { class: 'thumb', src: source, alt: `${type.slice(6).toUpperCase()}, ${bytes(content.length)}`, onload: done, onerror: done });
}

export const norm = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));

const thinned = (values, most = 48) => (values.length <= most ? values : Array.from({ length: most }, (_, i) => values[Math.floor((i * values.length) / most)]));

function vector(values, near) {
  const size = norm(values).toPrecision(3);
  return h('span', { class: 'vector' },
    sparkline(thinned(values), `Vector of ${values.length} numbers from ${Math.min(...values).toPrecision(3)} to ${Math.max(...values).toPrecision(3)}`),
    h('span', { class: 'muted small' }, `norm ${size}`), near && h('a', { class: 'small', href: near }, 'More like this'));
}

const written = (value) => JSON.stringify(value, (key, inner) => (typeof inner === 'bigint' ? String(inner) : inner));

/** Show a value. `near` is the address of rows that are like a vector; `whole` cuts nothing. */
export function cell(value, type, /** @type {{ near?: string | null, whole?: boolean }} */ { near, whole } = {}) {
  if (value == null) return h('span', { class: 'null' }, 'null');
  if (isVector(type) && Array.isArray(value) && value.length) return vector(value, near);
  if (isBinary(type)) return binary(value);
  const text = typeof value === 'object' ? written(value) : String(value);
  if (whole || text.length <= MOST_TEXT) return h('span', { class: whole ? 'whole' : null }, text);
  return h('span', { title: `${count(text.length)} characters` }, `${text.slice(0, MOST_TEXT)}…`);
}

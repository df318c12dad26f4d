// Elements, icons and words. Text becomes text nodes, never markup.

const SVG = 'http://www.w3.org/2000/svg';
const SAFE_ADDRESS = /^(#|\.|https?:|blob:)/;

const isShown = (child) => child != null && typeof child !== 'boolean';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'value') node.value = value;
    else if ((name === 'href' || name === 'src') && !SAFE_ADDRESS.test(value)) continue;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter(isShown));
  return node;
}

/** Make an element: h('a', {href: '#/'}, 'Home'). What is null, false or true is left out, and a button sends no form unless its type says so. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), tag === 'button' ? { type: 'button', ...attributes } : attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const SHAPES = {
  home: 'M3 9.5 10 4l7 5.5V17h-4.5v-4.5h-5V17H3z',
  catalog: 'M10 3c4 0 6.5 1.1 6.5 2.5S14 8 10 8 3.5 6.9 3.5 5.5 6 3 10 3zM3.5 5.5v9C3.5 15.9 6 17 10 17s6.5-1.1 6.5-2.5v-9M3.5 10c0 1.4 2.5 2.5 6.5 2.5s6.5-1.1 6.5-2.5',
  namespace: 'M2.5 5.5h5l1.5 2h8.5v9h-15z',
  table: 'M3 4h14v12H3zM3 8h14M3 12h14M8 8v8',
  access: 'M10 3 4 5.5V10c0 3.5 2.5 6 6 7 3.5-1 6-3.5 6-7V5.5zM7.5 10l2 2 3-3.5',
  runs: 'M4 5h4v4H4zM12 11h4v4h-4zM8 7h4.5v4',
  operations: 'M3 11h3l2-6 3.5 10 2-4H17',
  menu: 'M3 6h14M3 10h14M3 14h14',
  open: 'm7 4 6 6-6 6',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  theme: 'M10 3a7 7 0 1 0 7 7 5.5 5.5 0 0 1-7-7z',
  more: 'M10 5v10M5 10h10',
  search: 'M9 3.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM13 13l4 4',
  warning: 'M10 3.5 17.5 16h-15zM10 8.5v3.5M10 14v.2',
  user: 'M10 4a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM4 17c.5-3.5 3-5 6-5s5.5 1.5 6 5',
};

export const icon = (name) =>
  svg('svg', { class: 'icon', viewBox: '0 0 20 20', 'aria-hidden': 'true' }, svg('path', { d: SHAPES[name] }));

export const replace = (node, ...children) => (node.replaceChildren(...children.flat(Infinity).filter(isShown)), node);

/** What the server has written into the document. */
export const meta = (name) => document.querySelector(`meta[name=lanceway-${name}]`).getAttribute('content');

const numbers = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
export const count = (value) => (value == null ? '–' : numbers.format(value));
export const compact = (value) => (value == null ? '–' : value < 10000 ? numbers.format(value) : short.format(value));
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

export function bytes(value) {
  if (value == null) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const STEPS = [['second', 60], ['minute', 60], ['hour', 24], ['day', 30], ['month', 12], ['year', Infinity]];

/** A moment as `3 minutes ago`, with the exact time in UTC as its title. */
export function ago(millis) {
  if (millis == null) return '–';
  const exact = new Date(millis).toISOString();
  let value = (millis - Date.now()) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(value) < size) {
      const text = unit === 'second' && value > -45 && value < 45 ? 'just now' : relative.format(Math.round(value), unit);
      return h('time', { datetime: exact, title: exact }, text);
    }
    value /= size;
  }
}

/** A line through numbers. It says in words what it shows. */
export function sparkline(values, label) {
  const width = 96, height = 24;
  const low = Math.min(...values), span = Math.max(...values) - low;
  const x = (i) => (values.length < 2 ? 4 : (i * (width - 4)) / (values.length - 1) + 2);
  const y = (value) => height - 3 - (span ? (value - low) / span : 0.5) * (height - 6);
  const points = values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  return svg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    values.length > 1 ? svg('polyline', { points }) : svg('circle', { cx: x(0), cy: y(values[0]), r: 2 }));
}

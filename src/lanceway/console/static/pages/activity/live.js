// What changes by itself: states, durations, and places that are asked for again.

import { replace } from '../../base/dom.js';
import { badge, field, pending } from '../../base/widgets.js';
import { adjust } from '../../base/router.js';

const KINDS = { done: 'good', failed: 'bad', killed: 'bad', cancelled: 'warn', stopped: 'warn', 'given up': 'warn', running: 'run' };

export const state = (text) => badge(text, KINDS[text]);

export function duration(began, ended) {
  if (began == null) return '–';
  const seconds = Math.max(0, ((ended ?? Date.now()) - began) / 1000);
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s` : `${(seconds / 3600).toFixed(1)} h`;
}

const written = (value) => JSON.stringify(value, (key, each) => (typeof each === 'bigint' ? String(each) : each));

/** A place that is asked for again while it is on the page, until it is over. It is drawn again only when it differs. */
export function live(load, render, /** @type {{ seconds?: number, over?: (value: any) => boolean }} */ { seconds = 2, over = () => false } = {}) {
  let shown;
  const draw = (value) => {
    shown = written(value);
    if (!over(value)) setTimeout(tick, seconds * 1000);
    return render(value);
  };
  const box = pending(load, draw);
  async function tick() {
    if (!box.isConnected) return;
    try {
      const value = document.hidden ? null : await load();
      if (value && written(value) !== shown) replace(box, draw(value));
      else setTimeout(tick, seconds * 1000);
    } catch (error) {
      if (!('status' in error)) throw error;
      setTimeout(tick, seconds * 5000);
    }
  }
  return box;
}

/** A choice that is part of the address. */
export const choice = (name, label, options, value) => field(name, label, { options, value, onchange: (event) => adjust({ [name]: event.target.value }) }).row;

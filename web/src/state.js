// SPDX-License-Identifier: BSD-2-Clause
// What the page shows, in the fragment of its address: a link to it is a link to that view, and the browser's back and
// forward go through what was looked at.

const DEFAULTS = { measure: '', view: 'down', fn: '', zoom: '', search: '', tab: '', sort: '', pick: '', hide: '', range: '',
  process: '', flip: '' };
const KEYS = { m: 'measure', v: 'view', f: 'fn', z: 'zoom', q: 'search', t: 'tab', s: 'sort', p: 'pick', h: 'hide', r: 'range',
  n: 'process', u: 'flip' };

const LATER_MS = 60; // before the table follows

export class State {
  constructor(changed) {
    this.changed = changed;
    this.secret = '';
    this.trace = '';
    this.read();
    window.addEventListener('hashchange', () => {
      if (location.hash === this.written) return;
      this.read();
      this.changed();
    });
  }

  read() {
    Object.assign(this, DEFAULTS);
    this.quiet = false;
    clearTimeout(this.later);
    this.later = 0;
    for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
      if (Object.hasOwn(KEYS, key)) this[KEYS[key]] = value.slice(0, 20000);
      else if (key === 'token') this.secret = value;
      else if (key === 'd') this.trace = value;
    }
    this.written = location.hash;
  }

  fragment() {
    const out = new URLSearchParams();
    for (const [key, name] of Object.entries(KEYS)) if (this[name] !== DEFAULTS[name]) out.set(key, this[name]);
    if (this.trace) out.set('d', this.trace); // of a folder that is served
    if (this.secret) out.set('token', this.secret);
    return '#' + out;
  }

  /** A step that back undoes; with `quiet` it takes the place of the one before. */
  go(values, quiet = false) {
    if (!quiet) this.write('replaceState'); // what was still to be written
    Object.assign(this, values);
    this.quiet = quiet;
    // Browsers take only so many addresses a second: while something is dragged or typed, the last is written.
    if (!quiet) this.write('pushState');
    else this.later ||= setTimeout(() => this.write('replaceState'), LATER_MS);
    this.changed();
  }

  write(way) {
    if (way === 'replaceState' && !this.later) return;
    clearTimeout(this.later);
    this.later = 0;
    const fragment = this.fragment();
    if (fragment === this.written) return;
    this.written = fragment;
    history[way](null, '', fragment);
  }
}



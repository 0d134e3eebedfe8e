// SPDX-License-Identifier: BSD-2-Clause
// The flame graph: boxes on a canvas as high as what is seen of it, which the page scrolls. Only boxes of half a
// pixel and more are laid out, so a redraw costs what is seen, however large the tree is.
import { el } from './words.js';

const ROW = 20;
const LEAST = 0.5;

/** How a box looks, by its function's module: calm hues of like lightness, which name nothing by themselves. */
export function paletteOf(style) {
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    hues: [0, 1, 2, 3, 4, 5, 6, 7].map((i) => read(`--flame-${i}`)),
    root: read('--flame-root'), runtime: read('--flame-runtime'), ink: read('--flame-ink'), line: read('--surface'),
    match: read('--match'), matchInk: read('--match-ink'), faded: read('--flame-faded'), fadedInk: read('--muted'),
    shade: ['', `rgb(${read('--flame-shade')} / 0.05)`, `rgb(${read('--flame-shade')} / 0.1)`], focus: read('--accent'), up: read('--up'), down: read('--down'), same: read('--flame-runtime'),
  };
}

export class Flame {
  /** `on`: {pick(box), zoom(box), over(box, x, y), menu(box, action)}; `label(box)`: [name, value] for people. */
  constructor(host, on) {
    this.on = on;
    this.canvas = el('canvas', { class: 'flame-canvas' });
    this.spacer = el('div', { class: 'flame-spacer' });
    this.scroller = el('div', { class: 'flame', tabindex: '0', role: 'application',
      'aria-label': 'Flame graph. Arrow keys walk, Enter zooms, Escape goes back out, S shows callers and callees, H hides.' },
      this.spacer, this.canvas);
    host.append(this.scroller);
    this.context = this.canvas.getContext('2d');
    this.widths = new Map();
    this.rows = [];
    this.root = null;
    this.top = null;
    this.current = null;
    this.found = null;
    this.flip = false;
    this.colours = new Map();
    this.scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    this.scroller.addEventListener('mousemove', (event) => this.hover(event));
    this.scroller.addEventListener('mouseleave', () => this.on.over(null));
    this.canvas.addEventListener('click', (event) => this.click(event));
    this.scroller.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.scroller);
  }

  /** Shows a tree. `top` is the box that fills the width; its callers stand above it. */
  show(root, top, { found = null, flip = false, total = root.weight, diff = false } = {}) {
    if (this.root !== root) this.current = null;
    Object.assign(this, { root, top: top ?? root, found, flip, total, diff });
    this.layout();
    this.draw();
  }

  theme() {
    this.palette = paletteOf(getComputedStyle(document.documentElement));
    this.colours.clear();
    this.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    this.widths.clear();
  }

  resize() {
    if (!this.root) return;
    this.layout();
    this.draw();
  }

  layout() {
    if (!this.palette) this.theme();
    const width = this.scroller.clientWidth;
    const rows = [];
    const put = (box, x, w, faded) => {
      const depth = box.depth;
      (rows[depth] ??= []).push({ box, x, w, faded });
    };
    for (let box = this.top.parent; box; box = box.parent) put(box, 0, width, true);
    const scale = this.top.weight ? width / this.top.weight : 0;
    const open = [{ box: this.top, x: 0 }];
    if (!scale) put(this.top, 0, width, false);
    else
      while (open.length) {
        const { box, x } = open.pop();
        const w = box.weight * scale;
        put(box, x, w, false);
        if (w < 2 * LEAST) continue;
        let at = x;
        for (const child of box.children) {
          const cw = child.weight * scale;
          if (cw < LEAST) break; // sorted: what follows is no wider
          open.push({ box: child, x: at });
          at += cw;
        }
      }
    for (const row of rows) row?.sort((a, b) => a.x - b.x);
    this.rows = rows;
    this.width = width;
    const height = rows.length * ROW;
    this.height = height;
    this.spacer.style.height = `${height}px`;
    const seen = Math.min(height, this.most());
    this.scroller.style.height = `${seen + 1}px`;
    this.seen = seen;
    const ratio = window.devicePixelRatio || 1;
    this.ratio = ratio;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(seen * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(seen * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${seen}px`;
    }
  }

  most() {
    return Math.max(200, Math.min(560, Math.round(window.innerHeight * 0.46)));
  }

  /** Where row `depth` begins, in the canvas. */
  y(depth) {
    const at = this.flip ? this.height - (depth + 1) * ROW : depth * ROW;
    return at - this.scroller.scrollTop;
  }

  colour(box) {
    const p = this.palette;
    if (this.diff) return this.change(box);
    const fn = box.fn;
    if (fn < 0) return p.root;
    let colour = this.colours.get(fn);
    if (!colour) {
      const hue = box.tree.model.hue(fn);
      colour = hue < 0 ? p.runtime : p.hues[hue % p.hues.length];
      this.colours.set(fn, colour);
    }
    return colour;
  }

  change(box) {
    const p = this.palette;
    const rate = box.weight ? box.signed / box.weight : 0;
    return Math.abs(rate) < 0.02 ? p.same : rate > 0 ? p.up.replace('%', 0.25 + 0.55 * rate)
      : p.down.replace('%', 0.25 - 0.55 * rate);
  }

  draw() {
    if (!this.root) return;
    const c = this.context;
    const p = this.palette;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.seen);
    c.font = this.font;
    c.textBaseline = 'middle';
    for (let depth = 0; depth < this.rows.length; depth++) {
      const y = this.y(depth);
      if (y <= -ROW || y >= this.seen || !this.rows[depth]) continue;
      for (const { box, x, w, faded } of this.rows[depth]) {
        const isMatch = this.found && box.fn >= 0 && this.found[box.fn];
        c.globalAlpha = this.found && !isMatch && !faded ? 0.45 : 1;
        c.fillStyle = faded ? p.faded : isMatch ? p.match : this.colour(box);
        c.fillRect(x, y, w > 2 ? w - 1 : w, ROW - 1);
        // Functions of one module beside one another differ a little.
        const shade = faded || isMatch || this.diff || box.fn < 0 ? 0 : (box.fn * 7) % 3;
        if (shade) {
          c.fillStyle = p.shade[shade];
          c.fillRect(x, y, w > 2 ? w - 1 : w, ROW - 1);
        }
        c.globalAlpha = 1;
        if (w > 34) {
          const text = this.fit(box, w - 10);
          if (text) {
            c.fillStyle = faded ? p.fadedInk : isMatch ? p.matchInk : p.ink;
            c.fillText(text, x + 5, y + ROW / 2);
          }
        }
        if (box === this.current) {
          c.strokeStyle = p.focus;
          c.lineWidth = 2;
          c.strokeRect(x + 1, y + 1, Math.max(2, w - 3), ROW - 3);
        }
      }
    }
  }

  measure(text) {
    let width = this.widths.get(text);
    if (width === undefined) this.widths.set(text, (width = this.context.measureText(text).width));
    return width;
  }

  /** As much of the name as there is room for. */
  fit(box, room) {
    const name = this.on.label(box);
    const whole = this.measure(name);
    if (whole <= room) return name;
    let nr = Math.floor((name.length * room) / whole);
    while (nr > 2) {
      const text = name.slice(0, nr - 1) + '…';
      if (this.measure(text) <= room) return text;
      nr--;
    }
    return '';
  }

  at(event) {
    const area = this.canvas.getBoundingClientRect();
    const x = event.clientX - area.left;
    const y = event.clientY - area.top + this.scroller.scrollTop;
    const depth = this.flip ? Math.floor((this.height - y) / ROW) : Math.floor(y / ROW);
    return this.rows[depth]?.find((item) => x >= item.x && x < item.x + Math.max(item.w, 1))?.box ?? null;
  }

  hover(event) {
    const box = this.at(event);
    this.canvas.style.cursor = box ? 'pointer' : 'default';
    this.on.over(box, event.clientX, event.clientY);
  }

  click(event) {
    const box = this.at(event);
    if (!box) return;
    this.current = box;
    this.on.pick(box);
    this.on.zoom(box === this.top && box.parent ? box.parent : box);
  }

  /** The box is seen. */
  reveal(box) {
    const begin = this.flip ? this.height - (box.depth + 1) * ROW : box.depth * ROW;
    if (begin < this.scroller.scrollTop) this.scroller.scrollTop = begin;
    else if (begin + ROW > this.scroller.scrollTop + this.seen) this.scroller.scrollTop = begin + ROW - this.seen;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = this.current ?? this.top;
    const beside = (step) => {
      const row = this.rows[box.depth] ?? [];
      return row[row.findIndex((item) => item.box === box) + step]?.box;
    };
    const wide = (child) => child && this.rows[child.depth]?.some((item) => item.box === child) ? child : null;
    const inward = () => wide(box.children[0]);
    const outward = () => box.parent;
    let next;
    switch (event.key) {
      case 'ArrowDown': next = this.flip ? outward() : inward(); break;
      case 'ArrowUp': next = this.flip ? inward() : outward(); break;
      case 'ArrowLeft': next = beside(-1); break;
      case 'ArrowRight': next = beside(1); break;
      case 'Home': next = this.top; break;
      case 'Enter': this.on.zoom(box); break;
      case 'Escape': this.on.zoom(this.top.parent ?? this.root); break;
      case 's': case 'h': if (box.fn >= 0) this.on.menu(box, event.key); break;
      default: return;
    }
    event.preventDefault();
    if (next) {
      this.current = next;
      this.reveal(next);
      this.on.pick(next);
      this.draw();
    }
  }
}

// SPDX-License-Identifier: BSD-2-Clause
// Live bytes over time, by site. A dragged range, or its two handles, choose what every other view shows: what changed in it.
import uPlot from '../vendor/uplot/uPlot.esm.js';
import { paletteOf } from './flame.js';
import { bytes, count, duration, el, fill, safe, signed } from './words.js';

const SITES = 5;
const HEIGHT = 170;
const SECONDS = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120,
  300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2419200, 4838400, 9676800, 31536000]; // steps of clocks

/** `step`: the seconds between two labels. Labels of one picture differ. */
function clock(seconds, step) {
  if (!seconds) return '0';
  if (seconds < 1e-3) return `${+(seconds * 1e6).toFixed(3)} µs`;
  if (seconds < 1) return `${+(seconds * 1e3).toFixed(3)} ms`;
  if (seconds < 60) return `${+seconds.toFixed(3)} s`;
  seconds = +seconds.toFixed(6); // what adds up to a minute is one
  const two = (value) => String(Math.floor(value)).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const part = step < 1 ? (seconds % 1).toFixed(Math.ceil(-Math.log10(step) - 1e-9)).slice(1) : '';
  return `${hours ? `${hours}:${two((seconds % 3600) / 60)}` : Math.floor(seconds / 60)}:${two(seconds % 60)}${part}`;
}

/** `text`, or as much of it as `width` pixels of `c` hold with an ellipsis; '' where that is next to nothing. */
function fitted(c, text, width) {
  if (c.measureText(text).width <= width) return text;
  for (let length = text.length - 1; length > 2; length--)
    if (c.measureText(`${text.slice(0, length)}…`).width <= width) return `${text.slice(0, length)}…`;
  return '';
}

export class Timeline {
  /** `on`: {range(a, b), clear()} */
  constructor(host, model, on) {
    Object.assign(this, { host, model, on });
    this.plot = null;
    this.title = el('span', { class: 'timeline-title' });
    this.legend = el('ul', { class: 'legend', 'aria-label': 'Sites' });
    this.clearButton = el('button', { type: 'button', onclick: () => on.clear() }, 'Whole time');
    this.stage = el('div', { class: 'stage' });
    this.handles = ['Begin', 'End'].map((name, which) => this.handle(name, which));
    fill(host, el('div', { class: 'timeline-head' }, el('h2', {}, 'Over time'), this.title, el('span', { class: 'actions' }, this.clearButton,
      el('button', { type: 'button', title: 'the two moments that differ most', onclick: () => on.range(...this.series.farthest()) }, 'Auto diff'))),
    this.stage, this.legend);
    new ResizeObserver(() => {
      if (this.plot && this.stage.clientWidth !== this.plot.width) {
        this.plot.setSize({ width: this.stage.clientWidth, height: HEIGHT });
        queueMicrotask(() => this.place());
      }
    }).observe(this.stage);
  }

  handle(name, which) {
    const handle = el('div', { class: 'handle', role: 'slider', tabindex: '0', 'aria-label': `${name} of the range` });
    const move = (index) => {
      const range = [...this.range];
      range[which] = Math.max(0, Math.min(this.series.at.length - 1, index));
      this.on.range(Math.min(...range), Math.max(...range));
    };
    handle.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      if (!step) return;
      event.preventDefault();
      move(this.range[which] + step);
    });
    handle.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      event.stopPropagation();
      handle.setPointerCapture(event.pointerId);
      handle.onpointermove = (moved) => move(this.series.nearest(this.plot.posToVal(moved.clientX - this.plot.over.getBoundingClientRect().left, 'x')));
      handle.onpointerup = handle.onpointercancel = () => { handle.onpointermove = null; };
    });
    return handle;
  }

  /** `series` of one process; `marks`: [{name, at_s}]; `range`: [a, b] or null. */
  show(series, marks, range) {
    const isNew = this.series !== series;
    Object.assign(this, { series, marks, range: range ?? [0, series.at.length - 1], chosen: Boolean(range) });
    this.host.hidden = false;
    if (isNew || !this.plot) this.draw();
    this.place();
  }

  draw() {
    const { series, model } = this;
    const palette = paletteOf(getComputedStyle(document.documentElement));
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    const biggest = series.biggest(SITES);
    const hues = [5, 1, 2, 4, 3].map((i) => palette.hues[i]);
    // Sums from below: the largest is drawn first, the others over it.
    const layers = [];
    let sum = new Float64Array(series.at.length);
    biggest.forEach(({ site, values }, i) => {
      sum = sum.map((value, k) => value + values[k]);
      const { name, place } = model.siteLabel(site);
      layers.push({ values: sum, colour: hues[i], label: name, place });
    });
    layers.push({ values: Float64Array.from(series.totals), colour: palette.root, label: 'all others' });
    // Where it is far more than the heap, that would be a line at the bottom.
    const mostRss = series.rss.reduce((a, b) => Math.max(a, b), 0);
    const hasRss = mostRss > 0 && mostRss <= 4 * series.totals[series.peak];
    const data = [series.at, ...[...layers].reverse().map(({ values }) => Array.from(values)),
      ...(hasRss ? [series.rss.map((value) => value || null)] : [])];
    const line = { stroke: read('--line'), width: 1 };
    const axis = { stroke: read('--muted'), grid: line, ticks: { show: false }, font: `11px ${getComputedStyle(document.body).fontFamily}` };
    const options = {
      width: Math.max(200, this.stage.clientWidth), height: HEIGHT, legend: { show: false }, padding: [10, 28, 0, 0],
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, (high || 1) * 1.05] } },
      cursor: { drag: { x: true, y: false, setScale: false, dist: 4 }, points: { show: false }, y: false },
      axes: [{ ...axis, grid: { show: false }, size: 26, space: 70, incrs: SECONDS, values: (_, ticks) => ticks.map((tick) => clock(tick, ticks[1] - ticks[0])) },
        { ...axis, size: 66, incrs: Array.from({ length: 60 }, (_, i) => 2 ** i), values: (_, ticks) => ticks.map((tick) => (tick ? bytes(tick) : '0')) }],
      series: [{}, ...[...layers].reverse().map(({ colour, label }) => ({ label, fill: colour, stroke: colour, width: 1, points: { show: false } })),
        ...(hasRss ? [{ label: 'resident', stroke: read('--muted'), width: 1.25, dash: [4, 3], points: { show: false }, scale: 'y' }] : [])],
      hooks: {
        setSelect: [(plot) => {
          if (this.placing || plot.select.width < 4) return;
          const a = series.nearest(plot.posToVal(plot.select.left, 'x'));
          const b = series.nearest(plot.posToVal(plot.select.left + plot.select.width, 'x'));
          if (a !== b) this.on.range(a, b);
          else this.place();
        }],
        setCursor: [(plot) => this.tell(plot.cursor.idx)],
        ready: [() => queueMicrotask(() => this.place())],
        draw: [(plot) => this.drawMarks(plot, read('--ink'))],
      },
    };
    this.plot?.destroy();
    this.plot = new uPlot(options, data, this.stage);
    this.plot.over.append(...this.handles);
    fill(this.legend, layers.map(({ colour, label, place }) => {
      const dot = el('i', {});
      dot.style.background = colour;
      return el('li', { title: place ? `${label} ${place}` : null }, dot, el('span', { class: 'cut' }, label), place ? el('span', { class: 'quiet' }, place) : null);
    }), mostRss ? el('li', {}, hasRss ? el('i', { class: 'dashed' }) : null, `resident memory, ${bytes(mostRss)} at most${hasRss ? '' : ', far above'}`) : null);
  }

  drawMarks(plot, ink) {
    const c = plot.ctx;
    const ratio = window.devicePixelRatio || 1;
    c.save();
    c.font = `${11 * ratio}px sans-serif`;
    c.textAlign = 'left';
    const { left, top, width, height } = plot.bbox;
    const places = this.marks.map((mark) => ({ x: plot.valToPos(mark.at_s, 'x', true), name: mark.name }))
      .filter(({ x }) => x >= left && x <= left + width).sort((a, b) => a.x - b.x)
      .filter(({ x }, i, all) => !i || Math.round(x) !== Math.round(all[i - 1].x)); // one line a pixel
    c.strokeStyle = c.fillStyle = ink;
    c.globalAlpha = 0.45;
    c.beginPath();
    for (const { x } of places) {
      c.moveTo(x, top);
      c.lineTo(x, top + height);
    }
    c.stroke();
    c.globalAlpha = 0.9;
    places.forEach(({ x, name }, i) => {
      const start = x + 4 * ratio;
      const label = fitted(c, safe(name, 24), (places[i + 1]?.x ?? left + width) - start - 2 * ratio);
      if (label) c.fillText(label, start, top + 11 * ratio);
    });
    c.restore();
  }

  /** The range as the state has it, as a box and two handles. */
  place() {
    const { plot, series } = this;
    if (!plot) return;
    const left = plot.valToPos(series.at[this.range[0]], 'x');
    const right = plot.valToPos(series.at[this.range[1]], 'x');
    this.placing = true;
    plot.setSelect({ left, top: 0, width: this.chosen ? right - left : 0, height: plot.over.clientHeight }, false);
    this.placing = false;
    [left, right].forEach((x, which) => {
      const handle = this.handles[which];
      handle.style.left = `${x}px`;
      handle.setAttribute('aria-valuemin', '0');
      handle.setAttribute('aria-valuemax', String(series.at.length - 1));
      handle.setAttribute('aria-valuenow', String(this.range[which]));
      handle.setAttribute('aria-valuetext', duration(series.at[this.range[which]]));
    });
    this.clearButton.hidden = !this.chosen;
    this.tell(null);
  }

  tell(index) {
    const { series } = this;
    if (index !== null && index !== undefined && series.at[index] !== undefined) {
      this.title.textContent = `at ${duration(series.at[index])}: ${bytes(series.totals[index])} live${series.rss[index] ? `, ${bytes(series.rss[index])} resident` : ''}`;
      return;
    }
    const [a, b] = this.range;
    this.title.textContent = this.chosen
      ? `${duration(series.at[a])} to ${duration(series.at[b])}: ${signed(bytes, series.totals[b] - series.totals[a])}`
      : `${count(series.at.length)} moments; drag for a range`;
  }
}

// SPDX-License-Identifier: BSD-2-Clause
// The page: what is on it, and what follows from a click.
import { Damage, Part } from './data.js';
import { detailOf } from './detail.js';
import { findingsOf, healthOf } from './findings.js';
import { Flame } from './flame.js';
import { groupTables } from './groups.js';
import { Holders } from './holders.js';
import { columnsOf, measuresOf } from './measures.js';
import { Model, Tree, Weights, groupKey, groupsOf } from './model.js';
import { Sources } from './sources.js';
import { State } from './state.js';
import { Table } from './table.js';
import { Timeline } from './timeline.js';
import { Times } from './times.js';
import * as words from './words.js';

const { el, fill } = words;
const $ = (id) => document.getElementById(id);

class Page {
  constructor(part) {
    this.load(part);
    this.state = new State(() => this.show());
    this.roots = new Map();
    this.flame = new Flame($('graph'), {
      // Sites of one function differ in their lines.
      label: (box) => (box.site >= 0 && box.place ? `${box.name} ${box.place}` : this.boxName(box)),
      pick: (box) => this.choose(box),
      zoom: (box) => this.zoom(box),
      over: (box, x, y) => this.tip(box, x, y),
      menu: (box, what) => box.name === undefined && (what === 's' ? this.sandwich(box.fn) : this.hide(box.fn)),
    });
    this.callers = new Flame($('callers'), { ...this.flame.on, zoom: (box) => box.fn >= 0 && this.sandwich(box.fn) });
    this.table = new Table($('rows'), {
      pick: (row) => this.pick(row),
      open: (row) => row.fn >= 0 && this.sandwich(row.fn),
      sort: (id) => this.state.go({ sort: id }),
    });
  }

  load(part) {
    this.model = new Model(part);
    const report = part.json('report');
    this.reports = report.processes ?? [report];
    this.summary = report.findings ?? [];
    // The kernel's slabs and pages are in a trace as processes are.
    this.ofKernel = this.reports.every(({ process }) => (process.name ?? '').startsWith('[kernel'));
    this.parts = this.ofKernel ? ['part, which overlap', 'parts, which overlap'] : ['process', 'processes'];
    this.oldReports = part.has('old_report') ? ((old) => old.processes ?? [old])(part.json('old_report')) : null;
    this.measures = this.fixed = measuresOf(this.model);
    this.first = undefined;
    this.columns = this.fixedColumns = columnsOf(this.model);
    this.groups = this.model.isDiff ? [] : groupTables(part, this.reports);
    this.holding = new Holders(this.model);
    this.sources = new Sources(part, this.model);
  }

  /** What there is now, of the same program: the view stays. Functions may have other numbers, names stay. */
  replace(part, times) {
    const keep = (text) => text.split('.').filter(Boolean).map((fn) => this.model.name(Number(fn)) + '\n' + this.model.module(Number(fn)));
    const { zoom, hide, fn, pick } = this.state;
    const names = { zoom: keep(zoom), hide: keep(hide), fn: keep(fn) };
    this.load(part);
    const numbers = new Map(Array.from({ length: this.model.nrFunctions }, (_, i) => [this.model.name(i) + '\n' + this.model.module(i), i]));
    const found = (list) => list.map((name) => numbers.get(name)).filter((number) => number !== undefined).join('.');
    this.searched = this.choicesKey = this.weightsKey = this.treeOf = this.optionsShown = undefined;
    this.roots.clear();
    this.flame.colours.clear();
    this.callers.colours.clear();
    this.header();
    fill($('measure'), this.measures.map(({ id, title }) => el('option', { value: id }, title)));
    Object.assign(this.state, { zoom: found(names.zoom), hide: found(names.hide), fn: found(names.fn), pick: pick.startsWith('g') ? pick : '' });
    if (times) {
      this.times = new Times(times, this.model);
      this.series = new Map();
    }
    if (times && !this.timeline) this.over(times);
    else this.show();
  }

  start() {
    this.header();
    this.toolbar();
    this.show();
    document.documentElement.dataset.state = 'ready';
  }

  processName(i) {
    const { process } = this.reports[i];
    return `${this.ofKernel ? '' : process.pid + ' '}${words.safe(process.name ?? '', 40)}`;
  }

  // ---- what does not change ----

  header() {
    const { head } = this.model;
    const main = this.reports[0].process;
    const name = words.safe(main.name ?? main.exe ?? 'trace', 80);
    document.title = `${name} – seep`;
    $('program').textContent = name;
    const facts = [];
    if (this.reports.length > 1) facts.push(words.plural(this.reports.length, ...this.parts));
    else if (!this.ofKernel) facts.push(`pid ${main.pid}`);
    if (main.start) facts.push(main.start.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'));
    if (main.duration_s !== null) facts.push(`ran ${words.duration(main.duration_s)}`);
    if (main.exit) facts.push('code' in main.exit ? `exit ${main.exit.code}` : `killed by signal ${main.exit.signal}`);
    $('facts').textContent = facts.join(' · ');
    $('command').textContent = words.safe([main.exe ?? '', ...(main.args ?? []).slice(1)].join(' '), 2000);
    $('source').textContent = this.model.isDiff ? `${words.safe(head.old_source)} → ${words.safe(head.source)}` : words.safe(head.source);
    $('made').textContent = `Made by seep ${head.version} on ${head.made.slice(0, 10)}.`;
    this.health();
    this.totals();
    this.findings();
  }

  health() {
    const health = healthOf(this.oldReports ? [...this.oldReports, ...this.reports] : this.reports);
    const line = el('span', {}, el('i', { class: `dot ${health.complete ? 'good' : 'warn'}`, 'aria-hidden': 'true' }),
      el('b', {}, health.title), ' — ', health.text);
    const { folded } = this.model.head;
    if (folded)
      health.lines.push(`${words.plural(folded, 'smaller site is', 'smaller sites are')} folded into their callers, to keep the page small; totals are exact (--max-size)`);
    fill($('health'), health.lines.length ? el('details', {}, el('summary', {}, line),
      el('ul', {}, health.lines.map((text) => el('li', {}, text)))) : line);
  }

  totals() {
    const sum = (reports, key) => reports.reduce((a, { totals }) => a + totals[key], 0);
    const total = (key) => sum(this.reports, key);
    const tile = (title, value, detail, go, tone = '') => el(go ? 'button' : 'div',
      { class: `tile ${tone}`, type: go ? 'button' : null, onclick: go ? () => this.state.go(go) : null },
      el('span', { class: 'tile-title' }, title), el('span', { class: 'tile-value' }, value),
      el('span', { class: 'tile-detail' }, detail));
    const tiles = [];
    if (this.oldReports) {
      const old = (key) => sum(this.oldReports, key);
      const change = (title, key, format, go) => {
        const delta = total(key) - old(key);
        tiles.push(tile(title, words.signed(format, delta), `${format(old(key))} → ${format(total(key))}`, go, delta > 0 ? 'up' : delta < 0 ? 'down' : ''));
      };
      change('Live', 'live_bytes', words.bytes, { measure: 'live' });
      change('Live blocks', 'live_blocks', words.count, { measure: 'blocks' });
      change('Allocated', 'allocated_bytes', words.bytes, { measure: 'allocated' });
      change('Allocations', 'allocations', words.count, { measure: 'calls' });
    } else {
      tiles.push(tile('Live', words.bytes(total('live_bytes')), `in ${words.plural(total('live_blocks'), 'block')}`, { measure: 'live' }));
      const scans = this.reports.filter(({ leaks }) => leaks).map(({ leaks }) => leaks);
      if (scans.length) {
        const lost = scans.reduce((a, { lost: l, indirect: i }) => ({ bytes: a.bytes + l.bytes + i.bytes, blocks: a.blocks + l.blocks + i.blocks }),
          { bytes: 0, blocks: 0 });
        const possible = scans.reduce((blocks, leaks) => blocks + leaks.possible.blocks, 0);
        const held = possible ? `${words.plural(possible, 'block')} possibly lost` : 'every block is held';
        tiles.push(tile('Lost', words.bytes(lost.bytes), lost.blocks ? `in ${words.plural(lost.blocks, 'block')}` : held,
          lost.bytes ? { measure: 'lost' } : null, lost.bytes ? 'bad' : ''));
      }
      if (this.reports.length === 1) {
        const { peak_bytes: peak, peak_exact: exact } = this.reports[0].totals;
        tiles.push(tile('Peak', words.bytes(peak), exact ? 'most at one moment' : 'about, most at one moment',
          this.model.has('at_peak_bytes') ? { measure: 'at_peak' } : null));
      }
      tiles.push(tile('Allocated', words.bytes(total('allocated_bytes')), `in ${words.plural(total('allocations'), 'allocation')}`, { measure: 'allocated' }));
      tiles.push(tile('Temporary', words.share(total('temporary'), total('allocations')), 'of allocations, freed at once', { measure: 'temporary' }));
    }
    fill($('totals'), tiles);
  }

  findings() {
    const findings = findingsOf(this.model, this.reports, this.summary);
    fill($('findings'), findings.map(({ tone, text, go }) =>
      el('li', { class: tone }, go ? el('button', { type: 'button', onclick: () => this.state.go({ search: '', ...go }) }, text) : text)));
    $('findings').hidden = !findings.length;
  }

  toolbar() {
    const choose = (id, key, options) => {
      const select = $(id);
      fill(select, options.map(([value, title]) => el('option', { value }, title)));
      select.addEventListener('change', () => this.state.go({ [key]: select.value, zoom: '' }));
      return select;
    };
    choose('measure', 'measure', this.measures.map(({ id, title }) => [id, title]));
    if (this.reports.length > 1 && !this.model.isDiff) {
      $('process-box').hidden = false;
      choose('process', 'process', [['', `all ${words.plural(this.reports.length, ...this.parts)}`],
        ...this.reports.map((_, i) => [String(i), this.processName(i)])]);
    }
    for (const button of document.querySelectorAll('[data-view]'))
      button.addEventListener('click', () => this.state.go({ view: button.dataset.view, zoom: '' }));
    const search = $('search');
    search.addEventListener('input', () => this.state.go({ search: search.value }, true));
    search.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.state.go({ search: '' });
      if (event.key === 'Enter') this.flame.scroller.focus();
    });
    for (const button of document.querySelectorAll('[data-flip]'))
      button.addEventListener('click', () => this.state.go({ flip: button.dataset.flip }));
    document.querySelector('[data-view=held]').hidden = !this.holding.known;
    const tabs = [['sites', 'Sites'], ['function', 'Functions'], ['file', 'Files'], ['line', 'Lines'], ['module', 'Modules']];
    if (this.reports.length > 1 && !this.model.isDiff) tabs.push(['process', 'Processes']);
    if (!this.model.isDiff && this.reports.some(({ leaks }) => leaks?.holders?.length)) tabs.push(['holders', 'Holders']);
    for (const { id, title } of this.groups) tabs.push([id, title]);
    fill($('tabs'), tabs.map(([id, title]) => el('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'data-tab': id,
      'aria-controls': 'rows', onclick: () => this.state.go({ tab: id, pick: '' }) }, title)));
    $('tabs').addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const all = [...$('tabs').children];
      const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
      next.focus();
      next.click();
    });
    document.addEventListener('keydown', (event) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      event.preventDefault();
      search.focus();
      search.select();
    });
    const redraw = () => {
      for (const flame of [this.flame, this.callers]) flame.theme();
      this.show();
      if (this.timeline?.plot) {
        this.timeline.draw();
        this.timeline.place();
      }
    };
    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
    // Paper is light.
    const paper = (isOn) => () => {
      document.documentElement.toggleAttribute('data-paper', isOn);
      redraw();
    };
    window.addEventListener('beforeprint', paper(true));
    window.addEventListener('afterprint', paper(false));
  }

  // ---- what follows from the state ----

  measure() {
    return this.measures.find(({ id }) => id === this.state.measure) ?? this.usual();
  }

  /** The first that has something to show: of a program that freed all of it, what it allocated. */
  usual() {
    if (this.measures[0] !== this.fixed[0]) return this.measures[0]; // of a range
    this.first ??= this.fixed.find(({ own }) => own().some((value) => value > 0)) ?? this.fixed[0];
    return this.first;
  }

  // ---- over time ----

  /** The second part, once it is here: after the first view is drawn. */
  over(part) {
    this.times = new Times(part, this.model);
    this.series = new Map();
    this.timeline = new Timeline($('timeline'), this.model, {
      range: (a, b) => this.state.go({ range: `${a}-${b}`, measure: this.rangeOf(this.state.range) ? this.state.measure : '', zoom: '' }, Boolean(this.state.range)),
      clear: () => this.state.go({ range: '', measure: '', zoom: '' }),
    });
    this.show();
  }

  seriesNow() {
    if (!this.times) return null;
    const process = this.state.process === '' ? this.times.processes[0] : Number(this.state.process);
    if (!this.times.processes.includes(process)) return null;
    if (!this.series.has(process)) this.series.set(process, this.times.of(process));
    return this.series.get(process);
  }

  rangeOf(text) {
    const series = this.seriesNow();
    const found = /^(\d+)-(\d+)$/.exec(text);
    if (!series || !found) return null;
    const [a, b] = [Number(found[1]), Number(found[2])];
    return a < b && b < series.at.length ? [a, b] : null;
  }

  /** What the measures and columns are, for the range that is chosen. */
  choices() {
    const series = this.seriesNow();
    const range = this.rangeOf(this.state.range);
    const key = series ? `${this.times.processes.indexOf(series.times.process[series.moments[0]])} ${range}` : '';
    if (this.choicesKey === key) return;
    this.choicesKey = key;
    this.weightsKey = null;
    this.measures = [...this.fixed];
    this.columns = [...this.fixedColumns];
    if (series) {
      if (series.peak >= 0 && !this.model.has('at_peak_bytes'))
        this.measures.push({ id: 'peak', title: 'Live bytes at the highest moment', format: words.bytes, own: () => series.state(series.peak) });
      if (range) {
        const [a, b] = range.map((index) => series.state(index));
        const delta = b.map((value, i) => value - a[i]);
        const size = delta.map(Math.abs);
        this.measures.unshift({ id: 'range', title: 'Change in the range', format: words.bytes, own: () => size, change: () => delta },
          { id: 'end', title: 'Live bytes at its end', format: words.bytes, own: () => b });
        this.columns.unshift({ id: 'range', title: 'Change', hint: 'of live bytes in the range', format: (value) => words.signed(words.bytes, value),
          data: () => delta, measure: 'range', tone: (value) => (value > 0 ? 'up' : value < 0 ? 'down' : '') },
        { id: 'end', title: 'At its end', hint: 'live bytes at the end of the range', format: words.bytes, data: () => b, measure: 'end' });
        this.columns = this.columns.filter(({ id }) => !['allocations', 'allocated_bytes', 'live_blocks'].includes(id));
      }
    }
    const options = this.measures.map(({ id }) => id).join(' ');
    if (this.optionsShown !== options) fill($('measure'), this.measures.map(({ id, title }) => el('option', { value: id }, title)));
    this.optionsShown = options;
  }

  /** The weights of the measure, of the process that is looked at: kept, as going back and forth is common. */
  weights() {
    const measure = this.measure();
    const key = `${measure.id} ${this.state.process}`;
    if (this.weightsKey !== key) {
      this.weightsKey = key;
      const masked = (column) => {
        if (this.state.process === '' || !column) return column;
        const wanted = Number(this.state.process);
        const process = this.model.site('process');
        return column.map((value, i) => (process[i] === wanted ? value : 0));
      };
      // What is dragged needs no new room at each step.
      const before = this.kept?.model === this.model ? this.kept : null;
      this.kept = new Weights(this.model, masked(measure.own()), masked(measure.change?.()), before);
      this.roots.clear();
    }
    return this.kept;
  }

  hidden() {
    return new Set(this.state.hide.split('.').filter(Boolean).map(Number));
  }

  tree() {
    const weights = this.weights();
    if (this.treeKey !== this.state.hide || this.treeOf !== weights) {
      this.treeKey = this.state.hide;
      this.treeOf = weights;
      this.made = new Tree(this.model, weights, this.hidden());
      this.roots.clear();
    }
    return this.made;
  }

  root(kind, make) {
    const tree = this.tree();
    let root = this.roots.get(kind);
    if (!root) this.roots.set(kind, (root = make(tree)));
    return root;
  }

  search() {
    const text = this.state.search;
    if (this.searched === text) return this.found;
    this.searched = text;
    this.found = null;
    this.wrong = false;
    if (text) {
      let expression;
      try {
        expression = new RegExp(text, 'i');
      } catch {
        expression = new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i');
        this.wrong = true;
      }
      this.expression = expression;
      this.found = this.model.matches(expression) ?? new Uint8Array(this.model.nrFunctions);
    }
    return this.found;
  }

  show() {
    const { state } = this;
    this.choices();
    const measure = this.measure();
    const series = this.seriesNow();
    if (series) this.timeline.show(series, this.reports[series.times.process[series.moments[0]]]?.marks ?? [], this.rangeOf(state.range));
    else if (this.timeline) $('timeline').hidden = true;
    $('measure').value = measure.id;
    $('process').value = state.process;
    if ($('search').value !== state.search) $('search').value = state.search;
    const fn = Number(state.fn);
    const isSandwich = state.view === 'sandwich' && state.fn !== '' && fn >= 0 && fn < this.model.nrFunctions;
    const view = isSandwich ? 'sandwich' : state.view === 'up' ? 'up' : state.view === 'held' && this.holding.known ? 'held' : 'down';
    for (const button of document.querySelectorAll('[data-view]')) button.setAttribute('aria-pressed', String(button.dataset.view === view));
    for (const button of document.querySelectorAll('[data-flip]')) button.setAttribute('aria-pressed', String(button.dataset.flip === state.flip));
    $('ways').hidden = isSandwich;
    this.graph(view, fn, measure);
    this.crumbs(view, fn);
    // What is typed or dragged draws the graph at once; the table follows when it pauses.
    clearTimeout(this.pending);
    const rest = () => {
      this.pending = 0;
      this.rows(measure);
      this.detail();
    };
    if (state.quiet) this.pending = setTimeout(rest, 90);
    else rest();
  }

  graph(view, fn, measure) {
    let found = this.search();
    const total = this.weights().total;
    let part = 0;
    if (view === 'held') {
      const root = this.root('held', () => this.holding.tree(this.weights().own, words.safe));
      if (found) ({ found, sum: part } = this.holding.found(this.expression));
      this.flame.show(root, this.unzip(root), { found, total, flip: Boolean(this.state.flip) });
    }
    const options = { found, total, diff: Boolean(measure.change), flip: Boolean(this.state.flip) && view !== 'sandwich' };
    $('callers').hidden = view !== 'sandwich';
    $('callers-title').hidden = $('callees-title').hidden = view !== 'sandwich';
    if (view === 'sandwich') {
      this.callers.show(this.root(`callers ${fn}`, (tree) => tree.callers(fn)), null, { ...options, flip: true });
      this.flame.show(this.root(`callees ${fn}`, (tree) => tree.callees(fn)), null, options);
    } else if (view !== 'held') {
      const root = this.root(view, (tree) => (view === 'up' ? tree.bottomUp() : tree.topDown()));
      this.flame.show(root, this.unzip(root), options);
    }
    this.legend(view, measure);
    $('no-graph').hidden = total > 0;
    $('no-graph').textContent = `Nothing to draw: no site has ${measure.title.toLowerCase()}.`;
    $('matched').textContent = !found ? '' : `${words.share(view === 'held' ? part : this.tree().matched(found), total)} matches${this.wrong ? ' (as plain text)' : ''}`;
  }

  /** What the colours say: modules, those that are wide first; of changes the two directions. */
  legend(view, measure) {
    const dot = (colour, text) => {
      const mark = el('i', {});
      mark.style.background = colour;
      return el('li', {}, mark, text);
    };
    const palette = this.flame.palette;
    if (measure.change && view !== 'held') {
      fill($('colours'), dot(palette.up.replace('%', 0.8), 'more'), dot(palette.down.replace('%', 0.8), 'less'), dot(palette.same, 'as much up as down'));
      $('colours').hidden = false;
      return;
    }
    const wide = new Map();
    for (const row of this.flame.rows)
      for (const { box, w } of row ?? []) {
        const fn = box.site >= 0 ? this.selfOf(box.site) : box.fn;
        if (fn < 0 || fn >= this.model.nrFunctions) continue;
        const hue = this.model.hue(fn);
        const key = hue < 0 ? 'C and C++ runtime' : this.model.module(fn);
        const at = wide.get(key) ?? { hue, width: 0 };
        at.width += w;
        wide.set(key, at);
      }
    const shown = [...wide].filter(([name]) => name).sort(([, a], [, b]) => b.width - a.width).slice(0, 8);
    fill($('colours'), shown.map(([name, { hue }]) => dot(hue < 0 ? palette.runtime : palette.hues[hue % palette.hues.length], name)));
    $('colours').hidden = shown.length < 2;
  }

  /** The box that the path in the state leads to, as far as it goes. */
  unzip(root) {
    let box = root;
    for (const fn of this.state.zoom.split('.').filter(Boolean).map(Number)) {
      const next = box.children.find((child) => child.fn === fn);
      if (!next) break;
      box = next;
    }
    return box;
  }

  pathOf(box) {
    const path = [];
    for (; box.parent; box = box.parent) path.unshift(box.fn);
    return path;
  }

  zoom(box) {
    this.state.go({ zoom: this.pathOf(box).join('.') });
  }

  sandwich(fn) {
    this.state.go({ view: 'sandwich', fn: String(fn), zoom: '' });
  }

  hide(fn) {
    const hidden = this.hidden();
    hidden.add(fn);
    this.state.go({ hide: [...hidden].join('.'), zoom: '' });
  }

  crumbs(view, fn) {
    const out = [];
    const box = this.flame.top;
    if (view === 'sandwich')
      out.push(el('b', {}, this.model.name(fn)), ` ${words.safe(this.model.module(fn))}`,
        el('button', { type: 'button', onclick: () => this.state.go({ view: 'down', fn: '' }) }, 'back to the whole'));
    else if (box?.parent) {
      const path = [];
      for (let at = box; at; at = at.parent) path.unshift(at);
      const shown = path.length > 6 ? [path[0], null, ...path.slice(-4)] : path;
      for (const at of shown)
        out.push(at ? el('button', { type: 'button', onclick: () => this.zoom(at) }, this.boxName(at).slice(0, 60)) : el('span', {}, '…'));
    }
    for (const hidden of this.hidden())
      out.push(el('button', { type: 'button', class: 'chip', title: 'show it again', onclick: () => {
        const left = this.hidden();
        left.delete(hidden);
        this.state.go({ hide: [...left].join('.') });
      } }, `hidden: ${this.model.name(hidden).slice(0, 60)} ×`));
    fill($('crumbs'), out);
  }

  /** Whether a site is that of one process among others. */
  ofSeveral() {
    return this.reports.length > 1 && !this.model.isDiff;
  }

  tab() {
    return this.state.tab || 'sites';
  }

  rows(measure) {
    const tab = this.tab();
    for (const button of $('tabs').children) {
      const isThis = button.dataset.tab === tab;
      button.setAttribute('aria-selected', String(isThis));
      button.tabIndex = isThis ? 0 : -1;
      // Where there is no room for all of them, the one that is shown is seen.
      if (isThis) $('tabs').scrollLeft = Math.max(0, button.offsetLeft + button.offsetWidth - $('tabs').offsetLeft - $('tabs').clientWidth);
    }
    if (tab === 'holders') return this.holders();
    const group = this.groups.find(({ id }) => id === tab);
    if (group) return this.groupTable(group);
    const columns = this.columns.filter(({ id, measure: of, rare }) => !rare || of === measure.id || id === this.state.sort);
    const sort = columns.find(({ id }) => id === this.state.sort) ?? columns.find(({ measure: of }) => of === measure.id) ?? columns[0];
    const found = this.search();
    const keep = this.keep(found);
    const index = columns.indexOf(sort);
    const rows = tab === 'sites' ? this.siteRows(columns, index, keep) : this.groupRows(tab, columns, index, keep);
    const title = { sites: 'Site', function: 'Function', file: 'File', line: 'Line', module: 'Module', process: 'Process' }[tab] ?? 'Site';
    this.shown = rows;
    this.shownColumns = columns;
    this.table.show([{ name: true, title: `${title} (${words.count(rows.nr)})` }, ...columns.map((column, c) => ({
      id: column.id, title: column.title, hint: column.hint,
      text: (row) => (column.unknown?.(row) ? '–' : column.format(row.values[c])),
      share: column === sort && rows.total ? (row) => Math.abs(row.values[c]) / rows.total : null,
      tone: (row) => `${column === sort ? 'sorted' : 'other'} ${column.tone?.(row.values[c]) ?? ''}`.trim(),
    }))], rows, sort.id, { label: `${title} table`, picked: this.marked(rows), empty: this.model.nrSites ? undefined : 'Nothing was allocated.' });
  }

  /** The key of the row that is marked: that of what was picked, or of those that it is a part of. */
  marked(rows) {
    const at = this.state.pick ? rows.find(this.state.pick) : -1;
    return at >= 0 ? rows.at(at).key : null;
  }

  /** A row of the table: it is marked there already, and nothing else changes. */
  pick(row) {
    const show = this.state.changed;
    this.state.changed = () => {};
    this.state.go({ pick: String(row.key) }, true);
    this.state.changed = show;
    this.detail();
  }

  /** Sites of the process and the search, as a byte each; null: all. */
  keep(found) {
    if (!found && this.state.process === '') return null;
    const keep = found ? this.tree().matchedSites(found) : new Uint8Array(this.model.nrSites).fill(1);
    if (this.state.process !== '') {
      const process = this.model.site('process');
      for (let i = 0; i < keep.length; i++) if (process[i] !== Number(this.state.process)) keep[i] = 0;
    }
    return keep;
  }

  /** Sites in the order of a column: numbers only, a row is made when it is seen. */
  siteRows(columns, index, keep) {
    const { model } = this;
    if (this.ofSeveral() && this.state.process === '') return this.stackRows(columns, index, keep);
    const data = columns.map((column) => column.data());
    const key = data[index];
    let nr = 0, total = 0;
    const order = new Uint32Array(model.nrSites);
    for (let i = 0; i < model.nrSites; i++)
      if (!keep || keep[i]) {
        order[nr++] = i;
        total += Math.abs(key[i]);
      }
    const sorted = order.subarray(0, nr).sort((a, b) => key[b] - key[a] || a - b);
    return { nr, total, find: (wanted) => sorted.indexOf(Number(wanted)),
      at: (i) => this.siteRow(sorted[i], data.map((column) => column[sorted[i]])) };
  }

  siteRow(site, values) {
    const label = this.model.siteLabel(site);
    const caller = label.fn === undefined ? -1 : this.model.callerOf(site, label.fn);
    return { key: String(site), site, values, name: label.name, place: label.place, process: null, caller: caller >= 0 ? this.model.name(caller) : null,
      fn: this.selfOf(site), badge: this.badge(this.model.site('kind')[site], site) };
  }

  /** The same of several processes: sites with the same stack are a row together. */
  stackRows(columns, index, keep) {
    const { model } = this;
    const { nr: groups, of, start, members } = model.together();
    const data = columns.map((column) => column.data());
    const sums = data.map(() => new Float64Array(groups));
    const first = new Int32Array(groups).fill(-1), nrKept = new Int32Array(groups);
    for (let i = 0; i < model.nrSites; i++) {
      if (keep && !keep[i]) continue;
      const group = of[i];
      if (!nrKept[group]++) first[group] = i;
      for (let c = 0; c < sums.length; c++) sums[c][group] += data[c][i];
    }
    const key = sums[index];
    let nr = 0, total = 0;
    const order = new Uint32Array(groups);
    for (let group = 0; group < groups; group++)
      if (nrKept[group]) {
        order[nr++] = group;
        total += Math.abs(key[group]);
      }
    const sorted = order.subarray(0, nr).sort((a, b) => key[b] - key[a] || first[a] - first[b]);
    const keptOf = (group) => Array.from(members.subarray(start[group], start[group + 1])).filter((site) => !keep || keep[site]);
    return { nr, total, find: (wanted) => sorted.indexOf(of[Number(String(wanted).replace('s', ''))]), at: (i) => {
      const group = sorted[i];
      const row = this.siteRow(first[group], sums.map((column) => column[group]));
      const sites = nrKept[group] > 1 ? keptOf(group) : null;
      return { ...row, process: sites ? words.plural(sites.length, ...this.parts) : this.processName(model.site('process')[row.site]),
        ...(sites && { key: `s${row.site}`, sites, column: data[index], format: columns[index].format, badge: this.badgeOf(sites) }) };
    } };
  }

  listed(rows, index) {
    rows.sort((a, b) => b.values[index] - a.values[index] || a.order - b.order);
    return { nr: rows.length, total: rows.reduce((a, row) => a + Math.abs(row.values[index]), 0), at: (i) => rows[i],
      find: (wanted) => rows.findIndex(({ key }) => key === wanted) };
  }

  selfOf(site) {
    const self = this.model.site('self')[site];
    return self ? this.model.frameFunction[self - 1] : -1;
  }

  badge(kind, site) {
    if (this.model.isDiff) return ['', 'new', 'gone', '', ''][this.model.site('change')[site]] || null;
    const name = kind === 1 || kind === 2 ? 'lost' : kind === 3 ? 'possible' : null;
    return name && this.model.isPartly(site) ? `partly ${name}` : name;
  }

  /** That of the worst of them. */
  badgeOf(sites) {
    const kind = this.model.site('kind');
    const known = sites.filter((site) => kind[site]);
    const worst = known.reduce((a, site) => Math.min(a, kind[site]), Infinity);
    const name = this.badge(worst, known.find((site) => kind[site] === worst));
    return name && !name.startsWith('partly') && known.some((site) => kind[site] !== worst) ? `partly ${name}` : name;
  }

  groupRows(by, columns, index, keep) {
    return this.listed(groupsOf(this.model, by, columns.map((column) => column.data()), keep).map((group, i) => {
      const process = by === 'process' ? this.reports[group.key].process : null;
      return { key: 'g' + group.key, order: i, fn: by === 'function' ? group.fn : -1, values: Array.from(group.sums),
        name: process ? words.safe(process.name ?? '') : group.name, place: process ? (this.ofKernel ? '' : `pid ${process.pid}`) : group.place, group, sorted: index };
    }), index);
  }

  /** The sites of a row of a table of groups, those that the table shows, the biggest first. */
  sitesOf(row) {
    const keep = this.keep(this.search());
    const figure = this.shownColumns[row.sorted].data();
    const sites = [];
    for (let i = 0; i < this.model.nrSites; i++)
      if ((!keep || keep[i]) && groupKey(this.model, this.tab(), i) === row.group.key) sites.push(i);
    return { sites: sites.sort((a, b) => Math.abs(figure[b]) - Math.abs(figure[a]) || a - b), figure };
  }

  holders() {
    const rows = this.listed(this.reports.flatMap(({ leaks, process }, p) => (leaks?.holders ?? []).map((holder, i) => ({ key: `h${p}.${i}`, fn: -1,
      name: words.safe(holder.what), place: this.reports.length > 1 ? `pid ${process.pid}` : '', order: i,
      values: [holder.retained_bytes, holder.retained_blocks] }))), 0);
    this.shown = rows;
    const left = this.reports.reduce((a, { leaks }) => a + (leaks?.holders_left_out ?? 0), 0);
    this.table.show([{ name: true, title: left ? `Who holds it (${words.count(rows.nr)}, and ${words.count(left)} that hold less)` : 'Who holds it' },
      { id: 'retained', title: 'Retained', hint: 'what would be lost without it', text: (row) => words.bytes(row.values[0]), tone: () => 'sorted' },
      { id: 'retained_blocks', title: 'Blocks', hint: 'that would be lost without it', text: (row) => words.count(row.values[1]), tone: () => 'other' }],
    rows, 'retained', { label: 'Holders', picked: this.state.pick || null });
  }

  /** A table that is not of sites: search and processes do not change it. */
  groupTable({ title, what, columns, rows, left, inOrder }) {
    const index = Math.max(0, columns.findIndex(({ id }) => id === this.state.sort));
    const all = rows.map((row, i) => ({ ...row, key: `t${i}`, fn: -1, order: i, columns }));
    const shown = inOrder ? { ...this.listed([...all], index), at: (i) => all[i], find: (wanted) => all.findIndex(({ key }) => key === wanted) }
      : this.listed(all, index);
    this.shown = shown;
    this.table.show([{ name: true, title: left ? `${what} (${words.count(all.length)}, and ${words.count(left)} more)` : what },
      ...columns.map((column, c) => ({ id: column.id, title: column.title, hint: column.hint, text: (row) => column.format(row.values[c]),
        share: c === index && shown.total ? (row) => Math.abs(row.values[c] ?? 0) / shown.total : null, tone: () => (c === index ? 'sorted' : 'other') }))],
    shown, columns[index].id, { label: title, picked: this.state.pick || null });
  }

  detail() {
    const { pick } = this.state;
    const at = pick ? this.shown.find(pick) : -1;
    let row = at >= 0 ? this.shown.at(at) : this.tab() === 'sites' && this.shown.nr ? this.shown.at(0) : null;
    // One process's site of those in the row.
    if (at >= 0 && row.sites && row.key !== pick) row = { site: Number(pick) };
    fill($('detail'), row ? detailOf(this, row) : el('p', { class: 'quiet' }, 'Choose a row to see more of it.'));
  }

  // ---- the pointer ----

  tip(box, x, y) {
    const tip = $('tip');
    tip.hidden = !box;
    if (!box) return;
    fill(tip, this.about(box));
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = `${Math.max(8, Math.min(x + 14, window.innerWidth - width - 8))}px`;
    tip.style.top = `${y + 18 + height > window.innerHeight ? y - height - 12 : y + 18}px`;
  }

  boxName(box) {
    return box.name ?? this.model.name(box.fn);
  }

  /** A box that was clicked or walked to. One of a site shows it below. */
  choose(box) {
    this.announce(box);
    if (box.site >= 0) this.look(box.site);
  }

  /** A site in the table and beside it. */
  look(site) {
    this.state.go({ tab: '', pick: String(site) }, true);
  }

  about(box) {
    const measure = this.measure();
    const weights = this.weights();
    const value = measure.change ? words.signed(measure.format, box.signed) : measure.format(box.weight);
    const whole = measure.change ? `${measure.format(box.weight)} of changes, ${words.share(box.weight, weights.total)}` : words.share(box.weight, weights.total);
    return [el('b', {}, this.boxName(box)), el('span', { class: 'quiet' }, box.place ?? this.model.module(box.fn)), el('span', {}, `${value} · ${whole}`)];
  }

  announce(box) {
    $('live').textContent = this.about(box).map((part) => part.textContent).filter(Boolean).join(', ');
  }
}

// ---- start ----

function fail(error) {
  document.documentElement.dataset.state = 'failed';
  $('failure').hidden = false;
  $('failure-text').textContent = error instanceof Damage ? error.message : String(error?.message ?? error);
  $('main').hidden = true;
}

/** After the first view is drawn and the rest of the page is here. */
function later() {
  return new Promise((done) => {
    const drawn = () => requestAnimationFrame(() => setTimeout(done, 0));
    if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', drawn, { once: true });
    else drawn();
  });
}

/** A page that seep serves: the data is asked for, with the token of the fragment, and again as long as somebody looks. */
async function live() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get('token') ?? '';
  const isFolder = document.documentElement.dataset.folder !== undefined;
  const trace = isFolder ? fragment.get('d') ?? '' : '';
  const ask = async (path) => {
    const response = await fetch(path, { headers: { Authorization: `Bearer ${token}` }, cache: 'no-store', credentials: 'omit' });
    if (response.status === 401) throw new Damage('the address lacks its token, or seep was started again: open the address that it printed');
    if (!response.ok) throw new Damage(`seep answered ${response.status}: it says why where it was started`);
    if (path === LIST) return response.json();
    const bytes = new Uint8Array(await response.arrayBuffer());
    return bytes.length ? Part.ofBytes(bytes) : null;
  };
  if (isFolder)
    window.addEventListener('hashchange', () => {
      if ((new URLSearchParams(location.hash.slice(1)).get('d') ?? '') !== trace) location.reload();
    });
  if (isFolder && !trace) return listTraces(await ask(LIST), token);
  const base = trace ? `/data/${encodeURIComponent(trace)}` : '/data';
  const page = new Page(await ask(`${base}/sites`));
  $('main').hidden = false;
  page.start();
  window.seep = page;
  const times = await ask(`${base}/times`);
  if (times) page.over(times);
  document.documentElement.dataset.times = 'ready';
  if (trace) {
    $('facts').append(' ', el('a', { href: `#token=${token}`, class: 'again' }, 'all traces'));
    return undefined;
  }
  const again = el('button', { type: 'button', class: 'again', 'aria-pressed': 'true', title: 'stop or go on' }, 'live');
  let isLive = true;
  again.addEventListener('click', () => {
    isLive = !isLive;
    again.setAttribute('aria-pressed', String(isLive));
    again.textContent = isLive ? 'live' : 'stopped';
  });
  $('source').append(' ', again);
  const step = async () => {
    if (isLive && !document.hidden) {
      try {
        const sites = await ask('/data/sites');
        page.replace(sites, await ask('/data/times'));
        $('source').append(' ', again);
        document.documentElement.dataset.round = String(Number(document.documentElement.dataset.round ?? 0) + 1);
      } catch (error) {
        isLive = false;
        again.setAttribute('aria-pressed', 'false');
        again.textContent = 'no longer live';
        again.title = error.message;
      }
    }
    setTimeout(step, 2000);
  };
  setTimeout(step, 2000);
}

const LIST = '/data/traces';

/** The traces of a folder, the newest first: each is a page. */
function listTraces({ folder, traces, left_out: left }, token) {
  document.title = `${words.safe(folder, 80)} – seep`;
  $('folder-name').textContent = words.safe(folder, 400);
  const when = (seconds) => new Date(seconds * 1000).toISOString().replace('T', ' ').slice(0, 16);
  fill($('folder-note'), traces.length ? `${words.plural(traces.length, 'trace')}, the newest first${left ? `; ${words.count(left)} older ones are left out` : ''}`
    : 'There are no traces (*.seep) in this folder.');
  fill($('folder-rows'), traces.map(({ id, name, bytes, at_s: at }) => el('tr', {},
    el('td', {}, el('a', { href: `#d=${encodeURIComponent(id)}&token=${token}` }, words.safe(name, 200))),
    el('td', {}, when(at)), el('td', {}, words.bytes(bytes)))));
  $('folder-table').hidden = !traces.length;
  $('folder').hidden = false;
  document.documentElement.dataset.state = 'ready';
}

/** In pieces, where nothing else is to be done: the first search then is as quick as the others. */
function warmUp(page) {
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(() => work({ timeRemaining: () => 8 }), 30));
  const step = (deadline) => {
    if (page.model.warm(performance.now() + Math.min(12, deadline.timeRemaining()))) idle(step);
  };
  idle(step);
}

async function begin() {
  try {
    const data = $('seep-sites').textContent;
    if (!data.trim() && location.protocol.startsWith('http')) return await live();
    const page = new Page(await Part.of(data, 'sites'));
    $('main').hidden = false;
    page.start();
    window.seep = page;
    await later();
    const times = $('seep-times')?.textContent ?? '';
    if (times.trim()) page.over(await Part.of(times, 'times'));
    document.documentElement.dataset.times = 'ready';
    warmUp(page);
  } catch (error) {
    fail(error);
  }
}

begin();

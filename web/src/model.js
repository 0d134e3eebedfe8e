// SPDX-License-Identifier: BSD-2-Clause
// Sites, call tree and measures. The tree is as the tool wrote it, one node per (caller, frame); what a view shows are
// boxes: nodes of one function beside one another, made only where they are wide enough to be seen.
import { plural, safe } from './words.js';

export const KINDS = ['', 'lost', 'indirect', 'possible', 'reachable'];
export const TRENDS = ['', 'steady', 'growing', 'plateau', 'sawtooth', 'shrinking', 'no trend'];

const FIGURES = ['live_bytes', 'live_blocks', 'allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'temporary',
  'peak_bytes', 'at_peak_bytes', 'size_min', 'size_max', 'lost_bytes', 'lost_blocks', 'indirect_bytes', 'indirect_blocks',
  'possible_bytes', 'possible_blocks', 'reachable_bytes', 'reachable_blocks', 'retained_bytes', 'suppressed_bytes',
  'old_live_bytes', 'old_live_blocks', 'old_allocations', 'old_allocated_bytes', 'old_frees', 'old_temporary', 'slope', 'freed_lives', 'mean_life_ns', 'longest_life_ns'];
/** Modules of the C and C++ runtime, which are grey. */
export const RUNTIME = /^(libc[.-]|libstdc\+\+|libc\+\+|ld-|libgcc|libpthread|libjemalloc|libtcmalloc|libmimalloc|\[vdso\]|libm[.-])/;

const IDS = ['process', 'self', 'module', 'via', 'known', 'kind', 'held', 'root', 'holder', 'type', 'cut', 'growth', 'change', 'folded'];

/** Blocks of a site by what a scan said of them. */
const CLASSES = ['lost_blocks', 'indirect_blocks', 'possible_blocks', 'reachable_blocks'];

/** Columns whose values are differences to the value before. */
function sum(deltas) {
  for (let i = 1; i < deltas.length; i++) deltas[i] += deltas[i - 1];
  return deltas;
}

/** Columns that have only what is beyond these two. */
const BEYOND = { allocations: ['live_blocks', 'frees'], allocated_bytes: ['live_bytes', 'freed_bytes'] };

export class Model {
  constructor(part) {
    this.part = part;
    this.head = part.head;
    this.nrSites = part.head.sites;
    this.isDiff = part.head.old_source !== null && part.head.old_source !== undefined;
    const size = (name) => part.sections.get(name)?.nr ?? 0;
    // Texts are decoded one by one, when they are shown.
    const lengths = part.column('text.lengths', size('text.lengths'), Int32Array);
    this.textEnds = new Int32Array(lengths.length + 1);
    for (let i = 0; i < lengths.length; i++) this.textEnds[i + 1] = this.textEnds[i] + lengths[i];
    this.textBytes = part.raw('text.bytes');
    this.texts = new Array(lengths.length);
    this.decoder = new TextDecoder();
    const functions = size('function.name');
    this.functionName = sum(part.column('function.name', functions, Int32Array));
    this.functionModule = part.column('function.module', functions, Int32Array);
    this.functionOffset = part.column('function.offset', functions);
    const frames = size('frame.function');
    this.frameFunction = sum(part.column('frame.function', frames, Int32Array));
    this.frameFile = part.column('frame.file', frames, Int32Array);
    this.frameLine = part.column('frame.line', frames);
    this.nrFunctions = functions;
    this.readTree(part, size('node.parent'));
    this.siteNode = sum(part.column('site.node', this.nrSites, Int32Array));
    this.columns = new Map();
    this.hues = null;
    this.names = new Array(functions);
    this.modules = [];
  }

  readTree(part, nr) {
    const parents = part.column('node.parent', nr, Int32Array);
    const frames = part.column('node.frame', nr, Int32Array);
    const nodeFunction = new Int32Array(nr);
    const firstChild = new Int32Array(nr);
    const nextSibling = new Int32Array(nr);
    for (let i = 0; i < nr; i++) {
      parents[i] = i - parents[i];
      nodeFunction[i] = this.frameFunction[frames[i]];
    }
    nodeFunction[0] = -1;
    for (let i = nr - 1; i > 0; i--) {
      nextSibling[i] = firstChild[parents[i]];
      firstChild[parents[i]] = i;
    }
    Object.assign(this, { nrNodes: nr, parents, nodeFrame: frames, nodeFunction, firstChild, nextSibling });
  }

  /** A column of figures or ids of all sites. */
  site(name) {
    let column = this.columns.get(name);
    if (!column) {
      if (!FIGURES.includes(name) && !IDS.includes(name)) throw new Error(`no column ${name}`);
      column = this.part.column('site.' + name, this.nrSites, FIGURES.includes(name) ? Float64Array : Int32Array);
      if (name === 'self') {
        for (let i = 0; i < column.length; i++) column[i] += this.siteNode[i] ? this.nodeFrame[this.siteNode[i]] + 1 : 0;
      }
      for (const part of BEYOND[name] ?? []) {
        const more = this.site(part);
        for (let i = 0; i < column.length; i++) column[i] += more[i];
      }
      this.columns.set(name, column);
    }
    return column;
  }

  has(name) {
    return BEYOND[name] ? this.site(name).some((value) => value) : this.part.has('site.' + name);
  }

  text(id) {
    return (this.texts[id] ??= this.decoder.decode(this.textBytes.subarray(this.textEnds[id], this.textEnds[id + 1])));
  }

  /** The name of a function, or the place of one without. */
  name(fn) {
    if (fn < 0) return 'all';
    let name = this.names[fn];
    if (name === undefined) {
      const id = this.functionName[fn];
      name = id ? safe(this.text(id))
        : `${safe(this.text(this.functionModule[fn])) || '?'}+0x${this.functionOffset[fn].toString(16)}`;
      this.names[fn] = name;
    }
    return name;
  }

  module(fn) {
    if (fn < 0) return '';
    const id = this.functionModule[fn];
    return (this.modules[id] ??= safe(this.text(id)));
  }

  /** Decodes names that nothing has asked for yet, for a while: a search then finds them. Whether there are more. */
  warm(until) {
    for (this.warmed ??= 0; this.warmed < this.nrFunctions; this.warmed++) {
      if (this.warmed % 256 === 255 && performance.now() > until) {
        this.warmed++;
        return true;
      }
      this.name(this.warmed);
      this.module(this.warmed);
    }
    return false;
  }

  frame(id) {
    const fn = this.frameFunction[id];
    const line = this.frameLine[id];
    return { fn, name: this.name(fn), module: this.module(fn), file: safe(this.text(this.frameFile[id])), fileId: this.frameFile[id],
      line: Math.floor(line / 2), inlined: line % 2 === 1 };
  }

  /** The frames of a site's stack, innermost first. */
  stack(site) {
    const frames = [];
    for (let node = this.siteNode[site]; node; node = this.parents[node]) frames.push(this.frame(this.nodeFrame[node]));
    return frames;
  }

  /** Hues of modules, by the text of their name: those with most functions first, so that big ones differ; -1: the runtime. */
  hue(fn) {
    if (!this.hues) {
      const nr = new Map();
      for (const id of this.functionModule) nr.set(id, (nr.get(id) ?? 0) + 1);
      this.hues = new Map();
      let next = 0;
      for (const id of [...nr.keys()].sort((a, b) => nr.get(b) - nr.get(a) || a - b))
        this.hues.set(id, RUNTIME.test(this.text(id)) ? -1 : next++);
    }
    return this.hues.get(this.functionModule[fn]) ?? 0;
  }

  /** Its blocks are of several classes; `kind` is the worst of them. */
  isPartly(site) {
    return CLASSES.filter((name) => this.site(name)[site]).length > 1;
  }

  /** "parse (json.c:12)", where the site is attributed to. */
  siteLabel(site) {
    const self = this.site('self')[site];
    if (!self) return { name: '(stack not recorded)', place: '' };
    const frame = this.frame(self - 1);
    const folded = this.site('folded')[site];
    if (folded) return { name: `(${plural(folded, 'smaller site')})`, place: '' };
    // What has no name is called by its module.
    const module = this.functionName[frame.fn] ? frame.module : '';
    return { name: frame.name, fn: frame.fn, place: frame.file ? (frame.line ? `${frame.file}:${frame.line}` : frame.file) : module };
  }

  /** The function that called the one that a site is attributed to, where other sites are attributed to the same place; else -1. */
  callerOf(site, fn) {
    const self = this.site('self');
    if (!this.alike) {
      this.alike = new Int32Array(this.frameFunction.length + 1);
      for (let i = 0; i < self.length; i++) this.alike[self[i]]++;
    }
    if (this.alike[self[site]] < 2) return -1;
    let node = this.siteNode[site];
    while (node && this.nodeFunction[node] !== fn) node = this.parents[node];
    while (node && this.nodeFunction[node] === fn) node = this.parents[node];
    return node ? this.nodeFunction[node] : -1;
  }

  /**
   * Sites of several processes that have the same stack: `of` says of which group a site is, the sites of group g are
   * `members` from `start[g]` to `start[g + 1]`, in the order of processes.
   */
  together() {
    if (this.groups) return this.groups;
    const process = this.site('process'), via = this.site('via'), folded = this.site('folded');
    const of = new Int32Array(this.nrSites);
    const known = new Map(), last = new Map();
    for (let i = 0; i < this.nrSites; i++) {
      const stack = folded[i] ? -1 - i : this.siteNode[i] * this.texts.length + via[i];
      // Those of one process are apart, as they are without the others.
      const before = last.get(stack);
      const nth = before?.process === process[i] ? before.nth + 1 : 0;
      last.set(stack, { process: process[i], nth });
      const key = nth ? `${stack} ${nth}` : stack;
      let group = known.get(key);
      if (group === undefined) known.set(key, (group = known.size));
      of[i] = group;
    }
    const nr = known.size;
    const start = new Int32Array(nr + 1), members = new Int32Array(this.nrSites);
    for (const group of of) start[group + 1]++;
    for (let g = 0; g < nr; g++) start[g + 1] += start[g];
    const next = start.slice();
    for (let i = 0; i < of.length; i++) members[next[of[i]]++] = i;
    return (this.groups = { nr, of, start, members });
  }

  /** Functions whose name or module matches. */
  matches(expression) {
    const found = new Uint8Array(this.nrFunctions);
    let any = false;
    const modules = [];
    for (let fn = 0; fn < this.nrFunctions; fn++)
      if ((modules[this.functionModule[fn]] ??= expression.test(this.module(fn))) || expression.test(this.name(fn))) any = found[fn] = 1;
    return any ? found : null;
  }
}

/** The weights of one measure over the tree: what every view is made of. */
export class Weights {
  /** `own` is what each site counts; `change` (or null) what it counts with its sign. `before`: weights that nothing needs any more. */
  constructor(model, own, change = null, before = null) {
    this.model = model;
    this.own = own;
    this.change = change;
    this.nodes = this.summed(own, before?.nodes);
    this.signed = change ? this.summed(change, before?.signed === before?.nodes ? undefined : before?.signed) : this.nodes;
    this.total = this.nodes[0];
    this.net = this.signed[0];
  }

  summed(own, old) {
    const { parents, nrNodes, siteNode, nrSites } = this.model;
    const sums = old?.length === nrNodes ? old.fill(0) : new Float64Array(nrNodes);
    for (let i = 0; i < nrSites; i++) sums[siteNode[i]] += own[i];
    for (let i = nrNodes - 1; i > 0; i--) sums[parents[i]] += sums[i];
    return sums;
  }
}

// ---- boxes ----

const byWeight = (a, b) => b.weight - a.weight || a.fn - b.fn;

/** Nodes of one function beside one another. `nodes` are nodes of the tree; going down. */
class DownBox {
  constructor(tree, fn, parent) {
    this.tree = tree;
    this.fn = fn;
    this.parent = parent;
    this.depth = parent ? parent.depth + 1 : 0;
    this.nodes = [];
    this.weight = 0;
    this.signed = 0;
    this.kids = null;
  }

  add(node) {
    this.nodes.push(node);
    this.weight += this.tree.weights.nodes[node];
    this.signed += this.tree.weights.signed[node];
  }

  get children() {
    if (this.kids) return this.kids;
    const { model, weights, hidden } = this.tree;
    const { firstChild, nextSibling, nodeFunction } = model;
    const groups = new Map();
    const open = this.nodes.slice();
    while (open.length) {
      for (let child = firstChild[open.pop()]; child; child = nextSibling[child]) {
        if (!weights.nodes[child]) continue;
        const fn = nodeFunction[child];
        if (hidden.has(fn)) {
          open.push(child);
          continue;
        }
        let box = groups.get(fn);
        if (!box) groups.set(fn, (box = new DownBox(this.tree, fn, this)));
        box.add(child);
      }
    }
    return (this.kids = [...groups.values()].sort(byWeight));
  }
}

/** Callers: `at` are nodes whose callers come next, `share` what each brings with it. */
class UpBox {
  constructor(tree, fn, parent) {
    this.tree = tree;
    this.fn = fn;
    this.parent = parent;
    this.depth = parent ? parent.depth + 1 : 0;
    this.at = [];
    this.shares = [];
    this.changes = [];
    this.weight = 0;
    this.signed = 0;
    this.kids = null;
  }

  add(node, weight, change) {
    this.at.push(node);
    this.shares.push(weight);
    this.changes.push(change);
    this.weight += weight;
    this.signed += change;
  }

  get children() {
    if (this.kids) return this.kids;
    const { model, hidden } = this.tree;
    const { parents, nodeFunction } = model;
    const groups = new Map();
    for (let i = 0; i < this.at.length; i++) {
      // The root of all entries stands at the nodes themselves; below it each goes to its caller.
      let node = this.fn < 0 ? this.at[i] : parents[this.at[i]];
      while (node && hidden.has(nodeFunction[node])) node = parents[node];
      if (!node) continue;
      const fn = nodeFunction[node];
      let box = groups.get(fn);
      if (!box) groups.set(fn, (box = new UpBox(this.tree, fn, this)));
      box.add(node, this.shares[i], this.changes[i]);
    }
    return (this.kids = [...groups.values()].sort(byWeight));
  }
}

export class Tree {
  constructor(model, weights, hidden = new Set()) {
    this.model = model;
    this.weights = weights;
    this.hidden = hidden;
  }

  topDown() {
    const root = new DownBox(this, -1, null);
    root.add(0);
    return root;
  }

  bottomUp() {
    const root = new UpBox(this, -1, null);
    const { own, change } = this.weights;
    for (let i = 0; i < own.length; i++)
      if (own[i] && this.model.siteNode[i]) root.add(this.model.siteNode[i], own[i], change ? change[i] : own[i]);
    return root;
  }

  /** The outermost nodes of a function: each has all of its callees below it, and counts once. */
  outermost(fn) {
    const { parents, nodeFunction, nrNodes } = this.model;
    const inside = new Uint8Array(nrNodes);
    const found = [];
    for (let i = 1; i < nrNodes; i++) {
      inside[i] = inside[parents[i]];
      if (nodeFunction[i] === fn) {
        if (!inside[i] && this.weights.nodes[i]) found.push(i);
        inside[i] = 1;
      }
    }
    return found;
  }

  callees(fn) {
    const box = new DownBox(this, fn, null);
    for (const node of this.outermost(fn)) box.add(node);
    return box;
  }

  callers(fn) {
    const box = new UpBox(this, fn, null);
    for (const node of this.outermost(fn)) box.add(node, this.weights.nodes[node], this.weights.signed[node]);
    return box;
  }

  /** What lies below functions that match, each stack once: the share of a search. */
  matched(found) {
    const { parents, nodeFunction, nrNodes } = this.model;
    const inside = new Uint8Array(nrNodes);
    let sum = 0;
    for (let i = 1; i < nrNodes; i++) {
      inside[i] = inside[parents[i]];
      if (!inside[i] && found[nodeFunction[i]]) {
        sum += this.weights.nodes[i];
        inside[i] = 1;
      }
    }
    return sum;
  }

  /** Sites with a function in their stack that matches, as a byte each. */
  matchedSites(found) {
    const { parents, nodeFunction, nrNodes, siteNode, nrSites } = this.model;
    const inside = new Uint8Array(nrNodes);
    for (let i = 1; i < nrNodes; i++) inside[i] = inside[parents[i]] || found[nodeFunction[i]];
    const sites = new Uint8Array(nrSites);
    for (let i = 0; i < nrSites; i++) sites[i] = inside[siteNode[i]];
    return sites;
  }
}

// ---- groups ----

/** What a site is added up under. One without a name, or without a file, stands under its module. */
export function groupKey(model, by, site) {
  if (by === 'process') return model.site('process')[site];
  const frame = model.site('self')[site] - 1;
  if (frame < 0) return '(stack not recorded)';
  if (by === 'module') return model.site('module')[site];
  const fn = model.frameFunction[frame];
  if (by === 'function') return model.functionName[fn] || 'm' + model.functionModule[fn];
  const file = model.frameFile[frame];
  return !file ? 'm' + model.functionModule[fn] : by === 'file' ? file : file + ':' + Math.floor(model.frameLine[frame] / 2);
}

/** Sites added up by function, file, line, module or process, as `seep report --by` does. */
export function groupsOf(model, by, figures, keep = null) {
  const self = model.site('self');
  const module = model.site('module');
  const process = model.site('process');
  const groups = new Map();
  const columns = figures.map((name) => (typeof name === 'string' ? model.site(name) : name));
  for (let i = 0; i < model.nrSites; i++) {
    if (keep && !keep[i]) continue;
    const key = groupKey(model, by, i);
    let group = groups.get(key);
    if (!group) {
      let name, place = '';
      const fn = self[i] ? model.frameFunction[self[i] - 1] : -1;
      if (by === 'process') name = String(process[i]);
      else if (!self[i]) name = key;
      else if (by === 'module') name = safe(model.text(module[i]));
      else {
        const frame = model.frame(self[i] - 1);
        if (typeof key === 'string' && key.startsWith('m')) name = `[${frame.module}]`;
        else if (by === 'function') [name, place] = [frame.name, frame.file || frame.module];
        else name = by === 'file' ? frame.file : frame.line ? `${frame.file}:${frame.line}` : frame.file;
      }
      groups.set(key, (group = { key, name, place, fn, sites: 0, sums: new Float64Array(columns.length) }));
    }
    group.sites++;
    for (let c = 0; c < columns.length; c++) group.sums[c] += columns[c][i];
  }
  return [...groups.values()];
}

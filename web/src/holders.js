// SPDX-License-Identifier: BSD-2-Clause
// Who holds what, as boxes for the graph: a variable or thread above the sites that it holds, each site above those that
// only its blocks point to. A site stands below the nearest other one on the way to its largest block, once, so widths
// add up to the whole.

const byWeight = (a, b) => b.weight - a.weight || a.fn - b.fn;

class HolderBox {
  constructor(fn, name, place, hue, site = -1) {
    Object.assign(this, { fn, name, place, site, parent: null, children: [], weight: 0, signed: 0, depth: 0 });
    this.tree = { model: { hue: () => hue } }; // as in the other graphs; -1: grey, as what is not the program's own
  }

  add(child) {
    child.parent = this;
    this.children.push(child);
  }
}

export class Holders {
  constructor(model) {
    this.model = model;
    this.known = model.has('root');
    this.held = null;
  }

  /** The site that holds a site, or -1; circles of sites that hold one another are cut. */
  parents() {
    if (this.above) return this.above;
    const holder = this.model.site('holder');
    const above = Int32Array.from(holder, (site) => site - 1);
    const state = new Uint8Array(above.length); // 1: on the way, 2: leads out
    for (let i = 0; i < above.length; i++) {
      let at = i;
      const way = [];
      while (at >= 0 && !state[at]) {
        state[at] = 1;
        way.push(at);
        at = above[at];
      }
      if (at >= 0 && state[at] === 1) above[way[way.length - 1]] = -1;
      for (const site of way) state[site] = 2;
    }
    return (this.above = above);
  }

  /** Sites that a site holds, the biggest first. */
  below(site, figure) {
    this.held ??= Map.groupBy ? Map.groupBy(this.parents().keys(), (i) => this.above[i]) : this.group();
    return (this.held.get(site) ?? []).slice().sort((a, b) => figure[b] - figure[a]);
  }

  group() {
    const groups = new Map();
    this.parents().forEach((above, i) => groups.set(above, [...groups.get(above) ?? [], i]));
    return groups;
  }

  tree(own, safe) {
    const { model } = this;
    const above = this.parents();
    const root = model.site('root');
    const kind = model.site('kind');
    const self = model.site('self');
    const top = new HolderBox(-1, 'all', '', -1);
    const boxes = Array.from(own, (weight, i) => {
      const { name, place } = model.siteLabel(i);
      const box = new HolderBox(model.nrFunctions + i, name, place, self[i] ? model.hue(model.frameFunction[self[i] - 1]) : -1, i);
      box.weight = box.signed = weight;
      return box;
    });
    const roots = new Map();
    boxes.forEach((box, i) => {
      if (above[i] >= 0) return boxes[above[i]].add(box);
      const lost = !root[i] && (kind[i] === 1 || kind[i] === 2);
      const key = root[i] || (lost ? -1 : -2);
      if (!roots.has(key)) {
        const name = root[i] ? safe(model.text(root[i])) : lost ? 'lost: no pointer to it' : 'who holds it is not known';
        roots.set(key, new HolderBox(model.nrFunctions + model.nrSites + roots.size, name, '', -1));
      }
      roots.get(key).add(box);
      return undefined;
    });
    for (const box of roots.values()) top.add(box);
    // Parents before children, then sums from the leaves up.
    const order = [top];
    for (let i = 0; i < order.length; i++)
      for (const child of order[i].children) {
        child.depth = order[i].depth + 1;
        order.push(child);
      }
    for (let i = order.length - 1; i > 0; i--) {
      order[i].parent.weight += order[i].weight;
      order[i].parent.signed += order[i].weight;
    }
    for (const box of order) box.children = box.children.filter(({ weight }) => weight > 0).sort(byWeight);
    this.boxes = order;
    return top;
  }

  /** Boxes that a search finds, by their number; and what share of the whole lies in or below them. */
  found(expression) {
    const found = new Uint8Array(this.model.nrFunctions + this.model.nrSites + this.boxes.length);
    let sum = 0;
    const inside = new Set();
    for (const box of this.boxes) {
      if (!box.parent) continue;
      const isFound = expression.test(box.name) || expression.test(box.place);
      if (isFound) found[box.fn] = 1;
      if (inside.has(box.parent)) inside.add(box);
      else if (isFound) {
        inside.add(box);
        sum += box.weight;
      }
    }
    return { found, sum };
  }
}

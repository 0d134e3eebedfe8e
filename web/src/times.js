// SPDX-License-Identifier: BSD-2-Clause
// What sites had over time: moments, and for each the sites that were not as before. The state at any moment is made from
// the nearest key state before it.

const KEY = 8; // moments between key states, at least
const KEYS_BYTES = 48e6; // of all of them

export class Times {
  constructor(part, model) {
    const nr = part.head.moments;
    const nrChanges = part.head.changes;
    this.process = part.column('time.process', nr, Int32Array);
    this.at = part.column('time.at_ns', nr).map((ns) => ns / 1e9);
    this.rss = part.column('time.rss', nr);
    const changes = part.column('time.changes', nr, Int32Array);
    this.starts = new Int32Array(nr + 1);
    for (let i = 0; i < nr; i++) this.starts[i + 1] = this.starts[i] + changes[i];
    this.sites = part.column('change.site', nrChanges, Int32Array);
    this.bytes = part.column('change.bytes', nrChanges);
    const { starts, sites } = this;
    for (let m = 0; m < nr; m++)
      for (let i = starts[m] + 1; i < starts[m + 1]; i++) sites[i] += sites[i - 1];
    this.nrSites = model.nrSites;
    this.folded = model.site('folded');
    this.processes = [...new Set(this.process)];
  }

  /** The moments of one process, with what all of it had. */
  of(process) {
    const moments = [];
    for (let m = 0; m < this.process.length; m++) if (this.process[m] === process) moments.push(m);
    return new Series(this, moments);
  }
}

class Series {
  constructor(times, moments) {
    Object.assign(this, { times, moments });
    this.at = moments.map((m) => times.at[m]);
    this.rss = moments.map((m) => times.rss[m]);
    this.totals = [];
    this.keys = [];
    const now = new Float64Array(times.nrSites);
    this.most = new Float64Array(times.nrSites);
    let total = 0;
    const { starts, sites, bytes } = times;
    const { most } = this;
    this.step = Math.max(KEY, Math.ceil((moments.length * times.nrSites * 8) / KEYS_BYTES));
    moments.forEach((m, i) => {
      for (let c = starts[m], end = starts[m + 1]; c < end; c++) {
        const site = sites[c], value = bytes[c];
        total += value - now[site];
        now[site] = value;
        if (value > most[site]) most[site] = value;
      }
      this.totals.push(total);
      if (i % this.step === 0) this.keys.push(now.slice());
    });
    this.peak = this.totals.indexOf(Math.max(...this.totals));
  }

  /** What each site had at a moment. */
  state(index) {
    const { times } = this;
    const from = Math.floor(index / this.step);
    const state = this.keys[from].slice();
    const { starts, sites, bytes } = times;
    for (let i = from * this.step + 1; i <= index; i++) {
      const m = this.moments[i];
      for (let c = starts[m], end = starts[m + 1]; c < end; c++) state[sites[c]] = bytes[c];
    }
    return state;
  }

  /** The sites that had most at any moment, and what each had at all of them. */
  biggest(nr) {
    const order = Array.from(this.most.keys()).filter((site) => this.most[site] > 0 && !this.times.folded[site]).sort((a, b) => this.most[b] - this.most[a]).slice(0, nr);
    const index = new Int32Array(this.most.length);
    order.forEach((site, i) => { index[site] = i + 1; });
    const { starts, sites, bytes } = this.times;
    const rows = order.map(() => new Float64Array(this.moments.length));
    const now = new Float64Array(order.length);
    this.moments.forEach((m, i) => {
      for (let c = starts[m], end = starts[m + 1]; c < end; c++) {
        const at = index[sites[c]];
        if (at) now[at - 1] = bytes[c];
      }
      rows.forEach((row, r) => { row[i] = now[r]; });
    });
    return order.map((site, i) => ({ site, values: rows[i] }));
  }

  /** The two moments that differ most, by what the biggest sites and all others together had. */
  farthest() {
    const rows = this.biggest(200).map(({ values }) => values);
    const rest = Float64Array.from(this.totals, (total, i) => rows.reduce((left, row) => left - row[i], total));
    rows.push(rest);
    let best = [0, this.moments.length - 1, -1];
    for (let a = 0; a < this.moments.length; a++)
      for (let b = a + 1; b < this.moments.length; b++) {
        let far = 0;
        for (const row of rows) far += Math.abs(row[b] - row[a]);
        if (far > best[2]) best = [a, b, far];
      }
    return best.slice(0, 2);
  }

  nearest(seconds) {
    let best = 0;
    for (let i = 1; i < this.at.length; i++) if (Math.abs(this.at[i] - seconds) < Math.abs(this.at[best] - seconds)) best = i;
    return best;
  }
}

// SPDX-License-Identifier: BSD-2-Clause
// Source files that were put into the page, with what was measured beside their lines: what was allocated on a line
// itself, and what was allocated on it or in what it calls.

const AROUND = 4; // lines that are shown before and after one that has something

export class Sources {
  constructor(part, model) {
    this.model = model;
    this.files = new Map();
    const nr = part.sections.get('source.file')?.nr ?? 0;
    const names = part.column('source.file', nr, Int32Array);
    const lengths = part.column('source.lengths', nr, Int32Array);
    const bytes = nr ? part.raw('source.bytes') : null;
    for (let i = 0, at = 0; i < nr; at += lengths[i++]) this.files.set(names[i], bytes.subarray(at, at + lengths[i]));
    this.lines = new Map();
  }

  has(file) {
    return this.files.has(file);
  }

  text(file) {
    if (!this.lines.has(file)) this.lines.set(file, new TextDecoder().decode(this.files.get(file)).split('\n'));
    return this.lines.get(file);
  }

  /** By line: [own, with callees]. A stack counts once on a line, however often it goes through it. */
  figures(file, weights) {
    const { frameFile, frameLine, nodeFrame, parents, nrNodes } = this.model;
    const lines = new Map();
    const at = (line) => lines.get(line) ?? lines.set(line, [0, 0]).get(line);
    for (let node = 1; node < nrNodes; node++) {
      const frame = nodeFrame[node];
      if (frameFile[frame] !== file || !weights.nodes[node]) continue;
      const line = Math.floor(frameLine[frame] / 2);
      let above = parents[node];
      while (above && (frameFile[nodeFrame[above]] !== file || Math.floor(frameLine[nodeFrame[above]] / 2) !== line)) above = parents[above];
      if (!above) at(line)[1] += weights.nodes[node];
    }
    const self = this.model.site('self');
    for (let site = 0; site < self.length; site++) {
      const frame = self[site] - 1;
      if (frame >= 0 && frameFile[frame] === file) at(Math.floor(frameLine[frame] / 2))[0] += weights.own[site];
    }
    return lines;
  }

  /** What is worth a look: lines with figures and what is around them, null where lines are left out. */
  listing(file, weights, wanted) {
    const text = this.text(file);
    const figures = this.figures(file, weights);
    const shown = new Set();
    for (const line of [...figures.keys(), wanted])
      for (let i = Math.max(1, line - AROUND); line && i <= Math.min(text.length, line + AROUND); i++) shown.add(i);
    const out = [];
    let last = 0;
    for (const line of [...shown].sort((a, b) => a - b)) {
      if (line !== last + 1) out.push(null);
      out.push({ line, text: text[line - 1], own: figures.get(line)?.[0] ?? 0, all: figures.get(line)?.[1] ?? 0 });
      last = line;
    }
    if (last < text.length) out.push(null);
    return out;
  }
}

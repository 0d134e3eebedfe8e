// SPDX-License-Identifier: BSD-2-Clause
// What a reader should know first, as sentences: where memory is, what is lost, what grows, what was given back wrong.
import * as words from './words.js';

const sum = (column) => column.reduce((a, b) => a + b, 0);

function biggest(model, column, nr) {
  const folded = model.site('folded');
  const order = Array.from(column.keys()).filter((i) => column[i] > 0 && !folded[i]);
  order.sort((a, b) => column[b] - column[a]);
  return order.slice(0, nr);
}

function placeOf(model, site) {
  const label = model.siteLabel(site);
  return label.place ? `${label.name} (${label.place})` : label.name;
}

// As the summary of the text report has it; the site that it names is looked for among the largest.
function concentration(model, summary, out) {
  const holds = summary.find(({ kind }) => kind === 'holds');
  if (!holds?.value) return;
  const site = biggest(model, model.site('live_bytes'), 10).find((i) => placeOf(model, i) === holds.place);
  out.push({ tone: '', text: `Live memory: ${words.safe(holds.text)}.`,
    go: { measure: 'live', tab: 'sites', sort: 'live_bytes', ...(site === undefined ? {} : { pick: String(site) }) } });
}

function lost(model, out) {
  const own = model.site('lost_bytes').map((v, i) => v + model.site('indirect_bytes')[i]);
  const total = sum(own);
  const top = biggest(model, own, 1)[0];
  if (!total || top === undefined) return;
  const blocks = sum(model.site('lost_blocks')) + sum(model.site('indirect_blocks'));
  const rest = own[top] === total ? 'all from' : `${words.share(own[top], total)} of it from`;
  out.push({ tone: 'bad', text: `${words.bytes(total)} in ${words.plural(blocks, 'block')} can no longer be reached, `
    + `${rest} ${placeOf(model, top)}.`, go: { measure: 'lost', tab: 'sites', sort: 'lost', pick: String(top) } });
}

function growth(model, report, out) {
  const live = report.growth?.live;
  if (live?.verdict === 'growing') {
    const limit = live.until_limit_s ? `, and comes to its limit in ${words.duration(live.until_limit_s)}` : '';
    out.push({ tone: 'bad', text: `Live memory grows by ${words.bytes(live.bytes_per_s * 60)} a minute (${words.bytes(live.bytes_per_s_low * 60)}`
      + ` to ${words.bytes(live.bytes_per_s_high * 60)})${limit}.`, go: { measure: 'live', tab: 'sites', sort: 'slope' } });
  }
  const verdicts = model.site('growth');
  const growing = Array.from(verdicts.keys()).filter((i) => verdicts[i] === 2);
  if (!growing.length) return;
  const slope = model.site('slope');
  growing.sort((a, b) => slope[b] - slope[a]);
  out.push({ tone: 'bad', text: `${words.plural(growing.length, 'site')} ${growing.length === 1 ? 'grows' : 'grow'} without an end in sight, `
    + `fastest ${placeOf(model, growing[0])}: ${words.bytes(slope[growing[0]] * 60)} a minute.`,
  go: { tab: 'sites', sort: 'slope', pick: String(growing[0]) } });
}

function wrongReleases(report, out) {
  const wrong = report.mismatches ?? [];
  if (!wrong.length) return;
  const nr = wrong.reduce((a, one) => a + one.count, 0);
  out.push({ tone: 'bad', text: `${words.plural(nr, 'block')} ${nr === 1 ? 'was' : 'were'} freed in a wrong way (${
    [...new Set(wrong.map((one) => one.kind.replaceAll('_', ' ')))].join(', ')}); 'seep report' shows the stacks.` });
}

function temporary(model, report, out) {
  const { allocations, temporary: nr } = report.totals;
  if (!allocations || nr < 1000 || nr < allocations / 2) return;
  const own = model.site('temporary');
  const top = biggest(model, own, 1)[0];
  if (top === undefined) return;
  out.push({ tone: '', text: `${words.share(nr, allocations)} of allocations were freed at once, most of them (${words.count(own[top])}) from ${
    placeOf(model, top)}.`, go: { measure: 'temporary', tab: 'sites', sort: 'temporary', pick: String(top) } });
}

function changes(model, out) {
  const now = model.site('live_bytes');
  const old = model.site('old_live_bytes');
  const delta = now.map((v, i) => v - old[i]);
  const total = sum(delta);
  const up = biggest(model, delta, 1)[0];
  const down = biggest(model, delta.map((v) => -v), 1)[0];
  const change = model.site('change');
  const nr = (kind) => Array.from(change).filter((c) => c === kind).length;
  out.push({ tone: total > 0 ? 'bad' : 'good', text: total === 0 ? 'Live memory is what it was, to the byte.'
    : `Live memory ${total > 0 ? 'grew' : 'shrank'} by ${words.bytes(Math.abs(total))}: ${words.plural(nr(1), 'site')} new, ${nr(2)} gone, ${
      nr(3)} grew, ${nr(4)} shrank.` });
  if (up !== undefined)
    out.push({ tone: '', text: `Most growth: ${placeOf(model, up)}, ${words.signed(words.bytes, delta[up])}.`,
      go: { tab: 'sites', sort: 'delta', pick: String(up) } });
  if (down !== undefined)
    out.push({ tone: '', text: `Most given back: ${placeOf(model, down)}, ${words.signed(words.bytes, delta[down])}.`,
      go: { tab: 'sites', pick: String(down) } });
}

/** `summary`: the findings of the JSON report. */
export function findingsOf(model, reports, summary) {
  const out = [];
  if (model.isDiff) changes(model, out);
  else {
    lost(model, out);
    for (const report of reports.slice(0, 1)) growth(model, report, out);
    for (const report of reports) wrongReleases(report, out);
    concentration(model, summary, out);
    for (const report of reports.slice(0, 1)) if (report.totals && reports.length === 1) temporary(model, report, out);
  }
  return out.slice(0, 5);
}

/** One line on how far the figures can be trusted, and the lines behind it. */
export function healthOf(reports) {
  const notes = [];
  const lostReasons = new Map();
  let events = 0, incomplete = 0, cut = 0, sampled = 0;
  const nameless = new Set();
  for (const { health } of reports) {
    events += health.events;
    if (!health.complete) incomplete++;
    cut += health.stacks_cut;
    sampled = sampled || health.sample_bytes || 0;
    for (const [reason, nr] of Object.entries(health.lost)) lostReasons.set(reason, (lostReasons.get(reason) ?? 0) + nr);
    for (const module of health.modules_without_symbols) nameless.add(module);
    for (const note of health.notes) notes.push(typeof note === 'string' ? note : note.text);
  }
  const nrLost = [...lostReasons.values()].reduce((a, b) => a + b, 0);
  const parts = [words.plural(events, 'event')];
  parts.push(nrLost ? `${words.count(nrLost)} lost` : 'nothing lost');
  parts.push(cut ? `${words.plural(cut, 'stack')} cut` : 'all stacks complete');
  if (sampled) parts.push(`sampled every ${words.bytes(sampled)}: figures are estimates`);
  const lines = [];
  for (const [reason, nr] of lostReasons) lines.push(`lost, ${reason.replaceAll('_', ' ')}: ${words.count(nr)}`);
  if (nameless.size)
    lines.push(`without symbols of their own: ${[...nameless].slice(0, 12).map((name) => words.safe(name)).join(', ')}${
      nameless.size > 12 ? ` and ${nameless.size - 12} more` : ''}`);
  for (const note of notes) lines.push(words.safe(note));
  return { complete: !incomplete && !nrLost, title: incomplete || nrLost ? 'Incomplete' : 'Complete', text: parts.join(', '), lines };
}

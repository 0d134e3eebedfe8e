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

// The sentences are those of the text report. The site that one names is looked for among the largest.
const SAID = {
  leaks: { lead: '', measure: 'lost', sort: 'lost', column: (model) => model.site('lost_bytes').map((v, i) => v + model.site('indirect_bytes')[i]) },
  grows: { lead: 'Growth: ', sort: 'slope', column: (model) => model.site('slope') },
  holds: { lead: 'Live memory: ', measure: 'live', sort: 'live_bytes', column: (model) => model.site('live_bytes') },
  peak: { lead: 'Peak: ', measure: 'at_peak', sort: 'at_peak_bytes', column: (model) => model.site('at_peak_bytes') },
  churn: { lead: 'Churn: ', measure: 'temporary', sort: 'temporary', column: (model) => model.site('temporary') },
};

// The name may be shorter in a sentence, where the line tells it from others.
function isPlace(model, site, place) {
  const label = model.siteLabel(site);
  return placeOf(model, site) === place || (label.place !== '' && place.endsWith(` (${label.place})`));
}

function say(model, summary, kind, out) {
  const found = summary.find((one) => one.kind === kind);
  if (!found?.value) return;
  const { lead, measure, sort, column } = SAID[kind];
  const site = found.place ? biggest(model, column(model), 200).find((i) => isPlace(model, i, found.place)) : undefined;
  out.push({ tone: found.bad ? 'bad' : '', text: `${lead}${words.safe(found.text)}.`,
    go: { ...(measure ? { measure } : {}), tab: 'sites', sort, ...(site === undefined ? {} : { pick: String(site) }) } });
}

function growth(report, out) {
  const live = report.growth?.live;
  if (live?.verdict === 'growing') {
    const limit = live.until_limit_s ? `, and comes to its limit in ${words.duration(live.until_limit_s)}` : '';
    out.push({ tone: 'bad', text: `Live memory grows by ${words.bytes(live.bytes_per_s * 60)} a minute (${words.bytes(live.bytes_per_s_low * 60)}`
      + ` to ${words.bytes(live.bytes_per_s_high * 60)})${limit}.`, go: { measure: 'live', tab: 'sites', sort: 'slope' } });
  }
}

function wrongReleases(report, out) {
  const wrong = report.mismatches ?? [];
  if (!wrong.length) return;
  const nr = wrong.reduce((a, one) => a + one.count, 0);
  out.push({ tone: 'bad', text: `${words.plural(nr, 'block')} ${nr === 1 ? 'was' : 'were'} freed in a wrong way (${
    [...new Set(wrong.map((one) => one.kind.replaceAll('_', ' ')))].join(', ')}); 'seep report' shows the stacks.` });
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

// Where much of it is gone again: what is live does not say it.
function hasPeak(model, summary) {
  const [held, peak] = ['holds', 'peak'].map((kind) => summary.find((one) => one.kind === kind)?.value ?? 0);
  return model.has('at_peak_bytes') && held < 0.9 * peak;
}

/** `summary`: the findings of the JSON report. */
export function findingsOf(model, reports, summary) {
  const out = [];
  if (model.isDiff) changes(model, out);
  else {
    say(model, summary, 'leaks', out);
    for (const report of reports.slice(0, 1)) growth(report, out);
    say(model, summary, 'grows', out);
    for (const report of reports) wrongReleases(report, out);
    say(model, summary, 'holds', out);
    if (hasPeak(model, summary))
      say(model, summary, 'peak', out);
    say(model, summary, 'churn', out);
  }
  return out.slice(0, 6);
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

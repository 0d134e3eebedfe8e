// SPDX-License-Identifier: BSD-2-Clause
// What is known of the row that is looked at: its figures, who holds it, its stack.
import { KINDS, TRENDS } from './model.js';
import * as words from './words.js';

const { el } = words;

function figures(pairs) {
  return el('dl', { class: 'figures' }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([title, value]) => [el('dt', {}, title), el('dd', {}, value)]));
}

function stackOf(page, site) {
  const frames = page.model.stack(site);
  const cut = page.model.site('cut')[site];
  return [el('h3', {}, 'Stack, innermost first'),
    el('ol', { class: 'stack' }, frames.slice(0, 400).map((frame) => el('li', {},
      el('button', { type: 'button', title: 'callers and callees', onclick: () => page.sandwich(frame.fn) }, frame.name),
      frame.inlined ? el('span', { class: 'badge' }, 'inlined') : null,
      page.sources.has(frame.fileId) ? el('button', { type: 'button', class: 'where', title: 'show the source', onclick: () => showSource(page, frame) },
        frame.line ? `${frame.file}:${frame.line}` : frame.file) : el('span', { class: 'where' }, frame.file ? (frame.line ? `${frame.file}:${frame.line}` : frame.file) : '', ' ', el('i', {}, frame.module))))),
    frames.length > 400 ? el('p', { class: 'quiet' }, `and ${words.count(frames.length - 400)} frames more`) : null,
    cut ? el('p', { class: 'quiet' }, `The stack is cut here: ${words.safe(page.model.text(cut)).replaceAll('_', ' ')}.`) : null];
}

/** The stack as text, to paste into a report. */
function stackText(page, site) {
  const { name, place } = page.model.siteLabel(site);
  return [`${name}${place ? ` (${place})` : ''}`, ...page.model.stack(site).map((frame) =>
    `    ${frame.name}${frame.file ? ` (${frame.file}${frame.line ? `:${frame.line}` : ''})` : ''} [${frame.module}]${frame.inlined ? ' inlined' : ''}`)].join('\n') + '\n';
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // where a page from disk may not
    const area = el('textarea', { class: 'hidden-label', 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
    button.focus();
  }
  button.textContent = 'Copied';
  setTimeout(() => { button.textContent = 'Copy stack'; }, 1500);
}

/** The lines of a file that have something, with what they have. */
function sourceOf(page, frame) {
  const measure = page.measure();
  const rows = page.sources.listing(frame.fileId, page.weights(), frame.line);
  const figure = (value) => (value ? measure.format(value) : '');
  return el('section', { id: 'source-lines' }, el('h3', {}, `${frame.file}: ${measure.title.toLowerCase()} by line`),
    el('div', { class: 'source', tabindex: '0', role: 'region', 'aria-label': `Source of ${frame.file}` }, el('table', {},
      el('thead', {}, el('tr', {}, [['Own', 'allocated on the line itself'], ['All', 'and in what it calls'], ['Line', ''], ['', '']]
        .map(([title, hint]) => el('th', { title: hint || null, scope: title ? 'col' : null }, title)))),
      el('tbody', {}, rows.map((row) => (row ? el('tr', { class: row.line === frame.line ? 'here' : row.all ? 'some' : null },
        el('td', {}, figure(row.own)), el('td', {}, figure(row.all)), el('td', {}, String(row.line)), el('td', {}, words.safe(row.text, 300).replaceAll('\\t', '    ')))
        : el('tr', { class: 'gap' }, el('td', { colspan: '4' }, '⋯'))))))));
}

function showSource(page, frame) {
  const made = sourceOf(page, frame);
  document.getElementById('source-lines')?.replaceWith(made);
  made.scrollIntoView({ block: 'nearest' });
}

/** Sites that hold this one, and those that it holds: the graph of holders, a step at a time. */
function neighbours(page, site) {
  if (!page.holding.known) return null;
  const live = page.model.site('live_bytes');
  const item = (other) => el('li', {}, el('button', { type: 'button', onclick: () => page.look(other) }, page.model.siteLabel(other).name),
    ` ${words.bytes(live[other])}`, page.model.site('retained_bytes')[other] ? `, retains ${words.bytes(page.model.site('retained_bytes')[other])}` : '');
  const above = page.holding.parents()[site];
  const below = page.holding.below(site, live);
  return [above >= 0 ? [el('h3', {}, 'Blocks that point to it'), el('ul', { class: 'near' }, item(above))] : null,
    below.length ? [el('h3', {}, 'What it points to'), el('ul', { class: 'near' }, below.slice(0, 12).map(item),
      below.length > 12 ? el('li', { class: 'quiet' }, `and ${words.plural(below.length - 12, 'site')} more`) : null)] : null];
}

function placeOf(page, site, more) {
  const { place } = page.model.siteLabel(site);
  return el('p', { class: 'quiet' }, place, place ? ' · ' : '', `through ${words.safe(page.model.text(page.model.site('via')[site]))}`, more);
}

/** Sites of several processes with one stack: the sums, and which process has how much. */
function stackDetail(page, row) {
  const { site, sites, column, format } = row;
  const biggest = [...sites].sort((a, b) => Math.abs(column[b]) - Math.abs(column[a]) || a - b);
  return [el('h2', {}, row.name), placeOf(page, site, ''),
    figures([['In', words.plural(sites.length, ...page.parts)],
      ...page.shownColumns.map((shown, i) => [shown.title, shown.format(row.values[i])])]),
    listOf('Most of it', biggest, (one) => el('li', {}, el('button', { type: 'button', title: 'its figures, and who holds it', onclick: () => page.look(one) },
      page.processName(page.model.site('process')[one])), ' ', el('span', { class: 'share' }, format(column[one]))), ...page.parts),
    row.fn >= 0 ? actions(page, row.fn, el('button', { type: 'button', onclick: (event) => copy(event.currentTarget, stackText(page, site)) }, 'Copy stack')) : null,
    stackOf(page, site)].flat(Infinity);
}

function siteDetail(page, site) {
  const { model } = page;
  const at = (name) => model.site(name)[site];
  const label = model.siteLabel(site);
  const kind = at('kind');
  const sizes = at('size_max') ? (at('size_min') === at('size_max') ? words.bytes(at('size_min'))
    : `${words.bytes(at('size_min'))} to ${words.bytes(at('size_max'))}`) : null;
  const trend = at('growth');
  const rows = [];
  if (model.isDiff) {
    const pair = (title, now, old, format) => rows.push([title, `${format(at(old))} → ${format(at(now))} (${words.signed(format, at(now) - at(old))})`]);
    pair('Live', 'live_bytes', 'old_live_bytes', words.bytes);
    pair('Blocks', 'live_blocks', 'old_live_blocks', words.count);
    pair('Allocated', 'allocated_bytes', 'old_allocated_bytes', words.bytes);
    pair('Calls', 'allocations', 'old_allocations', words.count);
  } else
    rows.push(['Live', `${words.bytes(at('live_bytes'))} in ${words.plural(at('live_blocks'), 'block')}`],
      ['Allocated', `${words.bytes(at('allocated_bytes'))} in ${words.plural(at('allocations'), 'call')}`],
      ['Freed', at('frees') ? `${words.bytes(at('freed_bytes'))} in ${words.plural(at('frees'), 'call')}` : 'nothing'],
      ['Sizes', sizes], ['Peak of the site', at('peak_bytes') ? words.bytes(at('peak_bytes')) : null],
      ['Live at the peak', at('at_peak_bytes') ? words.bytes(at('at_peak_bytes')) : null],
      ['Lived', at('freed_lives') ? `${words.duration(at('mean_life_ns') / 1e9)} on average, ${words.duration(at('longest_life_ns') / 1e9)} at most` : null],
      ['Temporary', at('temporary') ? words.share(at('temporary'), at('allocations')) : null],
      ['Class', kind ? (model.isPartly(site) ? 'partly ' : '') + KINDS[kind] : null],
      ['Lost', at('lost_bytes') + at('indirect_bytes') ? words.bytes(at('lost_bytes') + at('indirect_bytes')) : null],
      ['Retains', at('retained_bytes') ? words.bytes(at('retained_bytes')) : null],
      ['Growth', trend ? `${TRENDS[trend]}${trend === 2 ? `, ${words.bytes(at('slope') * 60)} a minute` : ''}` : null],
      ['Type', at('type') ? words.safe(model.text(at('type'))) : null]);
  const held = at('held');
  const first = model.stack(site).find(({ fileId }) => page.sources.has(fileId));
  const lines = first ? sourceOf(page, first) : null;
  const fn = page.selfOf(site);
  return [el('h2', {}, label.name), placeOf(page, site, page.ofSeveral() ? ` · ${page.processName(at('process'))}` : ''),
    figures(rows),
    held ? [el('h3', {}, 'Held by'), el('ol', { class: 'held' }, words.safe(model.text(held), 4000).split(' -> ').map((link, i) =>
      el('li', {}, i ? el('span', { class: 'arrow' }, '→ ') : null, link)))] : null,
    neighbours(page, site),
    fn >= 0 ? actions(page, fn, el('button', { type: 'button', onclick: (event) => copy(event.currentTarget, stackText(page, site)) }, 'Copy stack')) : null,
    stackOf(page, site),
    lines].flat(Infinity);
}

function actions(page, fn, more = null) {
  return el('p', { class: 'actions' }, el('button', { type: 'button', onclick: () => page.sandwich(fn) }, 'Callers and callees'),
    el('button', { type: 'button', onclick: () => page.hide(fn) }, 'Hide in the graph'), more);
}

const LISTED = 8;

function listOf(title, items, of, ...what) {
  return items.length ? [el('h3', {}, title), el('ul', { class: 'near' }, items.slice(0, LISTED).map(of),
    items.length > LISTED ? el('li', { class: 'quiet' }, `and ${words.plural(items.length - LISTED, ...what)} more`) : null)] : null;
}

/** Who calls a function and what it calls, with what is measured: shares are of the function's own. */
function aroundFunction(page, fn) {
  const tree = page.tree();
  const { format, change } = page.measure();
  const list = (title, root) => listOf(title, root.children, (box) => el('li', {}, el('button', { type: 'button', title: page.model.module(box.fn),
    onclick: () => page.sandwich(box.fn) }, page.model.name(box.fn)), ' ', el('span', { class: 'share' },
    change ? words.signed(format, box.signed) : `${format(box.weight)}, ${words.share(box.weight, root.weight)}`)), 'function');
  return [list('Called by', tree.callers(fn)), list('Calls', tree.callees(fn))];
}

function groupSites(page, row) {
  const { sites, figure } = page.sitesOf(row);
  const { format } = page.shownColumns[row.sorted];
  return listOf('Its sites', sites, (site) => {
    const { name, place } = page.model.siteLabel(site);
    return el('li', {}, el('button', { type: 'button', title: 'its stack', onclick: () => page.look(site) }, place ? `${name} (${place})` : name), ' ',
      el('span', { class: 'share' }, format(figure[site])));
  }, 'site');
}

export function detailOf(page, row) {
  if (row.sites) return stackDetail(page, row);
  if (row.site !== undefined) return siteDetail(page, row.site).flat();
  if (row.columns)
    return [el('h2', {}, row.name), figures(row.columns.map((column, i) => [column.title, column.format(row.values[i])]))];
  const columns = page.tab() === 'holders' ? null : page.columns;
  return [el('h2', {}, row.name), row.place ? el('p', { class: 'quiet' }, row.place) : null,
    columns ? figures([['Sites', words.count(row.group.sites)], ...page.shownColumns.map((column, i) => [column.title, column.format(row.values[i])])])
      : figures([['Retained', words.bytes(row.values[0])], ['Blocks', words.count(row.values[1])]]),
    row.fn >= 0 ? [actions(page, row.fn), aroundFunction(page, row.fn)] : null,
    columns ? groupSites(page, row) : null].flat(Infinity);
}

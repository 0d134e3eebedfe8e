// SPDX-License-Identifier: BSD-2-Clause
// Drives pages in a browser for test_page.py: node drive.mjs WHERE-NODE-MODULES-ARE CHROMIUM, with a JSON object of files on
// standard input. Writes a JSON object: by check, what was found. Python compares; what throws is that check's `error`.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [modules, executablePath] = process.argv.slice(2);
const require = createRequire(modules + '/');
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const files = JSON.parse(readFileSync(0, 'utf8'));
const results = {};

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });

async function open(file, { scheme = 'light', width = 1280, height = 900, hash = '', ratio = 1 } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height }, deviceScaleFactor: ratio });
  const page = await context.newPage();
  const troubles = [];
  page.on('console', (message) => troubles.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => { troubles.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  const url = pathToFileURL(file).href;
  page.on('request', (request) => { if (!request.url().startsWith(url) && !request.url().startsWith('data:')) troubles.push(`request: ${request.url()}`); });
  await page.goto(url + hash);
  await page.waitForFunction(() => document.documentElement.dataset.state !== 'loading');
  return { page, troubles, close: () => context.close() };
}

async function check(name, file, work, options) {
  const opened = await open(files[file], options);
  try {
    results[name] = { ...(await work(opened.page)), troubles: opened.troubles };
  } catch (error) {
    results[name] = { error: String(error.stack ?? error), troubles: opened.troubles };
  }
  await opened.close();
}

// The table follows what is typed or dragged.
const settled = (page) => page.waitForFunction(() => !window.seep.pending);
const text = (page, selector) => page.locator(selector).innerText();
// All that the page knows of its sites, by the names of the report.
const sites = (page) => page.evaluate(() => {
  const { model } = window.seep;
  const names = ['process', 'live_bytes', 'live_blocks', 'allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'temporary', 'peak_bytes', 'at_peak_bytes', 'size_min',
    'size_max', 'kind', 'retained_bytes', 'old_live_bytes', 'old_live_blocks', 'old_allocations', 'old_allocated_bytes', 'old_frees', 'old_temporary', 'change', 'folded'];
  return Array.from({ length: model.nrSites }, (_, i) => ({ ...Object.fromEntries(names.map((name) => [name, model.site(name)[i]])),
    partly: model.isPartly(i), via: model.text(model.site('via')[i]), stack: model.stack(i).map(({ name, file, line, module, inlined }) => ({ name, file, line, module, inlined })) }));
});
const groups = (page) => page.evaluate(async () => {
  const out = {};
  for (const by of ['function', 'file', 'line', 'module']) {
    window.seep.state.go({ tab: by });
    const ids = window.seep.shownColumns.map(({ id }) => id);
    out[by] = Array.from({ length: window.seep.shown.nr }, (_, i) => window.seep.shown.at(i)).map((row) => ({ key: row.name, ...Object.fromEntries(ids.map((id, i) => [id, row.values[i]])) }));
  }
  return out;
});

for (const name of ['shop', 'strange', 'family'])
  await check(`figures of ${name}`, name, async (page) => ({ sites: await sites(page), findings: await page.locator('#findings li').allInnerTexts(),
    processes: await page.evaluate(() => Array.from({ length: window.seep.shown.nr }, (_, i) => window.seep.shown.at(i).process)),
    groups: await groups(page),
    tiles: await page.locator('.tile').allInnerTexts(), health: await text(page, '#health') }));
// Of several processes: what has the same stack is a row, whose processes are beside it.
await check('stacks of family', 'family', async (page) => {
  const rows = await page.evaluate(() => Array.from({ length: window.seep.shown.nr }, (_, i) => window.seep.shown.at(i))
    .map(({ key, process, site, sites, values }) => ({ key, process, sites: sites ?? [site], values })));
  const nr = rows.findIndex(({ sites }) => sites.length > 1);
  await page.evaluate((at) => window.seep.table.pick(at), nr);
  const together = await text(page, '#detail');
  await page.locator('#detail .near button').first().click();
  await settled(page);
  const one = { detail: await text(page, '#detail'), marked: await page.evaluate(() => window.seep.table.picked) };
  const whose = await page.evaluate(() => window.seep.processName(window.seep.model.site('process')[Number(window.seep.state.pick)]));
  const of = await page.evaluate(() => window.seep.shownColumns.map((column) => Array.from(column.data())));
  await page.evaluate(() => window.seep.state.go({ process: '0', pick: '' }, true));
  await settled(page);
  const alone = await page.evaluate(() => Array.from({ length: window.seep.shown.nr }, (_, i) => window.seep.shown.at(i).process));
  return { rows, nr, together, one, whose, of, alone };
});
// Tables of what is not of sites.
for (const [name, tabs] of [['shop', ['threads', 'sizes']], ['snapped', ['resident', 'ages']], ['recorded', ['lives']]])
  await check(`tables of ${name}`, name, async (page) => page.evaluate((wanted) => Object.fromEntries(wanted.map((tab) => {
    if (!document.querySelector(`[data-tab=${tab}]`)) return [tab, null];
    window.seep.state.go({ tab });
    const { shown } = window.seep;
    return [tab, Array.from({ length: shown.nr }, (_, i) => shown.at(i)).map((row) => ({ key: row.name, ...Object.fromEntries(row.columns.map(({ id }, c) => [id, row.values[c]])) }))];
  })), tabs));
await check('by holder', 'shop', async (page) => {
  await page.locator('[data-view=held]').click();
  const found = await page.evaluate(() => {
    const boxes = [];
    const walk = (box, above) => {
      boxes.push({ name: window.seep.boxName(box), above: above && window.seep.boxName(above), weight: box.weight, below: box.children.reduce((a, { weight }) => a + weight, 0) });
      box.children.forEach((child) => walk(child, box));
    };
    walk(window.seep.flame.root, null);
    return { boxes };
  });
  await page.locator('#graph .flame').focus();
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowDown');
  await settled(page);
  found.walked = await text(page, '#detail h2');
  found.walkedDetail = await text(page, '#detail');
  await page.locator('#detail .near button').first().click();
  await settled(page);
  await settled(page);
  found.next = await text(page, '#detail h2');
  found.nextDetail = await text(page, '#detail');
  await page.locator('#search').fill('load_picture');
  await settled(page);
  found.matched = await text(page, '#matched');
  found.link = page.url();
  return found;
});
await check('around a function', 'shop', async (page) => {
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (copied) => { window.copied = copied; } } }));
  await page.locator('#tab-function').click();
  const pick = async (name) => page.locator('.table-row', { has: page.locator('.row-name', { hasText: new RegExp(`^${name}$`) }) }).click();
  await pick('add_note');
  const lists = () => page.locator('#detail .near').evaluateAll((all) => Object.fromEntries(all.map((list) =>
    [list.previousElementSibling.textContent, [...list.children].map(({ innerText }) => innerText)])));
  const found = { note: await lists() };
  await page.locator('#detail .near').last().locator('button').first().click();
  await settled(page);
  await page.getByText('Copy stack').click();
  found.site = await text(page, '#detail h2');
  found.copied = await page.evaluate(() => window.copied);
  await page.locator('#tab-function').click();
  await pick('add_note');
  await page.locator('#detail .near').first().locator('button').first().click();
  found.graph = await page.evaluate(() => [window.seep.state.view, window.seep.model.name(Number(window.seep.state.fn))]);
  return found;
});
await check('sources', 'sourced', async (page) => {
  const lines = async () => page.locator('.source tbody tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  const first = await lines();
  const here = await page.locator('.source .here').innerText();
  const title = await text(page, '#source-lines h3');
  await page.locator('.stack button.where').last().click();
  return { first, here, title, other: await page.locator('.source .here').innerText(), none: await page.evaluate(() => window.seep.sources.files.size) };
});
await check('no sources', 'shop', async (page) => ({ files: await page.evaluate(() => window.seep.sources.files.size), shown: await page.locator('.source').count() }));
await check('figures of diff', 'diff', async (page) => ({ sites: await sites(page), tiles: await page.locator('.tile').allInnerTexts(),
  findings: await page.locator('#findings li').allInnerTexts() }));
for (const name of ['folded', 'folded diff'])
  await check(`figures of ${name}`, name, async (page) => {
    await page.waitForFunction(() => document.documentElement.dataset.times === 'ready');
    return { sites: await sites(page), health: await page.locator('#health').textContent(),
      totals: await page.evaluate(() => window.seep.seriesNow()?.totals) };
  });
await check('empty', 'empty', async (page) => ({ note: await text(page, '#no-graph'), health: await text(page, '#health') }));

// Each measure: the root of the graph is the sum of what sites have, and no box is more than its caller.
await check('graph adds up', 'shop', (page) => page.evaluate(() => {
  const out = { measures: {}, wrong: [] };
  for (const measure of window.seep.measures) {
    window.seep.state.go({ measure: measure.id, view: 'down' });
    const own = measure.own();
    const total = own.reduce((a, b) => a + b, 0);
    const walk = (box) => {
      const sum = box.children.reduce((a, child) => a + child.weight, 0);
      if (sum > box.weight) out.wrong.push(`${measure.id} ${box.fn}: ${sum} > ${box.weight}`);
      box.children.forEach(walk);
    };
    walk(window.seep.flame.root);
    const up = window.seep.tree().bottomUp();
    out.measures[measure.id] = { total, down: window.seep.flame.root.weight, up: up.weight,
      leaves: up.children.reduce((a, child) => a + child.weight, 0) };
    walk(up);
  }
  return out;
}));

await check('keyboard', 'shop', async (page) => {
  const path = () => page.evaluate(() => window.seep.state.zoom);
  const begin = await path();
  await page.keyboard.press('/');
  await page.keyboard.type('session');
  await settled(page);
  const matched = await text(page, '#matched');
  const rows = await page.locator('.table-row').count();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const said = await page.locator('#live').textContent();
  await page.keyboard.press('Enter');
  const zoomed = await path();
  const link = page.url();
  await page.keyboard.press('Escape');
  const out = await path();
  await page.goBack();
  const back = await path();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('s');
  const sandwich = await text(page, '#crumbs');
  await page.locator('#rows [role=grid]').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const picked = await page.locator('.table-row[aria-selected=true]').innerText();
  const detail = await text(page, '#detail h2');
  return { begin, matched, rows, said, zoomed, link, out, back, sandwich, picked, detail };
});

await check('mouse', 'shop', async (page) => {
  const where = async (name) => page.evaluate((wanted) => {
    const { flame, model } = window.seep;
    for (const row of flame.rows)
      for (const { box, x, w } of row ?? []) if (model.name(box.fn) === wanted) return { x: x + w / 2, y: flame.y(box.depth) + 10 };
    return null;
  }, name);
  const canvas = page.locator('#graph canvas');
  await canvas.hover({ position: await where('serve') });
  const tip = await text(page, '#tip');
  await canvas.click({ position: await where('serve') });
  const crumbs = await text(page, '#crumbs');
  await page.locator('[data-view=up]').click();
  const up = await page.evaluate(() => window.seep.flame.root.children.map((box) => window.seep.model.name(box.fn)));
  await page.locator('[data-view=down]').click();
  await page.locator('.tile', { hasText: 'Lost' }).click();
  const measure = await page.locator('#measure').inputValue();
  await page.locator('#findings button').first().click();
  const found = await text(page, '#detail h2');
  await page.locator('#detail').getByText('Hide in the graph').click();
  const hidden = await text(page, '#crumbs');
  const gone = await where('add_note');
  const rootWeight = await page.evaluate(() => window.seep.flame.root.weight);
  await page.locator('.chip').click();
  await page.locator('#tab-function').click();
  const functions = await page.locator('.table-row .row-name').allInnerTexts();
  return { tip, crumbs, up, measure, found, hidden, gone, rootWeight, functions };
});

await check('hostile', 'hostile', async (page) => {
  const shown = [await page.locator('body').innerText()];
  for (const tab of ['function', 'file', 'module', 'line', 'sites']) {
    await page.locator(`#tab-${tab}`).click();
    shown.push(await page.locator('body').innerText());
  }
  await page.locator('#search').fill('script');
  await page.locator('#search').fill('(');
  shown.push(await text(page, '#matched'));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  const marks = await page.evaluate(() => ({ ran: window.ran ?? null, scripts: document.querySelectorAll('script').length, images: document.images.length,
    names: Array.from({ length: window.seep.model.nrFunctions }, (_, fn) => window.seep.model.name(fn)) }));
  return { shown, wide, ...marks };
});
await check('marked', 'marked', async (page) => {
  await page.waitForFunction(() => document.documentElement.dataset.times === 'ready' && window.seep.timeline.plot);
  await page.locator('#tab-threads').click();
  const threads = await page.locator('#rows').innerText();
  await page.locator('#tab-sites').click();
  await page.locator('#rows').getByText('work').first().click();
  const source = await page.locator('.source').innerText();
  return { threads, source, ...await page.evaluate(() => ({ marks: window.seep.timeline.marks.length, ran: window.ran ?? null,
    clocks: [[103.5, 104, 104.5], [59.9, 60, 60.1], [119.999999999, 150, 180]].map((ticks) => window.seep.timeline.plot.axes[0].values(null, ticks)),
    scripts: document.querySelectorAll('script').length, images: document.images.length, wide: document.documentElement.scrollWidth - window.innerWidth })) };
});
await check('policy', 'shop', async (page) => ({ refused: await page.evaluate(() => new Promise((done) => {
  document.addEventListener('securitypolicyviolation', (event) => done(event.violatedDirective), { once: true });
  const script = document.createElement('script');
  script.textContent = 'window.ran = 1';
  document.body.append(script);
})), ran: await page.evaluate(() => window.ran ?? null) }));
await check('over time', 'grown', async (page) => {
  await page.waitForFunction(() => document.documentElement.dataset.times === 'ready' && window.seep.timeline.plot);
  const series = await page.evaluate(() => { const { at, rss, totals } = window.seep.seriesNow(); return { at, rss, totals }; });
  const area = await page.locator('#timeline .u-over').boundingBox();
  await page.mouse.move(area.x + area.width * 0.2, area.y + 40);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width * 0.5, area.y + 60, { steps: 4 });
  await page.mouse.move(area.x + area.width * 0.8, area.y + 60, { steps: 4 });
  await page.mouse.up();
  const look = async () => (await settled(page), page.evaluate(() => ({ range: window.seep.state.range, measure: window.seep.measure().id, net: window.seep.weights().net,
    root: window.seep.flame.root.signed, sums: Array.from({ length: window.seep.shown.nr }, (_, i) => window.seep.shown.at(i)).reduce((a, row) => a + row.values[0], 0), at: window.seep.seriesNow().totals,
    first: document.querySelector('#rows [role=columnheader][aria-sort]').innerText, title: document.querySelector('.timeline-title').innerText })));
  const dragged = await look();
  const place = await page.locator('.handle').nth(1).boundingBox();
  await page.locator('.handle').nth(1).focus();
  await page.keyboard.press('ArrowLeft');
  const stepped = await look();
  await page.getByText('Auto diff').click();
  const far = await look();
  await page.getByText('Whole time').click();
  const whole = await look();
  const measures = await page.locator('#measure option').evaluateAll((options) => options.map(({ value }) => value));
  await page.locator('#measure').selectOption(measures.includes('peak') ? 'peak' : 'at_peak');
  const peak = await page.evaluate(() => window.seep.weights().total);
  return { series, dragged, place: (place.x + place.width / 2 - area.x) / area.width, stepped, far, whole, peak };
});
await check('recorded', 'recorded', async (page) => {
  await page.waitForFunction(() => document.documentElement.dataset.times === 'ready');
  return page.evaluate(() => {
    const series = window.seep.seriesNow();
    const { model } = window.seep;
    return { totals: series.totals, states: [0, 7, 8, series.at.length - 1].map((i) => series.state(i).reduce((a, b) => a + b, 0)),
      sites: Array.from({ length: model.nrSites }, (_, i) => ({ freed: model.site('freed_lives')[i], mean: model.site('mean_life_ns')[i], most: model.site('longest_life_ns')[i] })) };
  });
});
// On paper: light, in its width, and no more rows than are of use.
await check('paper', 'many', async (page) => {
  await page.waitForFunction(() => document.documentElement.dataset.times === 'ready');
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await page.setViewportSize({ width: 703, height: 1000 });
  await page.screenshot({ path: `${files.shots}/paper.png`, fullPage: true });
  const found = await page.evaluate(() => ({ ink: getComputedStyle(document.body).color, rows: document.querySelectorAll('.table-row').length,
    wide: document.documentElement.scrollWidth - window.innerWidth, toolbar: document.querySelector('.toolbar').offsetHeight,
    canvas: document.querySelector('#graph canvas').getBoundingClientRect().width }));
  await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
  await page.emulateMedia({ media: 'screen' });
  return { ...found, after: await page.evaluate(() => getComputedStyle(document.body).color) };
}, { scheme: 'dark' });
for (const name of ['cut', 'garbled', 'none'])
  await check(`damaged: ${name}`, name, async (page) => ({ said: await text(page, '#failure'), main: await page.locator('#main').isVisible() }));

if (files.live) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const troubles = [];
  page.on('console', (message) => troubles.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  try {
    await page.goto(files.live);
    await page.waitForFunction(() => document.documentElement.dataset.round === '1');
    const first = await page.evaluate(() => window.seep.reports[0].totals.allocations);
    await page.locator('[data-view=up]').click();
    await page.waitForFunction((before) => window.seep.reports[0].totals.allocations > before, first);
    results.live = { title: await page.title(), view: await page.evaluate(() => window.seep.state.view), link: page.url(),
      total: await page.evaluate(() => [window.seep.reports[0].totals.live_bytes, window.seep.model.site('live_bytes').reduce((a, b) => a + b, 0)]), troubles };
    await page.goto('about:blank');
    await page.goto(files.live.replace(/#.*/, '#token=0'));
    await page.waitForFunction(() => document.documentElement.dataset.state === 'failed');
    results.live.refused = await text(page, '#failure');
  } catch (error) {
    results.live = { error: String(error.stack ?? error), troubles };
  }
  await context.close();
}

if (files.folder) {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const page = await context.newPage();
  const troubles = [];
  page.on('console', (message) => troubles.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  const ready = () => page.waitForFunction(() => document.documentElement.dataset.state !== 'loading');
  try {
    await page.goto(files.folder);
    await ready();
    const names = await page.locator('#folder-rows a').allInnerTexts();
    await page.screenshot({ path: `${files.shots}/folder.png`, fullPage: true });
    await page.locator('#folder-rows a', { hasText: 'shop.seep' }).click();
    await page.waitForFunction(() => document.documentElement.dataset.times === 'ready');
    const live = await page.evaluate(() => window.seep.reports[0].totals.live_bytes);
    await page.locator('[data-view=up]').click();
    const link = page.url();
    await page.goto('about:blank');
    await page.goto(link);
    await page.waitForFunction(() => document.documentElement.dataset.times === 'ready');
    const view = await page.evaluate(() => window.seep.state.view);
    await page.getByText('all traces').click();
    await page.locator('#folder-rows a').first().waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    results.folder = { names, live, view, wide, troubles };
  } catch (error) {
    results.folder = { error: String(error.stack ?? error), troubles };
  }
  await context.close();
}

const views = { lifetimes: ['recorded', { width: 390, height: 844, scheme: 'dark', hash: '#t=lives' }], legend: ['many', { scheme: 'dark' }], holders: ['shop', { hash: '#v=held&p=3' }], source: ['sourced', { scheme: 'dark', hash: '#p=0' }], resident: ['snapped', { width: 390, height: 844, hash: '#t=resident' }], light: ['shop', {}], dark: ['shop', { scheme: 'dark' }], phone: ['shop', { width: 390, height: 844, ratio: 2 }],
  time: ['grown', {}], range: ['grown', { scheme: 'dark', hash: '#r=2-9' }], marks: ['many', { hash: '#r=1-6' }],
  diff: ['diff', {}], sandwich: ['shop', { hash: '#v=sandwich&f=4' }], family: ['family', { scheme: 'dark' }], strange: ['hostile', { width: 390, height: 844 }] };
for (const [name, [file, options]] of Object.entries(views))
  await check(`view ${name}`, file, async (page) => {
    await page.waitForFunction(() => document.documentElement.dataset.times === 'ready');
    await page.screenshot({ path: `${files.shots}/${name}.png`, fullPage: true });
    await page.evaluate(axe);
    const serious = await page.evaluate(async () => (await window.axe.run()).violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html).join(' | ')}`));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    return { serious, wide };
  }, options);

await browser.close();
process.stdout.write(JSON.stringify(results));

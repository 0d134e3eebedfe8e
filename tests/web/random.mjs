// SPDX-License-Identifier: BSD-2-Clause
// Goes through every view of random pages for test_page_random.py: node random.mjs WHERE-NODE-MODULES-ARE CHROMIUM, with a JSON
// array of files on standard input. Writes a JSON array: of each file what went wrong, and the figures of its sites.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [modules, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(modules + '/')('playwright-core');
const files = JSON.parse(readFileSync(0, 'utf8'));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const sizes = [{ width: 1280, height: 900 }, { width: 390, height: 844 }, { width: 2200, height: 1200 }];
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e0fff}]/u;
const results = [];

async function look(page, where, troubles) {
  await page.waitForFunction(() => !window.seep.pending);
  const found = await page.evaluate(() => ({ ran: window.ran ?? null, scripts: document.querySelectorAll('script').length, images: document.images.length,
    wide: document.documentElement.scrollWidth - window.innerWidth, said: document.body.innerText }));
  if (found.ran !== null || found.images || found.scripts !== 3) troubles.push(`${where}: markup of a name is in the page`);
  if (found.wide > 0) troubles.push(`${where}: ${found.wide} pixels wider than the screen`);
  if (steering.test(found.said)) troubles.push(`${where}: ${JSON.stringify(steering.exec(found.said))} is shown as it is`);
  const odd = /\b(NaN|undefined|Infinity|\[object )/.exec(found.said);
  if (odd) troubles.push(`${where}: '${odd[0]}' is shown`);
}

for (const [number, file] of files.entries()) {
  const troubles = [];
  const context = await browser.newContext({ colorScheme: number % 2 ? 'dark' : 'light', viewport: sizes[number % sizes.length] });
  const page = await context.newPage();
  page.on('console', (message) => troubles.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.stack}`));
  page.on('dialog', (dialog) => { troubles.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  let sites = null;
  try {
    await page.goto(pathToFileURL(file).href);
    await page.waitForFunction(() => document.documentElement.dataset.state !== 'loading' && document.documentElement.dataset.times === 'ready');
    await look(page, 'first', troubles);
    sites = await page.evaluate(() => {
      const { model } = window.seep, names = ['live_bytes', 'live_blocks', 'allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'temporary'];
      return Array.from({ length: model.nrSites }, (_, i) => names.map((name) => model.site(name)[i]));
    });
    const tabs = await page.locator('#tabs button').evaluateAll((all) => all.map(({ dataset }) => dataset.tab));
    for (const tab of tabs) {
      await page.evaluate((id) => window.seep.state.go({ tab: id }), tab);
      await look(page, tab, troubles);
    }
    const measures = await page.evaluate(() => window.seep.measures?.map(({ id }) => id) ?? []);
    for (const view of ['up', 'held', 'sandwich', 'down'])
      for (const measure of ['', ...measures]) {
        await page.evaluate(([v, m]) => window.seep.state.go({ view: v, measure: m, fn: v === 'sandwich' ? '1' : '' }), [view, measure]);
        await look(page, `${view} ${measure}`, troubles);
      }
    for (const search of ['<script>', '(', '.*', '\\', '[', '__proto__', '\u202e', '$']) {
      await page.evaluate(() => window.seep.state.go({ tab: 'sites' }));
      await page.locator('#search').fill(search);
      await look(page, `search ${search}`, troubles);
    }
    for (const hash of ['#p=0', '#r=1-2', '#r=9-1', '#z=1', '#v=sandwich&f=99999', '#n=7&u=1', '#t=constructor&s=__proto__&m=toString', '#v=%3Cscript%3E&q=%ff%00']) {
      await page.evaluate((h) => { location.hash = h; }, hash);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await look(page, hash, troubles);
    }
  } catch (error) {
    troubles.push(String(error.stack ?? error));
  }
  results.push({ troubles, sites });
  await context.close();
}
await browser.close();
process.stdout.write(JSON.stringify(results));

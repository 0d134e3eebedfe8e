// SPDX-License-Identifier: BSD-2-Clause
// The page in Firefox, driven by WebDriver BiDi: node firefox.mjs WHERE-NODE-MODULES-ARE FIREFOX, with a JSON object of files on
// standard input. Writes a JSON object: by check, what was found. Python compares.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [modules, executablePath] = process.argv.slice(2);
const require = createRequire(modules + '/');
const puppeteer = require('puppeteer-core');
const files = JSON.parse(readFileSync(0, 'utf8'));
const results = {};
// The size of the window is an argument: setting it afterwards takes a command that older releases lack.
const browser = await puppeteer.launch({ browser: 'firefox', executablePath, headless: true, protocolTimeout: 60000, defaultViewport: null,
  args: ['--width=1280', '--height=1000'] });

// Not page.waitForFunction: that makes its function from text within the page, which the page's content security policy forbids.
async function until(page, holds) {
  const end = Date.now() + 30000;
  while (!(await page.evaluate(holds))) {
    if (Date.now() > end) throw new Error(`half a minute without: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function check(name, file, work) {
  const page = await browser.newPage();
  const troubles = [];
  page.on('console', (message) => troubles.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  const url = pathToFileURL(files[file]).href;
  page.on('request', (request) => { if (!request.url().startsWith(url) && !request.url().startsWith('data:')) troubles.push(`request: ${request.url()}`); });
  try {
    await page.goto(url);
    await until(page, () => document.documentElement.dataset.times === 'ready' || document.documentElement.dataset.state === 'failed');
    results[name] = { ...(await work(page)), troubles };
  } catch (error) {
    results[name] = { error: String(error.stack ?? error), troubles };
  }
  await page.close();
}

const settled = (page) => until(page, () => !window.seep.pending);
const text = (page, selector) => page.$eval(selector, (element) => element.innerText);

await check('first screen', 'shop', async (page) => {
  const found = { health: await text(page, '#health'), tiles: await page.$$eval('.tile', (all) => all.map(({ innerText }) => innerText)),
    root: await page.evaluate(() => window.seep.flame.root.weight),
    // What is drawn: boxes have their colours on the canvas.
    colours: await page.evaluate(() => { const canvas = document.querySelector('#graph canvas'); const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height); return new Set(new Uint32Array(data.buffer)).size; }) };
  await page.screenshot({ path: `${files.shots}/firefox.png` });
  return found;
});
await check('search and zoom', 'shop', async (page) => {
  await page.keyboard.press('/');
  await page.keyboard.type('session');
  await settled(page);
  const found = { matched: await text(page, '#matched'), rows: (await page.$$('.table-row')).length };
  await page.keyboard.press('Escape');
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await settled(page);
  found.zoomed = await page.evaluate(() => window.seep.state.zoom);
  found.link = page.url();
  await page.click('[data-view=up]');
  found.up = await page.evaluate(() => window.seep.flame.root.children.map((box) => window.seep.model.name(box.fn)));
  await page.click('#tab-function');
  found.functions = await page.$$eval('.table-row .row-name', (all) => all.map(({ innerText }) => innerText));
  return found;
});
await check('range', 'grown', async (page) => {
  const area = await (await page.$('#timeline .u-over')).boundingBox();
  await page.mouse.move(area.x + area.width * 0.2, area.y + 40);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width * 0.5, area.y + 60, { steps: 4 });
  await page.mouse.move(area.x + area.width * 0.8, area.y + 60, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  return page.evaluate(() => ({ range: window.seep.state.range, root: window.seep.flame.root.signed, totals: window.seep.seriesNow().totals }));
});
await check('hostile', 'hostile', async (page) => ({ ran: await page.evaluate(() => window.ran ?? null), shown: await text(page, 'body') }));
await browser.close();
process.stdout.write(JSON.stringify(results));

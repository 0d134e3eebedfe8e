// SPDX-License-Identifier: BSD-2-Clause
// One run of page.py: node page.mjs WHERE-NODE-MODULES-ARE CHROMIUM PAGE. Writes times in milliseconds as JSON.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, executablePath, file] = process.argv.slice(2);
const { chromium } = createRequire(modules + '/')('playwright-core');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--enable-precise-memory-info'] });
// On a busy machine the processor's time says more than the clock.
const system = await browser.newBrowserCDPSession();
const cpu = async () => (await system.send('SystemInfo.getProcessInfo')).processInfo.filter(({ type }) => type === 'renderer')
  .reduce((sum, { cpuTime }) => sum + cpuTime, 0) * 1000;
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
await page.addInitScript(() => {
  const seen = () => {
    const { state, times } = document.documentElement?.dataset ?? {};
    if (state === 'ready' && !window.firstAt) requestAnimationFrame(() => { window.firstAt ??= performance.now(); });
    if (times === 'ready') requestAnimationFrame(() => { window.readyAt ??= performance.now(); });
    if (times !== 'ready') setTimeout(seen, 4);
  };
  seen();
});
await page.goto(pathToFileURL(file).href, { timeout: 120000 });
await page.waitForFunction(() => window.readyAt, undefined, { timeout: 120000 });
const cpuReady = await cpu();
const result = await page.evaluate(async () => {
  const { seep } = window;
  const timed = (work) => {
    const begin = performance.now();
    work();
    return performance.now() - begin;
  };
  const redraw = [], search = [], drag = [];
  let box = seep.flame.root;
  for (let i = 0; i < 24; i++) {
    const next = box.children[i % 2 ? Math.min(1, box.children.length - 1) : 0];
    box = next && i % 12 !== 11 ? next : seep.flame.root;
    redraw.push(timed(() => seep.flame.show(seep.flame.root, box, { total: 1 })));
  }
  for (const text of ['p', 'pa', 'par', 'parse', 'node.*7', 'cache::', 'x'])
    search.push(timed(() => seep.state.go({ search: text }, true)));
  seep.state.go({ search: '', zoom: '' });
  const series = seep.seriesNow();
  if (series)
    for (let i = 1; i < 20; i++) drag.push(timed(() => seep.state.go({ range: `${i}-${i + 30}`, measure: '' }, true)));
  return { first: window.firstAt, ready: window.readyAt, redraw, search, drag, memory: performance.memory.usedJSHeapSize };
});
process.stdout.write(JSON.stringify({ ...result, cpu: cpuReady }));
await browser.close();

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
// Each step by the processor's time of the renderer's main thread.
const client = await page.context().newCDPSession(page);
await client.send('Performance.enable', { timeDomain: 'threadTicks' });
const tasks = async () => (await client.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value * 1000;
const nothing = await timed(() => 0);
async function timed(work, value) {
  const before = await tasks();
  await page.evaluate(work, value);
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); }));
  return (await tasks()) - before;
}
const steps = async (values, work) => {
  const out = [];
  for (const value of values) out.push(Math.max(0, (await timed(work, value)) - nothing));
  return out;
};
const redraw = await steps(Array.from({ length: 24 }, (_, i) => i), (i) => {
  const { flame } = window.seep;
  const at = i ? window.at : flame.root;
  const next = at.children[i % 2 ? Math.min(1, at.children.length - 1) : 0];
  window.at = next && i % 12 !== 11 ? next : flame.root;
  flame.show(flame.root, window.at, { total: 1 });
});
const search = await steps(['p', 'pa', 'par', 'parse', 'node.*7', 'cache::', 'x'], (text) => window.seep.state.go({ search: text }, true));
await page.evaluate(() => window.seep.state.go({ search: '', zoom: '' }));
const drag = await page.evaluate(() => Boolean(window.seep.seriesNow()))
  ? await steps(Array.from({ length: 20 }, (_, i) => i + 1), (i) => window.seep.state.go({ range: `${i}-${i + 30}`, measure: '' }, true)) : [];
const end = await page.evaluate(() => ({ first: window.firstAt, ready: window.readyAt, memory: performance.memory.usedJSHeapSize }));
process.stdout.write(JSON.stringify({ ...end, redraw, search, drag, cpu: cpuReady }));
await browser.close();

// SPDX-License-Identifier: BSD-2-Clause
// How quickly others draw the same stacks: node page_peers.mjs WHERE-NODE-MODULES-ARE CHROMIUM FOLDER-OF-PEERS FOLDED SPEEDSCOPE LIMIT-S.
// Writes the time from navigation to the first drawn view, in milliseconds, by peer; null: not within the limit.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, executablePath, folder, folded, scope, limit] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, 'package.json'))('playwright-core');
const timeout = Number(limit) * 1000;

/** The tree that d3-flame-graph takes. */
function treeOf(text) {
  const root = { name: 'root', value: 0, children: [], index: new Map() };
  for (const line of text.split('\n')) {
    const at = line.lastIndexOf(' ');
    if (at < 0) continue;
    const value = Number(line.slice(at + 1));
    let node = root;
    node.value += value;
    for (const name of line.slice(0, at).split(';')) {
      let child = node.index.get(name);
      if (!child) {
        child = { name, value: 0, children: [], index: new Map() };
        node.index.set(name, child);
        node.children.push(child);
      }
      node = child;
      node.value += value;
    }
  }
  return JSON.stringify(root, (key, value) => (key === 'index' ? undefined : value)).replaceAll('<', '\\u003c');
}

async function open(url, isDrawn) {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const begin = performance.now();
    await page.goto(url, { timeout });
    await page.waitForFunction(isDrawn, undefined, { timeout, polling: 10 });
    return performance.now() - begin;
  } catch (error) {
    if (/Timeout|crash|closed/i.test(String(error))) return null;
    throw error;
  } finally {
    await browser.close();
  }
}

const results = {};
const opened = path.join(modules, 'node_modules', 'speedscope', 'dist', 'release', 'index.html');
const data = path.join(folder, 'speedscope-data.js');
writeFileSync(data, `speedscope.loadFileFromBase64("profile.speedscope.json", ${JSON.stringify(readFileSync(scope).toString('base64'))})`);
results.speedscope = await open(`${pathToFileURL(opened).href}#localProfilePath=${data}`, () => Boolean(document.querySelector('canvas')));

const d3 = (name) => readFileSync(path.join(folder, 'node_modules', name), 'utf8').replaceAll('</script', '<\\/script');
const page = path.join(folder, 'd3.html');
writeFileSync(page, `<!DOCTYPE html><meta charset="utf-8"><div id="chart"></div><script>${d3('d3/dist/d3.min.js')}</script>
<script>${d3('d3-flame-graph/dist/d3-flamegraph.min.js')}</script><script>const data = ${treeOf(readFileSync(folded, 'utf8'))};
const make = window.flamegraph ?? d3.flamegraph;
d3.select('#chart').datum(data).call(make().width(1200));
requestAnimationFrame(() => setTimeout(() => { window.drawn = true; }));</script>`);
results['d3-flame-graph'] = await open(pathToFileURL(page).href, () => window.drawn === true);
process.stdout.write(JSON.stringify(results));

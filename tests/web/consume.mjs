// SPDX-License-Identifier: BSD-2-Clause
// What programs that are not ours make of files of seep export: node consume.mjs MODULES CHROMIUM WHAT FILE...; JSON on stdout.
import { createReadStream, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, chromium, what, file, extra] = process.argv.slice(2);
const require = createRequire(path.join(modules, 'package.json'));

/** The engine of Chrome's memory panel: each node with its retainers, and what an allocation's stack is. */
async function snapshot() {
  const { parse } = await import(pathToFileURL(require.resolve('heap-snapshot-toolkit')).href);
  const heap = await parse(createReadStream(file, 'utf-8'));
  const nodes = [];
  for (const all = heap.allNodes(); all.hasNext(); all.next()) {
    const node = all.item();
    const retainers = [];
    for (const edges = node.retainers(); edges.hasNext(); edges.next())
      retainers.push({ type: edges.item().type(), name: edges.item().name(), from: edges.item().node().name() });
    const stack = node.traceNodeId() ? heap.allocationStack(node.nodeIndex)?.map(({ functionName }) => functionName) : null;
    nodes.push({ name: node.name(), size: node.selfSize(), retained: node.retainedSize(), retainers, stack });
  }
  return { total: heap.getStatistics().total, nodes };
}

async function inBrowser(look) {
  const { chromium: engine } = require('playwright-core');
  const browser = await engine.launch({ executablePath: chromium, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    const troubles = [];
    page.on('pageerror', (error) => troubles.push(error.message));
    return { ...await look(page), troubles };
  } finally {
    await browser.close();
  }
}

/** Valgrind's viewer: the text of its tree. `extra` is its page. */
const dhat = () => inBrowser(async (page) => {
  await page.goto(pathToFileURL(extra).href);
  await page.setInputFiles('input[type=file]', file);
  await page.getByText('PP 1').first().waitFor();
  return { text: await page.locator('body').innerText() };
});

/** speedscope's page, as its command opens it: the table of functions. `extra` is a file that may be written. */
const speedscope = () => inBrowser(async (page) => {
  const name = JSON.stringify(path.basename(file));
  writeFileSync(extra, `speedscope.loadFileFromBase64(${name}, ${JSON.stringify(readFileSync(file).toString('base64'))})`);
  const opened = path.join(modules, 'node_modules', 'speedscope', 'dist', 'release', 'index.html');
  await page.goto(`${pathToFileURL(opened).href}#localProfilePath=${extra}`);
  await page.locator('canvas').first().waitFor();
  await page.keyboard.press('3');
  await page.locator('tr', { hasText: '%' }).first().waitFor();
  await page.getByText('Total', { exact: true }).click();
  return { rows: await page.locator('tr').allInnerTexts() };
});

process.stdout.write(JSON.stringify(await { snapshot, dhat, speedscope }[what]()));

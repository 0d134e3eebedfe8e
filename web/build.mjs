// SPDX-License-Identifier: BSD-2-Clause
// Builds the page: node build.mjs [OUT.html]. All of it goes into one file, whose content security policy names its
// script and its style by their hashes. The file is checked in, so seep itself is built without npm.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const options = { bundle: true, write: false, minify: true, charset: 'utf8', legalComments: 'none', absWorkingDir: here,
  target: ['chrome100', 'firefox115', 'safari16'], logLevel: 'warning' };

async function bundle(entry, more) {
  const made = await build({ ...options, ...more, entryPoints: [entry] });
  return made.outputFiles[0].text.trim();
}

const script = await bundle('src/main.js', { format: 'iife',
  banner: { js: '/* seep, BSD-2-Clause; uPlot, MIT, Copyright (c) 2025 Leon Sorokin */' } });
const style = await bundle('src/page.css', {});
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = ["default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, 'img-src data:', "connect-src 'none'",
  "base-uri 'none'", "form-action 'none'"].join('; ');
const values = { policy, script, style };
const page = readFileSync(join(here, 'src/page.html'), 'utf8').replace(/@(policy|script|style)@/g, (_, name) => values[name]);
writeFileSync(process.argv[2] ?? join(here, 'page.html'), page);

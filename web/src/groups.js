// SPDX-License-Identifier: BSD-2-Clause
// Tables of what is not of single sites: threads, sizes, ages, the account of resident memory. Each is there where the
// trace knows it: {id, title, rows: [{name, values}], columns}.
import { bytes, count, duration, safe, signed } from './words.js';

const column = (id, title, hint, format) => ({ id, title, hint, format: (value) => (value === null || value === undefined ? '–' : format(value)) });

const FIGURES = {
  live_bytes: column('live_bytes', 'Live', 'bytes that are live', bytes),
  live_blocks: column('live_blocks', 'Blocks', 'blocks that are live', count),
  net_bytes: column('net_bytes', 'Net', 'bytes that it allocated, less those that it freed', (value) => signed(bytes, value)),
  net_blocks: column('net_blocks', 'Net blocks', 'blocks that it allocated, less those that it freed', (value) => signed(count, value)),
  allocated_bytes: column('allocated_bytes', 'Allocated', 'bytes over the whole time', bytes),
  allocations: column('allocations', 'Calls', 'allocations over the whole time', count),
  temporary: column('temporary', 'Temporary', 'allocations that were freed at once', count),
};

// The words of the text report.
const ROWS = { live_blocks: 'live blocks, as they were asked for', rounding: 'rounding and headers of blocks (estimate)',
  allocator_free: 'free, held by the allocator', mappings: 'mapped by the program itself', stacks: 'stacks',
  files: 'program, libraries, other files', seep_image: 'seep’s image', seep_private: 'seep’s private memory', unexplained: 'not explained' };

function grouped(id, title, what, group) {
  const columns = Object.values(FIGURES).filter((figure) => group.groups.some((row) => row[figure.id] !== null && row[figure.id] !== undefined));
  return { id, title, what, columns, left: group.left_out,
    rows: group.groups.map((row) => ({ name: safe(row.key), values: columns.map((figure) => row[figure.id]) })) };
}

/** "1 to 10 ms": lives between two of the limits. */
function livesOf({ below_ns: below, freed }) {
  const of = (ns) => duration(ns / 1e9, true);
  return freed.map((value, i) => ({ name: i === 0 ? `less than ${of(below[0])}` : below[i] === null ? `${of(below[i - 1])} and more`
    : `${of(below[i - 1])} to ${of(below[i])}`, values: [value] }));
}

export function groupTables(part, reports) {
  const tables = [];
  for (const [id, title, what] of [['threads', 'Threads', 'Thread'], ['sizes', 'Sizes', 'Bytes of a block']])
    if (part.has(id) && part.json(id).groups.length) tables.push(grouped(id, title, what, part.json(id)));
  const ages = reports.map((report) => report.ages).filter(Boolean);
  if (ages.length)
    tables.push({ id: 'ages', title: 'Ages', what: 'Age of what is live', columns: [FIGURES.live_bytes, FIGURES.live_blocks], inOrder: true, rows: agesOf(ages) });
  if (part.has('lives'))
    tables.push({ id: 'lives', title: 'Lifetimes', what: 'How long freed blocks lived', inOrder: true, rows: livesOf(part.json('lives')),
      columns: [column('freed_lives', 'Freed', 'blocks that were freed at that age', count)] });
  const accounts = reports.map((report) => report.resident).filter(Boolean);
  if (accounts.length)
    tables.push({ id: 'resident', title: 'Resident', what: `Resident memory, ${bytes(accounts.reduce((a, { rss }) => a + rss, 0))} in all`,
      columns: [column('bytes', 'Bytes', 'of resident memory, each page in one row', bytes)],
      rows: Object.keys(accounts[0].rows).map((key) => ({ name: ROWS[key] ?? safe(key), values: [accounts.reduce((a, { rows }) => a + rows[key], 0)] })) });
  return tables;
}

function agesOf(ages) {
  return ages[0].map(({ below_s: below }, i) => ({
    name: below === null ? `${duration(ages[0][i - 1].below_s)} and more` : `less than ${duration(below)}`,
    values: ['bytes', 'blocks'].map((key) => ages.reduce((a, spans) => a + spans[i][key], 0)) }));
}

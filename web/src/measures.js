// SPDX-License-Identifier: BSD-2-Clause
// What can be shown of a site: measures for the graph, columns for the tables. Only those that the trace knows.
import { TRENDS } from './model.js';
import { bytes, count, signed } from './words.js';

export function measuresOf(model) {
  const of = (name) => Object.assign(() => model.site(name).map((value) => Math.max(0, value)), { column: name });
  const delta = (now, old) => {
    const change = () => model.site(now).map((value, i) => value - model.site(old)[i]);
    return { change, own: () => change().map(Math.abs) };
  };
  if (model.isDiff)
    return [
      { id: 'live', title: 'Change of live bytes', format: bytes, ...delta('live_bytes', 'old_live_bytes') },
      { id: 'blocks', title: 'Change of live blocks', format: count, ...delta('live_blocks', 'old_live_blocks') },
      { id: 'allocated', title: 'Change of allocated bytes', format: bytes, ...delta('allocated_bytes', 'old_allocated_bytes') },
      { id: 'calls', title: 'Change of allocations', format: count, ...delta('allocations', 'old_allocations') },
      { id: 'after', title: 'Live bytes now', format: bytes, own: of('live_bytes') },
      { id: 'before', title: 'Live bytes before', format: bytes, own: of('old_live_bytes') },
    ];
  const all = [
    { id: 'live', title: 'Live bytes', format: bytes, own: of('live_bytes') },
    { id: 'blocks', title: 'Live blocks', format: count, own: of('live_blocks') },
    { id: 'lost', title: 'Lost bytes', format: bytes, of: ['lost_bytes', 'indirect_bytes'], own: () => model.site('lost_bytes').map((v, i) => v + model.site('indirect_bytes')[i]) },
    { id: 'possible', title: 'Possibly lost bytes', format: bytes, own: of('possible_bytes') },
    { id: 'retained', title: 'Retained bytes', format: bytes, own: of('retained_bytes') },
    { id: 'at_peak', title: 'Live bytes at the peak', format: bytes, own: of('at_peak_bytes') },
    { id: 'allocated', title: 'Allocated bytes', format: bytes, own: of('allocated_bytes') },
    { id: 'calls', title: 'Allocations', format: count, own: of('allocations') },
    { id: 'temporary', title: 'Temporary allocations', format: count, own: of('temporary') },
  ];
  // A column of zeros is not in the page: none is decoded to know that.
  const shown = all.filter(({ own, of: names = [own.column] }) => names.some((name) => model.has(name)));
  return shown.length ? shown : all.slice(0, 1);
}

/** Columns of the tables: {id, title, hint, format, data(), measure}. */
export function columnsOf(model) {
  const column = (id, title, hint, format, data = () => model.site(id), measure = null) => ({ id, title, hint, format, data, measure });
  if (model.isDiff) {
    const delta = (now, old) => () => model.site(now).map((value, i) => value - model.site(old)[i]);
    const change = (format) => (value) => signed(format, value);
    const tone = (value) => (value > 0 ? 'up' : value < 0 ? 'down' : '');
    return [
      { ...column('delta', 'Live', 'change of live bytes', change(bytes), delta('live_bytes', 'old_live_bytes'), 'live'), tone },
      { ...column('delta_blocks', 'Blocks', 'change of live blocks', change(count), delta('live_blocks', 'old_live_blocks'), 'blocks'), tone },
      { ...column('delta_allocated', 'Allocated', 'change of allocated bytes', change(bytes), delta('allocated_bytes', 'old_allocated_bytes'), 'allocated'), tone },
      { ...column('delta_calls', 'Calls', 'change of allocations', change(count), delta('allocations', 'old_allocations'), 'calls'), tone },
      column('old_live_bytes', 'Before', 'live bytes before', bytes, undefined, 'before'),
      column('live_bytes', 'Now', 'live bytes now', bytes, undefined, 'after'),
    ];
  }
  const trending = () => model.site('slope').map((v, i) => (['growing', 'shrinking'].includes(TRENDS[model.site('growth')[i]]) ? v : 0));
  const lost = () => model.site('lost_bytes').map((v, i) => v + model.site('indirect_bytes')[i]);
  const all = [
    column('live_bytes', 'Live', 'bytes that are live', bytes, undefined, 'live'),
    column('live_blocks', 'Blocks', 'blocks that are live', count, undefined, 'blocks'),
    { ...column('lost', 'Lost', 'lost and indirectly lost bytes', bytes, lost, 'lost'), tone: (value) => (value ? 'up' : '') },
    { ...column('possible_bytes', 'Possible', 'possibly lost bytes', bytes, undefined, 'possible'), rare: true },
    { ...column('retained_bytes', 'Retained', 'its blocks, and what only they hold', bytes, undefined, 'retained'), rare: true },
    column('slope', 'Growth/min', 'bytes a minute, of sites that grow or shrink', (value) => signed(bytes, value * 60), trending),
    column('allocated_bytes', 'Allocated', 'bytes over the whole time', bytes, undefined, 'allocated'),
    column('allocations', 'Calls', 'allocations over the whole time', count, undefined, 'calls'),
    { ...column('at_peak_bytes', 'At the peak', 'live bytes when most was live', bytes, undefined, 'at_peak'), rare: true },
    { ...column('temporary', 'Temporary', 'allocations that were freed at once', count, undefined, 'temporary'), rare: true },
  ];
  const always = new Set(['live_bytes', 'live_blocks', 'allocated_bytes', 'allocations', 'temporary']);
  const names = { lost: ['lost_bytes', 'indirect_bytes'] };
  return all.filter(({ id }) => always.has(id) || (names[id] ?? [id]).some((name) => model.has(name)));
}

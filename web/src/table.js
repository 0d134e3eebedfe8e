// SPDX-License-Identifier: BSD-2-Clause
// A table of any length: only the rows that are seen are elements.
import { el, fill } from './words.js';

const ROW = 30;
const HEAD = 33;
const MOST = 480;
const PRINTED = 60; // rows on paper

export class Table {
  /** `on`: {pick(row), open(row), sort(id)} */
  constructor(host, on) {
    this.on = on;
    this.head = el('div', { class: 'table-head', role: 'row' });
    this.body = el('div', { class: 'table-rows', role: 'rowgroup' });
    this.spacer = el('div', { class: 'table-spacer' }, this.body);
    this.grid = this.scroller = el('div', { class: 'table-scroll', tabindex: '0', role: 'grid', 'aria-label': 'Table' },
      el('div', { role: 'rowgroup', class: 'table-top' }, this.head), this.spacer);
    this.empty = el('p', { class: 'quiet table-empty' });
    host.append(this.grid, this.empty);
    this.rows = { nr: 0, at: () => null, find: () => -1 };
    this.columns = [];
    this.picked = null;
    this.scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    this.scroller.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    // On paper there is nothing to scroll: the first rows, all of them seen.
    window.addEventListener('beforeprint', () => this.print(PRINTED));
    window.addEventListener('afterprint', () => this.print(0));
  }

  /** `columns`: [{id, title, text(row), hint, share(row)}], the first is the name. `rows`: {nr, at(index), find(key)}, sorted. */
  show(columns, rows, sort, { label = 'Table', empty = 'Nothing matches.', picked = null } = {}) {
    this.columns = columns;
    this.rows = rows;
    this.picked = picked;
    this.grid.setAttribute('aria-label', label);
    this.grid.setAttribute('aria-rowcount', String(rows.nr + 1));
    this.grid.style.setProperty('--figures', `repeat(${columns.length - 1}, minmax(4.6rem, 5.6rem))`);
    fill(this.head, columns.map((column) =>
      el('div', { role: 'columnheader', 'aria-sort': sort === column.id ? 'descending' : null, class: column.name ? 'name' : 'figure' },
        column.name ? el('span', {}, column.title)
          : el('button', { type: 'button', title: column.hint, onclick: () => this.on.sort(column.id) }, column.title))));
    this.stretch();
    this.empty.textContent = rows.nr ? '' : empty;
    this.scroller.hidden = !rows.nr;
    this.scroller.style.height = `${Math.min(MOST, HEAD + rows.nr * ROW + 6)}px`;
    this.draw();
  }

  print(rows) {
    this.printed = rows;
    this.stretch();
    this.draw();
  }

  stretch() {
    this.spacer.style.height = `${(this.printed ? Math.min(this.printed, this.rows.nr) : this.rows.nr) * ROW}px`;
  }

  draw() {
    const seen = this.printed ? (this.printed - 4) * ROW : this.scroller.clientHeight;
    const first = this.printed ? 0 : Math.max(0, Math.floor((this.scroller.scrollTop - HEAD) / ROW) - 4);
    const last = Math.min(this.rows.nr, Math.ceil((this.scroller.scrollTop + seen) / ROW) + 4);
    this.body.style.transform = `translateY(${first * ROW}px)`;
    const shown = [];
    for (let i = first; i < last; i++) shown.push(this.row(this.rows.at(i), i));
    fill(this.body, shown);
  }

  row(row, index) {
    const isPicked = this.picked !== null && row.key === this.picked;
    return el('div', { role: 'row', class: 'table-row', 'aria-rowindex': index + 2, 'aria-selected': String(isPicked),
      onclick: () => this.pick(index), ondblclick: () => this.on.open(row) },
      this.columns.map((column) => {
        if (column.name)
          return el('div', { role: 'gridcell', class: 'name' }, el('span', { class: 'row-name', title: row.name }, row.name),
            row.place ? el('span', { class: 'row-place', title: row.place }, row.place) : null,
            row.process ? el('span', { class: 'row-place', title: `process ${row.process}` }, row.process) : null,
            row.badge ? el('span', { class: `badge ${row.badge}` }, row.badge) : null,
            row.caller ? el('span', { class: 'row-caller', title: `called by ${row.caller}` }, el('span', {}, `‹ ${row.caller}`)) : null);
        const cell = el('div', { role: 'gridcell', class: 'figure' }, column.text(row));
        const part = column.share?.(row);
        if (part > 0) cell.append(el('i', { class: 'bar' }));
        if (part > 0) cell.lastChild.style.width = `${Math.min(100, part * 100)}%`;
        if (column.tone) cell.classList.add(...column.tone(row).split(' '));
        return cell;
      }));
  }

  pick(index) {
    const row = index < this.rows.nr ? this.rows.at(index) : null;
    if (!row) return;
    this.picked = row.key;
    this.draw();
    this.on.pick(row);
  }

  key(event) {
    const at = this.picked === null ? -1 : this.rows.find(this.picked);
    const page = Math.max(1, Math.floor((this.scroller.clientHeight - HEAD) / ROW) - 1);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.rows.nr - 1 }[event.key];
    if (event.key === 'Enter' && at >= 0) {
      this.on.open(this.rows.at(at));
      event.preventDefault();
      return;
    }
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(this.rows.nr - 1, to));
    const y = index * ROW;
    if (y < this.scroller.scrollTop) this.scroller.scrollTop = y;
    else if (y + ROW + HEAD > this.scroller.scrollTop + this.scroller.clientHeight)
      this.scroller.scrollTop = y + ROW + HEAD - this.scroller.clientHeight;
    this.pick(index);
  }
}

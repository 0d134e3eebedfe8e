// SPDX-License-Identifier: BSD-2-Clause
// Numbers and foreign text as people read them, as the text report has them. Nothing that hides or reorders text
// gets through.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const grouped = new Intl.NumberFormat('en-US');

export function count(value) {
  return value === null || value === undefined ? '–' : grouped.format(value);
}

/** As printf has it: what lies in the middle goes to the even digit, so that the page says what the report says. */
function fixed(value, digits) {
  const scaled = value * 10 ** digits;
  const isMiddle = scaled % 1 === 0.5;
  return isMiddle ? ((2 * Math.round(scaled / 2)) / 10 ** digits).toFixed(digits) : value.toFixed(digits);
}

export function bytes(value) {
  if (value === null || value === undefined) return '–';
  if (value < 0) return '−' + bytes(-value);
  if (value < 1024) return `${Math.round(value)} B`;
  let unit = 0;
  while (value >= 999.5 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit++;
  }
  return `${fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${UNITS[unit]}`;
}

export function signed(format, value) {
  return value > 0 ? '+' + format(value) : value < 0 ? '−' + format(-value) : format(0);
}

export function share(part, whole) {
  if (!whole) return '–';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.1) return '<0.1%';
  return `${percent >= 99.95 && part < whole ? '99.9' : percent.toFixed(1)}%`;
}

/** `isRound`: of a limit, "1 ms", "10 s", where others have their digits. */
export function duration(seconds, isRound = false) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toFixed(0)} ms`;
  if (seconds < 60) return `${isRound ? seconds.toFixed(0) : seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const two = (n) => String(Math.floor(n)).padStart(2, '0');
  if (seconds < 3600 && isRound && seconds % 60) return `${seconds.toFixed(0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${two((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

export function plural(nr, one, many = one + 's') {
  return `${count(nr)} ${nr === 1 ? one : many}`;
}

// Controls, and what reorders or hides text: bidirectional controls, line separators, zero width.
// eslint-disable-next-line no-control-regex
const HIDING = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Text from outside: what would hide or reorder is shown as an escape, and there is an end to it. */
export function safe(text, most = 400) {
  const shown = text.replace(HIDING, (c) =>
    c === '\n' ? '\\n' : c === '\t' ? '\\t' : `\\u{${c.codePointAt(0).toString(16).padStart(4, '0')}}`);
  return shown.length > most ? shown.slice(0, most - 1) + '…' : shown;
}

/** An element with text and children. Text is only ever textContent. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'class') element.className = value;
    else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child.nodeType ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
}

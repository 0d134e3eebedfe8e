// SPDX-License-Identifier: BSD-2-Clause
// The data of a page: base64, gzip, then one line of JSON that names the sections behind it (docs/page.md).

export class Damage extends Error {}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Two functions, each of one kind of array: engines make quick code of that.

/** Fills an Int32Array; returns where the values end, or what is behind `end`. */
function wholes(bytes, at, end, signed, out) {
  for (let i = 0; i < out.length; i++) {
    let byte = bytes[at++];
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80 && shift < 35; shift += 7) {
      byte = bytes[at++];
      value |= (byte & 0x7f) << shift;
    }
    out[i] = signed ? (value >>> 1) ^ -(value & 1) : value;
    if (at > end) break;
  }
  return at;
}

/** The same of a Float64Array, for values below 2^53. */
function numbers(bytes, at, end, signed, out) {
  for (let i = 0; i < out.length; i++) {
    let byte = bytes[at++];
    let value = byte & 0x7f;
    if (byte >= 0x80) {
      let shift = 7;
      while (byte >= 0x80 && shift < 28) {
        byte = bytes[at++];
        value |= (byte & 0x7f) << shift;
        shift += 7;
      }
      let factor = 2 ** 28;
      while (byte >= 0x80) {
        byte = bytes[at++];
        value += (byte & 0x7f) * factor;
        factor *= 128;
      }
    }
    if (!signed) out[i] = value;
    else if (value < 0x80000000) out[i] = value & 1 ? -(value >>> 1) - 1 : value >>> 1;
    else out[i] = value % 2 ? -(value + 1) / 2 : value / 2;
    if (at > end) break;
  }
  return at;
}

/** One part. Columns are decoded when they are asked for; one that is not there is all zeros. */
export class Part {
  constructor(bytes) {
    const end = bytes.indexOf(10);
    if (end < 0) throw new Damage('the data has no first line');
    this.head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
    if (this.head.page !== 1) throw new Damage('the data is of another version of the page');
    this.bytes = bytes;
    this.sections = new Map();
    let at = end + 1;
    for (const [name, form, nr, size] of this.head.sections) {
      if (!(size >= 0) || at + size > bytes.length) throw new Damage(`the data is cut short in ${name}`);
      this.sections.set(name, { form, nr, at, size });
      at += size;
    }
  }

  static async of(base64, where) {
    try {
      return new Part(await unpack(fromBase64(base64.trim())));
    } catch (error) {
      throw error instanceof Damage ? error : new Damage(`the data cannot be unpacked (${where}: ${error.message})`);
    }
  }

  static async ofBytes(bytes) {
    return new Part(await unpack(bytes));
  }

  has(name) {
    return this.sections.has(name);
  }

  raw(name) {
    const section = this.sections.get(name);
    return section ? this.bytes.subarray(section.at, section.at + section.size) : new Uint8Array(0);
  }

  json(name) {
    return JSON.parse(new TextDecoder().decode(this.raw(name)));
  }

  /** Whole numbers below 2^53 are exact. `Type` is the kind of array: Float64Array, or Int32Array for ids. */
  column(name, nr, Type = Float64Array) {
    const out = new Type(nr);
    const section = this.sections.get(name);
    if (!section) return out;
    if (section.nr !== nr && section.form !== 'f') throw new Damage(`${name} has ${section.nr} values, not ${nr}`);
    if (section.form === 'f') {
      const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + section.at, section.size);
      for (let i = 0; i < nr && i * 8 + 8 <= section.size; i++) out[i] = view.getFloat64(i * 8, true);
      return out;
    }
    if (section.form === 'p') {
      if (nr && section.size % nr) throw new Damage(`${name} is cut short`);
      for (let at = section.at, shift = 0; nr && at < section.at + section.size; shift += 8)
        for (let i = 0; i < nr; i++) out[i] |= this.bytes[at++] << shift;
      return out;
    }
    const end = section.at + section.size;
    const at = (Type === Int32Array ? wholes : numbers)(this.bytes, section.at, end, section.form === 's', out);
    if (at > end) throw new Damage(`${name} is cut short`);
    return out;
  }
}

// The protocol of docs/pico.md once more, written after that page: what is read here was not read by the code that wrote it.

export const TICKS_PER_SECOND = 125e6;

const tables = [true, false].map((reflected) =>
  Uint32Array.from({ length: 256 }, (_, n) => {
    let value = reflected ? n : n << 24;
    for (let bit = 0; bit < 8; bit++) {
      if (reflected) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
      else value = value & 0x80000000 ? (value << 1) ^ 0x04c11db7 : value << 1;
    }
    return value >>> 0;
  }),
);

// That of frames (ISO-HDLC, reflected), or that of the boot ROM (MPEG-2).
export function crc32(bytes, reflected = true) {
  let crc = 0xffffffff;
  const table = tables[reflected ? 0 : 1];
  for (const byte of bytes) {
    crc = reflected ? (crc >>> 8) ^ table[(crc ^ byte) & 0xff] : (crc << 8) ^ table[((crc >>> 24) ^ byte) & 0xff];
  }
  return (reflected ? ~crc : crc) >>> 0;
}

const words = (...values) => values.flatMap((value) => [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff));

export function frame(kind, payload, sequence = 0) {
  const bytes = [0xb7, kind, sequence, payload.length, ...payload];
  return [...bytes, ...words(crc32(bytes))];
}

export const HELLO = 0x40;
export const START = 0x41;
export const STOP = 0x42;
export const hello = (version = 1) => frame(HELLO, [version]);
export const start = () => frame(START, []);
export const stop = () => frame(STOP, []);
export const pulses = (high, low, count) => frame(0x43, words(high, low, count));
export const answer = (line, after) => frame(0x44, [line, ...words(after)]);

const tick = (bytes, at) => Number(bytes.readUIntLE(at, 6));

function edgesOf(payload) {
  const bank = payload[0] >> 4;
  let levels = payload[0] & 0xf;
  let time = tick(payload, 1);
  const edges = [];
  for (let at = 7; at < payload.length; ) {
    let [value, scale, byte] = [0, 1, 0];
    do {
      byte = payload[at++];
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte & 0x80);
    const line = value % 4;
    time += Math.floor(value / 4);
    levels ^= 1 << line;
    edges.push([time, 4 * bank + line, ((levels >> line) & 1) === 1]);
  }
  return edges;
}

// Takes bytes and hands on messages.
export class Reader {
  constructor(onMessage) {
    this.held = Buffer.alloc(0);
    this.onMessage = onMessage;
    this.foreign = 0;
    this.missing = 0;
    this.sequence = null;
    this.bytes = 0;
  }

  take(bytes) {
    this.bytes += bytes.length;
    this.held = Buffer.concat([this.held, bytes]);
    for (;;) {
      if (this.held.length < 8) return;
      const length = this.held[3] + 8;
      if (this.held[0] !== 0xb7 || length > 63) this.#skip();
      else if (this.held.length < length) return;
      else if (this.held.readUInt32LE(length - 4) !== crc32(this.held.subarray(0, length - 4))) this.#skip();
      else this.#hand(length);
    }
  }

  #skip() {
    this.foreign++;
    this.held = this.held.subarray(1);
  }

  #hand(length) {
    const [, kind, sequence] = this.held;
    const payload = this.held.subarray(4, length - 4);
    if (this.sequence !== null && sequence !== (this.sequence + 1) % 256) this.missing++;
    this.sequence = sequence;
    this.onMessage(message(kind, payload));
    this.held = this.held.subarray(length);
  }
}

function message(kind, payload) {
  switch (kind) {
    case 1:
      return { is: 'info', version: payload[0], ticksPerSecond: payload.readUInt32LE(1), lines: payload[5] };
    case 2:
      return { is: 'edges', edges: edgesOf(payload) };
    case 3: {
      const edges = payload.readUInt32LE(13);
      const lost = { bank: payload[0], from: tick(payload, 1), to: tick(payload, 7) };
      return { is: 'lost', ...lost, edges: edges === 0xffffffff ? null : edges };
    }
    case 4: {
      const [sent, lost, gaps] = [6, 10, 14].map((at) => payload.readUInt32LE(at));
      return { is: 'status', until: tick(payload, 0), sent, lost, gaps };
    }
    case 5:
      return { is: 'done', command: payload[0], refusal: payload[1] };
    default:
      throw new Error(`a message of kind ${kind}`);
  }
}

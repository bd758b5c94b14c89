// A host of the protocol at an emulated Pico.
import { Pico, TICK_NS } from './emulator.mjs';
import * as protocol from './protocol.mjs';

const MILLISECOND = 1e6 / TICK_NS;

export function check(is, words) {
  if (!is) throw new Error(words);
}

export class Session {
  constructor(uf2) {
    this.pico = new Pico(uf2);
    this.messages = [];
    this.edges = [];
    this.reader = new protocol.Reader((message) => {
      if (message.is === 'edges') this.edges.push(...message.edges);
      else this.messages.push(message);
    });
    this.pico.onBytes = (bytes) => this.reader.take(bytes);
    check(this.pico.run(200 * MILLISECOND, () => this.pico.isConnected), 'no serial port after 200 ms');
  }

  // Sends a command; its answer.
  command(bytes, edges = null) {
    const before = this.messages.length;
    this.pico.send(bytes);
    const answered = () => this.messages.slice(before).find((message) => message.is === 'done');
    check(this.pico.run(2000 * MILLISECOND, () => answered() !== undefined, edges), 'no answer within 2 s');
    return answered();
  }

  must(bytes) {
    const done = this.command(bytes);
    check(done.refusal === 0, `command ${done.command} refused: ${done.refusal}`);
  }

  // Starts, has these edges come, [ticks after the start, line, level] in order, and stops; what was lost.
  // `hurry`: how fast the host takes packets from then on, in ns.
  capture(edges, { rest = MILLISECOND, hurry = null } = {}) {
    const { pico } = this;
    this.messages = [];
    this.edges = [];
    this.reader.bytes = 0;
    pico.packets = 0;
    this.must(protocol.start());
    const [begin, from] = [pico.now + 2000, pico.started];
    let last = begin;
    let count = 0;
    function* shifted() {
      for (const [tick, line, level] of edges) {
        last = begin + tick;
        count++;
        yield [last, line, level];
      }
    }
    const train = shifted();
    pico.pending = train.next().value ?? [Infinity];
    while (pico.pending[0] !== Infinity) pico.run(MILLISECOND, () => pico.pending[0] === Infinity, train);
    pico.run(rest);
    if (hurry) pico.packetNs = hurry;
    this.must(protocol.stop());
    const lost = this.messages.filter((message) => message.is === 'lost');
    const status = this.messages.filter((message) => message.is === 'status').at(-1);
    for (let line = 0; line < 8; line++) pico.set(line, false);
    check(this.reader.foreign === 0 && this.reader.missing === 0, 'bytes or frames are missing');
    check(status.sent === this.edges.length, `${status.sent} edges said to be sent, ${this.edges.length} came`);
    return { offset: begin - from, count, lost, status, seconds: ((last - begin) * TICK_NS) / 1e9 };
  }
}

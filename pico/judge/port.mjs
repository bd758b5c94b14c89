// An emulated Pico at a serial port: `node port.mjs UF2`, with a wire from GP16 to line 7. What the Pico sends goes to
// standard output. A line of standard input is a JSON text, and is followed when those before it have been:
//   {"bytes": [183, …]}              bytes from the host
//   {"edges": [[ns, line, level], …]}  edges of lines, in order, with times from the first of them on
// The Pico's time goes on by itself, far slower than the clock, at which nothing here looks.
import { createInterface } from 'node:readline';
import { Pico, TICK_NS } from './emulator.mjs';

// Ticks between two looks at what has come.
const SLICE = 25_000;
// Ticks until the first of some edges.
const LEAD = 2000;

const pico = new Pico(process.argv[2]);
pico.wire(16, 7);
pico.onBytes = (bytes) => process.stdout.write(bytes);
pico.pending = [Infinity];

const todo = [];
createInterface({ input: process.stdin })
  .on('line', (text) => todo.push(JSON.parse(text)))
  .on('close', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));

let train = null;

function* fromNowOn(edges) {
  const begin = pico.now + LEAD;
  for (const [ns, line, level] of edges) yield [begin + ns / TICK_NS, line, level];
}

function follow({ bytes = [], edges = [] }) {
  pico.send(bytes);
  train = fromNowOn(edges);
  pico.pending = train.next().value ?? [Infinity];
}

function turn() {
  if (todo.length > 0 && pico.isConnected && pico.pending[0] === Infinity) follow(todo.shift());
  pico.run(SLICE, () => false, train);
  setImmediate(turn);
}

turn();

// An emulated Pico for a host program: `node bridge.mjs UF2 ONTICK LINE…`. Bytes from the host come by standard input, those
// to it go to standard output. The edges of ontick's (simulated) lines are those of the Pico's lines 0, 1, …, at their
// times; GP16 is wired to line 7. Emulated time is slower than the clock: what the host says after a start is said to the
// Pico at its own time.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Pico, TICK_NS } from './emulator.mjs';
import { START } from './protocol.mjs';

const [uf2, ontick, ...lines] = process.argv.slice(2);
const SLICE = 25_000;
// Edges are there by then.
const LAG_NS = 300_000_000n;
// The self-test's captures end by themselves, and nothing else comes meanwhile.
const pico = new Pico(uf2);
pico.wire(16, 7);
pico.onBytes = (bytes) => process.stdout.write(bytes);
pico.run(25_000_000, () => pico.isConnected);

const edges = [];
function* train() {
  while (edges.length > 0) yield edges.shift();
}

// Emulated tick and time of the clock at the last start.
let start = null;
const commands = [];
process.stdin.on('data', (bytes) => commands.push([process.hrtime.bigint(), bytes]));
process.stdin.on('end', () => process.exit(0));
process.stdin.on('error', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));

const tickOf = (ns) => (start === null ? 0 : start.tick + Number(ns - start.ns) / TICK_NS);

const watch = spawn(ontick, ['gpio', 'watch', ...lines, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] });
process.on('exit', () => watch.kill());
createInterface({ input: watch.stdout }).on('line', (text) => {
  const { line, edge, time_ns } = JSON.parse(text);
  if (start !== null) edges.push([tickOf(BigInt(time_ns)), lines.indexOf(line), edge === 'rising']);
});

function turn() {
  const now = process.hrtime.bigint();
  const command = commands[0];
  if (command && pico.now >= tickOf(command[0])) {
    const [at, bytes] = commands.shift();
    pico.send(bytes);
    if (bytes[1] === START) {
      pico.started = null;
      pico.run(25_000_000, () => pico.started !== null);
      start = { tick: pico.started, ns: at };
    }
  }
  if (start === null || pico.now + SLICE < tickOf(now - LAG_NS)) {
    if (pico.pending?.[0] === Infinity) pico.pending = undefined;
    edges.sort(([a], [b]) => a - b);
    pico.run(SLICE, () => false, train());
  }
  setImmediate(turn);
}

// It speaks when it is at work.
watch.stderr.once('data', () => {
  console.error('ready');
  turn();
});

// Checks the firmware against edges whose ticks are known: `node tests.mjs UF2 [EDGES]`.
import { Session, check } from './session.mjs';
import * as protocol from './protocol.mjs';

const [uf2, long] = [process.argv[2], Number(process.argv[3] ?? 100_000)];
const LINES = [0, 1, 2, 3, 4, 5, 6, 7];

// xorshift32: the same train each time.
function chance(seed) {
  let state = seed;
  return (most) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % most;
  };
}

// Every edge that came is one of those made, to the tick, and none is missing.
function same(session, made, offset, words) {
  const order = ([a, line], [b, other]) => a - b || line - other;
  const came = [...session.edges].sort(order);
  const expected = made.map(([tick, line, level]) => [tick + offset, line, level]).sort(order);
  check(came.length === expected.length, `${words}: ${came.length} edges of ${expected.length}`);
  came.forEach(([tick, line, level], n) => {
    const [at, on, to] = expected[n];
    check(tick === at && line === on && level === to, `${words}: edge ${n} is ${came[n]}, not ${expected[n]}`);
  });
}

function exact(session, made, words) {
  const { offset, lost, status } = session.capture(made);
  check(lost.length === 0 && status.gaps === 0 && status.lost === 0, `${words}: ${JSON.stringify(lost)}`);
  same(session, made, offset, words);
}

// Widths of 1 tick and more, at each place within the eight samples of a word.
function* widths(line, most) {
  let tick = 0;
  for (let width = 1; width <= most; width++) {
    for (let place = 0; place < 8; place++) {
      tick += 700 + ((place - tick) & 7);
      yield [tick, line, true];
      tick += width;
      yield [tick, line, false];
    }
  }
}

// Edges of all lines at random, `mean` ticks apart on average.
function* random(count, mean, seed) {
  const of = chance(seed);
  const levels = LINES.map(() => false);
  let tick = 0;
  for (let n = 0; n < count; n++) {
    tick += of(2 * mean + 1);
    const line = of(8);
    levels[line] = !levels[line];
    yield [tick, line, levels[line]];
  }
  for (const line of LINES) if (levels[line]) yield [++tick, line, false];
}

// Two edges of a line at one tick are none.
function apart(edges) {
  const seen = new Set();
  return edges.filter(([tick, line]) => !seen.has(8 * tick + line) && seen.add(8 * tick + line));
}

function alternating(edges) {
  const levels = LINES.map(() => false);
  return apart(edges).map(([tick, line]) => [tick, line, (levels[line] = !levels[line])]);
}

const cases = {
  'who it is, and another version is refused'(session) {
    session.must(protocol.hello());
    const [info] = session.messages.filter((message) => message.is === 'info');
    check(info.version === 1 && info.ticksPerSecond === 125e6 && info.lines === 8, JSON.stringify(info));
    check(session.command(protocol.hello(9)).refusal === 1, 'version 9 is not refused');
    check(session.command(protocol.frame(0x7f, [])).refusal === 1, 'no command is not refused');
    session.pico.send([1, 2, 3, 0xb7, 0x40, 0, 200]);
    session.must(protocol.hello());
  },

  'widths of 1 to 100 ticks at each place of a word, to the tick'(session) {
    for (const line of [0, 7]) exact(session, [...widths(line, 100)], `line ${line}`);
  },

  'all lines at random, to the tick'(session) {
    for (const mean of [4000, 625]) exact(session, alternating([...random(1500, mean, mean)]), `mean ${mean}`);
  },

  'bursts of 1 000 edges at any spacing'(session) {
    for (const spacing of [1, 2, 3, 5, 8, 13, 40]) {
      const burst = alternating([...random(1000, spacing, 77 + spacing)]);
      exact(session, burst, `spacing ${spacing}`);
    }
  },

  'square waves that repeat within a word'(session) {
    for (const half of [1, 2, 4, 8]) {
      const wave = Array.from({ length: 2000 }, (_, n) => [n * half, 2, n % 2 === 0]);
      exact(session, wave, `half a period of ${half}`);
    }
  },

  'a line that is high before the start'(session) {
    session.pico.set(6, true);
    session.pico.run(1000);
    exact(session, [[50, 6, false], [70, 6, true], [90, 6, false]], 'line 6');
  },

  'a host that takes too little: what is lost is counted'(session) {
    // 1024 frames wait; then all edges are seen, some are not sent, and those are counted.
    session.pico.packetNs *= 100;
    const made = alternating([...random(30_000, 500, 5)]);
    const { offset, lost, status, seconds } = session.capture(made, { rest: 1000, hurry: 10_000 });
    const counted = lost.reduce((sum, { edges }) => sum + edges, 0);
    check(status.gaps === 0 && counted > 0, `${counted} lost, ${status.gaps} gaps`);
    check(counted === status.lost && counted + session.edges.length === made.length, 'the sum');
    subset(session, made, offset);
    for (const { from, to } of lost) check(from <= to, 'a time');
    say(`${Math.round(made.length / seconds)} edges/s: ${session.edges.length} sent, ${counted} counted as lost`);
  },

  'faster than the processor: a gap is said'(session) {
    const wave = Array.from({ length: 40_000 }, (_, n) => [n * 13, 1, n % 2 === 0]);
    const { offset, lost, status, count } = session.capture(wave, { rest: 100 * 125_000 });
    const gaps = lost.filter(({ edges }) => edges === null);
    check(status.gaps > 0 && gaps.length === 2 * status.gaps, `${status.gaps} gaps, ${gaps.length} said`);
    check(gaps.every(({ from, to }) => from < to), 'a time');
    // Before the first gap times are exact.
    const first = gaps[0].from;
    const before = session.edges.filter(([tick]) => tick < first);
    same({ edges: before }, wave.filter(([tick]) => tick + offset < first), offset, 'before the gap');
    const counted = lost.reduce((sum, { edges }) => sum + (edges ?? 0), 0);
    check(session.edges.length + counted <= count, 'more edges than were made');
    say(`9.6 million edges/s: ${session.edges.length} of ${count} sent, ${counted} counted, ${status.gaps} gaps`);
  },

  'faster than the processor and than the host: each loss is said, and the answers come'(session) {
    const { pico } = session;
    const pace = pico.packetNs;
    pico.packetNs *= 200;
    function* train() {
      for (let n = 0; n < 1_500_000; n++) yield [n * 13, 1, n % 2 === 0];
    }
    const { lost, status, count } = session.capture(train(), { rest: 1000, hurry: pace });
    const ours = lost.filter(({ bank }) => bank === 0);
    const gaps = ours.filter(({ edges }) => edges === null);
    check(gaps.length > 0 && gaps.length <= status.gaps, `${gaps.length} gaps said of ${status.gaps}`);
    check(ours.every(({ from, to }) => from <= to), 'a time');
    const counted = lost.reduce((sum, { edges }) => sum + (edges ?? 0), 0);
    check(counted <= status.lost && session.edges.length + counted <= count, `${counted} counted of ${status.lost}`);
    // Where edges are missing, something is said of that time.
    const ticks = session.edges.map(([tick]) => tick);
    const isSaid = (a, b) => ours.some(({ from, to }) => from <= b && to >= a);
    const holes = ticks.slice(1).filter((tick, n) => tick - ticks[n] > 100 && !isSaid(ticks[n], tick));
    check(holes.length === 0, `nothing is said of the time before ${holes.slice(0, 3)}`);
    say(`${session.edges.length} of ${count} sent, ${gaps.length} gaps said of ${status.gaps}`);
  },

  'reference pulses by a wire from GP16'(session) {
    session.pico.wire(16, 5);
    for (const [high, low, count] of [[2, 3, 200], [12500, 112500, 5], [1001, 77, 300]]) {
      session.must(protocol.start());
      session.edges = [];
      session.must(protocol.pulses(high, low, count));
      session.pico.run((high + low) * count + 125_000);
      session.must(protocol.stop());
      const { edges } = session;
      check(edges.length === 2 * count, `${edges.length} edges of ${count} pulses`);
      edges.forEach(([tick, line, level], n) => {
        check(line === 5 && level === (n % 2 === 0), `edge ${n}: ${edges[n]}`);
        const since = n > 0 ? tick - edges[n - 1][0] : null;
        check(n === 0 || since === (level ? low : high), `${since} ticks, not ${high} or ${low}`);
      });
    }
    check(session.command(protocol.pulses(1, 3, 1)).refusal === 2, 'a pulse of one tick is not refused');
    session.must(protocol.pulses(1000, 1000, 4e9));
    session.pico.run(1500);
    session.must(protocol.pulses(0, 0, 0));
    session.pico.run(10);
    check(!session.pico.level(16), 'low once ended');
  },

  'answers by a wire from GP17'(session) {
    session.pico.wire(17, 6);
    for (const after of [3, 4, 125, 12500]) {
      session.must(protocol.answer(1, after));
      const made = Array.from({ length: 50 }, (_, n) => [n * (after + 97), 1, n % 2 === 0]);
      session.capture(made, { rest: 2 * after + 125_000 });
      const [changes, answers] = [1, 6].map((line) => session.edges.filter(([, on]) => on === line));
      check(changes.length === 50 && answers.length === 50, `${answers.length} answers after ${after}`);
      const times = answers.map(([tick], n) => tick - changes[n][0]);
      // The emulator has no synchronisers at its inputs, which take two ticks more.
      check(new Set(times).size === 1 && times[0] === after, `${[...new Set(times)]} ticks, not ${after}`);
    }
    check(session.command(protocol.answer(8, 10)).refusal === 2, 'line 8 is not refused');
  },

  'a host that leaves, and one that comes'(session) {
    session.must(protocol.start());
    session.must(protocol.pulses(1000, 1000, 4e9));
    session.pico.run(125_000);
    session.pico.setOpen(false);
    session.pico.run(125_000);
    const { chip } = session.pico;
    check(!chip.pio[0].machines.some(({ enabled }) => enabled), 'samples on');
    check(!chip.pio[1].machines.some(({ enabled }) => enabled) && !session.pico.level(16), 'pulses on');
    session.pico.setOpen(true);
    session.pico.run(125_000);
    session.reader.sequence = null;
    session.must(protocol.hello());
    exact(session, [...widths(2, 20)], 'again');
  },

  [`${long} edges at 200 000 a second, none lost`](session) {
    const of = chance(2026);
    const levels = LINES.map(() => false);
    function* train() {
      let tick = 0;
      for (let n = 0; n < long; n++) {
        tick += 1 + of(1249);
        const line = of(8);
        levels[line] = !levels[line];
        yield [tick, line, levels[line]];
      }
    }
    const made = [...train()];
    exactAt(session, made);
  },
};

function exactAt(session, made) {
  const began = process.hrtime.bigint();
  const { offset, lost, status, seconds } = session.capture(made);
  const took = Number(process.hrtime.bigint() - began) / 1e9;
  check(lost.length === 0 && status.gaps === 0 && status.lost === 0, JSON.stringify(lost));
  same(session, made, offset, 'the train');
  const [bytes, packets] = [session.reader.bytes / made.length, session.pico.packets / seconds];
  say(
    `${Math.round(made.length / seconds)} edges/s for ${seconds.toFixed(2)} s of emulated time (${took.toFixed(0)} s here), ` +
      `${bytes.toFixed(2)} bytes an edge, ${Math.round(packets)} packets/s of at most 19000`,
  );
}

// Each edge that came was made; times are compared on each line.
function subset(session, made, offset) {
  const expected = new Set(made.map(([tick, line, level]) => `${tick + offset} ${line} ${level}`));
  for (const edge of session.edges) check(expected.has(edge.join(' ')), `edge ${edge} was never made`);
}

const say = (words) => console.log(`    ${words}`);

let failed = 0;
const wanted = process.argv[4];
for (const [words, run] of Object.entries(cases)) {
  if (wanted && !words.includes(wanted)) continue;
  try {
    console.log(words);
    run(new Session(uf2));
  } catch (error) {
    failed++;
    console.log(`  FAILED: ${error.stack}`);
  }
}
console.log(failed === 0 ? 'all passed' : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

// A Pico in rp2040js (https://github.com/wokwi/rp2040js), one tick of 8 ns after the other: processor, PIO, DMA and USB keep
// step, which the emulator leaves to whoever runs it. What it does not have is added here and nowhere else:
// - the boot ROM: its check of the second stage's checksum, and where it jumps to (RP2040 datasheet, 2.8.1);
// - the pace of full-speed USB: at most 19 packets of 64 bytes in a millisecond (USB 2.0, table 5-9);
// - a host that does not send empty packets.
import { readFileSync } from 'node:fs';
import { LogLevel, ConsoleLogger, RP2040, USBCDC } from 'rp2040js';
import { crc32 } from './protocol.mjs';

export const TICK_NS = 8;
const FLASH = 0x10000000;
const BOOT2_RUNS_AT = 0x20041f00;
const PACKET_NS = 1e6 / 19;
const BYTES_ENDPOINT = 2;

export class Pico {
  constructor(uf2) {
    this.chip = new RP2040();
    this.chip.logger = new ConsoleLogger(LogLevel.Error, true);
    // Ticks since power came.
    this.now = 0;
    // The tick at which samplers last started: 0 of a capture.
    this.started = null;
    this.packets = 0;
    // From a packet that is ready until it is with the host.
    this.packetNs = PACKET_NS;
    this.onBytes = () => {};
    this.#load(readFileSync(uf2));
    // They would run by themselves, beside the processor.
    for (const pio of this.chip.pio) pio.run = () => {};
    this.#cacheInputs();
    this.#connect();
    this.#boot();
  }

  #load(uf2) {
    for (let at = 0; at < uf2.length; at += 512) {
      const block = uf2.subarray(at, at + 512);
      const [first, second, , address, length] = [0, 4, 8, 12, 16].map((place) => block.readUInt32LE(place));
      if (first !== 0x0a324655 || second !== 0x9e5d5157 || block.readUInt32LE(508) !== 0x0ab16f30) {
        throw new Error(`no UF2 block at ${at}`);
      }
      if (block.readUInt32LE(28) !== 0xe48bff56) throw new Error('not for the RP2040');
      this.chip.flash.set(block.subarray(32, 32 + length), address - FLASH);
    }
  }

  #boot() {
    const boot2 = this.chip.flash.slice(0, 256);
    const checksum = new DataView(boot2.buffer).getUint32(252, true);
    if (checksum !== crc32(boot2.subarray(0, 252), false)) throw new Error('the ROM would not run this second stage');
    this.chip.sram.set(boot2, BOOT2_RUNS_AT - 0x20000000);
    const { core } = this.chip;
    core.SP = 0x20042000;
    core.LR = 0;
    core.PC = BOOT2_RUNS_AT;
  }

  // Reading all pins is most of the emulator's work: its own reading is kept until something can change it.
  #cacheInputs() {
    const { chip } = this;
    const getter = Object.getOwnPropertyDescriptor(RP2040.prototype, 'gpioValues').get;
    let values = getter.call(chip);
    Object.defineProperty(chip, 'gpioValues', { get: () => values });
    const refresh = () => {
      values = getter.call(chip);
    };
    for (const pin of chip.gpio) {
      const set = pin.setInputValue.bind(pin);
      pin.setInputValue = (value) => {
        set(value);
        refresh();
      };
    }
    // Pins and their pads.
    for (const base of [0x40014, 0x4001c]) {
      const peripheral = chip.peripherals[base];
      const write = peripheral.writeUint32.bind(peripheral);
      peripheral.writeUint32 = (offset, value) => {
        write(offset, value);
        refresh();
      };
    }
  }

  #connect() {
    const { chip } = this;
    const usb = chip.usbCtrl;
    const done = usb.indicateBufferReady.bind(usb);
    const sent = chip.clock.createAlarm(() => done(BYTES_ENDPOINT, false));
    usb.indicateBufferReady = (endpoint, out) => {
      if (endpoint !== BYTES_ENDPOINT || out) return done(endpoint, out);
      this.packets += 1;
      sent.schedule(this.packetNs);
    };
    this.cdc = new USBCDC(usb);
    this.cdc.onSerialData = (bytes) => this.onBytes(bytes);
    this.cdc.onDeviceConnected = () => {
      this.isConnected = true;
    };
    this.toSend = [];
    this.room = 0;
    usb.onEndpointRead = (endpoint, size) => {
      if (endpoint === this.cdc.outEndpoint) {
        this.room = size;
        this.#deliver();
      }
    };
  }

  // Bytes to the Pico.
  send(bytes) {
    this.toSend.push(...bytes);
    this.#deliver();
  }

  #deliver() {
    if (this.room > 0 && this.toSend.length > 0) {
      const packet = Uint8Array.from(this.toSend.splice(0, this.room));
      this.room = 0;
      this.chip.usbCtrl.endpointReadDone(this.cdc.outEndpoint, packet);
    }
  }

  // The program that has the port open is there, or gone.
  setOpen(isOpen) {
    this.cdc.cdcSetControlLineState(isOpen ? 3 : 0);
  }

  set(pin, level) {
    this.chip.gpio[pin].setInputValue(level);
  }

  level(pin) {
    return this.chip.gpio[pin].outputValue;
  }

  // A wire from a pin that is driven to a line.
  wire(from, to) {
    this.chip.gpio[from].addListener((state) => this.set(to, state === 1));
  }

  // Runs for so many ticks, or until something is true, which is looked at after each instruction; whether it became so.
  // `edges` are [tick, pin, level] in order, with ticks as of `now`.
  run(ticks, until = () => false, edges = null) {
    const { chip } = this;
    const { core, clock, pio } = chip;
    const end = this.now + ticks;
    const next = () => edges?.next().value ?? [Infinity];
    let edge = (this.pending ??= next());
    while (this.now < end) {
      if (until()) return true;
      const samples = pio[0].machines[0].enabled;
      let cycles = core.executeInstruction();
      if (!samples && pio[0].machines[0].enabled) this.started = this.now;
      for (; cycles > 0; cycles--) {
        while (edge[0] <= this.now) {
          this.set(edge[1], edge[2]);
          edge = this.pending = next();
        }
        if (!pio[0].stopped) pio[0].step();
        if (!pio[1].stopped) pio[1].step();
        clock.tick(TICK_NS);
        this.now++;
      }
    }
    return until();
  }
}

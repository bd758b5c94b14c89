/* Raises system management interrupts of an emulated PC (Q35), whose handler it replaces by one that takes 100 us in
   virtual time with 2 ns for an instruction, as firmware of real machines does.
   Usage: raise-smi handler | port NUMBER | timer */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <unistd.h>

/* Ports of the ICH9 (Intel 316972): a write to the first raises one; the others are of the watchdog timer (TCO). */
enum { APM_CNT = 0xb2, PM_BASE = 0x600, SMI_EN = PM_BASE + 0x30, TCO = PM_BASE + 0x60 };
enum { TCO_RLD = TCO, TCO1_CNT = TCO + 8, TCO_TMR = TCO + 0x12 };
enum { TCO_EN = 1 << 13, TCO_TMR_HALT = 1 << 11 };
/* SMRAM of the memory controller (Intel 316966), and its bit that shows the handler's memory to everybody. */
enum { SMRAM = 0x9d, OPEN = 1 << 6 };

/* mov ecx, 25000; dec ecx; jnz to the dec; rsm: in 16-bit code, where the processor begins. */
static const unsigned char handler[] = {0x66, 0xb9, 0xa8, 0x61, 0, 0, 0x66, 0x49, 0x75, 0xfc, 0x0f, 0xaa};
enum { HANDLER_AT = 0xa8000 };

static int fail(const char *what) {
  perror(what);
  return 2;
}

static int replace_handler(void) {
  int memory = open("/dev/mem", O_RDWR | O_SYNC);
  volatile unsigned char *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, HANDLER_AT);
  if (at == MAP_FAILED) return fail("/dev/mem");
  outl(0x80000000 | (SMRAM & ~3), 0xcf8);
  unsigned char closed = inb(0xcfc + (SMRAM & 3));
  outb(closed | OPEN, 0xcfc + (SMRAM & 3));
  for (unsigned i = 0; i < sizeof handler; i++) at[i] = handler[i];
  outb(closed, 0xcfc + (SMRAM & 3));
  return 0;
}

static volatile sig_atomic_t ends;

static void end(int signal) { ends = signal; }

/* One 1.2 s after the processor was last free to run this, whatever it does then. Once ended, none. */
static int run_timer(void) {
  signal(SIGTERM, end);
  outl(inl(SMI_EN) | TCO_EN, SMI_EN);
  outw(2, TCO_TMR);
  outw(inw(TCO1_CNT) & ~TCO_TMR_HALT, TCO1_CNT);
  while (!ends) {
    outw(1, TCO_RLD);
    usleep(50000);
  }
  outw(inw(TCO1_CNT) | TCO_TMR_HALT, TCO1_CNT);
  return 0;
}

int main(int count, char **words) {
  if (iopl(3)) return fail("iopl");
  if (count == 2 && !strcmp(words[1], "handler")) return replace_handler();
  if (count == 2 && !strcmp(words[1], "timer")) return run_timer();
  if (count != 3 || strcmp(words[1], "port")) return 2;
  for (int i = atoi(words[2]); i > 0; i--) outb(0xff, APM_CNT);
  return 0;
}

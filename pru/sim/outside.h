/* What surrounds a PRU, for the simulator of gdb: pins, the cycle counter, and a host that writes to shared memory.

   gdb's simulator executes instructions and counts cycles; it leaves r30, r31 and the registers of the subsystem alone.
   packaging/pru-tools puts this file into it, called before each instruction. What it adds:

   - r30 keeps what was written to it, and each change is told on standard output as "CYCLE out VALUE", CYCLE being
     the one in which the instruction that changed it began (the first instruction's is 0);
   - r31 reads as the script says;
   - the control registers of both PRUs hold a CYCLE counter (AM335x manual, 4.5.1.4): it runs while bit 3 of CONTROL
     is set, ends at 0xffffffff, and can be written while it does not run. Reading gives the cycle in which the
     instruction that reads began;
   - the script, a file named by PRU_SCRIPT, one act a line, in the order of their cycles:
         CYCLE in VALUE            r31 from then on
         CYCLE poke ADDRESS VALUE  the host writes a word
         CYCLE peek ADDRESS        tells "CYCLE word ADDRESS VALUE"
         CYCLE cost RAM CONTROL STORE
                                   what a read of RAM, a read of a control register and a store take from then on
         CYCLE end                 ends the program with status 0
     An act at CYCLE is done before the first instruction that begins then or later.

   The simulator itself takes 3 cycles for each of these three.

   Not here: the interrupt controller, and contention for memory but as such a cost.  */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_REGISTERS(pru) (0x22000 + 0x2000 * (pru))
#define CYCLE_REGISTER 0xc
#define COUNTER_ENABLE (1u << 3)
#define SIMULATED_COST 3
#define INSTRUCTION(word) ((word) >> 25)
#define LBBO 0x78
#define SBBO 0x70

struct outside
{
  FILE *script;
  unsigned long next_cycle;
  char next_act[64];
  int has_next, begun;
  uint32_t in, out;
  unsigned long began_cycle;
  int cost_of_ram, cost_of_control, cost_of_store;
  /* What the instruction before took more than the simulator counted.  */
  int more;
};

static struct outside outside = {
  .cost_of_ram = SIMULATED_COST, .cost_of_control = SIMULATED_COST, .cost_of_store = SIMULATED_COST
};

static void
outside_read_act (void)
{
  char line[128];

  outside.has_next = 0;
  while (outside.script && fgets (line, sizeof line, outside.script))
    if (sscanf (line, "%lu %63[^\n]", &outside.next_cycle, outside.next_act) == 2)
      {
	outside.has_next = 1;
	return;
      }
}

static void
outside_begin (void)
{
  const char *path = getenv ("PRU_SCRIPT");

  outside.begun = 1;
  if (path == NULL)
    return;
  outside.script = fopen (path, "r");
  if (outside.script == NULL)
    {
      fprintf (stderr, "PRU_SCRIPT=%s: %s\n", path, strerror (errno));
      exit (2);
    }
  outside_read_act ();
}

static void
outside_act (sim_cpu *cpu)
{
  unsigned address, value;
  int ram, control, store;

  if (sscanf (outside.next_act, "in %i", (int *) &value) == 1)
    outside.in = value;
  else if (sscanf (outside.next_act, "poke %i %i", (int *) &address, (int *) &value) == 2)
    sim_core_write_unaligned_4 (cpu, NULL_CIA, write_map, address, value);
  else if (sscanf (outside.next_act, "peek %i", (int *) &address) == 1)
    printf ("%lu word 0x%x 0x%x\n", outside.next_cycle, address,
	    (unsigned) sim_core_read_unaligned_4 (cpu, NULL_CIA, read_map, address));
  else if (sscanf (outside.next_act, "cost %d %d %d", &ram, &control, &store) == 3)
    {
      outside.cost_of_ram = ram;
      outside.cost_of_control = control;
      outside.cost_of_store = store;
    }
  else if (strcmp (outside.next_act, "end") == 0)
    {
      fflush (stdout);
      exit (0);
    }
  else
    {
      fprintf (stderr, "PRU_SCRIPT: \"%s\" is no act\n", outside.next_act);
      exit (2);
    }
}

static void
outside_count (sim_cpu *cpu, int pru, unsigned long passed)
{
  uint32_t registers = CONTROL_REGISTERS (pru), control, count;

  control = sim_core_read_aligned_4 (cpu, NULL_CIA, read_map, registers);
  if (! (control & COUNTER_ENABLE))
    return;
  count = sim_core_read_aligned_4 (cpu, NULL_CIA, read_map, registers + CYCLE_REGISTER);
  if (passed < 0xffffffffu - count)
    count += passed;
  else
    {
      count = 0xffffffffu;
      sim_core_write_aligned_4 (cpu, NULL_CIA, write_map, registers, control & ~COUNTER_ENABLE);
    }
  sim_core_write_aligned_4 (cpu, NULL_CIA, write_map, registers + CYCLE_REGISTER, count);
}

/* What this instruction takes more than the simulator counts.  */
static int
outside_cost (const uint32_t *regs, uint32_t word)
{
  uint32_t base = regs[word >> 8 & 0x1f];

  switch (INSTRUCTION (word))
    {
    case LBBO:
      /* Nothing else is read relative to a control register's address.  */
      if (base >= CONTROL_REGISTERS (0) && base < CONTROL_REGISTERS (2))
	return outside.cost_of_control - SIMULATED_COST;
      return outside.cost_of_ram - SIMULATED_COST;
    case SBBO:
      return outside.cost_of_store - SIMULATED_COST;
    default:
      return 0;
    }
}

/* Before the instruction at PC, which would begin in this cycle: tells how many cycles later it does.  */
static int
outside_step (sim_cpu *cpu, uint32_t *regs, unsigned long cycle, uint32_t pc)
{
  int more = outside.more;

  cycle += more;
  if (! outside.begun)
    outside_begin ();
  if (regs[30] != outside.out)
    {
      outside.out = regs[30];
      printf ("%lu out 0x%x\n", outside.began_cycle, (unsigned) outside.out);
    }
  outside_count (cpu, 0, cycle - outside.began_cycle);
  outside_count (cpu, 1, cycle - outside.began_cycle);
  while (outside.has_next && outside.next_cycle <= cycle)
    {
      outside_act (cpu);
      outside_read_act ();
    }
  regs[31] = outside.in;
  outside.began_cycle = cycle;
  outside.more = outside_cost (regs, sim_core_read_4 (cpu, pc, exec_map, pc));
  return more;
}

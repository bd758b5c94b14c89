`timescale 1us / 1ns
// Pulses of 100 us every ms, the third of them 12 us too wide; what is undefined at first is dumped as x.
module bench;
  reg pulse;
  wire answer;
  assign #2.5 answer = pulse;
  integer i;
  initial begin
    $dumpfile("simulated.vcd");
    $dumpvars(0, bench);
    #500 pulse = 0;
    for (i = 0; i < 5; i = i + 1) begin
      #900 pulse = 1;
      if (i == 2) #112 pulse = 0; else #100 pulse = 0;
    end
    #50 $finish;
  end
endmodule

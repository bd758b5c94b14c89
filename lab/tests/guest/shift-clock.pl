# In the guest: puts its clock ahead, and has it run faster.
# Usage: perl lab/tests/guest/shift-clock.pl SECONDS PPM
use strict;
use warnings;

use constant { ADJ_FREQUENCY => 0x2, ADJ_SETOFFSET => 0x100 };

my ($seconds, $ppm) = @ARGV;
for ([ADJ_SETOFFSET, 0], [ADJ_FREQUENCY, $ppm * 65536]) {
    my ($modes, $frequency) = @$_;
    # struct timex: modes, offset, freq, maxerror, esterror, status, constant, precision, tolerance, time
    my $change = pack "Lx4 q3 q i x4 q3 q2 x128", $modes, 0, $frequency, 0, 0, 0, 0, 0, 0, $seconds, 0;
    syscall(159, $change) >= 0 or die "adjtimex: $!\n";
}

# Compares the clocks of two emulated machines by this machine's: each is asked for its time, which it read between the
# question and the answer. So the difference is known to half of both round trips; of many questions the quickest count.
# Prints a line for each comparison: by how much the second is ahead, and to what that is known, in ns.
# Usage: perl lab/tests/clocks.pl PORT PORT [COMPARISONS]    sockets of lab/run's --port; one each second
use strict;
use warnings;
use Socket;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);

use constant QUESTIONS => 40;

my @ports = map { at($_) } @ARGV[0, 1];
my $comparisons = $ARGV[2] // 1;
$| = 1;
for my $comparison (1 .. $comparisons) {
    my @best = ([], []);
    for (1 .. QUESTIONS) {
        for my $which (0, 1) {
            my ($ahead, $within) = ask($ports[$which]);
            $best[$which] = [$ahead, $within] if !@{ $best[$which] } || $within < $best[$which][1];
        }
        sleep 0.01;
    }
    printf "%d %d\n", $best[1][0] - $best[0][0], $best[0][1] + $best[1][1];
    sleep 0.5 if $comparison < $comparisons;
}

sub at {
    my ($path) = @_;
    socket my $port, PF_UNIX, SOCK_STREAM, 0 or die "$!\n";
    connect $port, pack_sockaddr_un($path) or die "$path: $!\n";
    return $port;
}

# By how much a machine's clock is ahead of this one's, and half of the round trip, in ns.
sub ask {
    my ($port) = @_;
    my $asked = clock_gettime(CLOCK_MONOTONIC);
    syswrite $port, "time\n" or die "$!\n";
    my $answer = "";
    until ($answer =~ /\n/) {
        sysread $port, $answer, 64, length $answer or die "the machine has ended\n";
    }
    my $answered = clock_gettime(CLOCK_MONOTONIC);
    # Whole numbers, as ns since 1970 are more than a fraction's digits.
    return ($answer - int(($asked + $answered) / 2 * 1e9), int(($answered - $asked) / 2 * 1e9));
}

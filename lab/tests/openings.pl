# When gates of two emulated machines open, by this machine's clock: each machine sends frames on a cable that ends here, and
# the first after a pause came when the gate opened. Prints by how much the second machine opens later, as the median, the
# smallest and the largest of all openings, each in ns and within half a cycle, and how many there were.
# Usage: perl lab/tests/openings.pl CYCLE OPEN SECONDS OWN OWN    CYCLE and OPEN, how long the gate is open, in ns; OWN is the
#                                                               file of this end of a machine's cable
use strict;
use warnings;
use IO::Select;
use Socket;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my ($cycle, $open, $seconds, @own) = @ARGV;
my (@cables, @last, @opened);
for my $path (@own) {
    unlink $path;
    socket my $cable, PF_UNIX, SOCK_DGRAM, 0 or die "$!\n";
    bind $cable, pack_sockaddr_un($path) or die "$path: $!\n";
    push @cables, $cable;
}
my $select = IO::Select->new(@cables);
my $end = now() + $seconds * 1e9;
until (now() > $end) {
    for my $cable ($select->can_read(0.1)) {
        my $now = now();
        my ($which) = grep { $cables[$_] == $cable } 0, 1;
        recv $cable, my $frame, 2048, 0;
        next unless is_of_test($frame);
        # Longer than the gate is open is the time that it is closed: so long nothing comes but when it opens.
        push @{ $opened[$which] }, $now if defined $last[$which] && $now - $last[$which] > ($cycle - $open) / 2;
        $last[$which] = $now;
    }
}

my @later = sort { $a <=> $b } map { later($_) } @{ $opened[1] // [] };
die "openings: ", join(" and ", map { scalar @{ $opened[$_] // [] } } 0, 1), "\n" unless @later;
printf "%d %d %d %d\n", $later[ $#later / 2 ], $later[0], $later[-1], scalar @later;

# To UDP port 7777.
sub is_of_test { return substr($_[0], 12, 2) eq "\x08\x00" && substr($_[0], 36, 2) eq pack "n", 7777 }

# Against the nearest opening of the first machine.
sub later {
    my ($time) = @_;
    my ($nearest) = sort { abs $a <=> abs $b } map { $time - $_ } @{ $opened[0] // [] };
    return defined $nearest && abs $nearest <= $cycle / 2 ? $nearest : ();
}

sub now { return int(clock_gettime(CLOCK_MONOTONIC) * 1e9) }

# In the guest: sends twice the rate of a shaped class, and judges at what rate it was passed on.
# Usage: shaped.pl send SECONDS RATE                at q1; RATE in bit/s
#        shaped.pl judge CAPTURE QDISCS RATE        what tcpdump captured at q2, and tc -s -j qdisc
use strict;
use warnings;
use JSON::PP;
use Socket;
use Time::HiRes qw(clock_gettime sleep);

use constant { SHAPED => 7001, OTHER => 7000, MONOTONIC => 1, SECOND => 1_000_000_000 };
# Frames of 1514 octets, which are these many on the wire: with check sequence, preamble and gap.
use constant { FRAME => 1514, ON_THE_WIRE => 1538 };
# The rate that is kept, as a share.
use constant TOLERANCE => 0.005;

sub frame {
    my ($port, $number) = @_;
    my $ip = pack('C C n n n C C n a4 a4', 0x45, 0, FRAME - 14, 0, 0, 64, 17, 0, inet_aton('10.4.0.1'),
        inet_aton('10.4.0.2'));
    my $sum = 0;
    $sum += $_ for unpack 'n*', $ip;
    $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
    substr $ip, 10, 2, pack('n', ~$sum & 0xffff);
    return pack('H12 H12 n', '020000000002', '020000000001', 0x0800) . $ip
        . pack('n n n n N', 9000, $port, FRAME - 34, 0, $number) . "\0" x (FRAME - 46);
}

sub send_all {
    my ($seconds, $rate) = @_;
    socket my $socket, 17, SOCK_RAW, 0 or die "a packet socket: $!";
    my ($index) = qx(ip -o link show q1) =~ /^(\d+):/ or die "no q1";
    # struct sockaddr_ll
    my $to = pack 'S n i S C C a8', 17, 3, $index, 0, 0, 6, '';
    my $put = sub { defined send $socket, $_[0], 0, $to or die "q1: $!" };
    # All that a turn takes is in memory once a turn was done: of the host's files some come late.
    my $turn = sub { $put->(frame(OTHER, 0)) && sleep 0.003 };
    $turn->();
    my ($began, $sent) = (clock_gettime(MONOTONIC), 0);
    while ((my $passed = clock_gettime(MONOTONIC) - $began) < $seconds) {
        $put->(frame(SHAPED, $sent++)) while $sent * ON_THE_WIRE * 8 < 2 * $rate * $passed;
        $turn->();
    }
}

sub judge {
    my ($capture, $qdiscs, $rate) = @_;
    local $/;
    open my $file, '<:raw', $capture or die "$capture: $!";
    my $octets = <$file>;
    my ($at, $others, $last, @times) = (24, 0, -1);
    while ($at < length $octets) {
        my ($seconds, $ns, $length) = unpack 'V3', substr $octets, $at, 12;
        my ($port, $number) = unpack 'x36 n x4 N', substr $octets, $at + 16, $length;
        $at += 16 + $length;
        $others++, next if $port != SHAPED;
        die "frame $number came behind $last\n" if $number <= $last;
        $last = $number;
        push @times, $seconds * SECOND + $ns;
    }
    # Not while the first credit and the last frames count.
    my $from = $times[0] + 0.3 * SECOND;
    my $count = grep { $_ >= $from && $_ < $from + SECOND } @times;
    my $found = $count * ON_THE_WIRE * 8;
    open $file, '<', $qdiscs or die "$qdiscs: $!";
    # Below cbs, which is what has the queue that overflows.
    my $all = decode_json(<$file>);
    my ($cbs) = grep { $_->{kind} eq 'cbs' } @$all;
    my ($queue) = grep { ($_->{parent} // '') eq "$cbs->{handle}1" } @$all;
    printf "%.3f of %.3f Mbit/s, %d frames of others, %d dropped\n", $found / 1e6, $rate / 1e6, $others, $queue->{drops};
    die "no backlog: nothing was dropped\n" if !$queue->{drops};
    die "the other class has not passed\n" if $others < 100;
    die "$found bit in a second\n" if abs($found - $rate) > TOLERANCE * $rate;
}

my $what = shift;
$what eq 'send' ? send_all(@ARGV) : judge(@ARGV);

# In the guest: sends a plan's streams as their talkers do, and judges what was captured by plan.json alone.
# Usage: switch-chain.pl send STATION | judge    in the folder of plan.json and NODE-NEIGHBOUR.pcap
use strict;
use warnings;
use JSON::PP;
use Socket;
use Time::HiRes qw(clock_gettime sleep);

use constant { REALTIME => 0, TAI => 11, CYCLES => 100, EARLY_NS => 1_000_000, SECOND => 1_000_000_000 };
my $mark = "\x88\xb5\xc4\xa1\x17";
my $broadcast = 255;

open my $file, '<', 'plan.json' or die "plan.json: $!";
my $plan = decode_json(join '', <$file>);
my @streams = @{ $plan->{streams} };

sub octet { $_[0] =~ /(\d+)/ ? $1 : die "$_[0] has no number" }

# A tagged frame of 218 octets; a message's number is written where its zeros are.
sub frame {
    my ($to, $from, $pcp, $stream, $number) = @_;
    my $head = pack('H12 H12', $to =~ s/://gr, sprintf('0200000000%02x', octet($from))) . pack('n n', 0x8100, $pcp << 13);
    return $head . $mark . pack('C N', $stream, $number) . "\0" x 190;
}

sub send_all {
    my ($station) = @_;
    my ($interface) = grep { /^\Q$station\E-/ } map { m{([^/]+)$} } glob '/sys/class/net/*';
    socket my $socket, 17, SOCK_RAW, 0 or die "a packet socket: $!";
    my ($index) = qx(ip -o link show $interface) =~ /^(\d+):/ or die "no $interface";
    # struct sockaddr_ll
    my $to = pack 'S n i S C C a8', 17, 3, $index, 0, 0, 6, '';
    my $put = sub { defined send $socket, $_[0], 0, $to or die "$interface: $!" };
    my @mine = map { [ $_, $streams[$_] ] } grep { $streams[$_]{hops}[0]{link}[0] eq $station } 0 .. $#streams;
    @mine = sort { $a->[1]{offset_ns} <=> $b->[1]{offset_ns} } @mine;
    # All stations begin with the same second, which is far enough away for each of them.
    my $first = (int(clock_gettime(TAI)) + 1);
    $first += 4 - $first % 4;
    $put->(frame('ff:ff:ff:ff:ff:ff', $station, 0, $broadcast, 0));
    for my $cycle (0 .. CYCLES - 1) {
        for (@mine) {
            my ($n, $stream) = @$_;
            my $due = $first + ($cycle * $stream->{period_ns} + $stream->{offset_ns} - EARLY_NS) / SECOND;
            my $left = $due - clock_gettime(TAI);
            sleep $left if $left > 0;
            $put->(frame($stream->{address}, $station, $stream->{queue}, $n, $cycle));
        }
    }
}

# Of each frame with a mark: [time in ns since the second of TAI, stream, number, sender].
sub captured {
    my ($name) = @_;
    open my $capture, '<:raw', "$name.pcap" or die "$name.pcap: $!";
    local $/;
    my $octets = <$capture>;
    die "$name: no capture with nanoseconds" if unpack('V', $octets) != 0xa1b23c4d;
    my $ahead = sprintf('%.0f', clock_gettime(TAI) - clock_gettime(REALTIME));
    my ($at, @frames) = (24);
    while ($at < length $octets) {
        my ($seconds, $ns, $length) = unpack 'V3', substr $octets, $at, 12;
        my $frame = substr $octets, $at + 16, $length;
        $at += 16 + $length;
        my $place = index $frame, $mark;
        next if $place < 0;
        my ($stream, $number) = unpack 'C N', substr $frame, $place + 5;
        push @frames, [ ($seconds + $ahead) * SECOND + $ns, $stream, $number, unpack('x11 C', $frame) ];
    }
    return @frames;
}

my @faults;
my %of;
sub fault { $of{ $_[0] }++ or push @faults, $_[0] }

sub judge {
    my ($frames, $slack, %gates, %routes, %arrived, %first) = (0, 0);
    $gates{"$_->{link}[1]-$_->{link}[0]"} = $_ for @{ $plan->{gates} };
    for my $n (0 .. $#streams) {
        $routes{"$_->{link}[1]-$_->{link}[0]"}{$n} = 1 for @{ $streams[$n]{hops} };
    }
    my @captures = map { s/\.pcap$//r } glob '*.pcap';
    for my $name (@captures) {
        my (%numbers, %broadcasts);
        for (captured($name)) {
            my ($at, $n, $number, $sender) = @$_;
            if ($n == $broadcast) {
                fault("$name: a broadcast of h$sender comes twice") if $broadcasts{$sender}++;
                next;
            }
            my $stream = $streams[$n] or die "$name: a frame of stream $n";
            fault("$name: $stream->{name} is not planned there") and next if !$routes{$name}{$n};
            fault("$name: a message of $stream->{name} comes twice") if $numbers{$n}{$number}++;
            $frames++;
            my $gates = $gates{$name} or die "$name: no gates";
            my $offset = $at % $gates->{cycle_ns};
            my ($window) = grep { $_->[0] == $stream->{queue} && $_->[1] <= $offset && $offset < $_->[2] } @{ $gates->{windows} };
            fault("$name: $stream->{name} comes outside of its windows") if !$window;
            $arrived{$name}{$n}{$number} = $at;
        }
        next if $name !~ /^h/;
        my $others = grep { /^h/ && $_ ne $name } @captures;
        fault("$name: not each broadcast arrives") if keys %broadcasts != $others;
    }
    for my $n (0 .. $#streams) {
        my $stream = $streams[$n];
        for my $hop (grep { $_->{link}[1] =~ /^h/ } @{ $stream->{hops} }) {
            my $name = "$hop->{link}[1]-$hop->{link}[0]";
            my $times = $arrived{$name}{$n} // {};
            my $missing = CYCLES - keys %$times;
            fault("$name: $missing of " . CYCLES . " messages of $stream->{name} are missing") if $missing;
            # All begin with one second; what is late for its deadline (its period) came in a later cycle.
            my ($one) = map { $times->{$_} - $_ * $stream->{period_ns} } sort { $a <=> $b } keys %$times;
            next if !defined $one;
            my $begin = $one - $one % (4 * SECOND);
            for my $number (keys %$times) {
                my $took = $times->{$number} - $begin - $number * $stream->{period_ns} - $stream->{offset_ns};
                fault("$name: $stream->{name} comes later than it is planned") if $took > $stream->{latency_ns};
                $slack = $took if $took > $slack;
            }
        }
    }
    print "$frames frames on " . @captures . " links, each message within $slack ns\n";
    print "$_ ($of{$_} times)\n" for @faults;
    exit(@faults ? 1 : 0);
}

my $what = shift // '';
$what eq 'send' ? send_all(@ARGV) : $what eq 'judge' ? judge() : die "send or judge?";

# In the guest: sends frames of each class, and compares what tcpdump captured before and behind the switch with windows
# and with what was counted on the way.
# Usage: classes.pl send CLASSES                   at q1
#        classes.pl judge CLASSES [moved]          p1.pcap, q2.pcap; moved: against the windows of the next class
#        classes.pl compare CLASSES FILE…          the same captures with counters: status.json, watch.txt (of switch status),
#                                                  qdisc.json (tc -s -j qdisc), filter.json (tc -s -j filter),
#                                                  flows.txt (ovs-ofctl dump-flows)
use strict;
use warnings;
use JSON::PP;
use Socket;
use Time::HiRes qw(clock_gettime sleep);

use constant { REALTIME => 0, TAI => 11, FRAMES => 25, BURST => 40, SECOND => 1_000_000_000 };
use constant { WINDOW_NS => 10_000_000, PORT => 7000, FLOWS => 16 };
# After the gate was looked at, a frame still passes a part of the kernel.
use constant LATE_NS => 300_000;

my ($what, $classes, @rest) = @ARGV;
my @faults;
sub fault { push @faults, $_[0] }

sub frame {
    my ($class, $flow) = @_;
    my $ip = pack('C C n n n C C n a4 a4', 0x45, 0, 78, 0, 0, 64, 17, 0, inet_aton('10.4.0.1'), inet_aton('10.4.0.2'));
    my $sum = 0;
    $sum += $_ for unpack 'n*', $ip;
    $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
    substr $ip, 10, 2, pack('n', ~$sum & 0xffff);
    return pack('H12 H12 n', '020000000002', '020000000001', 0x0800) . $ip
        . pack('n n n n', 9000 + $flow, PORT + $class, 58, 0) . "\0" x 50;
}

sub send_all {
    socket my $socket, 17, SOCK_RAW, 0 or die "a packet socket: $!";
    my ($index) = qx(ip -o link show q1) =~ /^(\d+):/ or die "no q1";
    # struct sockaddr_ll
    my $to = pack 'S n i S C C a8', 17, 3, $index, 0, 0, 6, '';
    my $put = sub { defined send $socket, $_[0], 0, $to or die "q1: $!" };
    srand 4;
    for my $n (0 .. FRAMES - 1) {
        for my $class (0 .. $classes - 1) {
            $put->(frame($class, $n % FLOWS));
            # So slow that no more than eight frames of the last class find its gate closed, which it has room for.
            sleep((WINDOW_NS / 8 + rand 1_000_000) / SECOND);
        }
    }
    # More than the last class has room for, while its gate is closed and after a whole cycle has emptied its queue.
    my $cycle_ns = $classes * WINDOW_NS;
    sleep((2 * $cycle_ns - int(clock_gettime(TAI) * SECOND) % $cycle_ns) / SECOND);
    $put->(frame($classes - 1, $_ % FLOWS)) for 1 .. BURST;
}

# Of each frame: [time in ns of TAI, class].
sub captured {
    my ($name) = @_;
    open my $capture, '<:raw', "$name.pcap" or die "$name.pcap: $!";
    local $/;
    my $octets = <$capture>;
    die "$name: no capture with nanoseconds" if unpack('V', $octets) != 0xa1b23c4d;
    my $ahead = sprintf '%.0f', clock_gettime(TAI) - clock_gettime(REALTIME);
    my ($at, @frames) = (24);
    while ($at < length $octets) {
        my ($seconds, $ns, $length) = unpack 'V3', substr $octets, $at, 12;
        my $port = unpack 'x36 n', substr $octets, $at + 16, $length;
        $at += 16 + $length;
        push @frames, [ ($seconds + $ahead) * SECOND + $ns, $port - PORT ];
    }
    return @frames;
}

sub by_class { my @counts = (0) x $classes; $counts[ $_->[1] ]++ for @_; return @counts }

sub judge {
    my $moved = ($rest[0] // '') eq 'moved' ? 1 : 0;
    my ($outside, $latest) = (0, 0);
    for (captured('q2')) {
        my ($at, $class) = @$_;
        my $into = $at % ($classes * WINDOW_NS) - ($class + $moved) % $classes * WINDOW_NS;
        $outside++ if $into < 0 || $into >= WINDOW_NS + LATE_NS;
    }
    my @in = by_class(captured('p1'));
    my @out = by_class(captured('q2'));
    fault("$outside frames left outside of their windows") if $outside;
    for my $class (0 .. $classes - 1) {
        my $last = $class == $classes - 1;
        my $sent = FRAMES + ($last ? BURST : 0);
        fault("c$class: $in[$class] frames came to the switch, and $sent were sent") if $in[$class] != $sent;
        my $lost = $in[$class] - $out[$class];
        fault("c$class: $lost frames were lost") if $last ? $lost < 1 || $lost > BURST - 8 : $lost;
    }
    print "in @in, out @out\n";
}

sub text_of { my ($name) = @_; open my $file, '<', $name or die "$name: $!"; local $/; return scalar <$file> }
sub document { return decode_json(text_of($_[0])) }

sub agree {
    my ($what, $counted, $captured) = @_;
    fault("$what counts $counted, and tcpdump $captured") if $counted != $captured;
}

my %compare = (
    # Ingress, queue and egress as ontick shows them.
    'status.json' => sub {
        my ($in, $out, $all_in, $all_out) = @_;
        my ($first, $second) = @{ document('status.json')->{ports} };
        agree('ingress of p1', $first->{interface}{received}, $all_in);
        agree('egress of p2', $second->{interface}{sent}, $all_out);
        for my $class (0 .. $classes - 1) {
            my $shown = $second->{classes}[$class];
            agree("queue of c$class", $shown->{packets}, $out->[$class]);
            agree("drops of c$class", $shown->{drops}, $in->[$class] - $out->[$class]);
            agree("wait in c$class", $shown->{waiting}, 0);
        }
    },
    # Each stage of the data path.
    'watch.txt' => sub {
        my ($in, $out) = @_;
        my %last;
        for (split /\n/, text_of('watch.txt')) {
            $last{$1} = { map { /^(\w+) (\d+)$/ } split /, /, $2 } if /^ *\d+ s  p2 c(\d+): (.*)/;
        }
        for my $class (0 .. $classes - 1) {
            my $stages = $last{$class} or fault("no stages of c$class are shown") and next;
            agree("the classifier of c$class", $stages->{classifier}, $in->[$class]);
            agree("the $_ of c$class", $stages->{$_}, $out->[$class]) for qw(queue gate egress);
            agree("dropped of c$class", $stages->{dropped}, $in->[$class] - $out->[$class]);
        }
    },
    # The queues below taprio, class after class, each with as many as the file gives it.
    'qdisc.json' => sub {
        my ($in, $out) = @_;
        my @all = @{ document('qdisc.json') };
        my ($root) = grep { $_->{kind} eq 'taprio' } @all;
        my $tc = $root->{options}{queues} // die "taprio shows no queues";
        for my $class (0 .. $classes - 1) {
            my ($first, $count) = @{ $tc->[$class] }{qw(offset count)};
            my @sent = map {
                my $parent = sprintf '%s%x', $root->{handle}, $first + $_ + 1;
                my ($own) = grep { ($_->{parent} // '') eq $parent } @all;
                $own->{packets} // die "no queue below $parent";
            } 0 .. $count - 1;
            my $sum = 0;
            $sum += $_ for @sent;
            agree("tc at c$class", $sum, $out->[$class]);
            fault("c$class: only one of $count queues carries frames (@sent)") if $count > 2 && 2 > grep { $_ } @sent;
        }
    },
    # What the classifier matched.
    'filter.json' => sub {
        my ($in) = @_;
        my %matched;
        for my $filter (@{ document('filter.json') }) {
            my $port = ($filter->{options} // {})->{keys}{dst_port} // next;
            $matched{ $port - PORT } += $_->{stats}{packets} for @{ $filter->{options}{actions} };
        }
        agree("flower for c$_", $matched{$_} // -1, $in->[$_]) for 1 .. $classes - 1;
    },
    'flows.txt' => sub {
        my ($in) = @_;
        my %matched;
        for (split /\n/, text_of('flows.txt')) {
            $matched{ $2 - PORT } += $1 if /table=0,.*n_packets=(\d+),.*\budp,tp_dst=(\d+)/;
        }
        agree("the flow of c$_", $matched{$_} // -1, $in->[$_]) for 1 .. $classes - 1;
    },
);

sub compare {
    my ($in, $out) = map { [ captured($_) ] } qw(p1 q2);
    my @totals = (scalar @$in, scalar @$out);
    for my $file (@rest) {
        $compare{$file}->([ by_class(@$in) ], [ by_class(@$out) ], @totals);
    }
}

$what eq 'send' ? send_all() : $what eq 'judge' ? judge() : $what eq 'compare' ? compare() : die "send, judge or compare?";
print "$_\n" for @faults;
exit(@faults ? 1 : 0);

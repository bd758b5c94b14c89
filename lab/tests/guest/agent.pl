# In the guest, at the port lab.port: answers each line that comes.
#   time         its clock, CLOCK_REALTIME in ns
#   run COMMAND  what bash prints, line by line after "= ", and the exit status after "status "
#   end          "status 0", and ends
# Usage: perl lab/tests/guest/agent.pl FILE    which is there once it listens: what comes before is lost
use strict;
use warnings;

$| = 1;
my ($folder) = grep { read_line("$_/name") eq "lab.port" } glob "/sys/class/virtio-ports/*"
  or die "the machine has no port lab.port\n";
my $device = "/dev/" . $folder =~ s{.*/}{}r;
open my $port, "+<:raw", $device or die "$device: $!\n";
open my $ready, ">", $ARGV[0] or die "$ARGV[0]: $!\n";
my $waiting = "";
while (1) {
    # Nothing comes while nobody is at the other end.
    sysread $port, $waiting, 4096, length $waiting or select undef, undef, undef, 0.02;
    while ($waiting =~ s/^(.*?)\n//) {
        answer($1);
        exit if $1 eq "end";
    }
}

sub answer {
    my ($line) = @_;
    if ($line eq "time") {
        my $now = pack "q2", 0, 0;
        syscall 228, 0, $now;    # clock_gettime
        my ($seconds, $ns) = unpack "q2", $now;
        syswrite $port, sprintf("%d%09d\n", $seconds, $ns);
        return;
    }
    my $said = "";
    if (my ($command) = $line =~ /^run (.*)/) {
        open my $out, "-|", "bash", "-c", "exec 2>&1; $command" or die "bash: $!\n";
        $said .= "= $_" =~ s/\n?\z/\n/r while <$out>;
        close $out;
    }
    syswrite $port, $said . "status " . ($line eq "end" ? 0 : $? >> 8) . "\n";
}

sub read_line {
    open my $file, "<", $_[0] or die "$_[0]: $!\n";
    chomp(my $line = <$file>);
    return $line;
}

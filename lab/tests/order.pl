# Has an emulated machine run a command, prints what that prints, and ends with its exit status.
# Usage: perl lab/tests/order.pl PORT WORD [COMMAND]    as lab/tests/guest/agent.pl has them; PORT is that of lab/run's --port,
#                                                       and ends of lines in the command are spaces
use strict;
use warnings;
use Socket;

my ($path, @words) = @ARGV;
socket my $port, PF_UNIX, SOCK_STREAM, 0 or die "$!\n";
connect $port, pack_sockaddr_un($path) or die "$path: $!\n";
syswrite $port, "@words" =~ s/\n/ /gr . "\n" or die "$path: $!\n";
while (<$port>) {
    exit $1 if /^status (\d+)/;
    print s/^= //r;
}
die "$path: the machine has ended\n";

# In the guest: everything that the kernel module promises, asked of its device without ontick in between.
# Usage: perl kmod.pl MODULE LABEL LINES-FOLDER    (of a chip of gpio-sim with 8 lines, on which nobody is)
use strict;
use warnings;
use Errno qw(EBUSY EINVAL ENODEV ENXIO EDOM ERANGE EOPNOTSUPP ENOTTY EINTR EAGAIN);
use Fcntl qw(O_RDWR O_RDONLY O_NONBLOCK);
use POSIX ();
use Time::HiRes qw(sleep time);

my ($module, $label, $folder) = @ARGV;
my $tracing = '/sys/kernel/tracing';
$| = 1;

# kmod/uapi/ontick.h
my ($UDELAY, $USLEEP, $HRTIMER) = (0, 1, 2);
my ($HARD, $THREADED) = (0, 1);
my ($RISING, $FALLING, $BOTH) = (1, 2, 3);
my ($FOLLOW, $TOGGLE) = (0, 1);
my ($NO_PREEMPT, $NO_IRQ) = (1, 2);
my ($INACTIVE, $ACTIVE, $AS_INPUT) = (1, 2, 3);
my ($RUNNING, $ENDED) = (2, 3);
my $ms = 1_000_000;

sub request { my ($direction, $number, $size) = @_; return $direction << 30 | $size << 16 | 0xe3 << 8 | $number }
sub line { my (%l) = (chip => $label, flags => 0, end => 0, reserved => 0, @_);
  return pack('a32 L4', @l{qw(chip offset flags end reserved)}) }
sub train { my (%t) = (offset => 4, end => $INACTIVE, width => $ms, period => 3 * $ms, count => 20, by => $HRTIMER,
    flags => 0, cpu => -1, priority => 0, line => {}, reserved => 0, @_);
  return line(offset => $t{offset}, end => $t{end}, %{$t{line}})
    . pack('Q3 L2 l L Q2', @t{qw(width period count by flags cpu priority)}, $t{reserved}, 0) }
sub response { my (%r) = (input => 0, output => 1, context => $THREADED, edge => $BOTH, answer => $FOLLOW, cpu => -1,
    priority => 0, active_low => 0, @_);
  return line(offset => $r{input}) . line(offset => $r{output}, end => $INACTIVE, flags => $r{active_low})
    . pack('L3 l L L3', @r{qw(context edge answer cpu priority)}, 0, 0, 0) }

sub device { sysopen(my $file, '/dev/ontick', O_RDWR | ($_[0] // 0)) or die "/dev/ontick: $!\n"; return $file }
sub command { my ($file, $direction, $number, $data) = @_;
  my $buffer = $data // "";
  return defined ioctl($file, request($direction, $number, length $buffer), $buffer) ? ($buffer, 0) : (undef, $! + 0) }
sub set_train { return (command($_[0], 1, 2, $_[1]))[1] }
sub set_response { return (command($_[0], 1, 1, $_[1]))[1] }
sub start { return (command($_[0], 0, 3))[1] }
sub wait_for { return (command($_[0], 0, 4))[1] }
sub stop { return (command($_[0], 0, 5))[1] }
sub result { my ($file) = @_;
  my $cells = "\0" x 8192;
  my ($reply, $errno) = command($file, 3, 6, pack('Q5 Q L4', (0) x 5, unpack('Q', pack('P', $cells)), (0) x 4));
  die "result: $errno\n" if $errno;
  my %result;
  @result{qw(count missed min max sum cells state error irq)} = unpack('Q6 L3', $reply);
  $result{cells} = [unpack('Q1024', $cells)];
  return %result }

sub expect { my ($what, $expected, $seen) = @_; $expected eq $seen or die "$what: expected $expected, not $seen\n" }
sub load { sysopen(my $file, $module, O_RDONLY) or die "$module: $!\n";
  syscall(313, fileno $file, my $none = "", 0) == 0 or die "$module does not load: $!\n" }
sub unload { return syscall(176, my $name = 'ontick', O_NONBLOCK) == 0 ? 0 : $! + 0 }
sub level { open(my $file, '<', "$folder/sim_gpio$_[0]/value") or die "level: $!\n"; return 0 + <$file> }
sub pull { my ($line, $level) = @_;
  open(my $file, '>', "$folder/sim_gpio$line/pull") or die "pull: $!\n";
  syswrite($file, $level ? 'pull-up' : 'pull-down') or die "pull: $!\n" }
sub until_level { my ($line, $level) = @_;
  for (1 .. 5000) { return if level($line) == $level; sleep 0.002 }
  die "line $line never became $level\n" }
sub write_to { my ($file, $text) = @_; open(my $to, '>', $file) or die "$file: $!\n"; print $to $text; close $to }
# What the kernel's GPIO core saw: how often lines were driven up.
sub trace_from_here { write_to("$tracing/trace", ''); write_to("$tracing/events/gpio/enable", 1) }
sub traced { write_to("$tracing/events/gpio/enable", 0);
  open(my $trace, '<', "$tracing/trace") or die "trace: $!\n";
  return grep { !/^#/ } <$trace> }
sub rises { return scalar grep { /gpio_value: \d+ set 1/ } traced() }

# The histogram agrees with itself, and with what it says of the values.
sub check_sums { my ($what, %r) = @_;
  my ($sum, $low, $high) = (0, 0, 0);
  for my $cell (0 .. 1023) {
    my $shift = $cell < 32 ? 0 : int($cell / 32) - 1;
    my $from = $cell < 32 ? $cell : (32 + $cell % 32) << $shift;
    my $n = $r{cells}[$cell];
    $sum += $n; $low += $n * $from; $high += $n * ($from + (1 << $shift) - 1);
  }
  expect("$what: values in all cells", $r{count}, $sum);
  $r{sum} >= $low && $r{sum} <= $high or die "$what: a sum of $r{sum} is not within $low and $high\n";
  $r{min} <= $r{max} && $r{sum} >= $r{min} * $r{count} && $r{sum} <= $r{max} * $r{count} or die "$what: min, max, sum\n" }

sub version {
  my ($reply, $errno) = command(device(), 2, 0, "\0" x 32);
  expect('version asked for', 0, $errno);
  my ($abi, $reserved, $name) = unpack('L L Z24', $reply);
  expect('version of the interface', 1, $abi);
  print "version: $abi\n" }

sub bad_input {
  my @trains = (
    [EINVAL, 'no chip', line => { chip => '' }], [EINVAL, 'a name without end', line => { chip => 'x' x 32 }],
    [ENODEV, 'another chip', line => { chip => 'other' }], [ERANGE, 'offset', offset => 8],
    [ERANGE, 'offset without bounds', offset => 0xffffffff], [EINVAL, 'flags of a line', line => { flags => 2 }],
    [EINVAL, 'end', end => 4], [EINVAL, 'reserved in a line', line => { reserved => 1 }],
    [ERANGE, 'width 0', width => 0], [ERANGE, 'width', width => 1_000_000_001, period => 3_000_000_000],
    [ERANGE, 'gap', width => 1000, period => 1999], [ERANGE, 'period', period => 10_000_000_001],
    [ERANGE, 'width without bounds', width => ~0], [ERANGE, 'period without bounds', period => ~0],
    [ERANGE, 'count', count => 1_000_000_001], [EINVAL, 'by', by => 3], [EINVAL, 'flags', by => $UDELAY, flags => 4],
    [EINVAL, 'sleeping without preemption', by => $USLEEP, flags => $NO_PREEMPT],
    [EINVAL, 'sleeping without interrupts', by => $HRTIMER, flags => $NO_IRQ],
    [EDOM, 'duty', by => $UDELAY, width => 95_000, period => 100_000],
    [EDOM, 'too long without interrupts', by => $UDELAY, flags => $NO_IRQ, width => 10 * $ms + 1, period => 90 * $ms],
    [EDOM, 'too long without preemption', by => $UDELAY, flags => $NO_PREEMPT, width => 100 * $ms + 1, period => 900 * $ms],
    [EOPNOTSUPP, 'a line that sleeps, without interrupts', by => $UDELAY, flags => $NO_IRQ],
    [EOPNOTSUPP, 'a line that sleeps, without preemption', by => $UDELAY, flags => $NO_PREEMPT],
    [EINVAL, 'cpu', cpu => 4096], [EINVAL, 'cpu below any', cpu => -2], [EINVAL, 'priority', priority => 100],
    [EINVAL, 'reserved', reserved => 1]);
  expect("train: $$_[1]", $$_[0], set_train(device(), train(@$_[2 .. $#$_]))) for @trains;
  my @responses = (
    [EOPNOTSUPP, 'in the interrupt on lines that sleep', context => $HARD], [EINVAL, 'context', context => 2],
    [EINVAL, 'edge 0', edge => 0], [EINVAL, 'edge', edge => 4], [EINVAL, 'answer', answer => 2],
    [EINVAL, 'a thread that there is not', context => $HARD, priority => 50], [EBUSY, 'one line twice', output => 0],
    [EINVAL, 'priority', priority => 100], [ERANGE, 'offset', input => 8]);
  expect("response: $$_[1]", $$_[0], set_response(device(), response(@$_[2 .. $#$_]))) for @responses;
  my $file = device();
  expect('start of nothing', EINVAL, start($file));
  expect('wait for nothing', EINVAL, wait_for($file));
  expect('result of nothing', EINVAL, (command($file, 3, 6, "\0" x 64))[1]);
  expect('read of nothing', EINVAL, defined sysread($file, my $none, 32) ? 0 : $! + 0);
  expect('another request', ENOTTY, (command($file, 0, 77))[1]);
  expect('a structure of another size', ENOTTY, (command($file, 1, 2, "\0" x 8))[1]);
  expect('set up', 0, set_train($file, train()));
  expect('set up again', EBUSY, set_train($file, train(offset => 5)));
  expect('wait before the start', EINVAL, wait_for($file));
  printf "bad input: %d refused\n", @trains + @responses + 7 }

sub trains {
  for (['udelay', by => $UDELAY], ['usleep', by => $USLEEP], ['hrtimer', by => $HRTIMER],
      ['placed', by => $HRTIMER, cpu => 1, priority => 80]) {
    my ($name, @how) = @$_;
    my $file = device();
    expect("$name: set up", 0, set_train($file, train(count => 40, @how)));
    trace_from_here();
    expect("$name: start", 0, start($file));
    expect("$name: start again", EBUSY, start($file));
    expect("$name: wait", 0, wait_for($file));
    expect("$name: pulses on the line", 40, rises());
    my %r = result($file);
    expect("$name: state and error", "$ENDED 0", "$r{state} $r{error}");
    expect("$name: pulses recorded", 40, $r{count});
    check_sums($name, %r);
    my ($read, $missed, $sum, $last) = (0, 0, 0, 0);
    while (sysread($file, my $pulses, 32 * 7)) {
      for (unpack('(a32)*', $pulses)) {
        my ($rose, $width, $left_out, $lost) = unpack('Q4', $_);
        $rose >= $last && $lost == 0 or die "$name: out of order, or lost\n";
        $last = $rose + $width; $read++; $missed += $left_out; $sum += $width;
      }
    }
    expect("$name: pulses read, left out, their widths", "40 $r{missed} $r{sum}", "$read $missed $sum");
    expect("$name: the line", 0, level(4));
    trace_from_here();
    expect("$name: once more", 0, start($file) + wait_for($file));
    expect("$name: pulses of the second time", 40, rises());
    expect("$name: recorded anew", 40, {result($file)}->{count});
  }
  print "trains: exact\n" }

sub ends {
  for ([$INACTIVE, 'gpio_value: \d+ set 0'], [$ACTIVE, 'gpio_value: \d+ set 1'], [$AS_INPUT, 'gpio_direction: \d+ +in']) {
    my $file = device();
    trace_from_here();
    set_train($file, train(count => 2, end => $$_[0])) + start($file) + wait_for($file) and die "ends: $!\n";
    close $file;
    my ($last) = (traced())[-1];
    $last =~ $$_[1] or die "left at $$_[0]: expected $$_[1], not $last";
  }
  my $file = device(O_NONBLOCK);
  set_train($file, train(count => 0)) + start($file) and die "endless: $!\n";
  expect('a line in use', EBUSY, set_train(device(), train()));
  my $tries = 0;
  until (defined sysread($file, my $pulse, 32)) { $! == EAGAIN && $tries++ < 5000 or die "no pulse: $!\n"; sleep 0.002 }
  expect('a buffer that holds no pulse', EINVAL, defined sysread($file, my $none, 31) ? 0 : $! + 0);
  # A signal ends the wait, not the train.
  $SIG{ALRM} = sub { };
  Time::HiRes::alarm(0.05);
  expect('wait, interrupted', EINTR, wait_for($file));
  expect('and the train', $RUNNING, {result($file)}->{state});
  expect('unload in use', POSIX::EAGAIN, unload());
  expect('stop', 0, stop($file));
  my $count = {result($file)}->{count};
  sleep 0.05;
  expect('pulses after the stop', $count, {result($file)}->{count});
  expect('wait after the stop', 0, wait_for($file));
  print "ends: as asked\n" }

sub responses {
  for my $low (0, 1) {
    my $file = device();
    pull(0, 0);
    expect('response: set up', 0, set_response($file, response(active_low => $low, $low ? (priority => 60, cpu => 1) : ())));
    expect('response: start', 0, start($file));
    until_level(1, $low);
    for my $n (1 .. 100) { pull(0, $n % 2); until_level(1, $n % 2 ^ $low) }
    my %r = result($file);
    expect('answers, edges without one', '100 0', "$r{count} $r{missed}");
    $r{irq} > 0 && $r{state} == $RUNNING or die "response: irq $r{irq}, state $r{state}\n";
    check_sums('response', %r);
    if ($low) {
      my ($thread) = grep { -e && do { open(my $c, '<', $_); (<$c> // '') =~ /^irq\/$r{irq}-ontick/ } } glob '/proc/[0-9]*/comm';
      my ($pid) = ($thread // '') =~ /(\d+)/ or die "no thread of interrupt $r{irq}\n";
      open(my $stat, '<', "/proc/$pid/stat");
      my @fields = split ' ', <$stat> =~ s/.*\) //r;
      expect('policy and priority of the thread', '1 60', "$fields[38] $fields[37]");
    }
    stop($file);
    my $before = level(1);
    pull(0, level(0) ? 0 : 1);
    sleep 0.02;
    expect('an answer after the stop', $before, level(1));
  }
  pull(0, 0);
  my $file = device();
  expect('toggle', 0, set_response($file, response(answer => $TOGGLE, edge => $RISING)) + start($file));
  for my $n (1 .. 20) { pull(0, 1); until_level(1, $n % 2); pull(0, 0) }
  expect('rising edges answered', 20, {result($file)}->{count});
  print "responses: every edge\n" }

# Whoever dies in the middle of something leaves nothing behind.
sub loads {
  my $from = time;
  for my $n (1 .. 100) {
    unless (-e '/dev/ontick') { load() }
    pipe(my $ready, my $tell);
    my $child = fork // die "fork: $!\n";
    if (!$child) {
      my ($pulses, $edges) = (device(), device());
      set_train($pulses, train(count => 0, width => 100_000, period => 1_000_000, by => $n % 3)) + start($pulses) and POSIX::_exit(1);
      set_response($edges, response(priority => $n % 2 ? 60 : 0)) + start($edges) and POSIX::_exit(1);
      pull(0, $n % 2);
      my $other = fork;
      if (!$other) { syswrite($tell, 'x'); wait_for($edges); POSIX::_exit(0) }
      syswrite($tell, 'x');
      if ($n % 2) { wait_for($pulses) } else { 1 while sysread($pulses, my $some, 32) }
      POSIX::_exit(1);
    }
    close $tell;
    for (1 .. 2) { sysread($ready, my $x, 1) or die "turn $n: the job could not be started\n" }
    expect('unload in use', POSIX::EAGAIN, unload());
    # Both, by the group: the one waits for the other's file.
    kill 'KILL', $child, children($child);
    waitpid $child, 0;
    my ($refused, $tries) = (0, 0);
    while ($refused = unload()) { $refused == POSIX::EAGAIN && $tries++ < 5000 or die "unload: $refused\n"; sleep 0.002 }
    !-e '/dev/ontick' or die "the device stayed\n";
  }
  load();
  print "loads and unloads: 100\n" }

sub children { my ($parent) = @_;
  my @found;
  for my $stat (glob '/proc/[0-9]*/stat') {
    open(my $file, '<', $stat) or next;
    my $text = <$file> // next;
    push @found, $1 if $text =~ /^(\d+) \(.*\) \S (\d+) / && $2 == $parent;
  }
  return @found }

load();
version();
bad_input();
trains();
ends();
responses();
loads();

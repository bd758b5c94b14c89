# shellcheck shell=bash
# Sourced in the guest by the tests of the kernel module.

# What the kernel writes when something was done wrong. Stalls are none of it: the emulated machine has them by itself.
kernel_complains() {
  dmesg | grep -E 'BUG: |WARNING: |Oops|INFO: (possible|suspicious)|[Ii]nvalid wait context|KASAN|ODEBUG|REMOVING GPIOCHIP' |
    grep -vE 'BUG: (soft lockup|workqueue lockup)'
}

# How many samples each series of a record has.
counted() {
  perl -MJSON::PP -0777 -ne '
    for my $series (@{decode_json($_)->{series}}) {
      my $count = 0;
      $count += $$_[2] for @{$series->{latency}{buckets}};
      print "$series->{name}: $count\n";
    }' "$1"
}

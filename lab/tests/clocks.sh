# shellcheck shell=bash disable=SC2154 # test.sh sets test_folder
# Sourced behind machines.sh by tests of the time on several machines. What `network time run` of a machine prints is in
# $test_folder/NAME.json, and the network's file is network.toml there.
declare -A seen_lines
ontick=${ONTICK:-$top/target/release/ontick}

# Usage: keep_time NAME    begins there, until kill_time or the machine ends
keep_time() {
  on "$1" "cd $test_folder; $ontick network time run network.toml --node $1 --json \
    >>$1.json 2>>$1.said </dev/null & echo \$! >/run/keeper"
}

kill_time() { on "$1" "kill -KILL \$(cat /run/keeper)"; }

# Usage: await_event NAME EVENT    one that comes behind those that were waited for before
await_event() {
  local try line file=$test_folder/$1.json
  for ((try = 0; try < 900; try++)); do
    line=$(awk -v after="${seen_lines[$1]:-0}" -v event="\"event\":\"$2\"" \
      'NR > after && index($0, event) { print NR; exit }' "$file" 2>/dev/null) || true
    if [ -n "$line" ]; then
      seen_lines[$1]=$line
      return 0
    fi
    sleep 0.1
  done
  failed "$1 does not report '$2':" "$(tail -n 40 "$file" "$test_folder/$1.said")"
}

# Usage: compare_clocks NAME NAME    prints by how much the second one's is ahead, and to what that is known, in ns
compare_clocks() { perl lab/tests/clocks.pl "$test_folder/$1.port" "$test_folder/$2.port"; }

# Usage: expect_apart WHEN NAME NAME NS    clocks differ by more, whatever the comparison is worth
expect_apart() {
  local ahead within
  read -r ahead within < <(compare_clocks "$2" "$3")
  echo "$1: the clock of $3 is ahead by $ahead ns, to within $within ns"
  [ "$((${ahead#-} - within))" -gt "$4" ] || failed "the clocks of $2 and $3 are not apart"
}

# Usage: expect_together WHEN NAME NAME    no more than emulators' own pauses
expect_together() {
  local ahead within
  read -r ahead within < <(compare_clocks "$2" "$3")
  echo "$1: the clock of $3 is ahead by $ahead ns, to within $within ns"
  [ "$((${ahead#-} - within))" -lt 200000000 ] || failed "the clocks of $2 and $3 are apart"
}

# Usage: await_together NAME NAME    a bridge's own clock may be stepped after that of what is behind it
await_together() {
  local try ahead within
  for ((try = 0; try < 120; try++)); do
    read -r ahead within < <(compare_clocks "$1" "$2")
    [ "$((${ahead#-} - within))" -ge 200000000 ] || return 0
    sleep 0.5
  done
  failed "the clock of $2 stays $ahead ns from that of $1" "$(tail -n 20 "$test_folder/$2.json")"
}

# Usage: expect_follows NAME GRANDMASTER    by linuxptp's own pmc
expect_follows() {
  local own said domain
  domain=$(sed -n 's/^domain = //p' "$test_folder/network.toml")
  own=$(pmc_of "$2" "${domain:-0}" "GET DEFAULT_DATA_SET" | awk '$1 == "clockIdentity" { print $2 }')
  said=$(pmc_of "$1" "${domain:-0}" "GET TIME_STATUS_NP")
  expect "the grandmaster of $1, by pmc" "$own" "$(awk '$1 == "gmIdentity" { print $2 }' <<<"$said")"
  said=$(awk '$1 == "master_offset" { print $2 }' <<<"$said")
  echo "pmc of $1: $said ns from the grandmaster"
  [ "${said#-}" -lt 200000000 ] || failed "the clock of $1 is $said ns off, by pmc"
}

# Usage: pmc_of NAME DOMAIN QUESTION
pmc_of() {
  local specific=0
  ! grep -q '"gptp"' "$test_folder/network.toml" || specific=1
  on "$1" "pmc -u -s /run/ontick/ptp/$1.\$(cat /run/keeper) -i /run/pmc -b 0 -d $2 -t $specific '$3'"
}

# Usage: offsets_of NAME    prints what its states came to since it followed
offsets_of() {
  perl -MJSON::PP -ne '
    my $seen = decode_json($_);
    push @offsets, abs $seen->{offset_ns} if defined $seen->{offset_ns};
    push @delays, $seen->{path_delay_ns} if defined $seen->{offset_ns};
    END {
        @$_ = sort { $a <=> $b } @$_ for \@offsets, \@delays;
        my $at = sub { sprintf "%.1f us", $_[0][int($_[1] * $#{ $_[0] } + 0.5)] / 1e3 };
        printf "offset of %d readings: median %s, 99 %% %s; path delay: median %s\n", scalar @offsets,
          $at->(\@offsets, 0.5), $at->(\@offsets, 0.99), $at->(\@delays, 0.5);
    }' "$test_folder/$1.json"
}

# Usage: host_load [BEFORE]    a mark, or what this machine was busy with since
host_load() {
  local now
  now=$(sed -n 's/^cpu  *//p' /proc/stat)
  if [ $# = 0 ]; then
    echo "$now"
    return 0
  fi
  # shellcheck disable=SC2086 # several words
  awk -v load="$(cut -d ' ' -f 1 /proc/loadavg)" '{
    for (i = 1; i <= 8; i++) { change[i] = $(i + NF / 2) - $i; all += change[i] }
    printf "%.0f %% busy, %.1f %% stolen, load %s", 100 - 100 * (change[4] + change[5]) / all, 100 * change[8] / all, load
  }' <<<"$1 $now"
}

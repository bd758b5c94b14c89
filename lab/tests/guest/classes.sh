# shellcheck shell=bash
# Sourced by what runs in the guest, after network.sh: a switch with a window for each of its classes, frames of each of
# them, and what tcpdump captures before and behind it.

judge=$PWD/lab/tests/guest/classes.pl

# Class cN has queue N, UDP port 7000+N and the Nth window of 10 ms; c0 has all that belongs to no other. Cycles begin
# with the clock's zero. The last class has room for eight frames.
# Usage: gates CLASSES    write_classes CLASSES WORDS-OF-SWITCH WORDS-OF-PORT-1 WORDS-OF-PORT-2
gates() {
  local n
  printf '[port.gates]\nbase-time = 1700000000000000000\ncycle = "%s"\nentries = [\n' "$(($1 * 10))ms"
  for ((n = 0; n < $1; n++)); do
    printf '  { open = ["c%d"], for = "10ms" },\n' "$n"
  done
  printf ']\n'
}

write_classes() {
  local n
  printf '[switch]\nname = "classes"\n%s\n' "$2"
  for ((n = 0; n < $1; n++)); do
    printf '[[class]]\nname = "c%d"\nqueue = %d\n' "$n" "$n"
    [ "$n" = 0 ] || printf 'match = [{ udp-port = %d }]\n' $((7000 + n))
    [ "$n" -lt $(($1 - 1)) ] || printf 'limit = 8\n'
  done
  printf '[[port]]\nname = "p1"\n%s\n[[port]]\nname = "p2"\nrate = "1Gbit"\n%s\n' "$3" "$4"
}

# Usage: capture INTERFACE    to INTERFACE.pcap, what comes in there
captures=()
capture() {
  tcpdump -i "$1" -Q in -n -j host --time-stamp-precision=nano -s 128 -B 4096 -Z root -U -w "$1.pcap" \
    2>"$1.said" udp &
  captures+=($!)
  local try
  for try in $(seq 100); do
    ! grep -q 'listening on' "$1.said" || return 0
    sleep 0.1
  done
  failed "tcpdump at $1 does not listen after $try looks: $(cat "$1.said")"
}

# Usage: send_classes CLASSES    frames of all classes through the switch, captured at p1 and q2
send_classes() {
  captures=()
  capture p1
  capture q2
  ip netns exec sender perl "$judge" send "$1"
  # Two cycles and more, until what waits has left and tcpdump has written it.
  sleep 1
  kill -INT "${captures[@]}"
  wait "${captures[@]}" || true
  ! grep -h 'dropped by kernel' ./*.said | grep -v '^0 ' || failed "tcpdump has lost frames"
}

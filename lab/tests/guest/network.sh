# shellcheck shell=bash
# Sourced by what runs in the guest: two ports of a switch with somebody at the other end of each, and everything about
# the network that a switch could change, as text.

# Ports p1 and p2 with four queues each, or so many; their other ends are q1, in the network namespace "sender", and q2.
# Usage: make_ports [QUEUES]    which both ends have then
make_ports() {
  ip netns add sender
  local port words="numtxqueues ${1:-4} numrxqueues ${1:-4}"
  for port in 1 2; do
    # shellcheck disable=SC2086 # several words
    ip link add "p$port" $words type veth peer name "q$port" ${1:+$words}
  done
  # Nothing but what a test sends.
  sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
  ip link set q1 netns sender
  ip netns exec sender sysctl -q net.ipv6.conf.q1.disable_ipv6=1
  ip -n sender addr add 10.4.0.1/24 dev q1
  ip -n sender link set q1 up
  ip -n sender neigh add 10.4.0.2 lladdr 02:00:00:00:00:02 dev q1
  ip link set q2 up
  # A port that was never on is not to be had again.
  for port in p1 p2; do
    ip link set "$port" up
    ip link set "$port" down
  done
}

# Usage: write_switch [CLASSIFIER [OFFLOAD [CYCLE [BLUE [RED]]]]]
# Slow, as an emulated machine on a busy one misses short windows altogether, and is late with a frame that has the
# usual 300 us to be sent.
write_switch() {
  cat <<SWITCH
[switch]
name = "cell4"
classifier = "${1:-auto}"

[[class]]
name = "red"
queue = 1
match = [{ udp-port = 7777 }]

[[class]]
name = "blue"
queue = 0

[[port]]
name = "p1"

[[port]]
name = "p2"
rate = "1Gbit"
offload = "${2:-none}"
$([ "${2:-none}" = none ] || echo 'txtime-delay = "50ms"')

[port.gates]
cycle = "${3:-100ms}"
entries = [ { open = ["blue"], for = "${4:-80ms}" }, { open = ["red"], for = "${5:-20ms}" } ]
SWITCH
}

state_of_network() {
  ip -d -j link | tr '{,' '\n'
  state_beside_links
}

state_beside_links() {
  ip -d addr show | grep inet || true
  tc -d qdisc
  tc filter show dev p1 egress
  tc filter show dev p2 egress
  tc filter show dev p1 ingress
  tc filter show dev p2 ingress
  nft list ruleset
  # A module that is loaded stays, and its settings then are such that it does nothing.
  grep -rHs . /proc/sys/net/ipv6/conf/p* /proc/sys/net/bridge | grep -vE 'stable_secret|:0$' || true
}

# The operational state of a port's other end follows a little later.
# Usage: as_before WHEN    after: state_of_network >/run/before
as_before() {
  local try
  for try in $(seq 100); do
    state_of_network >/run/now
    ! cmp -s /run/before /run/now || return 0
    sleep 0.1
  done
  echo "$1, after $try looks:"
  diff /run/before /run/now
  exit 1
}

# Frames that came in at q2.
received() { ip -s -j link show q2 | sed 's/.*"rx":{"bytes":[0-9]*,"packets":\([0-9]*\).*/\1/'; }

# Usage: send PORT    one frame, which the switch floods
# From a socket that is not connected: one that is takes its transmit queue along through a veth pair, past taprio's map.
send() {
  # shellcheck disable=SC2016 # perl's own
  ip netns exec sender perl -MSocket -e \
    'socket(S, PF_INET, SOCK_DGRAM, 0); send(S, "x", 0, pack_sockaddr_in($ARGV[0], inet_aton("10.4.0.2")))' "$1"
}

# Usage: passes PORT WITHIN    whether a frame to this port of UDP arrives within so many tenths of a second
passes() {
  local before try
  before=$(received)
  send "$1"
  for ((try = 0; try < $2; try++)); do
    [ "$(received)" = "$before" ] || return 0
    sleep 0.1
  done
  return 1
}

failed() {
  echo "$*"
  exit 1
}

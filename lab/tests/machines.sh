# shellcheck shell=bash disable=SC2154 # test.sh sets test_folder
# Sourced behind test.sh by tests of several emulated machines, which are joined by cables and get orders from here.
machines=()
trap 'conclude_machines $?' EXIT

# shellcheck disable=SC2317 # called by the trap
conclude_machines() {
  [ "${#machines[@]}" = 0 ] || kill "${machines[@]}" 2>/dev/null || true
  wait
  conclude "$1"
}

# The kernel measures the processor's counter as it boots, wrong by any factor where the emulator pauses; QEMU's HPET counts
# this machine's time.
# Usage: start_machine NAME OPTION…    options are those of lab/run; $test_folder is the machine's, too
start_machine() {
  lab/run --cpus 1 --append clocksource=hpet --port "$test_folder/$1.port" --share "$test_folder" "${@:2}" -- \
    perl lab/tests/guest/agent.pl "$test_folder/$1.ready" >"$test_folder/$1.log" 2>&1 &
  machines+=($!)
}

# Usage: await_machines NAME…    until they take orders
await_machines() {
  local name try
  for name in "$@"; do
    for ((try = 0; try < 1200; try++)); do
      [ ! -e "$test_folder/$name.ready" ] || continue 2
      sleep 0.1
    done
    failed "the machine $name does not answer:" "$(cat "$test_folder/$name.log")"
  done
}

# Usage: on NAME COMMAND    for bash, all of it one line; prints what it prints, and has its exit status
on() { perl lab/tests/order.pl "$test_folder/$1.port" run "$2"; }

# Usage: end_machines NAME…    all that were started
end_machines() {
  local name
  for name in "$@"; do perl lab/tests/order.pl "$test_folder/$name.port" end; done
  wait "${machines[@]}"
  machines=()
}

# shellcheck shell=bash
# Sourced by what starts an emulated machine: its processor, its folder, its time limit, its end.

# An x86-64 processor that does not say that its string instructions are fast: the kernel and the C library would clear and
# copy memory by them, and emulated they go octet by octet. Without them one guest took 109 s of the host's CPU, not 132 s.
# shellcheck disable=SC2034 # for those that source this
x86_processor=max,erms=off,fsrm=off

# Usage: make_run_folder    sets $run, which is gone at the end, as is the machine if it still runs
make_run_folder() {
  run=$(mktemp -d "$PWD/target/lab/run.XXXXXX")
  machine=
  trap leave EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# shellcheck disable=SC2317 # called by the trap
leave() {
  [ -z "$machine" ] || kill "$machine" 2>/dev/null || true
  rm -rf "$run"
}

is_duration() { [[ $1 =~ ^[0-9]+[smh]?$ ]] || die "--limit: '$1' is no duration; write 90s or 10m"; }

# Usage: start_machine LIMIT QEMU…    sets $machine; it ends by itself at the limit even if this script is killed
start_machine() {
  timeout --kill-after=5 "$1" "${@:2}" 2>"$run/qemu" </dev/null &
  machine=$!
}

# Usage: wait_for_machine READER    until it ends, or says that it is done, or nobody reads what it says any more;
# READER is the process that passes its output on.
wait_for_machine() {
  local ended
  machine_status=0
  reader_left=
  wait -n -p ended "$machine" "$1" || machine_status=$?
  if [ "$ended" = "$1" ]; then
    [ "$machine_status" = 0 ] || reader_left=yes
    if [ -n "$reader_left" ] || [ -n "${ends_by_marker:-}" ]; then
      kill "$machine" 2>/dev/null || true
    fi
    machine_status=0
    wait "$machine" || machine_status=$?
  fi
  machine=
}

# Ends with the command's exit status, or says why there is none.
pass_on_status() {
  if [ -e "$run/status" ]; then
    exit "$(cat "$run/status")"
  elif [ -n "$reader_left" ]; then
    exit 141
  elif [ "$machine_status" = 124 ]; then
    echo "${0#"$PWD"/}: ended by the time limit of $1; --limit sets another." >&2
    exit 124
  fi
  {
    echo "${0#"$PWD"/}: the machine ended without an exit status of the command. Its last words:"
    cat "$run/qemu"
    grep -a -m 1 'Kernel panic' "$run/console" || true
    tr -d '\r' <"$run/console" | tail -n 60
  } >&2
  exit 125
}

# shellcheck shell=bash disable=SC2034 # set for the tests
# Sourced by each lab test: strict mode, ways to expect something, and one line at the end that says how it went.
# shellcheck source=packaging/start.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../packaging/start.sh"

test_name=lab/$(basename "$0")
test_folder=$(mktemp -d "$top/target/lab/test.XXXXXX")
trap 'conclude $?' EXIT
# Else what ran before the signal would say how the test went.
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck disable=SC2317 # called by the trap
conclude() {
  case $1 in
    0) echo "test $test_name ... ok" ;;
    77) echo "test $test_name ... skipped" ;;
    *) echo "test $test_name ... FAILED" ;;
  esac
  rm -rf "$test_folder"
  exit "$1"
}

# Usage: skip WHY    where the test cannot test; packaging/skips lists the reasons that pass where everything must be tested
skip() {
  echo "skipped: $1" >&2
  [ -z "${ONTICK_SKIPS:-}" ] || printf 'lab\t%s\t%s\n' "$test_name" "$1" >>"$ONTICK_SKIPS"
  exit 77
}

failed() {
  printf '%s\n' "$@" >&2
  exit 1
}

# Usage: expect WHAT EXPECTED SEEN
expect() { [ "$2" = "$3" ] || failed "$1: expected" "$2" "but there was" "$3"; }

# Usage: expect_in WHAT PART TEXT
expect_in() { [[ $3 == *"$2"* ]] || failed "$1: expected to find" "$2" "in" "$3"; }

# Usage: outcome COMMAND…    runs it and sets $status, $out and $err
outcome() {
  status=0
  "$@" >"$test_folder/out" 2>"$test_folder/err" || status=$?
  out=$(cat "$test_folder/out")
  err=$(cat "$test_folder/err")
}

# Usage: succeed COMMAND…    the same, and it must end with 0
succeed() {
  outcome "$@"
  [ "$status" = 0 ] || failed "$* ended with $status:" "$out" "$err"
}

# shellcheck shell=bash
# Sourced first by every script here: strict mode, the top folder, one way to stop, one way to become root.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"

die() {
  printf '%s: %s\n' "${0#"$top"/}" "$*" >&2
  exit 2
}

have() { command -v "$1" >/dev/null 2>&1; }

# sudo may ask for a password only where somebody can type one.
can_be_root() {
  [ "$(id -u)" = 0 ] || { have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; }
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -- "$@"; fi
}

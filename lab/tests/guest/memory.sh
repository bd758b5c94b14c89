# shellcheck shell=bash
# Sourced by what takes time in the guest.

# What runs while time is taken is read from memory: the host's files come when they come, and virtual time does not
# wait for them.
keep_in_memory() {
  local program file
  # What programs look into when they start, too.
  for file in /etc/ld.so.cache /etc/iproute2/* /usr/share/iproute2/*; do
    [ ! -f "$file" ] || { cp -p "$file" "$file.own" && mv "$file.own" "$file"; }
  done
  for program in "$@"; do
    for file in $(realpath "$(command -v "$program")") $(ldd "$(command -v "$program")" | grep -o '/[^ ]*'); do
      file=$(realpath "$file")
      cp -p "$file" "$file.own"
      mv "$file.own" "$file"
    done
  done
}

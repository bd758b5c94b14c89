# shellcheck shell=bash
# Sourced. Debian's package of a program that tests use, unpacked and not installed, as it would start a daemon.

# unpack PACKAGE PROGRAM...: prints a folder with the programs, each of which must answer -v or -V, from target/PACKAGE. A
# second call needs no network.
unpack() {
  local package=$1 home=$PWD/target/$1 program libraries wanted one
  shift
  mkdir -p target
  # Two tests may ask at once.
  exec 9>"$home.lock"
  flock 9
  if ! unpack_works "$home" "$@"; then
    rm -rf "$home"
    mkdir -p "$home/package" "$home/bin"
    # What of it this machine lacks.
    mapfile -t wanted < <(apt-get -s -q install --no-install-recommends "$package" 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p')
    (cd "$home/package" && apt-get download -q "${wanted[@]}") >/dev/null 2>&1 ||
      die "$package could not be downloaded: apt update first, and is there a network?"
    for one in "$home"/package/*.deb; do
      dpkg-deb --fsys-tarfile "$one" | tar -x -C "$home" --exclude=./etc --exclude=./usr/share
    done
    rm -r "$home/package"
    # Each starts with its libraries, from wherever it is called.
    libraries=$(find "$home" -name '*.so.*' -printf '%h\n' | sort -u | paste -sd :)
    for program in "$@"; do
      printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$libraries" "$home/usr/sbin/$program" >"$home/bin/$program"
      chmod 755 "$home/bin/$program"
    done
    unpack_works "$home" "$@" || die "$home/bin/$1 does not start"
  fi
  echo "$home/bin"
}

unpack_works() {
  local home=$1 program
  shift
  for program in "$@"; do
    # irqbalance tells its version and exits with 1.
    [ -n "$("$home/bin/$program" -v 2>/dev/null)$("$home/bin/$program" -V 2>/dev/null)" ] || return 1
  done
}

# shellcheck shell=bash
# Sourced by what the lab fetches: Debian packages of this machine's release, unpacked and never installed.
# shellcheck source=packaging/own-apt.sh
source packaging/own-apt.sh

# start.sh has been sourced, and the current folder is the top one.
lab_folder() {
  mkdir -p target/lab
  echo "$PWD/target/lab"
}

# Debian 12 has kernel 6.12 in its backports only.
sources() {
  local uri suite
  read -r uri suite <<<"$1"
  echo "$uri $suite"
  [ "$suite" != bookworm ] || echo "$uri $suite-backports"
}

refresh_lists() {
  local release
  [ -z "${lists_are_fresh:-}" ] || return 0
  release=$(debian_release)
  [ -n "$release" ] || die "what is fetched here comes from Debian, and this machine's apt sources name no Debian release."
  own_apt_in "$(lab_folder)/apt" "$(sources "$release")" arm64 amd64 armhf
  own_apt_update 2>"$apt_home/log" ||
    die "the package lists could not be fetched: $(last_reason). Check the network (and the proxy) and start again."
  lists_are_fresh=yes
}

last_reason() { sed -n 's/^[EW]: //p' "$apt_home/log" | head -n 1 | sed 's/[. ]*$//'; }

# Usage: unpack_packages FOLDER PACKAGE[:ARCH][=VERSION]…
unpack_packages() {
  local into=$1 deb
  shift
  rm -rf "$into" "$apt_home"/cache/archives/*.deb
  own_apt_download "$@" 2>"$apt_home/log" ||
    die "$(printf '%s ' "$@")could not be fetched: $(last_reason). Check the network (and the proxy) and start again."
  mkdir -p "$into"
  for deb in "$apt_home"/cache/archives/*.deb; do
    dpkg-deb -x "$deb" "$into"
  done
  rm -f "$apt_home"/cache/archives/*.deb
}

# Only what is there of the very same version fits a kernel; the archive keeps one version at a time.
# Usage: still_there PACKAGE VERSION
still_there() {
  versions_of "$1" | grep -qxF "$2" || die "Debian has moved on from kernel $2: remove target/lab and start again."
}

# Usage: unpack_headers FOLDER RELEASE ARCH VERSION    what modules for a kernel are built with; FOLDER is where it stays
unpack_headers() {
  local common kbuild file
  ! grep -qsF "$1/usr/src/" "$1/usr/src/linux-headers-$2/Makefile" || return 0
  read -r common kbuild < <(own_apt cache show "linux-headers-$2:$3=$4" |
    sed -n 's/^Depends: .*\(linux-headers-[^ ]*-common[^ ]*\).*\(linux-kbuild-[^ ,]*\).*/\1 \2/p')
  unpack_packages "$1.new" "linux-headers-$2:$3=$4" "$common=$4" "$kbuild=$4"
  # They name each other by the paths that they have when installed.
  for file in "$1.new/usr/src/linux-headers-$2"/{Makefile,.kernelvariables}; do
    [ ! -e "$file" ] || sed -i "s|/usr/src/|$1/usr/src/|g" "$file"
  done
  rm -rf "$1"
  mv "$1.new" "$1"
}

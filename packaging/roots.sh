# shellcheck shell=bash disable=SC2154
# Sourced by what tries this in a Debian that has never seen it: root folders of fresh systems, whose packages are cached
# in target/fresh (a week at most). A root is unpacked anew each time, and removed at the end unless $keep says otherwise.

home=$top/target/fresh
suite=
child=

begin_roots() {
  can_be_root || die "making a root needs root, and sudo is not usable here. Start again as root."
  packaging/needs fresh
  mkdir -p "$home"
  trap stop INT TERM
}

# Unprivileged people need sudo, which drops the environment unless it knows which names matter.
as_root_with_network() {
  local names
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    names=$(packaging/enter-root --passed | paste -sd,)
    sudo ${names:+"--preserve-env=$names"} -- "$@"
  fi
}

# This machine's Debian sources, for another suite.
sources_for() {
  packaging/mirror | awk -v suite="$1" '
    $3 == "Debian" && $2 !~ /-/ && !main++ { print "deb", $1, suite, "main"; print "deb", $1, suite "-updates", "main" }
    $3 == "Debian-Security" && !security++ { print "deb", $1, suite "-security", "main" }
  '
}

# How this machine's apt reaches its mirror: proxies, certificates, whether dates are checked.
apt_options() {
  apt-config dump | grep -E '^Acquire::((http|https)::|Check-)' | grep -vF '""' || true
}

# Usage: make_base SUITE [ARCHITECTURE NAME]    a foreign one, whose programs are emulated (with-emulators), by a name of its own
make_base() {
  local suite=$1 base=$home/${3:-$1}.tar sources options
  [ -z "$(find "$base" -mtime -7 2>/dev/null)" ] || return 0
  sources=$(sources_for "$suite")
  [ -n "$sources" ] || die "this machine's apt sources name no Debian mirror to make a root from."
  options=()
  [ -z "${2:-}" ] || options+=("--architectures=$2")
  while IFS= read -r option; do
    [ -z "$option" ] || options+=("--aptopt=$option")
  done < <(apt_options)
  echo "${3:-$suite}: making the base root" >&2
  if ! bootstrap "$suite" "$base.new" "${options[@]}" <<<"$sources"; then
    # Mirrors are seen whose index of updates for one architecture is not the one that was signed; a root to try things in
    # does without.
    echo "${3:-$suite}: once more, of the release alone" >&2
    bootstrap "$suite" "$base.new" "${options[@]}" < <(awk -v suite="$suite" '$3 == suite' <<<"$sources") ||
      die "$suite: mmdebstrap could not make the root; the reason is above."
  fi
  mv -f "$base.new" "$base"
}

# Usage: bootstrap SUITE FILE OPTION… <SOURCES
bootstrap() {
  as_root_with_network mmdebstrap --quiet --mode=root --variant=apt --include=make "${@:3}" \
    --aptopt='Acquire::Retries "3"' --aptopt='Acquire::http::Timeout "30"' --aptopt='Acquire::https::Timeout "30"' \
    --format=tar "$1" "$2" -
}

unpack_base() {
  as_root rm -rf --one-file-system "$home/$1"
  as_root mkdir "$home/$1"
  # Devices may not be made in a user namespace, and enter-root brings this machine's.
  as_root tar -xf "$home/$1.tar" -C "$home/$1" --exclude='./dev/*'
}

# The child is left to run by itself so that a signal can end it at once, with everything it started.
enter() {
  local status=0
  as_root_with_network packaging/enter-root "$@" </dev/null &
  child=$!
  wait "$child" || status=$?
  child=
  return "$status"
}

remove_root() {
  [ -n "$keep" ] || [ -z "$suite" ] || as_root rm -rf --one-file-system "$home/$suite" "$home/$suite.pid"
}

stop() {
  trap - INT TERM
  if [ -n "$child" ] && [ -s "$home/$suite.pid" ]; then
    as_root kill -KILL "$(cat "$home/$suite.pid")" || true
    wait "$child" 2>/dev/null || true
  fi
  remove_root
  die "stopped by a signal"
}

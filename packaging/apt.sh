# shellcheck shell=bash
# Sourced by what installs packages: apt that asks nothing and never waits for ever.

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a apt-get -y -q \
    -o Acquire::Retries=3 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" </dev/null
}

# Fetches the package lists, once per script. A source that does not answer is no reason to stop: the others may do.
apt_update() {
  [ -z "${apt_updated:-}" ] || return 0
  apt_may_install "refresh the package lists"
  apt_get update || true
  apt_updated=yes
}

apt_may_install() {
  have apt-get || die "cannot $1: this system has no apt-get. Install it with your package manager and start again."
  can_be_root || die "cannot $1: that needs root, and sudo is not usable here. Start again as root, or install sudo."
}

apt_install() {
  apt_may_install "install $*"
  apt_update
  apt_get install --no-install-recommends "$@" ||
    die "apt could not install: $*. The reason is above; if it is the network, check it (and the proxy) and start again."
}

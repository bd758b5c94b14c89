# shellcheck shell=bash
# Sourced by what unpacks packages without installing them: apt as on this machine (its mirror, proxy and
# certificates; what is installed here need not be fetched), but with package lists of its own.

# The mirror and the suite of this machine's Debian: "URI SUITE".
debian_release() { packaging/mirror | awk '$3 == "Debian" && $2 !~ /-/ && !found++ { print $1, $2 }'; }

# Usage: own_apt_in FOLDER "URI SUITE[ URI SUITE…]" FOREIGN-ARCHITECTURE…
own_apt_in() {
  local uri suite keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed='' native
  apt_home=$1
  native=$(dpkg --print-architecture)
  [ ! -e "$keyring" ] || signed="signed-by=$keyring "
  mkdir -p "$apt_home/lists/partial" "$apt_home/cache/archives/partial"
  xargs -n 2 <<<"$2" | while read -r uri suite; do
    printf 'deb [%starget=Packages] %s %s main\n' "$signed" "$uri" "$suite"
  done >"$apt_home/sources.list"
  {
    echo '#clear APT::Architectures;'
    printf 'APT::Architectures:: "%s";\n' "$native" "${@:3}"
    printf 'Dir::State::Lists "%s/lists";\nDir::Cache "%s/cache";\n' "$apt_home" "$apt_home"
    printf 'Dir::Etc::SourceList "%s/sources.list";\nDir::Etc::SourceParts "-";\n' "$apt_home"
    echo 'APT::Sandbox::User "root";'
    echo 'APT::Keep-Downloaded-Packages "true";'
    echo 'Acquire::Retries "3";'
    echo 'Acquire::http::Timeout "30";'
    echo 'Acquire::https::Timeout "30";'
  } >"$apt_home/apt.conf"
}

own_apt() { "apt-$1" -q -c "$apt_home/apt.conf" "${@:2}"; }

# apt's own exit status is 0 even when no list could be fetched.
own_apt_update() { own_apt get update -o APT::Update::Error-Mode=any >&2; }

versions_of() { own_apt cache madison "$1" | awk '{ print $3 }'; }

# Usage: own_apt_download PACKAGE[:ARCH][=VERSION]…    into $apt_home/cache/archives
own_apt_download() { (cd "$apt_home/cache/archives" && own_apt get download "$@" >&2); }

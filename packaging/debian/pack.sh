# shellcheck shell=bash disable=SC2154
# Sourced by packaging/packages: the trees of the Debian packages below $trees, and how one becomes a file. Manual
# pages, completions and notices are in $pages.

debian=$top/packaging/debian
revision=$version-1
maintainer="${DEBFULLNAME:-The ontick maintainers} <${DEBEMAIL:-maintainers@ontick.invalid}>"

put() { install -D -m "$1" -- "$2" "$tree/$3"; }

put_compressed() {
  put 644 "$1" "$2"
  gzip -9n "$tree/$2"
}

put_changelog() {
  local doc=usr/share/doc/$1
  put_compressed CHANGELOG.md "$doc/changelog"
  mkdir -p "$tree/$doc"
  cat >"$tree/$doc/changelog.Debian" <<EOF
$1 ($revision) unstable; urgency=medium

  * Version $version, whose changes are in changelog.gz.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
EOF
  gzip -9n "$tree/$doc/changelog.Debian"
}

# Files of the documentation's examples, of which each begins with its name.
put_examples() {
  local page
  mkdir -p "$tree/usr/share/doc/ontick/examples"
  for page in docs/*.md README.md; do
    awk -v folder="$tree/usr/share/doc/ontick/examples" '
      /^```/ { file = ""; begins = ($0 == "```toml" || $0 == "```yaml"); next }
      begins { begins = 0; if ($0 ~ /^# [A-Za-z0-9-]+\.(toml|yaml)$/) file = folder "/" $2 }
      file { print > file }' "$page"
  done
}

# A text as sed puts it in, between slashes.
as_it_is() { sed 's/[&/\\]/\\&/g' <<<"$1"; }

# What the program needs of the C library that it was linked with.
needed_libc() {
  readelf -V "$1" 2>/dev/null | sed -n 's/.* Name: GLIBC_\([0-9.]*\) .*/\1/p' | sort -V | tail -n 1 |
    sed 's/.*/libc6 (>= &), libgcc-s1, /'
}

# The tree becomes a package: no owner, no date of today, no order of this disk.
# Usage: finish PACKAGE ARCHITECTURE FOLDER
finish() {
  local package=$1 architecture=$2 folder=$3 script
  find "$tree" -type d -exec chmod 755 {} +
  find "$tree" -type f ! -perm -u+x -exec chmod 644 {} +
  mkdir -m 755 "$tree/DEBIAN"
  for script in postinst prerm postrm; do
    [ ! -e "$debian/$package/$script" ] ||
      sed "s/@UPSTREAM@/$version/g" "$debian/$package/$script" | install -m 755 /dev/stdin "$tree/DEBIAN/$script"
  done
  (cd "$tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
  sed -e "s/@VERSION@/$revision/; s/@ARCHITECTURE@/$architecture/; s/@MAINTAINER@/$(as_it_is "$maintainer")/" \
    -e "s/@LIBC@/$libc/" \
    -e "s/@SIZE@/$(du -sk --apparent-size --exclude=DEBIAN "$tree" | cut -f 1)/" \
    "$debian/$package/control" >"$tree/DEBIAN/control"
  chmod 644 "$tree/DEBIAN/md5sums" "$tree/DEBIAN/control"
  mkdir -p "$folder"
  dpkg-deb --root-owner-group -Zxz "-z$level" --build "$tree" "$folder/${package}_${revision}_$architecture.deb" >&2
}

# Usage: pack_program FILE ARCHITECTURE FOLDER
pack_program() {
  local program=$1 architecture=$2 folder=$3 page
  tree=$trees/ontick-$architecture
  rm -rf "$tree"
  put 755 "$program" usr/bin/ontick
  for page in "$pages"/man/man1/*; do
    put_compressed "$page" "usr/share/man/man1/${page##*/}"
  done
  put 644 "$pages"/bash-completion/completions/ontick usr/share/bash-completion/completions/ontick
  put 644 "$pages"/fish/vendor_completions.d/ontick.fish usr/share/fish/vendor_completions.d/ontick.fish
  put 644 "$pages"/zsh/vendor-completions/_ontick usr/share/zsh/vendor-completions/_ontick
  put 644 "$debian/ontick/ontick-switch@.service" usr/lib/systemd/system/ontick-switch@.service
  put 644 "$debian/ontick/ontick-watch.service" usr/lib/systemd/system/ontick-watch.service
  put 644 "$debian/ontick/60-ontick.rules" usr/lib/udev/rules.d/60-ontick.rules
  # A link, which goes with the package, where a file would be configuration that stays.
  put 644 "$debian/ontick/limits.conf" usr/share/ontick/limits.conf
  mkdir -p "$tree/etc/security/limits.d"
  ln -s /usr/share/ontick/limits.conf "$tree/etc/security/limits.d/ontick.conf"
  put 644 "$debian/ontick/copyright" usr/share/doc/ontick/copyright
  put_compressed "$pages"/notices usr/share/doc/ontick/notices
  put_compressed README.md usr/share/doc/ontick/README.md
  put_compressed SECURITY.md usr/share/doc/ontick/SECURITY.md
  for page in docs/*.md docs/images/*; do
    put 644 "$page" "usr/share/doc/ontick/$page"
  done
  while IFS= read -r -d '' page; do
    put 644 "$page" "usr/share/doc/ontick/$page"
  done < <(find deploy -type f ! -name '.*' ! -name '*.pyc' -print0 | LC_ALL=C sort -z)
  put_examples
  put_changelog ontick
  libc=$(needed_libc "$program")
  put 644 "$debian/ontick/lintian-overrides" usr/share/lintian/overrides/ontick
  finish ontick "$architecture" "$folder"
}

# The module's sources, for DKMS; its tests stay here.
# Usage: pack_module FOLDER
pack_module() {
  local folder=$1 file
  tree=$trees/ontick-dkms
  rm -rf "$tree"
  for file in kmod/*.c kmod/*.h kmod/Kbuild kmod/Makefile kmod/dkms.conf kmod/uapi/*; do
    put 644 "$file" "usr/src/ontick-$version/${file#kmod/}"
  done
  put 644 "$debian/ontick-dkms/copyright" usr/share/doc/ontick-dkms/copyright
  put 644 "$debian/ontick-dkms/lintian-overrides" usr/share/lintian/overrides/ontick-dkms
  put_changelog ontick-dkms
  libc=
  finish ontick-dkms all "$folder"
}

# shellcheck shell=bash disable=SC2034
# Sourced by what makes files for others: version and date of what is in dist/.

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
# What is made carries the date of its sources, not of the day on which it was made.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) || SOURCE_DATE_EPOCH=$(stat -c %Y Cargo.lock)
fi
export SOURCE_DATE_EPOCH

# Usage: sum_up FOLDER    SHA256SUMS of this version's files in it
sum_up() {
  (
    cd "$1" || exit
    find . -maxdepth 1 -type f -name "ontick*[-_]$version-*" -printf '%P\0' | sort -z | xargs -0r sha256sum -- >SHA256SUMS.new
    mv SHA256SUMS.new SHA256SUMS
  )
}

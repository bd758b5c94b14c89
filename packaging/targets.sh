# shellcheck shell=bash disable=SC2034
# Sourced by what builds for other machines than this: the names that an architecture has.

# Usage: name_machine ARCHITECTURE    Debian's name or the kernel's (uname -m); sets debian_name, machine, target (rustc's),
#                                     linker (Debian's cross compiler), emulator and image (of containers)
name_machine() {
  case $1 in
    amd64 | x86_64) debian_name=amd64 machine=x86_64 target=x86_64-unknown-linux-gnu linker=x86_64-linux-gnu-gcc emulator=x86_64 image=amd64 ;;
    arm64 | aarch64) debian_name=arm64 machine=aarch64 target=aarch64-unknown-linux-gnu linker=aarch64-linux-gnu-gcc emulator=aarch64 image=arm64 ;;
    armhf | armv7) debian_name=armhf machine=armv7 target=armv7-unknown-linux-gnueabihf linker=arm-linux-gnueabihf-gcc emulator=arm image=arm ;;
    riscv64) debian_name=riscv64 machine=riscv64 target=riscv64gc-unknown-linux-gnu linker=riscv64-linux-gnu-gcc emulator=riscv64 image=riscv64 ;;
    *) die "'$1' is no architecture that this builds for: amd64, arm64, armhf or riscv64" ;;
  esac
}

# No distribution packages Rust's library for all of them.
# Usage: add_target RUST-FOLDER TARGET
add_target() {
  [ ! -d "$("$1/rustc" --print target-libdir --target "$2")" ] || return 0
  have rustup || die "the Rust in $1 has no library for $2, and only rustup can add it: install rustup (https://rustup.rs), or build for this machine alone (make build)"
  rustup target add "$2" >/dev/null 2>&1 || die "rustup could not add $2. Is the network there?"
}

# Builds the program as it is handed out. Paths of this machine would make each machine's file another. Crates of other
# machines may have to be fetched yet.
# Usage: build_for TARGET LINKER [OPTION-OF-RUSTC…]
build_for() {
  local target=$1 variable option list=
  variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")_LINKER
  # As a list, since the name of a folder may have a space in it; what the environment has for all would take its place.
  for option in "${@:3}" --remap-path-prefix="${CARGO_HOME:-$HOME/.cargo}"=/cargo --remap-path-prefix="$(pwd -P)"=/ontick; do
    option=${option//\\/\\\\}
    list+="\"${option//\"/\\\"}\","
  done
  env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS CARGO_NET_OFFLINE=false "$variable=$2" \
    packaging/cargo build --config "target.$target.rustflags=[$list]" --profile dist --locked --package ontick --target "$target"
}

# How an architecture's programs are started here: nothing for this machine's own.
# Usage: runs ARCHITECTURE FILE ARGUMENTS…    with the C library of the cross compiler where the file needs one
runs() {
  local name
  name_machine "$1"
  shift
  if [ "$machine" = "$(uname -m)" ] || [ "$debian_name" = "$(dpkg --print-architecture 2>/dev/null)" ]; then
    "$@"
    return
  fi
  for name in "qemu-$emulator-static" "qemu-$emulator"; do
    ! have "$name" || { "$name" -L "/usr/${linker%-gcc}" "$@"; return; }
  done
  die "qemu-$emulator is missing, with which a file for $debian_name is started here: install qemu-user-static"
}

# shellcheck shell=bash disable=SC2034,SC2154 # set by test.sh and by the test
# Sourced by the tests that search over kernel arguments by restarts of an emulated PC, after test.sh: the system on its disk,
# the restarts to the end, and what is to be found there. A test names its QEMU options in `machine`.
source lab/machine.sh
PATH=$PATH:/usr/sbin:/sbin

program=${ONTICK:-$top/target/release/ontick}
for tool in mke2fs debugfs; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done
kernel=$(lab/kernel amd64 rt)
release=$(cat "$kernel/release")
disk=$test_folder/disk
usual="root=/dev/vda console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check"

# Usage: lay_system MODULE…    in $disk; the modules are loaded before it starts
lay_system() {
  local library
  mkdir -p "$disk"/{boot,etc/systemd/system,var/lib,bin,sbin,proc,sys,dev,run,tmp,usr/local/bin}
  lab/initramfs "$kernel" "$test_folder/initrd.img" lab/disk-init --modules virtio_pci virtio_blk crc32c_generic ext4 "$@"
  cp "$kernel/busybox" "$disk/bin/busybox"
  cp lab/tests/guest/search-boot "$disk/sbin/init"
  cp "$program" "$disk/usr/local/bin/ontick"
  ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
    install -D "$library" "$disk$library"
  done
}

pack_system() { mke2fs -q -t ext2 -d "$disk" "$test_folder/image" 160M >/dev/null; }

# Usage: unpack_system FOLDER
unpack_system() {
  mkdir "$1"
  debugfs -R "rdump / $1" "$test_folder/image" 2>/dev/null
}

# Starts the machine, and comes back when it restarts or switches itself off.
boot() {
  timeout --kill-after=5 240 qemu-system-x86_64 -M q35 -accel tcg,thread=single -cpu "$x86_processor" -smp 2 -m 512M -no-reboot \
    -nodefaults -display none -serial stdio "${machine[@]}" \
    -drive "file=$test_folder/image,format=raw,if=none,id=system" -device virtio-blk-pci,drive=system,addr=10 \
    </dev/null >"$test_folder/serial" 2>&1 || true
  tr -d '\r' <"$test_folder/serial" | grep -a '^lab: ' >>"$test_folder/log" ||
    failed "a boot did not come as far as init:" "$(tail -n 30 "$test_folder/serial")"
}

sums() { (cd "$1" && find boot etc -type f -exec sha256sum {} + -o -type l -exec ls -l {} + | sort -k 2); }

restart_to_the_end() {
  local boots=0
  : >"$test_folder/log"
  until grep -q '^lab: ends' "$test_folder/log"; do
    boots=$((boots + 1))
    [ "$boots" -le 12 ] || failed "the search does not come to its end:" "$(cat "$test_folder/log")" "$(tail -n 30 "$test_folder/serial")"
    boot
  done
}

# Usage: expect_search FOLDER    in which the system lies as it was left
expect_search() {
  local log result=$1/var/result.json
  log=$(cat "$test_folder/log")
  number() { tr -d ' \n' <"$result" | grep -o "\"$1\":[0-9]*" | head -n 1; }
  expect_in "a boot of the base" "lab: boots the base" "$log"
  expect_in "a boot of the candidate" "lab: boots ontick.search=" "$(grep -a isolcpus= <<<"$log")"
  expect_in "a boot that does not come up" "lab: hangs" "$log"
  expect_in "what is left out" '"why":"didnotcomeup"' "$(tr -d ' \n' <"$result")"
  expect_in "boots that were measured" '"measured":' "$(number measured)"
  [ "$(number measured | tr -dc 0-9)" -ge 2 ] || failed "fewer than two boots were measured:" "$log"
}

#!/bin/sh
# Runs fuzz targets on a stable compiler, each for so long or, if that comes first, so many inputs:
# fuzz/run.sh [--inputs NUMBER] SECONDS [TARGET...]
# Needs cargo-fuzz (cargo install cargo-fuzz) and a C++ compiler.
set -eu
cd "$(dirname "$0")"
usage='usage: fuzz/run.sh [--inputs NUMBER] SECONDS [TARGET...]'
inputs=-1 # no limit
if [ "${1:-}" = --inputs ]; then
    inputs=${2:?"$usage"}
    shift 2
fi
seconds=${1:?"$usage"}
shift
case $seconds${inputs#-1} in *[!0-9]*) echo "$usage" >&2; exit 2 ;; esac
[ $# -gt 0 ] || set -- record journal cyclictest jitterdebugger rtla rtla_osnoise rtla_top oslat hwlatdetect zyclictest isochron hlog capture_sr capture_vcd capture_csv capture_edges import units requirement boot_files config_txt device_tree kernel_config kernel_package kernel_source link_edges link_frame link_repeat pico_frames pico_edges roundtrip_message inspect_elf samples sample_specs switch_config switch_yang switch_netconf switch_frames lldp_answer switch_network switch_tables watch_rows watch_events watch_state watch_http watch_samples
# libFuzzer's instrumentation is a compiler flag that only nightly compilers take without this.
export RUSTC_BOOTSTRAP=1
for target in "$@"; do
    mkdir -p "corpus/$target"
    seeds=../crates/record/tests/fixtures
    case $target in capture_*) seeds=../crates/record/tests/captures ;; esac
    [ -d "seeds/$target" ] && seeds=seeds/$target
    echo "== $target"
    cargo fuzz run "$target" "corpus/$target" "$seeds" -- -runs="$inputs" -max_total_time="$seconds" -max_len=8192 -rss_limit_mb=1024 -timeout=5 -print_final_stats=1
done

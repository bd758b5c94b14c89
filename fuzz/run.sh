#!/bin/sh
# Runs fuzz targets on a stable compiler, each for so long or, if that comes first, so many inputs:
# fuzz/run.sh [--inputs NUMBER] SECONDS [TARGET...]
# or those with the fewest inputs so far, one after another, until so many minutes are over:
# fuzz/run.sh --campaign MINUTES
# A few inputs that reach all edges that were reached are kept in corpus/TARGET; campaign.tsv adds up.
# Needs cargo-fuzz (cargo install cargo-fuzz) and a C++ compiler.
set -eu
cd "$(dirname "$0")"
all='record journal cyclictest jitterdebugger rtla rtla_osnoise rtla_top oslat hwlatdetect zyclictest isochron hlog capture_sr capture_vcd capture_csv capture_edges import units requirement boot_files config_txt device_tree kernel_config kernel_package kernel_source link_edges link_frame link_repeat pico_frames pico_edges roundtrip_message inspect_elf samples sample_specs switch_config switch_yang switch_netconf switch_frames lldp_answer switch_network switch_tables watch_rows watch_events watch_state watch_http watch_samples'
goal=10000000 # inputs of each target
longest=8192  # octets of an input

usage() {
    sed -n 's/^# \(fuzz\/run.sh .*\)/usage: \1/p' run.sh >&2
    exit 2
}

number() { case ${1:-} in '' | *[!0-9]*) usage ;; esac }

inputs=-1 # no limit
# With the address sanitizer; a campaign without, which is several times as fast: what has `unsafe` is seldom a parser.
sanitizer=address campaign=
case ${1:-} in
--inputs)
    number "${2:-}"
    inputs=$2
    shift 2
    ;;
--campaign)
    number "${2:-}"
    [ $# = 2 ] || usage
    campaign=$2 sanitizer=none inputs=$goal
    ;;
esac

# libFuzzer's instrumentation is a compiler flag that only nightly compilers take without this.
export RUSTC_BOOTSTRAP=1
built=${FUZZ_BUILT:-$PWD/target/$sanitizer}
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT

build() {
    cargo fuzz build -s "$sanitizer" --target-dir "$built"
    host=$(rustc -vV | sed -n 's/^host: //p')
}

# The number in a target's column of the table, 0 where there is none: 2 inputs, 3 edges, 4 files.
sofar() { awk -F '\t' -v target="$1" -v column="$2" '$1 == target { n = $column } END { print n + 0 }' campaign.tsv; }

# Writes a target's row anew, and the table of the docs: TARGET INPUTS EDGES FILES.
note() {
    {
        head -n 1 campaign.tsv
        {
            awk -F '\t' -v target="$1" 'NR > 1 && $1 != target' campaign.tsv
            printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$(date +%F)"
        } | LC_ALL=C sort
    } >"$kept/table"
    cp "$kept/table" campaign.tsv
    awk -F '\t' '
        FNR == NR { if (FNR > 1) rows = rows "| `" $1 "` | " $2 " | " $3 " | " $4 " | " $5 " |\n"; next }
        /^\| target \| inputs \|/ { print; getline; print; printf "%s", rows; inside = 1; next }
        inside && /^\|/ { next }
        { inside = 0; print }' campaign.tsv ../docs/fuzzing.md >"$kept/page"
    cp "$kept/page" ../docs/fuzzing.md
}

# Runs a target, adds it to the table, and keeps few inputs that reach every edge that was reached: TARGET SECONDS INPUTS.
run() {
    program=$built/$host/release/$1
    seeds=../crates/record/tests/fixtures
    case $1 in capture_*) seeds=../crates/record/tests/captures ;; esac
    [ -d "seeds/$1" ] && seeds=seeds/$1
    mkdir -p "corpus/$1" "artifacts/$1"
    echo "== $1"
    status=0
    "$program" "corpus/$1" "$seeds" -artifact_prefix="artifacts/$1/" -runs="$3" -max_total_time="$2" \
        -max_len="$longest" -rss_limit_mb=1024 -timeout=5 -print_final_stats=1 >"$kept/log" 2>&1 || status=$?
    grep -E '^(DONE|Done|stat::|==|SUMMARY|thread|artifact_prefix)|panicked' "$kept/log" || true
    new=$(sed -n 's/^stat::number_of_executed_units: *//p' "$kept/log" | tail -n 1)
    rm -rf "$kept/smallest"
    mkdir "$kept/smallest"
    if "$program" -merge=1 -set_cover_merge=1 -use_counters=0 -max_len="$longest" -rss_limit_mb=1024 -timeout=5 \
        "$kept/smallest" "corpus/$1" "$seeds" >"$kept/merged" 2>&1; then
        rm -rf "corpus/$1"
        cp -r "$kept/smallest" "corpus/$1"
    fi
    # What all of it reaches; a run that found a failure does not say it.
    "$program" "corpus/$1" -runs=0 -max_len="$longest" -rss_limit_mb=1024 >"$kept/reached" 2>&1 || true
    edges=$(grep -oE 'cov: [0-9]+' "$kept/reached" | tail -n 1 | cut -d ' ' -f 2)
    files=$(find "corpus/$1" -type f | wc -l)
    note "$1" $(($(sofar "$1" 2) + ${new:-0})) "${edges:-0}" "$files"
    if [ "$status" != 0 ]; then
        cp "$kept/log" "artifacts/$1/log"
        echo "fuzz/run.sh: $1 failed: see fuzz/artifacts/$1 (docs/fuzzing.md)" >&2
    fi
    return "$status"
}

failed=
if [ -n "$campaign" ]; then
    build
    until=$(($(date +%s) + campaign * 60))
    while left=$((until - $(date +%s))) && [ "$left" -gt 0 ]; do
        # Of the targets that are below the goal and did not fail now, the one with the fewest inputs.
        next=$(for target in $all; do
            case " $failed " in *" $target "*) ;; *) echo "$(sofar "$target" 2) $target" ;; esac
        done | sort -n | head -n 1)
        target=${next#* } so_far=${next%% *}
        if [ -z "$next" ] || [ "$so_far" -ge "$goal" ]; then break; fi
        [ "$left" -lt 60 ] || left=60
        run "$target" "$left" $((goal - so_far)) || failed="$failed $target"
    done
else
    number "${1:-}"
    seconds=$1
    shift
    build
    chosen=$*
    for target in ${chosen:-$all}; do
        run "$target" "$seconds" "$inputs" || failed="$failed $target"
    done
fi
[ -z "$failed" ]

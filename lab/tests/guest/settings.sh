# shellcheck shell=bash
# Sourced in the guest: every setting of the machine that a program may change, so that two moments can be compared.

# Counters that can be written only to reset them, and what the kernel changes by itself all the time.
moving='/cgroup\.(procs|threads)$|\.pressure$|\.peak$|/ns_last_pid$|/nr_tasks$|/scaling_setspeed$'

# "PATH:LINE" for each line of each file, every folder of the control groups, and for each task its name, CPUs and
# policy. Few processes, as each one is slow here.
settings() {
  {
    find /proc/sys /proc/irq /sys/devices/virtual/workqueue /sys/devices/system/cpu /sys/devices/system/clocksource \
      /sys/kernel/mm /sys/kernel/debug/sched /sys/kernel/tracing/instances /sys/module/*/parameters \
      /sys/class/net/*/queues /sys/block/*/queue /sys/fs/cgroup -type f -perm /222 2>/dev/null
  } | grep -vE "$moving" | xargs -d '\n' grep -sH '' | sort
  find /sys/fs/cgroup /sys/kernel/tracing/instances -type d | sort
  tasks | grep -vE '( kworker/[0-9u]| irq/| bash | cat | awk | sort | grep )' | sort
}

tasks() {
  # shellcheck disable=SC2002 # a task that has ended meanwhile is none of awk's concern
  cat /proc/[0-9]*/{stat,status} 2>/dev/null | awk '
    # After the name: priority and nice are fields 16 and 17, real-time priority and policy 38 and 39.
    / \(.*\) [A-Z] / { stat = $0; sub(/.*\) /, "", stat); split(stat, f, " "); policy[$1] = f[16] " " f[17] " " f[38] " " f[39] }
    $1 == "Name:" { name = $2 }
    $1 == "Pid:" { pid = $2 }
    $1 == "Cpus_allowed:" { print "task", pid, name, $2, policy[pid] }
  '
}

# Usage: remember NAME
remember() { settings >"/run/settings-$1"; }

# Usage: same_as NAME WHEN    fails, with the difference, unless all is as it was then
same_as() {
  settings >/run/settings-now
  if ! diff "/run/settings-$1" /run/settings-now >/run/settings-differ; then
    echo "$2: settings differ from those before:"
    head -n 40 /run/settings-differ
    exit 1
  fi
}

# The guest starts with the host's files: nothing that was tuned there is meant here.
rm -rf /var/lib/ontick

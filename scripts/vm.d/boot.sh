# SPDX-License-Identifier: MIT
# Boots guests in QEMU, waits for them within the time limit, and reports how they ended.
# shellcheck shell=bash disable=SC2154  # Sourced by scripts/vm, which sets the options.

readonly guest_job=/run/cariama-vm       # where a guest sees its job folder
readonly guest_out=$guest_job/out
interactive=no
jobs=''                                  # the folder of this run; in it, one folder a guest

# Everything before the first boot. Sets `kernel`, `initrd`, `accel` and `jobs`.
prepare() {
  [[ $(uname -m) == x86_64 ]] || skip "the guest runs this machine's programs on x86-64, and" \
    "this machine is $(uname -m)"
  (( memory_mb >= huge_pages * 2 + 384 )) || wrong "$huge_pages huge pages need a guest with" \
    "--memory $((huge_pages * 2 + 384)) or more"
  check_packages
  make_image
  check_room 20
  [[ $accel != auto ]] || choose_accel
  jobs=$(mktemp -d "$cache/run.XXXXXX") || fail "cannot write to $cache"
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

skip() { echo "SKIP: $*"; exit 77; }

# QEMU removes its pid file when it ends, so that every process named by one is ours.
clean_up() {
  local file signal
  trap '' INT TERM HUP
  for signal in TERM KILL; do
    for file in "$jobs"/*/qemu.pid; do
      [[ -f $file ]] && kill "-$signal" "$(<"$file")" 2>/dev/null && sleep 0.5
    done
  done
  wait 2>/dev/null
  rm -rf "$jobs"
}

# True if a guest without any device of ours starts within LIMIT seconds.
probe_boot() {  # probe_boot ACCEL LIMIT
  timeout -k 2 "$2" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
    $(accel_options "$1") -smp 2 -m 512 -serial stdio -kernel "$kernel/vmlinux" \
    -initrd "$initrd" -append "console=ttyS0 panic=-1 cariama.probe" 2>&1 < /dev/null |
    grep -q "cariama-vm: the guest has started"
}

accel_options() {
  case $1 in
    kvm) echo "-accel kvm -cpu host" ;;
    tcg) echo "-accel tcg,thread=multi -cpu max" ;;
    counted) echo "-accel tcg,thread=single -icount shift=4,sleep=off -cpu max" ;;
  esac
}

# KVM is there on some machines and yet hangs: only a boot tells. The answer is kept.
choose_accel() {
  local file
  accel=tcg
  [[ -r /dev/kvm && -w /dev/kvm ]] || return 0
  file=$cache/accel-$({ uname -a; qemu-system-x86_64 --version; } | md5sum | cut -c 1-8)
  if [[ ! -f $file ]]; then
    if probe_boot kvm 15; then accel=kvm; else say "KVM does not work here: emulating"; fi
    echo "$accel" > "$file" || fail "cannot write to $cache"
  fi
  accel=$(<"$file")
}

# Writes the job of one guest: what it runs, where, with which environment.
make_job() {  # make_job RANK SIZE PROGRAM [ARGUMENT...]
  local rank=$1 size=$2 job=$jobs/$1 name path
  shift 2
  mkdir -p "$job/out" && cp "$here/vm.d/start" "$job/start" || fail "cannot write to $jobs"
  for path in "$PWD" "$repo" "$build" "$@"; do
    [[ -e $path ]] || continue
    path=$(realpath -s "$path")
    if [[ $path == /tmp/* || $path == /run/* ]]; then echo "$path"; fi
  done | sort -u > "$job/keep"
  {
    for name in PATH LANG HOME $(compgen -e CARIAMA_) $(compgen -e | grep 'SAN_OPTIONS$'); do
      [[ -v $name ]] && printf 'export %s=%q\n' "$name" "${!name}"
    done
    echo "export CARIAMA_TEST_DEVICE=rxe0 CARIAMA_VM_RANK=$rank CARIAMA_VM_SIZE=$size"
    echo "export CARIAMA_VM_OUT=$guest_out"
    for name in "${guest_env[@]}"; do printf 'export %q\n' "$name"; done
    printf 'cd %q\nexec' "$PWD"
    printf ' %q' "$@"
    echo
  } > "$job/command" || fail "cannot write to $jobs"
  echo "interactive=$interactive rank=$rank size=$size window='$(stty size 2>/dev/null)'" \
    > "$job/settings"
}

# Runs one guest until it ends; its output goes to standard output, which must be a pipe.
run_guest() {  # run_guest RANK [QEMU ARGUMENT...]
  local job=$jobs/$1 half=$((memory_mb / 2)) first_cpus="cpus=0"
  # A file, because a port whose other side is at the end of its input counts as not connected.
  local output=(-chardev file,id=out,path=/dev/stdout
                -device virtserialport,chardev=out,name=output)
  shift
  local second_cpus='' sockets=1
  if (( cpus > 1 )); then
    sockets=2
    first_cpus="cpus=0-$((cpus / 2 - 1))" second_cpus=",cpus=$((cpus / 2))-$((cpus - 1))"
  fi
  if [[ $interactive == yes ]]; then
    output=(-chardev stdio,id=out,signal=off -device virtconsole,chardev=out)
  fi
  # The folder changes so that the names of sockets stay short.
  cd "$job" || return 125
  # shellcheck disable=SC2046
  timeout --foreground -k 5 "$timeout_s" qemu-system-x86_64 \
    -nodefaults -no-user-config -display none -no-reboot -pidfile qemu.pid \
    $(accel_options "$accel") -smp "$cpus,sockets=$sockets" -m "$memory_mb" \
    -object "memory-backend-ram,id=ram0,size=${half}M" \
    -object "memory-backend-ram,id=ram1,size=$((memory_mb - half))M" \
    -numa "node,nodeid=0,memdev=ram0,$first_cpus" -numa "node,nodeid=1,memdev=ram1$second_cpus" \
    -kernel "$kernel/vmlinux" -initrd "$initrd" \
    -append "console=ttyS0 quiet panic=-1 tsc=reliable $(huge_page_words) $append" \
    -serial file:console.log -device virtio-serial-pci "${output[@]}" \
    -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
    -virtfs "local,path=$job,mount_tag=job,security_model=none" \
    "$@" 2> qemu.err
}

huge_page_words() {
  echo "hugepages=0:$((huge_pages - huge_pages / 2)),1:$((huge_pages / 2))"
}

# The network of a cluster: one more QEMU, without a machine, in which a hub joins all guests. A
# guest that is killed takes nothing but itself away.
start_hub() {  # start_hub SIZE
  local k ports=() limit=$(( timeout_s ? timeout_s + 30 : 0 ))
  mkdir "$jobs/hub" || fail "cannot write to $jobs"
  for ((k = 0; k < $1; k++)); do
    ports+=(-netdev "stream,id=s$k,server=on,addr.type=unix,addr.path=$k.sock"
            -netdev "hubport,id=h$k,hubid=0,netdev=s$k")
  done
  (cd "$jobs/hub" && exec timeout --foreground -k 5 "$limit" qemu-system-x86_64 -M none \
    -nodefaults -no-user-config -display none -pidfile qemu.pid "${ports[@]}" 2> qemu.err) &
  for ((k = 0; k < 100; k++)); do
    [[ ! -S $jobs/hub/$(($1 - 1)).sock ]] || return 0
    kill -0 $! 2>/dev/null || break
    sleep 0.1
  done
  no_start hub "the network of the cluster"
}

# Starts all guests, lets their programs begin together, kills one if asked, and waits.
boot() {  # boot SIZE PROGRAM [ARGUMENT...]
  local size=$1 k started=$SECONDS
  local guests=()
  for ((k = 0; k < size; k++)); do make_job "$k" "$@"; done
  if (( size == 1 )); then
    if [[ $interactive == yes ]]; then
      run_guest 0 <&0 &
    else
      (run_guest 0 | cat; exit "${PIPESTATUS[0]}") &
    fi
    guests=($!)
  else
    start_hub "$size"
    for ((k = 0; k < size; k++)); do
      (run_guest "$k" -netdev "stream,id=n,server=off,addr.type=unix,addr.path=../hub/$k.sock" \
          -device "virtio-net-pci,netdev=n,mac=52:54:00:00:00:0$(printf %x "$k")" |
        sed -u "s/^/[$k] /"; exit "${PIPESTATUS[0]}") &
      guests[k]=$!
    done
    start_together
  fi

  local result=0
  for ((k = 0; k < size; k++)); do
    wait "${guests[k]}"
    judge "$k"
    [[ $k == "$kill_rank" ]] || (( result )) || result=$status
  done
  exit "$result"
}

# Returns when every program runs, or after the kill if one was asked for.
start_together() {
  local k waiting=yes
  while [[ $waiting == yes ]]; do
    waiting=no
    for ((k = 0; k < size; k++)); do
      # No program has begun, so that a guest which has ended has failed; the rest would wait.
      kill -0 "${guests[k]}" 2>/dev/null || { judge "$k"; exit "$status"; }
      [[ -e $jobs/$k/ready ]] || waiting=yes
    done
    sleep 0.2
  done
  for ((k = 0; k < size; k++)); do touch "$jobs/$k/go"; done
  [[ -n $kill_rank ]] || return 0
  sleep "$kill_after" & wait $!
  say "killing guest $kill_rank"
  { kill "$(<"$jobs/$kill_rank/qemu.pid")"; } 2>/dev/null || say "guest $kill_rank had ended before"
}

# Explains how guest RANK ended, saves what it wrote, and sets `status`.
judge() {  # judge RANK
  local job=$jobs/$1 who="the guest" to=$out
  [[ $command != cluster ]] || who="guest $1" to=$out/$1
  [[ $verbose == no ]] || sed 's/^/guest kernel: /' "$job/console.log" >&2
  if [[ -n $out ]]; then
    mkdir -p "$to" && cp -r "$job/out/." "$to/" || fail "cannot copy the results to $to"
  fi
  status=125
  if [[ $1 == "$kill_rank" ]]; then
    status=0
  elif [[ -s $job/status ]]; then
    status=$(<"$job/status")
  elif (( timeout_s && SECONDS - started >= timeout_s )); then
    status=124
    say "$who was stopped: its limit of $timeout_s s is over (--timeout)"
    last_words "$job"
  elif grep -q "cariama-vm: the guest has started" "$job/console.log" 2>/dev/null; then
    say "$who ended before its program did"
    last_words "$job"
  else
    no_start "$1" "$who"
  fi
}

# Ends the run: a mistake of ours if a plain guest starts on this machine, and a skip if not.
no_start() {  # no_start JOB WHO
  last_words "$jobs/$1"
  probe_boot tcg 60 || skip "QEMU cannot start a guest on this machine"
  fail "$2 did not start, although QEMU works on this machine"
}

# Shows why QEMU or the guest's kernel ended, or the last that they said.
last_words() {  # last_words JOB
  local log=$1/console.log
  grep -v 'warning: ' "$1/qemu.err" 2>/dev/null | tail -n 3 | sed 's/^/  qemu: /' >&2
  [[ ! -f $log ]] || { grep -E 'Kernel panic|BUG:|Out of memory|cannot load' "$log" ||
    tail -n 5 "$log"; } | sed 's/^/  guest kernel: /' >&2
}

# SPDX-License-Identifier: MIT
# What a guest boots from: the packages of the host, Debian's kernel, and a small initramfs.
# shellcheck shell=bash disable=SC2154  # Sourced by scripts/vm, which sets the options.

# Kernel modules of the guest; what they depend on comes along. Without crc32_generic, adding a
# Soft-RoCE device fails with a misleading "No such file or directory".
readonly guest_modules='virtio_pci virtio_console 9pnet_virtio 9p overlay virtio_net veth bridge
  crc32_generic rdma_rxe ib_uverbs rdma_ucm rdma_cm'

say() { echo "scripts/vm: $*" >&2; }

fail() { say "$*"; exit 125; }

# Prints the Debian packages whose programs are missing, by asking for the programs.
missing_packages() {
  local pair
  for pair in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio depmod:kmod \
      modprobe:kmod rdma:iproute2 ip:iproute2 numactl:numactl ibv_devinfo:ibverbs-utils \
      ib_write_lat:perftest xz:xz-utils flock:util-linux; do
    type -P "${pair%%:*}" >/dev/null || echo "${pair#*:}"
  done
  if type -P busybox >/dev/null && ldd "$(type -P busybox)" >/dev/null 2>&1; then
    echo busybox-static
  fi
  [[ -e /etc/libibverbs.d/rxe.driver ]] || echo ibverbs-providers
}

check_packages() {
  local missing
  missing=$(missing_packages | sort -u | tr '\n' ' ')
  [[ -n $missing ]] || return 0
  if [[ $install == yes ]]; then
    say "missing packages: $missing"
    "$repo/scripts/setup" vm >&2 || true
    missing=$(missing_packages | sort -u | tr '\n' ' ')
  fi
  [[ -z $missing ]] || fail "missing packages; install them with: apt-get install" \
    "--no-install-recommends $missing"
}

check_room() {  # check_room MEGABYTES
  local free
  free=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
  (( free >= $1 )) || fail "no room: $cache is on a disk with $free MB free, and $1 MB are" \
    "needed; free some, or choose another folder with --cache DIR"
}

# Prints the package that Debian's linux-image-amd64 stands for.
kernel_package() {
  apt-cache depends linux-image-amd64 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }'
}

# Fills $1 with the kernel (vmlinux or vmlinuz) and the modules that a guest loads, in order.
unpack_kernel() {
  local to=$1 package version error tree=$1/tree
  package=$(kernel_package)
  if [[ -z $package && $install == yes && $EUID -eq 0 ]]; then
    say "apt knows no linux-image-amd64 yet: apt-get update"
    apt-get -q update >&2
    package=$(kernel_package)
  fi
  [[ -n $package ]] || fail "apt knows no package linux-image-amd64: run apt-get update (this" \
    "needs Debian's package lists)"
  check_room 700
  say "fetching $package (70 MB, once; it is not installed)"
  # A list that is old names files that are gone from the mirror: fetch a new one and try again.
  (cd "$to" && { apt-get -q download "$package" || { [[ $install == yes && $EUID -eq 0 ]] &&
      apt-get -q update && apt-get -q download "$(kernel_package)"; }; }) >&2 2>"$to/log" ||
    fail "cannot download $package: $(tail -n 1 "$to/log")"
  error=$(dpkg -x "$to"/linux-image-*.deb "$tree" 2>&1) ||
    fail "cannot unpack $package: ${error%%$'\n'*}"
  version=$(ls "$tree/lib/modules")
  depmod -b "$tree" "$version" || fail "depmod failed for $version"

  mkdir "$to/modules"
  local module path
  for module in $guest_modules; do
    modprobe -d "$tree" -S "$version" --show-depends "$module" ||
      fail "the kernel $version has no module $module"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' > "$to/paths" || exit
  while read -r path; do
    cp "$path" "$to/modules/" || fail "cannot write to $to"
    basename "$path" >> "$to/modules/order"
  done < "$to/paths"
  unpack_vmlinux "$tree/boot/vmlinuz-$version" "$to/vmlinux" ||
    cp "$tree/boot/vmlinuz-$version" "$to/vmlinux" || fail "cannot write to $to"
  echo "$version" > "$to/version" || fail "cannot write to $to"
  rm -rf "$tree" "$to/paths" "$to/log" "$to"/*.deb
}

# The kernel without its own compression boots 3 s sooner under emulation.
unpack_vmlinux() {  # unpack_vmlinux FROM TO
  local offset
  for offset in $(LC_ALL=C grep -obUaP '\xFD7zXZ\x00' "$1" | cut -d: -f1); do
    tail -c "+$((offset + 1))" "$1" | xz -dc --single-stream > "$2" 2>/dev/null
    (( PIPESTATUS[1] == 0 )) && [[ $(head -c 4 "$2" | tail -c 3) == ELF ]] && return 0
  done
  return 1
}

# Makes sure that kernel and initramfs are in the cache; sets `kernel` and `initrd`.
make_image() {
  mkdir -p "$cache" || fail "cannot make the folder $cache"
  cache=$(realpath "$cache")
  exec {image_lock}>"$cache/lock" || fail "cannot write to $cache"
  flock -w 300 "$image_lock" || fail "another scripts/vm has held $cache/lock for 300 s"

  local key work=$cache/work
  key=$(md5sum <<< "$guest_modules" | cut -c 1-8)
  kernel=$cache/kernel-$key
  if [[ ! -d $kernel ]]; then
    rm -rf "$work" && mkdir "$work" || fail "cannot write to $cache"
    # A subshell, so that a failure in it does not leave the half of a kernel behind.
    (unpack_kernel "$work") || { rm -rf "$work"; exit 125; }
    rm -rf "$cache"/kernel-* "$cache"/initrd-*
    mv "$work" "$kernel" || fail "cannot write to $cache"
  fi

  local busybox
  busybox=$(type -P busybox)
  key=$(cat "$here/vm.d/init" "$busybox" | md5sum | cut -c 1-8)
  initrd=$cache/initrd-$key.gz
  if [[ ! -f $initrd ]]; then
    rm -rf "$work" "$cache"/initrd-* && mkdir -p "$work/bin" "$work/modules" &&
      cp "$busybox" "$work/bin/busybox" && cp "$here/vm.d/init" "$work/init" &&
      cp "$kernel"/modules/* "$work/modules/" && chmod 755 "$work/init" &&
      (cd "$work" && find . | cpio -o -H newc --quiet | gzip -1) > "$initrd.part" &&
      mv "$initrd.part" "$initrd" || fail "cannot write to $cache"
    rm -rf "$work"
  fi
  exec {image_lock}>&-
}

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Boots the systemd in the folder TREE as process 1 of namespaces of its own, runs TREE/srv/commands
# as root under it, and powers it off.
#
#   unshare --mount --pid --fork --kill-child --net --uts --ipc boot_tree.sh TREE CGROUP
#
# The output of the commands is in TREE/srv/output, their exit status in TREE/srv/status. CGROUP is
# the folder of a cgroup (version 2) that the caller created for this run and removes afterwards.
# The kernel's settings are read-only inside.

set -eu
tree=$1
echo $$ >"$2/cgroup.procs"
mount --make-rprivate /
mount --bind "$tree" "$tree"
cd "$tree"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 dev dev
for device in null zero full random urandom tty; do
	: >dev/$device
	mount --bind /dev/$device dev/$device
done
mkdir dev/shm dev/pts
mount -t tmpfs shm dev/shm
mount -t devpts devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
ip link set lo up
cat >etc/systemd/system/commands.service <<'EOF'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
StandardOutput=file:/srv/output
StandardError=inherit
ExecStart=/bin/sh -c 'sh -eux /srv/commands; echo $? >/srv/status'
ExecStopPost=/bin/systemctl --no-block exit 0
EOF
mkdir old
# In a container systemd leaves it to its caller to make mounts shared; LoadCredential= needs that.
pivot_root . old
# shellcheck disable=SC2016
exec unshare --cgroup chroot . sh -c 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && umount -l /old && mount --make-rshared / && exec env -i container=iwarp \
	PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=commands.service --log-target=null'

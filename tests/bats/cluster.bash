# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# A small cluster on this machine: hosts ctl and node1 to node4 in namespaces of scripts/fabric, with
# Slurm, and with sshd on each node. Everything is in the folder $CLUSTER and ends with cluster_down.
#
#   cluster_up                    the namespaces
#   cluster_slurm, cluster_sshd   the daemons
#   on HOST CMD...                runs a command on a host
#   inside HOST CMD...            runs a command in its network namespace
#   cluster_kill HOST NAME        kills the processes of this name on a host
#   cluster_left                  prints the processes of a measurement that are left

# A label of its own for each run: files of other checks may be up at the same time.
cluster_up() {
    CLUSTER=$BATS_FILE_TMPDIR/cluster
    CLUSTER_LABEL=hosts-$$
    export CLUSTER CLUSTER_LABEL
    mkdir -p "$CLUSTER/board"
    CLUSTER_PMIX=$(cluster_pmix)
    export CLUSTER_PMIX
    printf '%s\n' 'hosts: [ctl, node1, node2, node3, node4]' 'families: [ipv4]' \
        'prefix: [10.88.0.0/16]' 'networks: [lan]' >"$CLUSTER/cluster.yaml"
    "$IW_TOP/scripts/fabric" up --label "$CLUSTER_LABEL" --owner $$ "$CLUSTER/cluster.yaml" 3>&-
}

cluster_down() {
    [ -z "${CLUSTER_LABEL:-}" ] || "$IW_TOP/scripts/fabric" down --label "$CLUSTER_LABEL" 3>&-
}

on() {
    "$IW_TOP/scripts/fabric" exec --label "$CLUSTER_LABEL" "$@"
}

# cluster_daemon HOST LOG SCRIPT: starts a shell script on a host, in the background
cluster_daemon() {
    on "$1" unshare --mount sh -c "$3" >"$CLUSTER/$2.log" 2>&1 </dev/null 3>&- &
    disown
}

# inside HOST CMD...: runs a command in the namespace of a host; faster than `on`, without its names
inside() {
    nsenter --net="/run/netns/iwf-$CLUSTER_LABEL-$1" "${@:2}"
}

cluster_address() {
    inside "$1" ip -o -4 address show scope global | sed -n 's|.* inet \([0-9.]*\)/.*|\1|p' | head -n 1
}

# --- Slurm -------------------------------------------------------------------------------------------

# Debian's Slurm loads PMIx only with a link that the package libpmix-dev has. In the mount
# namespaces of the daemons and of srun a copy of the folder has it.
cluster_pmix() {
    local folder=/usr/lib/x86_64-linux-gnu/pmix2/lib

    [ -e $folder/libpmix.so.2 ] || return 0
    cp -a $folder "$CLUSTER/pmix"
    ln -sf libpmix.so.2 "$CLUSTER/pmix/libpmix.so"
    echo "mount --bind $CLUSTER/pmix $folder &&"
}

cluster_slurm() {
    local i

    mkdir -p "$CLUSTER/state" "$CLUSTER"/tmp-node{1,2,3,4}
    mkdir -m 711 "$CLUSTER/munge"
    (umask 277 && head -c 128 /dev/urandom >"$CLUSTER/munge.key")
    export SLURM_CONF=$CLUSTER/slurm.conf
    printf 'CgroupPlugin=cgroup/v1\nIgnoreSystemd=yes\n' >"$CLUSTER/cgroup.conf"
    cluster_slurm_conf >"$SLURM_CONF"

    cluster_daemon ctl munged "exec munged --foreground --force --num-threads=2 --key-file=$CLUSTER/munge.key \
        --socket=$CLUSTER/munge/socket --pid-file=$CLUSTER/munge/pid --log-file=$CLUSTER/munge/log --seed-file=$CLUSTER/munge/seed"
    # On a busy machine munged needed more than 10 s.
    wait_until 60 test -S "$CLUSTER/munge/socket" || fail_with 'munged does not start' "$(cat "$CLUSTER/munged.log")"
    cluster_daemon ctl slurmctld "$CLUSTER_PMIX exec slurmctld -D -c"
    for i in 1 2 3 4; do
        cluster_slurmd node$i
    done
}

cluster_slurmd() {
    cluster_daemon "$1" "slurmd-$1" "$CLUSTER_PMIX exec slurmd -D -N $1"
}

cluster_slurm_conf() {
    local i

    cat <<CONF
ClusterName=iwarp
SlurmctldHost=ctl($(cluster_address ctl))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$CLUSTER/munge/socket
CredType=cred/munge
StateSaveLocation=$CLUSTER/state
SlurmctldPidFile=$CLUSTER/slurmctld.pid
SlurmdPidFile=$CLUSTER/slurmd-%n.pid
SlurmdSpoolDir=$CLUSTER/spool-%n
TmpFS=$CLUSTER/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MessageTimeout=5
SlurmdParameters=config_overrides
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
    for i in 1 2 3 4; do
        echo "NodeName=node$i NodeAddr=$(cluster_address node$i) CPUs=1 RealMemory=100 State=UNKNOWN"
    done
}

# All nodes answer, and no job is left on them. srun refuses to start (--immediate) if a job that has
# ended is still completing. A node that sinfo calls idle may not accept a job yet, so a job on all
# nodes comes first.
cluster_idle() {
    if ! wait_until 60 cluster_accepts || ! wait_until 60 cluster_is_idle; then
        fail_with 'a node of Slurm is not idle' "$(inside ctl timeout 5 sinfo -N -l 2>&1
            inside ctl timeout 5 squeue -l 2>&1
            tail -n 20 "$CLUSTER"/slurm*.log)"
    fi
}

cluster_accepts() {
    inside ctl timeout 10 srun --mpi=none -N 4 --immediate=5 true >/dev/null 2>&1
}

cluster_is_idle() {
    inside ctl timeout 5 sinfo -h --responding -t idle -o %D 2>/dev/null | grep -qx 4
}

# --- ssh ---------------------------------------------------------------------------------------------

cluster_sshd() {
    local i

    mkdir -m 700 "$CLUSTER/ssh"
    ssh-keygen -q -t ed25519 -N '' -f "$CLUSTER/ssh/host"
    ssh-keygen -q -t ed25519 -N '' -f "$CLUSTER/ssh/user"
    cat >"$CLUSTER/ssh/sshd.conf" <<CONF
HostKey $CLUSTER/ssh/host
AuthorizedKeysFile $CLUSTER/ssh/user.pub
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
PidFile none
CONF
    cat >"$CLUSTER/ssh/config" <<CONF
Host *
    User root
    IdentityFile $CLUSTER/ssh/user
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
CONF
    for i in 1 2 3 4; do
        cluster_one_sshd node$i
    done
    for i in 1 2 3 4; do
        wait_until 10 cluster_listens node$i 22
    done
}

# sshd insists on /run/sshd.
cluster_one_sshd() {
    cluster_daemon "$1" "sshd-$1" "mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec /usr/sbin/sshd -D -e -f $CLUSTER/ssh/sshd.conf"
}

cluster_listens() {
    inside "$1" ss -Hltn "sport = :$2" | grep -q .
}

# --- processes ---------------------------------------------------------------------------------------

cluster_pids() {
    local pid

    for pid in $(ip netns pids "iwf-$CLUSTER_LABEL-$1"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$2" ] || echo "$pid"
    done
}

cluster_kill() {
    local pid

    for pid in $(cluster_pids "$1" "$2"); do
        kill -KILL "$pid"
    done
}

# Prints the processes of a measurement that are on any host.
cluster_left() {
    local host pid

    for host in ctl node1 node2 node3 node4; do
        for pid in $(ip netns pids "iwf-$CLUSTER_LABEL-$host"); do
            case $(cat "/proc/$pid/comm" 2>/dev/null) in
                ddp-bench | hosts-task | srun | ssh) echo "$host: $(tr '\0' ' ' <"/proc/$pid/cmdline")" ;;
            esac
        done
    done
}

cluster_is_clean() {
    [ -z "$(cluster_left)" ]
}

cluster_measures() {
    [ "$(cluster_pids "$1" ddp-bench | wc -l)" -ge 2 ]
}

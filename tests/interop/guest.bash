# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154
#
# A guest with Linux siw (scripts/peer-vm) for a file of tests. A file boots it once, in setup_file;
# no other file uses it. The guest always ends with the file's process.
#
#   load ../bats/helpers
#   load guest
#   setup_file() {
#       guest_up --mtu 9000                    # options of peer-vm up
#       guest_is_up || return 0
#   }
#   setup() { skip_with_file; }                # if there is no guest
#   teardown_file() { guest_down; }
#
#   run_guest CMD...        runs CMD in the guest: sets $status, $output, $stderr
#   run_beside CMD...       runs CMD here, in the guest's network; serve_beside CMD... starts a server there
#   guest_job CMD...        runs CMD in the guest, in the background: $JOB is its number; guest_wait [JOB], guest_kill [JOB [SIGNAL]] end it as run_guest
#   wait_listening PORT     waits until a program in the guest listens on that TCP port, also siw for rdma_cm
#   guest_is_well           fails if the guest's kernel has reported an error
#
#   HOST_IP HOST_IP6 GUEST_IP GUEST_IP6

PEER_VM=$IW_TOP/scripts/peer-vm
# An emulated machine on a busy host is slow: commands and servers get more time.
IW_TIMEOUT=60
IW_READY_TIMEOUT=60

# guest_failed STATUS TEXT PURPOSE: status 3 of peer-vm means that no guest can run here
guest_failed() {
    [ "$1" -eq 3 ] || fail_with "$3" "$2"
    FILE_SKIPS=$(grep '^needs guest: ' <<<"$2" | tail -n 1)
    export FILE_SKIPS
}

guest_up() {
    local said rc=0

    said=$("$PEER_VM" build 2>&1 3>&-) || rc=$?
    if [ $rc -ne 0 ]; then
        guest_failed $rc "$said" 'the guest cannot be built'
        return 0
    fi
    IW_VM=$("$PEER_VM" up --owner $$ "$@" 2>"$BATS_FILE_TMPDIR/peer-vm.err" 3>&-) || rc=$?
    if [ $rc -ne 0 ]; then
        said=$(cat "$BATS_FILE_TMPDIR/peer-vm.err" <(echo "$IW_VM"))
        IW_VM=
        guest_failed $rc "$said" 'the guest does not boot'
        return 0
    fi
    HOST_IP=10.78.0.1 HOST_IP6=fd78::1
    GUEST_IP=10.78.0.2 GUEST_IP6=fd78::2
    export IW_VM HOST_IP HOST_IP6 GUEST_IP GUEST_IP6
}

guest_is_up() {
    [ -n "${IW_VM:-}" ]
}

guest_down() {
    ! guest_is_up || "$PEER_VM" down 3>&-
}

run_guest() {
    iw_run "$PEER_VM run -t $((IW_TIMEOUT * IW_TIME_FACTOR))" "$@"
    COMMAND="guest: $*"
}

run_beside() {
    iw_run "$PEER_VM host" "$@"
}

serve_beside() {
    iw_serve "$PEER_VM host" "$@"
}

guest_job() {
    run_guest /usr/lib/iw/guest-job start "$@"
    [ "$status" -eq 0 ] || fail_with "cannot start in the guest: $*"
    JOB=$output
}

guest_wait() {
    run_guest /usr/lib/iw/guest-job wait "${1:-$JOB}"
}

guest_kill() {
    run_guest /usr/lib/iw/guest-job kill "${1:-$JOB}" "${2:-TERM}"
}

guest_does() {
    "$PEER_VM" run -t 30 "$@" >/dev/null 2>&1 3>&-
}

# Without the sleep, the polling would keep the guest busy.
wait_listening() {
    guest_does sh -c "until ss -Hltn 'sport = :$1' | grep -q .; do sleep 0.05; done"
}

guest_is_well() {
    local said

    # A crashed program leaves a line with `traps:` or `segfault`; that is not an error of the
    # kernel.
    said=$("$PEER_VM" run -t 30 dmesg 3>&- | grep -v 'traps: ' |
        grep -E 'kernel BUG|BUG:|Oops|WARNING:|Call Trace|general protection' || true)
    [ -z "$said" ] || fail_with "the guest's kernel complains:" "$said"
}

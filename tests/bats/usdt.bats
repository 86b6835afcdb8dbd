#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The USDT probes of the library: one for each event of the list, in each program that can emit it.

# bats file_tags=beside

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    grep -q '^#define IW_HAVE_SDT 1' "$IW_BUILD/config.h" || skip 'needs sys/sdt.h: built without systemtap-sdt-dev'
}

# The events of the list
listed() {
    sed -n 's/^BEGIN(\([a-z_]*\))$/\1/p' "$IW_TOP/lib/util/events.def" | sort
}

# The probes of provider iwarp in a program, with their number of arguments, and whether they have a semaphore
probes_of() {
    LC_ALL=C readelf -n "$1" | awk '
        /^ *Provider:/ { ours = $2 == "iwarp" }
        ours && /^ *Name:/ { name = $2 }
        ours && /^ *Location:/ { semaphore = $NF != "0x0000000000000000" }
        ours && /^ *Arguments:/ { print name, NF - 1, semaphore ? "semaphore" : "none" }' | sort
}

@test "the tools and the library have a probe with a semaphore for each event" {
    local f wanted

    require_tool readelf
    wanted=$(listed | sed 's/$/ 12 semaphore/')
    [ "$(wc -l <<<"$wanted")" -gt 20 ]
    for f in ddp-bench ddp-send ddp-recv mpa-probe sctp-ddp-ping stag-reg libiwarp.so; do
        diff <(echo "$wanted") <(probes_of "$IW_BUILD/$f") || fail_with "$f has other probes than lib/util/events.def"
    done
}

@test "bpftrace reads the events of a running program that has no trace" {
    local pid i rc=0

    require_root
    require_tool bpftrace
    timeout 20 bpftrace -e 'BEGIN { exit(); }' >/dev/null 2>&1 || skip 'needs bpftrace: this kernel does not let it run'
    IW_READY='^listening on' serve_here ddp-bench --listen -p 0 --once
    PORT=$(sed -n 's/^listening on [^ ]*:\([0-9]*\)\(,.*\)\?$/\1/p' serve.1.out)
    "$IW_BUILD/ddp-bench" 127.0.0.1 -p "$PORT" write -w 0 -s 500 --time 20 >client 2>&1 3>&- &
    pid=$!
    # bpftrace reads the maps of the process, so its program must have been loaded.
    for ((i = 0; i < 50; i++)); do
        grep -qs libc "/proc/$pid/maps" && break
        sleep 0.1
    done
    timeout 30 bpftrace -p "$pid" -e "
        usdt:$IW_BUILD/ddp-bench:iwarp:segment_sent /arg2 == 500/ { @segments[str(arg1)] = count(); }
        usdt:$IW_BUILD/ddp-bench:iwarp:rtt { @srtt = max(arg4); }
        interval:s:2 { exit(); }" >bpf 2>bpf.err 3>&- || fail_with "bpftrace ended with $?: $(cat bpf bpf.err client)"
    kill "$pid"
    wait "$pid" || rc=$?
    [ "$rc" -eq 4 ] && grep -q 'stopped by a signal' client || fail_with "ddp-bench ended with $rc: $(cat client)"
    wait_served
    grep -qE '^@segments\[RDMA Write\]: [1-9]' bpf || {
        cat bpf bpf.err client
        return 1
    }
    grep -qE '^@srtt: [1-9]' bpf
}

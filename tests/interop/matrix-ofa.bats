#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Storage and MPI on siw, in the guest: the operations nfs, iser and open-mpi of the interop matrix.
#
# bats file_tags=beside,all
#
# Dollar signs inside single quotes are text; run_here reads IW_TIMEOUT:
# shellcheck disable=SC2016,SC2034

load ../bats/helpers
load guest

setup_file() {
    local said rc=0

    said=$("$PEER_VM" build 2>&1 3>&-) || rc=$?
    [ $rc -eq 0 ] || guest_failed $rc "$said" 'the guest cannot be built'
}

setup() {
    skip_with_file
    require_root
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "NFS over RDMA, iSER and Open MPI work on siw, and a wrong octet fails the cell" {
    # A plug-in whose client claims to have sent other octets than it has.
    mkdir impl
    cp -r "$IW_TOP/scripts/implementations/siw" impl/wrong
    echo 'tr 0 1 <"$IW_WORK/file" >"$IW_SHARED/sent"' >>impl/wrong/connect
    cat >p.yaml <<'END'
title: storage and MPI
blocks:
  - {clients: [siw], servers: [siw], transports: [tcp], operations: [nfs, iser, open-mpi], options: {rtr: [write]}, timeout: 60s}
  - {clients: [wrong], servers: [siw], transports: [tcp], operations: [nfs], options: {rtr: [write]}, timeout: 60s}
END
    IW_TIMEOUT=600
    run_here "$IW_TOP/scripts/interop-matrix" --implementations impl --profile ./p.yaml --guests on --no-capture --output out
    assert_status 1
    run_here jq -r '[.cells[]] | sort_by(.client, .test)[] | [.client, .test, .result, .reason] | join("|")' out/result.json
    assert_output_is 'siw|iser-tcp,rtr=write|pass|
siw|nfs-tcp,rtr=write|pass|
siw|open-mpi-tcp,rtr=write|pass|
wrong|nfs-tcp,rtr=write|fail|siw: wrong octets were delivered: the server has other octets than the client has written'
}

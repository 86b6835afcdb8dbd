#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The examples of ddp-send(1) and ddp-recv(1), and the recipes of iwarp-tools(7), as the pages print
# them. They use the default port, so they run in a network of their own.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers
load net

setup_file() {
    net_setup
}

teardown_file() {
    net_teardown
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir -p incoming photos project/.git incoming/archive
    random_file report.pdf 100K
    random_file photos/one 2M
    random_file photos/two 10K
    printf x >project/x.o
    printf x >project/x.c
    printf x >project/.git/x
}

# The commands in the examples of a page, one per line, without those that start the other end through
# ssh.
examples() {
    sed -n '/^\.SH EXAMPLES/,/^\.SH STANDARDS/p' "$IW_TOP/man/$1" | sed -n 's/\\-/-/g; s/^\$ //p' | grep -v user@
}

@test "the examples of ddp-send" {
    require_localhost
    local line n=0

    # In a user namespace an ordinary user appears as root.
    serve_in left ddp-recv --delete --owner --owner-from-anyone --xattr incoming
    while IFS= read -r line; do
        case $line in *--listen*) continue ;; esac
        run_in left bash -c "$line"
        assert_status 0
        n=$((n + 1))
    done < <(examples ddp-send.1)
    [ "$n" -ge 13 ] || fail_with "only $n examples were found"
    assert_same_file report.pdf incoming/report.pdf
    assert_same_file report.pdf incoming/archive/2026.pdf
    diff -r photos incoming/photos
    diff -r photos incoming/album
    tar tf incoming/photos.tar >/dev/null
    serve_end
    line=$(examples ddp-send.1 | grep -e --listen)
    serve_in left bash -c "exec $line"
    run_in left ddp-recv "$LEFT_IP:one" got
    assert_status 0
    assert_same_file photos/one got
}

@test "the examples of ddp-recv" {
    require_localhost
    local line n=0

    while IFS= read -r line; do
        case $line in
        *'| tar x')
            IW_READY='listening on' serve_in left bash -c "cd incoming && $line"
            run_in left bash -c "tar c photos | ddp-send - '$LEFT_IP:'"
            assert_status 0
            wait_served
            assert_status 0
            diff -r photos incoming/photos
            ;;
        *localhost:*)
            serve_in left ddp-send --listen .
            mkdir -p got/incoming
            run_in left bash -c "cd got && $line"
            assert_status 0
            serve_end
            ;;
        *)
            serve_in left bash -c "exec $line"
            run_in left ddp-send report.pdf localhost:
            assert_status 0
            serve_end
            assert_same_file report.pdf incoming/report.pdf
            ;;
        esac
        n=$((n + 1))
    done < <(examples ddp-recv.1)
    [ "$n" -ge 6 ] || fail_with "only $n examples were found"
    assert_same_file report.pdf got/report.pdf
    assert_same_file project/x.c got/incoming/project/x.c
}

# recipe LINE: prints a line of iwarp-tools(7). Commands typed on "server" run in the other
# namespace.
recipe() {
    local command=${1#* }

    case $1 in
    'server$ mkdir'*) mkdir -p inbox ;;
    'server$ '*)
        [ "$serving" -eq 0 ] || serve_end
        serve_in left bash -c "exec $command"
        serving=1
        ;;
    'here$ '*)
        run_in right bash -c "${command//server/$LEFT_IP}"
        assert_status 0
        ;;
    esac
}

@test "the recipes of iwarp-tools" {
    local line n=0 serving=0

    cp "$IW_TOP/tests/vectors/traces/ops.pcap" iwarp.pcap
    cp photos/one photos/beach.jpg
    while IFS= read -r line; do
        recipe "$line"
        case $line in
        *'photos server:')
            diff -r photos inbox/photos
            rm -r inbox/photos
            ;;
        *' copy.jpg') assert_same_file photos/one copy.jpg ;;
        *sha256sum) assert_equal "${output%% *}" "$(sha256sum <photos/one | cut -d ' ' -f 1)" ;;
        *--explain*) assert_output_has 'RFC 504' ;;
        esac
        n=$((n + 1))
    done < <(sed -n '/^\.SH EXAMPLES/,$p' "$IW_TOP/man/iwarp-tools.7" | sed -n "s/\\\\-/-/g; s/\\\\(aq/'/g; /^\(server\|here\)[$] /p" | grep -v user@)
    [ "$serving" -eq 0 ] || serve_end
    assert_equal "$n" 17
}

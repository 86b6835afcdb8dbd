#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The manual page of the library: its examples are the programs in the tree, and these programs work
# as described.

# bats file_tags=beside

load helpers

setup() {
    PAGE=$IW_TOP/man/libiwarp.3
    EXAMPLES=$IW_BUILD/tests/examples
}

# shown PATH: prints the program that the page shows under that path, without roff's escapes.
shown() {
    sed -n '\|^\.\\" verbatim: '"$1"'$|,/^\.EE$/p' "$PAGE" | sed '1,/^\.ta /d; /^\.EE$/d' |
        sed -e 's/^\\&//' -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(ga/`/g' -e 's/\\(ha/^/g' -e 's/\\(ti/~/g' -e 's/\\e/\\/g'
}

# bats test_tags=plain
@test "libiwarp.3 shows the example programs as they are" {
    local f n=0

    for f in "$IW_TOP"/tests/examples/*.c; do
        diff <(shown "tests/examples/${f##*/}") "$f"
        [ "$(wc -l <"$f")" -lt 100 ]
        n=$((n + 1))
    done
    [ $n -eq 4 ]
}

# bats test_tags=plain
@test "libiwarp.3 names every call of the public headers" {
    local name n=0

    while read -r name; do
        n=$((n + 1))
        sed 's/\\-/-/g' "$PAGE" | grep -qE "^\.BI .*[ *]$name\(" || {
            echo "$name is not in libiwarp.3"
            return 1
        }
    done < <(cd "$IW_TOP" && scripts/check-agree --names)
    [ $n -gt 30 ]
}

# bats test_tags=plain
@test "libiwarp.3 describes every traced event with its keys" {
    local event keys described n=0

    while read -r event keys; do
        described=$(sed -n "/^$event|T{\$/,/^T}\$/p" "$PAGE" | sed '1d;$d' | tr '\n' ' ' | sed -E 's/^[^:]*: //; s/,? *$//; s/, */ /g')
        [ "$described" = "$keys" ] || {
            echo "$event: the list has '$keys', the page '$described'"
            return 1
        }
        n=$((n + 1))
    done < <(awk -F'[(,)]' '/^BEGIN/ { name = $2 } /^\tFIELD/ { gsub(/ /, "", $4); keys = keys " " $4 } /^END/ { print name keys; keys = "" }' \
        "$IW_TOP/lib/util/events.def")
    [ $n -gt 5 ]
}

@test "the example programs talk to each other" {
    local port

    IW_READY='^listening on ' serve_here "$EXAMPLES/responder"
    port=$(sed -n 's/^listening on 127\.0\.0\.1://p' "$BATS_TEST_TMPDIR/serve.1.out")
    run_here "$EXAMPLES/initiator" 127.0.0.1 "$port" "hello, board"
    assert_status 0
    [ "$output" = written ]
    wait_served
    assert_status 0
    grep -qx 'note: written' <<<"$output"
    grep -qx 'board: hello, board' <<<"$output"
}

# Runs both ends of upgrade with that text; $output is the output of the responder.
upgraded() {
    local port

    IW_READY='^listening on ' serve_here "$EXAMPLES/upgrade"
    port=$(sed -n 's/^listening on 127\.0\.0\.1://p' "$BATS_TEST_TMPDIR/serve.1.out")
    run_here "$EXAMPLES/upgrade" "$port" "$1"
    assert_status 0
    wait_served
    assert_status 0
}

@test "the example upgrade sends a short text by RDMA on the connection that carried lines" {
    upgraded "sixteen octets.."
    grep -qx 'by RDMA: sixteen octets\.\.' <<<"$output"
}

@test "the example upgrade continues in lines when the peer rejects RDMA" {
    upgraded "seventeen octets."
    grep -qx 'as text: seventeen octets\.' <<<"$output"
}

@test "the example secure sends a text over TLS to a peer that has the same key" {
    local port

    require_openssl
    head -c 32 /dev/urandom >"$BATS_TEST_TMPDIR/key"
    head -c 32 /dev/urandom >"$BATS_TEST_TMPDIR/other"
    IW_READY='^listening on ' serve_here "$EXAMPLES/secure" "$BATS_TEST_TMPDIR/key"
    port=$(sed -n 's/^listening on 127\.0\.0\.1://p' "$BATS_TEST_TMPDIR/serve.1.out")
    run_here "$EXAMPLES/secure" "$BATS_TEST_TMPDIR/other" "$port" "not delivered"
    assert_status 1
    run_here "$EXAMPLES/secure" "$BATS_TEST_TMPDIR/key" "$port" "a secret"
    assert_status 0
    grep -qx 'TLSv1\.3, TLS_.*' <<<"$output"
    wait_served
    assert_status 0
    grep -qx 'received: a secret' <<<"$output"
    run ! grep -q 'not delivered' <<<"$output"
}

@test "the example initiator reports why it could not connect" {
    run_here "$EXAMPLES/initiator" 127.0.0.1 1 "hello"
    assert_status 1
    # shellcheck disable=SC2154 # run_here sets it
    grep -q '^initiator: .*connect to 127.0.0.1 port 1: connection refused' <<<"$stderr"
}

# A library with those functions, as BUILD/libiwarp.so below the temporary folder: abi_library NAME CODE
abi_library() {
    mkdir -p "$BATS_TEST_TMPDIR/$1"
    "${CC:-gcc}" -g -shared -fPIC -fno-lto -x c -o "$BATS_TEST_TMPDIR/$1/libiwarp.so" - <<<"$2"
}

# bats test_tags=plain
@test "scripts/check-abi reports a removed function and a changed struct" {
    local old=$BATS_TEST_TMPDIR/old/libiwarp.so struct='struct iw_x { int a; };'

    command -v abidiff >/dev/null || skip "needs abidiff: install abigail-tools"
    abi_library old "$struct int iw_a(struct iw_x *x) { return x->a; } int iw_b(void) { return 1; }"
    abi_library same "$struct int iw_a(struct iw_x *x) { return x->a; } int iw_b(void) { return 1; }"
    abi_library fewer "$struct int iw_a(struct iw_x *x) { return x->a; }"
    abi_library other "struct iw_x { long b; int a; }; int iw_a(struct iw_x *x) { return x->a; } int iw_b(void) { return 1; }"

    run_here "$IW_TOP/scripts/check-abi" "$BATS_TEST_TMPDIR/same" --against "$old"
    assert_status 0
    assert_output_has compatible
    run_here "$IW_TOP/scripts/check-abi" "$BATS_TEST_TMPDIR/fewer" --against "$old"
    assert_status 0 # before version 1.0
    assert_output_has 'iw_b'
    assert_output_has 'incompatible: programs linked with the old library may fail'
    run_here "$IW_TOP/scripts/check-abi" "$BATS_TEST_TMPDIR/other" --against "$old"
    assert_output_has 'iw_x'
    assert_output_has 'changed'

    # The library itself can be compared.
    run_here "$IW_TOP/scripts/check-abi" "$IW_BUILD" --against "$IW_BUILD/libiwarp.so"
    assert_status 0
    assert_output_has compatible
}

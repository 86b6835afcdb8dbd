#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A party that ends TLS between both ends of a transfer: the ends compare their channel bindings
# (RFC 9266, "Encryption" in ddp-transfer(7)), and nothing is stored.

# bats file_tags=beside

load helpers

setup_file() {
    file_requires require_tool python3 || return 0
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return 1
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/own
    require_openssl
    ddp-recv --show-key >/dev/null
    # The proxy has another key than the listener.
    XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/proxy ddp-recv --show-key >/dev/null
    PROXY_KEY=(proxy/iwarp/cert.pem proxy/iwarp/key.pem)
    mkdir in
    seq 100000 >f
    PORT=$(free_port)
    VIA=$(free_port)
}

# proxy ARG...: forwards connections from port VIA to port PORT
proxy() {
    IW_READY=listening serve_here python3 "$IW_TOP/tests/bats/tls_proxy.py" "$VIA" "$PORT" "$@"
}

# refused TEXT: both ends know why, and nothing was stored
refused() {
    [ $status -ne 0 ] || fail_with 'the transfer was accepted'
    assert_stderr_has "$1"
    [ -z "$(ls -A in)" ] || fail_with 'something was stored'
}

@test "a proxy that decrypts nothing does not disturb the transfer" {
    serve_here ddp-recv --tls -p "$PORT" --once in
    proxy
    run_here ddp-send --tls -p "$VIA" f 127.0.0.1:
    assert_status 0
    cmp f in/f
}

@test "a proxy that decrypts and encrypts again is detected by the listener" {
    serve_here ddp-recv --tls -p "$PORT" in
    proxy --in "${PROXY_KEY[@]}" --out
    run_here ddp-send --tls -p "$VIA" --redial 0 f 127.0.0.1:
    refused 'the channel bindings of both ends differ (RFC 9266)'
    serve_end 1
    assert_stderr_has 'the channel bindings of both ends differ (RFC 9266)'
}

@test "the same proxy is detected in a fetch" {
    mkdir out
    serve_here ddp-send --listen --tls -p "$PORT" .
    proxy --in "${PROXY_KEY[@]}" --out
    run_here ddp-recv --tls -p "$VIA" --redial 0 127.0.0.1:f out
    refused 'the channel bindings of both ends differ (RFC 9266)'
    [ -z "$(ls -A out)" ] || fail_with 'something was stored'
}

@test "a proxy that ends the encryption of the sender is detected" {
    serve_here ddp-recv -p "$PORT" in
    proxy --in "${PROXY_KEY[@]}"
    run_here ddp-send --tls -p "$VIA" --redial 0 f 127.0.0.1:
    refused "the peer's side of this connection is encrypted and this side is not"
}

@test "a proxy that begins the encryption for a plain sender is detected" {
    serve_here ddp-recv --tls -p "$PORT" in
    proxy --out
    run_here ddp-send -p "$VIA" --redial 0 f 127.0.0.1:
    refused "the peer's first message has no channel binding (RFC 9266)"
}

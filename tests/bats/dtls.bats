#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# SCTP in DTLS in UDP (-t udp with encryption) between two hosts: keys, a bad link, small packets, a
# foreign peer, and what the wire shows.

# bats file_tags=beside

# Each test is a separate shell.
# shellcheck disable=SC2030,SC2031,SC2154

load helpers
load net

setup_file() {
    net_setup --relay
}

teardown_file() {
    net_teardown
}

setup() {
    skip_with_file
    net_files 2M
    export XDG_CONFIG_HOME=$PWD/config
    require_openssl
    (umask 077 && openssl rand -hex 32 >secret && openssl rand -hex 32 >wrong)
}

# listen [OPTION...]: a listener at the right
listen() {
    serve_in right ddp-recv -t udp -p "$PORT" --bind '*' "$@" dst
}

# push [OPTION...]: sends src/f to it
push() {
    rm -f dst/f
    run_in left ddp-send -t udp -p "$PORT" --redial 0 "$@" src/f "$RIGHT_IP:"
}

@test "a file arrives in DTLS, with a secret and with remembered keys" {
    relay_start
    listen --psk-file secret
    push --psk-file secret -j 2
    assert_status 0
    assert_same_file src/f dst/f
    serve_end
    listen --tls --insecure
    push --tls
    assert_status 0
    assert_same_file src/f dst/f
    assert_equal "$(wc -l <config/iwarp/known_hosts)" 1
    rm config/iwarp/key.pem config/iwarp/cert.pem
    serve_end
    listen --tls --insecure
    push --tls
    assert_status 4
    assert_stderr_has 'is not the remembered one; nothing was sent'
    [ ! -e dst/f ]
}

@test "ends that do not agree on a key say so, and nothing arrives" {
    relay_start
    listen --psk-file secret
    push --psk-file wrong
    assert_status 4
    assert_stderr_has 'DTLS: the peer does not finish the handshake: it has another pre-shared key'
    push --tls
    assert_status 4
    assert_stderr_has 'DTLS: the peer refuses the connection'
    push --timeout 3s
    assert_status 4
    serve_end
    listen --insecure
    push --psk-file secret --timeout 3s
    assert_status 4
    assert_stderr_has 'no answer to the DTLS ClientHello'
    assert_equal "$(ls -A dst)" ''
}

@test "a link that loses, repeats and reorders datagrams delays a transfer only" {
    local i

    for i in 1 2 3; do
        relay_start --link loss=4%,duplicate=3%,corrupt=1%,delay=3ms,jitter=3ms,late=3%,late-by=8ms --seed "$i"
        listen --psk-file secret --once
        push --psk-file secret
        assert_status 0
        assert_same_file src/f dst/f
        wait_served
        relay_end
    done
}

@test "octets of the file are not on the wire, and packets do not exceed the MTU" {
    require_tool tcpdump
    relay_start
    yes 'a line that is easy to find' | head -c 200000 >src/f
    capture_in left wire.pcap udp
    listen --psk-file secret
    push --psk-file secret
    assert_status 0
    capture_end
    run ! grep -aq 'easy to find' wire.pcap
    assert_equal "$(tcpdump -nr wire.pcap 'greater 1515' 2>/dev/null)" ''
    serve_end
    capture_in left wire.pcap udp
    listen --insecure
    push
    assert_status 0
    capture_end
    grep -aq 'easy to find' wire.pcap
}

@test "openssl s_client finishes a handshake with a listener" {
    local key

    relay_start
    key=$(cat secret)
    listen --psk-file secret
    # It reads its input, which is empty, after the handshake.
    run_in left timeout 20 openssl s_client -dtls1_2 -connect "$RIGHT_IP:9899" -psk "$key" -psk_identity iwarp -alpn iwarp \
        -cipher ECDHE-PSK-CHACHA20-POLY1305
    assert_output_has 'ALPN protocol: iwarp'
    assert_output_has 'Extended master secret: yes'
    run_in left timeout 20 openssl s_client -dtls1_2 -connect "$RIGHT_IP:9899" -psk "$key" -psk_identity iwarp \
        -cipher ECDHE-PSK-CHACHA20-POLY1305
    assert_stderr_has 'alert no application protocol'
    # They leave nothing that disturbs.
    push --psk-file secret
    assert_status 0
}

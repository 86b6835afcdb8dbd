#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Encryption by the tools: keys that are remembered, pins, authorities, secrets, and what is refused.
# Each end has its own directory of keys: the listener `there`, the connecting side `here`.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load helpers
load transfers

setup() {
    transfer_setup
    require_openssl
    there=$PWD/there here=$PWD/here
    mkdir "$there" "$here"
    random_file src/f 3000001
}

# serve [OPTION...]: a listener with the keys of `there`
serve() {
    serve_here env XDG_CONFIG_HOME="$there" ddp-recv -p "$PORT" "$@" dst
}

# send_f [OPTION...]: sends src/f with the keys of `here`
send_f() {
    run_here env XDG_CONFIG_HOME="$here" ddp-send -p "$PORT" --redial 0 "$@" src/f 127.0.0.1:
}

# Prints the pin of the directory of keys $1, and nothing else.
key_of() {
    XDG_CONFIG_HOME=$1 ddp-recv --show-key | cut -d ' ' -f 1
}

assert_sent() {
    assert_status 0
    assert_same_file src/f dst/f
    rm -f dst/f
}

# Nothing has arrived, and the message has these words.
assert_refused() {
    assert_status 4
    assert_stderr_has "$1"
    assert_equal "$(ls -A dst)" ''
}

# --- keys that are remembered -----------------------------------------------------------------------------------------------

@test "TLS notices changed octets, so no digest and no CRC is no reason to warn" {
    serve --tls --crc off
    # The first connection is reported.
    send_f --tls
    assert_sent
    send_f --tls --crc off --digest none
    assert_sent
    assert_equal "$stderr" ''
    serve_end
    assert_equal "$stderr" ''
}

@test "TLS carries every mode in both directions" {
    local mode

    serve --tls
    for mode in write read send; do
        send_f --tls -m $mode
        assert_sent
    done
    serve_end
    serve_here env XDG_CONFIG_HOME="$there" ddp-send --listen -p "$PORT" --tls src
    for mode in write read send; do
        run_here env XDG_CONFIG_HOME="$here" ddp-recv -p "$PORT" --tls -m $mode 127.0.0.1:f dst
        assert_sent
    done
}

@test "the first key of a peer is remembered, and a changed one is refused" {
    local old

    serve --tls
    send_f --tls
    assert_sent
    old=$(key_of "$there")
    assert_stderr_is "ddp-send: warning: [127.0.0.1]:$PORT: first connection: key $old remembered in $here/iwarp/known_hosts"
    assert_equal "$(stat -c %a "$here/iwarp" "$here/iwarp/known_hosts" "$here/iwarp/key.pem" | xargs)" '700 600 600'
    assert_equal "$(cat "$here/iwarp/known_hosts")" "[127.0.0.1]:$PORT $old"
    send_f --tls
    assert_sent
    assert_stderr_is ''
    serve_end

    rm "$there/iwarp/"*.pem
    serve --tls
    send_f --tls -j 3
    assert_refused "[127.0.0.1]:$PORT: THE KEY OF THIS HOST HAS CHANGED"
    assert_stderr_has "its key now:    $(key_of "$there")"
    assert_stderr_has "remembered key: $old ($here/iwarp/known_hosts:1)"
    assert_equal "$(grep -c 'HAS CHANGED' <<<"$stderr")" 1
    # The message has a command that accepts the new key.
    eval "$(sed -n 's/.*remove that line: //p' <<<"$stderr")"
    assert_equal "$(wc -c <"$here/iwarp/known_hosts")" 0
    send_f --tls
    assert_sent
    assert_stderr_has 'first connection'
}

@test "connections that start at once remember one key" {
    serve --tls
    send_f --tls -j 8 -v
    assert_sent
    assert_equal "$(wc -l <"$here/iwarp/known_hosts")" 1
    assert_equal "$(grep -c 'first connection' <<<"$stderr")" 1
}

@test "known_hosts may have 10,000 lines, and a malformed one stops the tool" {
    local key

    key=$(key_of "$there")
    mkdir -p "$here/iwarp"
    seq -f "host%.0f $key" 10000 >"$here/iwarp/known_hosts"
    echo "[127.0.0.1]:$PORT $key" >>"$here/iwarp/known_hosts"
    serve --tls
    send_f --tls
    assert_sent
    assert_stderr_is ''
    sed -i '777s/SHA256/MD5/' "$here/iwarp/known_hosts"
    send_f --tls
    assert_status 2
    assert_stderr_has "$here/iwarp/known_hosts:777: "
    assert_stderr_has 'nothing was sent'
    sed -i 777d "$here/iwarp/known_hosts"
    chmod 620 "$here/iwarp/known_hosts"
    send_f --tls
    assert_status 3
    assert_stderr_has 'chmod 600'
    assert_equal "$(ls -A dst)" ''
}

# --- pins, authorities, secrets ----------------------------------------------------------------------------------------------

@test "--pin accepts one of the keys, at each end" {
    local wrong=SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA

    serve --pin "$(key_of "$here")" --pin $wrong
    send_f --pin "$(key_of "$there")"
    assert_sent
    assert_stderr_is ''
    # As 64 hex digits.
    send_f --pin "$(openssl x509 -in "$there/iwarp/cert.pem" -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum | cut -c 1-64)"
    assert_sent
    send_f --pin $wrong
    assert_refused "$(key_of "$there")"
    assert_equal "$([ -e "$here/iwarp/known_hosts" ] && echo made)" ''
    # A user with another key may not connect.
    run_here env XDG_CONFIG_HOME="$PWD/other" ddp-send -p "$PORT" --redial 0 --tls src/f 127.0.0.1:
    assert_refused "it does not accept this end's certificate or key"
}

# make_ca: an authority ca.pem; make_cert NAME SUBJECT-ALT-NAME [DAYS]: a pair that it signed
make_ca() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 -subj /CN=authority 2>/dev/null
}

make_cert() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days "${3:-30}" -out "$1.pem" \
        -extfile <(echo "subjectAltName=$2") 2>/dev/null
    chmod 600 "$1.key"
}

@test "--ca checks signature and name, at each end" {
    make_ca
    make_cert server IP:127.0.0.1
    make_cert user DNS:user
    make_cert other DNS:other.example
    serve --cert server.pem --key server.key --ca ca.pem
    send_f --ca ca.pem --cert user.pem --key user.key
    assert_sent
    # A peer without a certificate of the authority.
    send_f --ca ca.pem
    assert_refused "it does not accept this end's certificate or key"
    serve_end
    serve --cert other.pem --key other.key
    send_f --ca ca.pem
    assert_refused 'is not for the address 127.0.0.1'
    serve_end
    serve --tls
    send_f --ca ca.pem
    assert_refused 'certificate'
}

@test "an expired, unreadable or foreign certificate is refused before anything is sent" {
    make_ca
    make_cert old IP:127.0.0.1 -1 || make_cert old IP:127.0.0.1 0
    make_cert good IP:127.0.0.1
    make_cert second IP:127.0.0.1
    run_here env XDG_CONFIG_HOME="$there" ddp-recv -p "$PORT" --cert old.pem --key old.key dst
    assert_status 2
    assert_stderr_has 'old.pem'
    assert_stderr_has 'expired'
    run_here env XDG_CONFIG_HOME="$there" ddp-recv -p "$PORT" --cert good.pem --key second.key dst
    assert_status 2
    assert_stderr_has 'second.key'
    run_here env XDG_CONFIG_HOME="$there" ddp-recv -p "$PORT" --cert nosuch.pem --key good.key dst
    assert_status 4
    assert_stderr_has 'nosuch.pem'
    run_here env XDG_CONFIG_HOME="$there" ddp-recv -p "$PORT" --cert good.pem --key good.pem dst
    assert_stderr_has 'good.pem'
    [ "$status" -ne 0 ] || fail_with 'a certificate was accepted as a key'
    send_f --ca src/f
    assert_status 2
    assert_stderr_has 'src/f'
    chmod 640 good.key
    run_here env XDG_CONFIG_HOME="$there" ddp-recv -p "$PORT" --cert good.pem --key good.key dst
    assert_status 3
    assert_stderr_is 'ddp-recv: --key good.key: mode 0640 gives other users rights on a secret; expected 0600: run chmod 600 good.key'
}

@test "--psk-file authenticates both ends" {
    (umask 077 && openssl rand -hex 32 >secret && openssl rand -hex 32 >wrong)
    serve --psk-file secret
    send_f --psk-file secret
    assert_sent
    assert_stderr_is ''
    send_f --psk-file wrong
    assert_refused 'TLS'
    send_f --tls
    assert_refused 'TLS'
    assert_equal "$([ -s "$here/iwarp/known_hosts" ] && echo remembered)" ''
    serve_end
    serve --tls
    send_f --psk-file secret
    assert_refused 'TLS'
}

@test "a secret of a wrong form, or that others can read, is refused" {
    local text

    for text in '' 00112233 000102030405060708090a0b0c0d0e0g 000102030405060708090a0b0c0d0e0f0; do
        (umask 077 && echo "$text" >secret)
        send_f --psk-file secret
        assert_status 2
        assert_stderr_has '--psk-file secret: '
        assert_stderr_has 'expected one line of 32 to 128 hex digits'
        [ -z "$text" ] || assert_stderr_lacks "$text"
    done
    openssl rand -hex 32 >secret
    chmod 604 secret
    send_f --psk-file secret
    assert_status 3
    assert_stderr_has 'mode 0604'
    send_f --psk-file nosuch
    assert_status 4
    assert_stderr_has '--psk-file nosuch: no such file or directory'
}

# --- plain peers ---------------------------------------------------------------------------------------------------------------

@test "a plain end and an encrypted one say what to change" {
    serve --tls
    send_f
    [ "$status" -ne 0 ] || fail_with 'a plain transfer to a listener with --tls'
    assert_stderr_has 'the peer expects TLS: a TLS server answers like this; give --tls'
    assert_equal "$(ls -A dst)" ''
    run_here mpa-probe -p "$PORT" 127.0.0.1
    assert_status 1
    assert_output_has 'it speaks TLS ("\x15\x03\x03'
    assert_output_has 'then give --tls'
    serve_end
    serve
    send_f --tls
    [ "$status" -ne 0 ] || fail_with 'an encrypted transfer to a plain listener'
    assert_stderr_has 'TLS'
    assert_equal "$(ls -A dst)" ''
    assert_equal "$([ -s "$here/iwarp/known_hosts" ] && echo remembered)" ''
}

@test "--require-encryption refuses plain connections, and the last --tls wins" {
    serve
    send_f --require-encryption
    assert_status 3
    assert_stderr_is 'ddp-send: --require-encryption: this connection would be plain; add --tls, or --require-encryption=no'
    send_f --require-encryption --tls --tls=no
    assert_status 3
    send_f --require-encryption --require-encryption=no
    assert_sent
    send_f --tls --tls=no
    assert_sent
    run_here ddp-recv -p "$PORT" --require-encryption dst
    assert_status 3
    assert_stderr_has 'this listener would be plain'
    serve_end
    serve --require-encryption --tls
    send_f --require-encryption --tls
    assert_sent
}

@test "a listener that other machines can use without authentication says so" {
    (umask 077 && openssl rand -hex 32 >secret)
    local warning='any machine that reaches this listener may use it'

    IW_READY='listening on' serve -v --bind 0.0.0.0
    serve_end
    assert_stderr_has "$warning, and the data are not encrypted"
    IW_READY='listening on' serve -v --bind 0.0.0.0 --tls
    serve_end
    assert_stderr_has "$warning, and its peers are not authenticated"
    for options in '--insecure --bind 0.0.0.0' '--psk-file secret --bind *' '--bind localhost' '--bind ::1' ''; do
        set -f
        # shellcheck disable=SC2086
        IW_READY='listening on' serve -v $options
        set +f
        serve_end
        assert_stderr_lacks "$warning"
    done
}

@test "options that do not fit are usage errors" {
    local try

    try() {
        run_here ddp-send "$@" src/f 127.0.0.1:
        assert_status 2
    }
    try --tls -t sctp
    assert_stderr_has '--tls: -t sctp has no encryption; use -t tcp or udp'
    try --pin SHA256:abc
    assert_stderr_has '--pin "SHA256:abc": not a key; expected SHA256: and 43 characters, or 64 hex digits'
    try --cert x
    assert_stderr_has 'add --key FILE'
    try --key x
    assert_stderr_has 'add --cert FILE'
    try --psk-file x --ca y
    assert_stderr_has '--psk-file and --ca exclude each other'
    try --tls=maybe
    assert_stderr_has '--tls "maybe"'
    try --ca ''
    assert_stderr_has '--ca "": empty'
    HOME='' XDG_CONFIG_HOME='' run_here ddp-send --tls src/f 127.0.0.1:
    assert_status 4
    assert_stderr_has 'neither HOME nor XDG_CONFIG_HOME is an absolute path'
    HOME=/nonexistent XDG_CONFIG_HOME='' run_here ddp-send --tls src/f 127.0.0.1:
    assert_status 4
    assert_stderr_has 'create /nonexistent/.config (from XDG_CONFIG_HOME or HOME)'
}

@test "--show-key prints the pin of the certificate in use" {
    local pin

    run_here env XDG_CONFIG_HOME="$here" ddp-bench --show-key
    assert_status 0
    pin=$(openssl x509 -in "$here/iwarp/cert.pem" -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | openssl base64)
    assert_output_is "SHA256:${pin%=} $here/iwarp/cert.pem"
    rm "$here/iwarp/cert.pem"
    run_here env XDG_CONFIG_HOME="$here" sctp-ddp-ping --show-key
    assert_output_is "SHA256:${pin%=} $here/iwarp/cert.pem"
    make_ca
    make_cert mine IP:127.0.0.1
    run_here env XDG_CONFIG_HOME="$here" mpa-probe --show-key --cert mine.pem --key mine.key
    assert_output_has 'mine.pem'
    rm "$here/iwarp/key.pem"
    run_here env XDG_CONFIG_HOME="$here" ddp-send --show-key
    assert_status 2
    assert_stderr_has 'its private key key.pem is missing'
}

# --- other tools, and connections that are lost ----------------------------------------------------------------------------------

@test "a connection that was cut is set up again with TLS" {
    local relay

    relay=$(free_port)
    serve --tls --once
    serve_here ddp-impair --listen "$relay" --to "127.0.0.1:$PORT" --rule 'octets conn=1 from=initiator nth=40: reset'
    random_file src/f 20000000
    run_here env XDG_CONFIG_HOME="$here" ddp-send -p "$relay" --tls --bwlimit 400M --json src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
    assert_jsonl '[.[] | select(.event=="result")][0] | [.complete, .redials >= 1]' '[true,true]'
}

@test "a peer that has another key after a cut is refused at once" {
    local sender

    arrives() { [ "$(du -s dst | cut -f 1)" -gt 2000 ]; }
    random_file src/f 40000000
    serve --tls
    XDG_CONFIG_HOME=$here ddp-send -p "$PORT" --tls --bwlimit 200M src/f 127.0.0.1: >out 2>err </dev/null 3>&- &
    sender=$!
    wait_until 10 arrives || fail_with 'nothing arrives'
    kill -KILL "$SERVE_PID"
    rm "$there/iwarp/"*.pem
    serve --tls
    wait_until 10 iw_gone $sender || fail_with "ddp-send tries again and again: $(cat err)"
    run_here cat err
    assert_output_has 'THE KEY OF THIS HOST HAS CHANGED'
    assert_output_lacks 'rejected'
    assert_output_has 'its key is not the remembered one'
    assert_equal "$(sed '1,/HAS CHANGED/d' err | grep -c 'connecting again')" 0
    assert_equal "$(find dst -name f)" ''
}

@test "the URI of a registered buffer is sent to the remembered key only" {
    local uri

    serve --tls --control ctl
    random_file buffer 100000
    uri=$(stag-reg add --control ctl --size 100000 --access rw --json | jq -r .uri)
    put_buffer() {
        IW_STDIN=buffer run_here env XDG_CONFIG_HOME="$here" ddp-send --to "$uri" "$@"
    }
    put_buffer --tls
    assert_status 0
    assert_stderr_has 'first connection'
    run_here env XDG_CONFIG_HOME="$here" ddp-recv --from "$uri" --tls
    assert_status 0
    assert_same_file buffer "$OUTPUT_FILE"
    put_buffer
    [ "$status" -ne 0 ] || fail_with 'plain'
    sed -i 's/SHA256:.\{10\}/SHA256:AAAAAAAAAA/' "$here/iwarp/known_hosts"
    put_buffer --tls
    assert_status 4
    assert_stderr_has 'THE KEY OF THIS HOST HAS CHANGED'
}

@test "mpa-probe examines a listener with TLS" {
    serve_here env XDG_CONFIG_HOME="$there" mpa-probe --listen -p "$PORT" --tls
    run_here env XDG_CONFIG_HOME="$here" mpa-probe -p "$PORT" --json --tls 127.0.0.1
    assert_status 0
    assert_stderr_has 'first connection'
    assert_jsonl '[.[] | select(.event=="result")][0].iwarp' true
    run_here env XDG_CONFIG_HOME="$here" mpa-probe -p "$PORT" --all --pin "$(key_of "$there")" 127.0.0.1
    assert_status 0
    assert_stderr_is ''
    serve_end
    rm "$there/iwarp/"*.pem
    serve_here env XDG_CONFIG_HOME="$there" mpa-probe --listen -p "$PORT" --tls
    run_here env XDG_CONFIG_HOME="$here" mpa-probe -p "$PORT" --tls 127.0.0.1
    assert_status 4
    assert_stderr_has 'THE KEY OF THIS HOST HAS CHANGED'
    run_here env XDG_CONFIG_HOME="$here" mpa-probe -p "$PORT" 127.0.0.1
    assert_status 1
}

@test "ddp-bench and rping use the same keys" {
    serve_here env XDG_CONFIG_HOME="$there" ddp-bench --listen -p "$PORT" --tls
    run_here env XDG_CONFIG_HOME="$here" ddp-bench -p "$PORT" --tls --count 1000 -s 4K -j 4 127.0.0.1 write
    assert_status 0
    # The lines that follow the connection belong to it.
    [[ $output =~ 'congestion control'.*'encryption '.*'retransmitted' ]] || fail_with 'wrong order' "$output"
    assert_stderr_has 'first connection'
    serve_end
    serve_here env XDG_CONFIG_HOME="$there" mpa-probe --listen --app rping -p "$PORT" --tls
    run_here env XDG_CONFIG_HOME="$here" mpa-probe --app rping -p "$PORT" --tls 127.0.0.1
    assert_status 0
    serve_end
    rm "$there/iwarp/"*.pem
    serve_here env XDG_CONFIG_HOME="$there" ddp-bench --listen -p "$PORT" --tls
    run_here env XDG_CONFIG_HOME="$here" ddp-bench -p "$PORT" --tls --count 10 127.0.0.1 write
    assert_status 4
    assert_stderr_has 'THE KEY OF THIS HOST HAS CHANGED'
}

@test "DTLS over UDP uses the same keys" {
    local udp mode

    udp=$(free_port)
    (umask 077 && openssl rand -hex 32 >secret && openssl rand -hex 32 >wrong)
    serve -t udp --udp-port "$udp" --tls
    for mode in write read send; do
        send_f -t udp --udp-port "$udp" --tls -m $mode -j 2
        assert_sent
    done
    assert_equal "$(cat "$here/iwarp/known_hosts")" "[127.0.0.1]:$PORT $(key_of "$there")"
    send_f -t udp --udp-port "$udp" --pin "$(key_of "$there")"
    assert_sent
    send_f -t udp --udp-port "$udp" --pin "$(key_of "$here")"
    assert_refused 'TLS'
    sed -i 's/SHA256:.\{10\}/SHA256:AAAAAAAAAA/' "$here/iwarp/known_hosts"
    send_f -t udp --udp-port "$udp" --tls
    assert_refused 'THE KEY OF THIS HOST HAS CHANGED'
    serve_end
    serve -t udp --udp-port "$udp" --psk-file secret
    send_f -t udp --udp-port "$udp" --psk-file secret
    assert_sent
    send_f -t udp --udp-port "$udp" --psk-file wrong
    assert_refused 'TLS'
    serve_end
    serve_here env XDG_CONFIG_HOME="$there" sctp-ddp-ping --listen -p "$PORT" --udp-port "$udp" --psk-file secret
    run_here sctp-ddp-ping -p "$PORT" --udp-port "$udp" --psk-file secret -c 3 -i 10ms -n 2 127.0.0.1
    assert_status 0
    run_here sctp-ddp-ping -p "$PORT" --udp-port "$udp" --psk-file wrong -c 3 127.0.0.1
    [ "$status" -ne 0 ] || fail_with 'a wrong secret was accepted'
    assert_stderr_has 'TLS'
}

# --- other implementations of TLS --------------------------------------------------------------------------------------------------

# An MPA Request of RFC 5044 without Private Data: key, flags C and Rev 1, length 0.
mpa_request() {
    printf 'MPA ID Req Frame\x40\x01\x00\x00'
}

@test "openssl s_client gets the Reply of MPA from a listener with --tls" {
    local key

    serve_here env XDG_CONFIG_HOME="$there" mpa-probe --listen -p "$PORT" --tls
    # s_client ends when the listener closes the connection.
    # shellcheck disable=SC2094
    (mpa_request && wait_until 10 grep -q 'MPA ID Rep Frame' reply) |
        timeout 20 openssl s_client -connect "127.0.0.1:$PORT" -alpn iwarp -tls1_3 -quiet >reply 2>said || true
    grep -qa 'MPA ID Rep Frame' reply || fail_with "no Reply: $(cat said)"
    timeout 20 openssl s_client -connect "127.0.0.1:$PORT" -alpn iwarp </dev/null >said 2>&1 || true
    key=$(openssl x509 -in said -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | openssl base64)
    assert_equal "SHA256:${key%=}" "$(key_of "$there")"
    grep -q 'ALPN protocol: iwarp' said || fail_with "$(cat said)"
    grep -q 'TLSv1.3' said || fail_with "$(cat said)"
    # Another protocol, none, and an older version are refused.
    run_here timeout 20 openssl s_client -connect "127.0.0.1:$PORT" -alpn http/1.1
    assert_output_lacks 'ALPN protocol: http/1.1'
    [ "$status" -ne 0 ] || fail_with 'ALPN http/1.1 was accepted'
    run_here timeout 20 openssl s_client -connect "127.0.0.1:$PORT"
    [ "$status" -ne 0 ] || fail_with 'no ALPN was accepted'
    run_here timeout 20 openssl s_client -connect "127.0.0.1:$PORT" -alpn iwarp -tls1_2
    [ "$status" -ne 0 ] || fail_with 'TLS 1.2 was accepted'
}

@test "openssl s_server receives the Request of MPA from ddp-send --tls" {
    make_ca
    make_cert server IP:127.0.0.1
    # s_server ends a connection when its standard input ends.
    mkfifo input
    exec 9<>input
    IW_STDIN=input serve_here openssl s_server -accept "$PORT" -cert server.pem -key server.key -alpn iwarp -tls1_3 -quiet
    send_f --ca ca.pem --timeout 3s
    exec 9>&-
    assert_status 4
    assert_stderr_has 'no answer to the MPA Request'
    serve_end
    grep -qa 'MPA ID Req Frame' "$OUTPUT_FILE" || fail_with 'no Request'
}

@test "nothing is sent to a peer that has another key than the remembered one" {
    make_ca
    make_cert server IP:127.0.0.1
    mkdir -p "$here/iwarp"
    echo "[127.0.0.1]:$PORT SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" >"$here/iwarp/known_hosts"
    mkfifo input
    exec 9<>input
    IW_STDIN=input serve_here openssl s_server -accept "$PORT" -cert server.pem -key server.key -alpn iwarp -tls1_3 -quiet
    send_f --tls
    exec 9>&-
    assert_refused 'THE KEY OF THIS HOST HAS CHANGED'
    serve_end
    [ ! -s "$OUTPUT_FILE" ] || fail_with 'the peer has received octets'
}

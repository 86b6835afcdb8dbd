#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# stag-reg with a running ddp-recv, and peers that use the registered buffers: ddp-send --to,
# ddp-recv --from. Tests in which the network matters use namespaces.

# bats file_tags=beside

load helpers
load net

setup_file() {
    net_probe && net_setup
    true
}

teardown_file() {
    [ -z "${NET_LEFT_PID:-}" ] || net_teardown
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir in
    PORT=$(free_port)
}

serve() {
    serve_here ddp-recv -p "$PORT" --control ctl in
}

reg() {
    run_here stag-reg "$@" --control ctl
}

# register ARGUMENT...: registers a buffer, and sets STAG and URI from the answer
register() {
    reg add --json "$@"
    assert_status 0
    STAG=$(jq -r .stag <<<"$output")
    URI=$(jq -r .uri <<<"$output")
}

# put FILE [URI]: runs ddp-send --to
put() {
    IW_STDIN=$1 run_here ddp-send --to "${2:-$URI}"
}

get() {
    run_here ddp-recv --from "${1:-$URI}"
}

# part TO LEN: prints the URI of a part of the buffer
part() {
    echo "${URI%%to=*}to=$1&len=$2&access=${URI#*access=}"
}

# letters FILE SIZE LETTER: creates a file of SIZE times LETTER
letters() {
    head -c "$2" /dev/zero | tr '\0' "$3" >"$1"
}

# must_wait SECONDS: a wrong claim is rejected with that waiting time
must_wait() {
    get "${URI/$STAG/00000001}"
    # shellcheck disable=SC2154
    [[ $stderr == *"too many wrong claims: try again in $1 s"* ]]
}

may_get() {
    get "$1"
    # shellcheck disable=SC2154
    [ "$status" -eq 0 ]
}

buffers() {
    stag-reg list --json --control ctl | jq -s 'map(select(.event=="buffer")) | length'
}

connected() {
    stag-reg show "$STAG" --json --control ctl | jq -se 'any(.event=="peer" and (.ended|not))'
}

no_buffer() {
    [ "$(buffers)" -eq 0 ]
}

# SEC-04, DDP-112
@test "a file is registered, written and read from elsewhere, and revoked" {
    random_file data 3000001
    truncate -s 3000001 board
    serve
    register board --access rw
    put data
    assert_status 0
    assert_output_has 'wrote 2.9 MiB to'
    # The octets are in the file at once: no later copy is needed.
    assert_same_file data board
    get
    assert_status 0
    assert_same_file data "$OUTPUT_FILE"
    # Peers read what other processes write to the file.
    random_file other 3000001
    cat other >board
    get
    assert_same_file other "$OUTPUT_FILE"
    reg revoke "$STAG"
    assert_status 0
    assert_output_is 'revoked 1'
    get
    assert_status 1
    assert_stderr_has "STag 0x$STAG: not registered with this key, revoked, expired or used up"
    put data
    assert_status 1
    assert_same_file other board
    reg revoke "$STAG"
    assert_status 1
    assert_stderr_has "STag $STAG: not registered"
    # The server still receives files.
    run_here ddp-send -p "$PORT" data 127.0.0.1:
    assert_status 0
    assert_same_file data in/data
}

@test "text, --json, --shell and --uri print the same Advertisement" {
    local IW_STAG='' IW_TO='' IW_LEN='' IW_ACCESS='' IW_ENDPOINT='' IW_TRANSPORT='' IW_KEY='' IW_URI=''

    random_file board 10000
    serve
    register board --range 4096:1000 --access rw --expires 10m --uses 5 --pd team
    assert_stderr_has "STag $STAG: the URI works on this machine only; start ddp-recv with --bind for others"
    reg show "$STAG" --uri
    assert_output_is "$URI"
    assert_stderr_has "STag $STAG: the URI works on this machine only"
    reg show "$STAG" --uri --host board.example
    assert_stderr_is ''
    reg show "$STAG" --json
    assert_jsonl '.[0] | [.event, .to, .length_octets, .access, .transport, .kind, .file, .pd, .uses, .needs_key]' \
        '["buffer","0x0000000000001000",1000,"rw","tcp","file","board","team",5,true]'
    assert_jsonl '.[0].endpoint' "127.0.0.1:$PORT"
    assert_jsonl '.[0] | .left_ns > 590e9 and .left_ns <= 600e9' true
    assert_jsonl '.[0] | .uri' "ddp+tcp://127.0.0.1:$PORT/stag/$STAG?to=4096&len=1000&access=rw&key=$(jq -r .key <<<"$output")"
    reg show "$STAG" --uri
    assert_output_is "$URI"
    reg show "0x$STAG" --shell
    assert_status 0
    eval "$output"
    assert_equal "$IW_STAG $IW_TO $IW_LEN $IW_ACCESS $IW_ENDPOINT $IW_TRANSPORT $IW_URI" \
        "$STAG 4096 1000 rw 127.0.0.1:$PORT tcp $URI"
    [[ $URI == *"key=$IW_KEY" ]]
    reg show "$STAG"
    assert_output_has "$URI"
    assert_output_has '1000 (1000 B)'
    # A list may be shown to other users: it contains no keys.
    reg list --json
    assert_output_lacks "$IW_KEY"
    reg list
    assert_output_has "$STAG"
    assert_output_lacks "$IW_KEY"
    reg show "$STAG" --uri --host board.example
    assert_output_has "ddp+tcp://board.example:$PORT/"
    # The buffer keeps the host that was given with add.
    register board --pd team --access rw --host other.example
    reg show "$STAG" --shell
    eval "$output"
    assert_equal "$IW_ENDPOINT" "other.example:$PORT"
    reg show "$STAG" --uri --host board.example
    assert_output_has "ddp+tcp://board.example:$PORT/"
}

@test "the same over udp, which the URI names" {
    require_transport udp
    random_file data 3000001
    truncate -s 3000001 board
    serve_here ddp-recv -t udp -p "$PORT" --control ctl in
    register board --access rw
    [[ $URI == ddp+udp://* ]]
    put data
    assert_status 0
    assert_same_file data board
    get
    assert_status 0
    assert_same_file data "$OUTPUT_FILE"
    reg revoke "$STAG"
    get
    assert_status 1
}

# DDP-112, SEC-03, SEC-25
@test "a range has the given offsets, end and rights" {
    letters board 10000 A
    letters data 100 B
    serve
    register board --range 4090:200 --access rw
    put data
    assert_status 0
    assert_equal "$(head -c 4090 board | tr -d A | wc -c)" 0
    assert_equal "$(tail -c +4091 board | head -c 100 | tr -d B | wc -c)" 0
    assert_equal "$(tail -c +4191 board | tr -d A | wc -c)" 0
    # The URI can name a part of the buffer.
    put data "$(part 4190 100)"
    assert_status 0
    get "$(part 4189 2)"
    assert_output_is BB
    put data "$(part 4191 100)"
    assert_status 1
    assert_stderr_has 'the URI asks for 100 octets from Tagged Offset 4191, the buffer has 200 from 4090'
    # Input beyond the end: what fits is written, and the loss of the rest is reported.
    letters long 201 C
    put long
    assert_status 4
    assert_stderr_has 'more than the 200 octets'
    assert_equal "$(tail -c +4091 board | head -c 200 | tr -d C | wc -c)" 0
    assert_equal "$(tail -c +4291 board | tr -d A | wc -c)" 0
    # At the same time, peers of another domain cannot write there.
    reg add board --access w
    assert_status 4
    assert_stderr_has 'in another protection domain, lets peers write these octets'
    reg revoke --all
    register board --access r
    put data
    assert_status 1
    assert_stderr_has 'registered for reading only; revoke it and register it with --access w'
    reg revoke --all
    register board --access w
    get
    assert_status 1
    assert_stderr_has 'registered for writing only'
    reg add board --range 9999:2
    assert_status 2
    assert_stderr_has 'board: range 9999:2: not within the file, which has 10000 octets'
    reg add board --range 10000:
    assert_status 2
    assert_stderr_has 'board: range 10000: begins at the end of the file or after it; the file has 10000 octets'
    reg revoke --all
    reg add board --range 9999: --uri
    assert_status 0
    assert_output_has 'to=9999&len=1&'
}

# SEC-23: new memory contains no octets of another process
@test "new memory is zeros, then what was written, for as long as it is registered" {
    random_file data 1000000
    serve
    register --size 2M --access rw
    get
    assert_status 0
    assert_equal "$(stat -c %s "$OUTPUT_FILE")" 2097152
    assert_equal "$(tr -d '\0' <"$OUTPUT_FILE" | wc -c)" 0
    put data
    assert_status 0
    get
    cmp -n 1000000 data "$OUTPUT_FILE"
    assert_equal "$(tail -c +1000001 "$OUTPUT_FILE" | tr -d '\0' | wc -c)" 0
}

# SEC-09: an STag without its key gives no access
@test "a wrong key, no key and an unknown STag get the same answer, and --no-key admits all" {
    local said

    letters board 100 A
    serve
    register board
    get "${URI%&key=*}&key=00112233445566778899aabbccddeeff"
    assert_status 1
    # shellcheck disable=SC2154
    said=$stderr
    get "${URI/$STAG/00000001}"
    assert_status 1
    assert_equal "$stderr" "${said/$STAG/00000001}"
    # Without a key, the client prints the same text in both cases.
    get "${URI%&key=*}"
    assert_status 1
    assert_stderr_has 'rejected, and the URI has no key='
    said=$stderr
    get "ddp+tcp://127.0.0.1:$PORT/stag/00000001?to=0&len=100&access=r"
    assert_status 1
    assert_equal "$stderr" "${said/$STAG/00000001}"
    get
    assert_status 0
    register board --no-key
    assert_jsonl '.[0] | [.needs_key, has("key")]' '[false,false]'
    [[ $URI != *key=* ]]
    get
    assert_status 0
    # The key is in a file, so that it does not appear among the arguments.
    register board
    (umask 077 && echo "$URI" >secret)
    get @secret
    assert_status 0
    assert_same_file board "$OUTPUT_FILE"
}

# SEC-26
@test "peers of one domain cannot read a file that peers of another may write" {
    letters board 1000 A
    serve
    register board --access w --range 100:100
    # The same file under another name, and only a part of it.
    ln board link
    reg add link --range 0:101
    assert_status 4
    assert_stderr_has "STag $STAG, in another protection domain, lets peers write these octets"
    register board --range 0:100
    register board --range 0:100
    reg add board --access rw --range 99:1
    assert_status 4
    assert_stderr_has 'lets peers read these octets'
}

# SEC-09
@test "wrong claims from one address are delayed and logged once, and the right key is not delayed" {
    letters board 100 A
    serve
    register board --no-key
    local open=$URI
    register board
    for _ in {1..10}; do
        get "${URI/$STAG/00000001}"
        assert_status 1
        assert_stderr_has 'not registered with this key'
    done
    # The third wait is 4 s long: the following commands run within it.
    wait_until 20 must_wait 4 || fail_with 'no claim had to wait for 4 s'
    get "$open"
    assert_status 1
    assert_stderr_has 'too many wrong claims'
    get
    assert_status 0
    wait_until 10 may_get "$open" || fail_with 'the wait did not end'
    assert_equal "$(grep -c 'wrong claims on buffers' "$BATS_TEST_TMPDIR/serve.1.err")" 1
    assert_equal "$(grep -c 'rejected' "$BATS_TEST_TMPDIR/serve.1.err")" 12
}

# SEC-24
@test "--expires and --uses end a buffer by themselves" {
    letters board 100 A
    serve
    register board --expires 3s
    get
    assert_status 0
    wait_until 10 no_buffer || fail_with 'it is still there'
    get
    assert_status 1
    register board --uses 2
    get
    assert_status 0
    get
    assert_status 0
    get
    assert_status 1
    assert_equal "$(buffers)" 0
    # Three operations, but only one use is left: the second is refused.
    random_file big 3000000
    register big --uses 1
    assert_stderr_has "STag $STAG: --uses 1 is less than the 3 operations that reading the whole buffer takes, one for each MiB"
    get
    assert_status 1
    assert_stderr_has "STag 0x$STAG at 127.0.0.1:$PORT: revoked, expired, or its --uses were reached, after 0 octets"
    assert_stderr_has 'register it again with stag-reg add (--uses 3 or more: one for each MiB)'
    # The interrupted operation took the only use.
    wait_until 5 no_buffer || fail_with 'it is still listed'
    get
    assert_status 1
    assert_stderr_has 'not registered with this key, revoked, expired or used up'
    reg show "$STAG"
    assert_status 1
    assert_stderr_has "STag $STAG: not registered, revoked, expired or used up"
    register big --uses 3
    get
    assert_status 0
}

@test "watch and show report each peer's operations, watch also the end of the buffer" {
    local watcher

    letters board 3000000 A
    letters data 2000000 B
    serve
    register board --access rw
    IW_READY='"buffer"' serve_here stag-reg watch "$STAG" --interval 20ms --json --control ctl
    watcher=$SERVED
    put data
    assert_status 0
    get
    assert_status 0
    reg show "$STAG" --json
    assert_jsonl 'map(select(.event=="peer")) | map([.writes,.write_octets,.reads,.read_octets,.ended,.text])' \
        '[[2,2000000,0,0,true,""],[0,0,3,3000000,true,""]]'
    assert_jsonl 'map(select(.event=="buffer"))[0] | [.writes,.write_octets,.reads,.read_octets]' '[2,2000000,3,3000000]'
    wait_until 5 grep -q '"read_octets":3000000.*"new' "$BATS_TEST_TMPDIR/serve.$watcher.out"
    reg revoke --all
    assert_output_is 'revoked 1'
    wait_served "$watcher"
    assert_status 0
    assert_jsonl '[.[0].event, .[-1].event, .[-1].stag]' "[\"buffer\",\"gone\",\"$STAG\"]"
    assert_jsonl 'map(select(.event=="interval" and .ended)) | map([.write_octets, .read_octets])' '[[2000000,0],[0,3000000]]'
    # The new octets of all intervals add up to the totals.
    assert_jsonl 'map(select(.event=="interval")) | [(map(.new_write_octets)|add), (map(.new_read_octets)|add)]' '[2000000,3000000]'
    reg watch "$STAG"
    assert_status 1
}

# SEC-06, DDP-113: tested at full rate, over a network
@test "revocation under full-rate writing: no octet is placed after the call has returned" {
    local i hit=0

    [ -n "${NET_LEFT_PID:-}" ] || require_netns
    letters A 64M A
    serve_in right ddp-recv -p 7471 --bind "$RIGHT_IP" --control ctl in
    for _ in 1 2 3; do
        cp A board
        register board --access w
        for i in 1 2 3; do
            rm -f w$i.err
            # shellcheck disable=SC2016,SC2046
            timeout 60 $(net_into left) bash -c 'while ddp-send -q --to "$1" <A 2>>"$2"; do :; done' - "$URI" w$i.err 3>&- &
            eval "local pid$i=$!"
        done
        sleep 0.$((RANDOM % 4 + 5))
        reg revoke "$STAG"
        assert_status 0
        # Now only the owner uses the memory.
        head -c 64M /dev/zero | tr '\0' Z | dd of=board bs=1M conv=notrunc status=none
        # shellcheck disable=SC2154
        wait "$pid1" "$pid2" "$pid3" || true
        assert_equal "$(tr -d Z <board | wc -c)" 0 'octets placed after revoke had returned'
        ! grep -l 'revoked, expired, or its --uses were reached' w?.err || hit=$((hit + 1))
    done
    # At least one revocation must have interrupted an operation, otherwise the test proves nothing.
    [ $hit -gt 0 ]
}

# SEC-06
@test "revocation under full-rate reading: no octet that is written after the call has returned is sent" {
    local i hit=0

    [ -n "${NET_LEFT_PID:-}" ] || require_netns
    letters A 64M A
    serve_in right ddp-recv -p 7471 --bind "$RIGHT_IP" --control ctl in
    for _ in 1 2 3; do
        cp A board
        register board --access r
        for i in 1 2 3; do
            rm -f r$i.err
            # shellcheck disable=SC2016,SC2046
            timeout 60 $(net_into left) bash -c 'while ddp-recv -q --from "$1" 2>>"$2" | tr -d A; do [ ! -s "$2" ] || break; done' - \
                "$URI" r$i.err >r$i.out 3>&- &
            eval "local pid$i=$!"
        done
        sleep 0.$((RANDOM % 4 + 5))
        reg revoke "$STAG"
        assert_status 0
        head -c 64M /dev/zero | tr '\0' Z | dd of=board bs=1M conv=notrunc status=none
        # shellcheck disable=SC2154
        wait "$pid1" "$pid2" "$pid3" || true
        # Octets other than A were written after the revocation.
        assert_equal "$(cat r?.out | wc -c)" 0 'octets read after revoke had returned'
        ! grep -l 'revoked, expired, or its --uses were reached' r?.err || hit=$((hit + 1))
    done
    [ $hit -gt 0 ]
}

@test "truncating a file under writers and readers ends their connections, not the server" {
    local access pid

    serve
    for access in r w; do
        letters board 256M A
        register board --access $access
        if [ $access = r ]; then
            (while ddp-recv -q --from "$URI" >/dev/null 2>err; do :; done) 3>&- &
        else
            (while head -c 256M /dev/zero | ddp-send -q --to "$URI" 2>err; do :; done) 3>&- &
        fi
        pid=$!
        sleep 0.3
        truncate -s 4K board
        # The transfer ends with an error, and the buffer is removed.
        wait_until 20 iw_gone $pid || fail_with "the $access peer continues"
        [ -s err ]
        wait_until 5 no_buffer || fail_with 'still registered'
    done
    # Also if the new end is within the last page, where no access would fail.
    letters board 8000 A
    register board --access w
    mkfifo feed
    ddp-send -q --to "$URI" <feed 2>err 3>&- &
    pid=$!
    exec 7>feed
    wait_until 5 connected
    truncate -s 7990 board
    head -c 8000 /dev/zero >&7
    exec 7>&-
    status=0
    wait $pid || status=$?
    assert_equal $status 4
    wait_until 5 no_buffer || fail_with 'still registered'
    random_file data 1000
    run_here ddp-send -p "$PORT" data 127.0.0.1:
    assert_status 0
    grep -q 'is shorter than the registered range' "$BATS_TEST_TMPDIR/serve.1.err"
}

@test "a file that is removed stays registered; a full disk under a hole ends the buffer alone" {
    local small=$BATS_TEST_TMPDIR/small

    letters board 1M A
    letters data 1M B
    serve
    register board --access rw
    rm board
    put data
    assert_status 0
    get
    assert_same_file data "$OUTPUT_FILE"
    reg revoke --all
    if [ "$(id -u)" -ne 0 ]; then
        return
    fi
    mkdir "$small"
    mount -t tmpfs -o size=512k tmpfs "$small" || skip 'needs root: cannot mount a small file system'
    truncate -s 1M "$small/board"
    register "$small/board" --access w
    put data
    status_was=$status
    reg list --json
    umount "$small" 2>/dev/null || umount -l "$small"
    assert_equal "$status_was" 4
    assert_jsonl '.[-1].buffers' 0
}

# SEC-15: access to the control socket
@test "the control socket: only for its owner, taken over if no server answers, removed with the server" {
    local dir other

    serve
    assert_equal "$(stat -c %a ctl)" 600
    if [ "$(id -u)" -eq 0 ]; then
        # Other users are refused: by the mode of the socket, or, if the mode was changed, by the
        # user id of the peer.
        dir=$(mktemp -d)
        chmod 755 "$dir"
        cp "$(command -v stag-reg)" "$dir"
        serve_here ddp-recv -p 0 --control "$dir/ctl" in
        run_here setpriv --reuid 65534 --clear-groups "$dir/stag-reg" list --control "$dir/ctl"
        other=$status
        chmod 666 "$dir/ctl"
        run_here setpriv --reuid 65534 --clear-groups "$dir/stag-reg" list --control "$dir/ctl"
        rm -rf "$dir"
        assert_equal "$other" 3
        assert_status 4
        assert_stderr_has 'the server has closed the control socket'
    fi
    # Another server does not take it over.
    run_here ddp-recv -p 0 --control ctl in
    assert_status 4
    assert_stderr_has 'in use; another listener on this port may have it'
    serve_end 1 KILL
    [ -S ctl ]
    reg list
    assert_status 4
    assert_stderr_has 'no ddp-recv answers at ctl'
    run_here stag-reg list -p 9999
    assert_status 4
    assert_stderr_is "stag-reg: no ddp-recv answers at $XDG_RUNTIME_DIR/iwarp/recv-9999.sock: start one, name its port with -p, or as root use --control for another user's, as /run/iwarp/recv-9999.sock"
    run_here env -u XDG_RUNTIME_DIR stag-reg list -p 9999
    # If root ran a listener, this directory remains, and other users may not search it.
    if [ -d /run/iwarp ] && [ ! -x /run/iwarp ]; then
        assert_status 3
        assert_stderr_is 'stag-reg: control socket /run/iwarp/recv-9999.sock: permission denied; only its owner and root may use it'
    else
        assert_status 4
        assert_stderr_is "stag-reg: no ddp-recv with port 9999 answers at /run/iwarp/recv-9999.sock: start one, or name the port of the listener with -p (with --control none, it has no socket)"
    fi
    serve
    reg list
    assert_status 0
    serve_end
    assert_status 0
    [ ! -e ctl ]
    # A file that is not a socket is not touched.
    echo precious >ctl
    run_here ddp-recv -p 0 --control ctl in
    assert_status 4
    assert_stderr_has 'control socket ctl: a file of this name exists and is not a socket'
    assert_equal "$(cat ctl)" precious
    reg list
    assert_status 4
    assert_stderr_has 'ctl: not a socket; give the socket of ddp-recv with --control'
    # The default path contains the port.
    mkdir run
    XDG_RUNTIME_DIR=$PWD/run serve_here ddp-recv -p "$PORT" in
    [ -S "run/iwarp/recv-$PORT.sock" ]
    XDG_RUNTIME_DIR=$PWD/run run_here stag-reg -p "$PORT" list
    assert_status 0
    serve_end
    [ ! -e "run/iwarp/recv-$PORT.sock" ]
    XDG_RUNTIME_DIR=$PWD/run serve_here ddp-recv -p "$PORT" --control none in
    [ ! -e "run/iwarp/recv-$PORT.sock" ]
}

@test "garbage, silence and many clients on the control socket delay no other client" {
    local i idle=()

    require_tool socat
    letters board 100 A
    serve
    register board
    for i in 1 2 3 4 5; do
        head -c $((i * i * 50)) /dev/urandom | timeout 5 socat -t 1 - UNIX-CONNECT:ctl,type=5 >/dev/null 2>&1 3>&- || true
    done
    # More idle clients than the server handles at once: the others wait until one disconnects.
    for i in {1..70}; do
        timeout 20 socat -u UNIX-CONNECT:ctl,type=5 /dev/null 2>/dev/null 3>&- &
        idle+=($!)
    done
    sleep 0.5
    get
    assert_status 0
    assert_same_file board "$OUTPUT_FILE"
    kill "${idle[@]}"
    wait "${idle[@]}" || true
    reg list --json
    assert_status 0
    assert_jsonl '.[-1].buffers' 1
}

@test "the tools wait for slow ends of a pipe, longer than --timeout" {
    serve
    register --size 3000000 --access rw
    random_file data 3000000
    # shellcheck disable=SC2016
    run_here bash -c '(head -c 1000000 data; sleep 1.5; tail -c +1000001 data) | ddp-send --timeout 500ms --to "$1"' - "$URI"
    assert_status 0
    # shellcheck disable=SC2016
    run_here bash -c 'ddp-recv --timeout 500ms --from "$1" | (sleep 1.5; cat)' - "$URI"
    assert_status 0
    assert_same_file data "$OUTPUT_FILE"
    # A reader that disconnects causes an error, and the server continues.
    # shellcheck disable=SC2016
    run_here bash -c 'set -o pipefail; ddp-recv --from "$1" | head -c 10 | wc -c' - "$URI"
    assert_status 4
    assert_output_is 10
    # Slow input is written as it arrives.
    # shellcheck disable=SC2016
    mkfifo feed
    ddp-send -q --to "$URI" <feed 3>&- &
    exec 7>feed
    echo early >&7
    wait_until 5 bash -c "ddp-recv --from '$URI' | head -c 5 | grep -q early"
    exec 7>&-
    wait $!
}

@test "usage errors, and impossible requests, with their status" {
    local bad port

    letters board 100 A
    for bad in 'add' 'add board --size 5' 'add --size 0' 'add --size 5 --range 1:2' 'add board --access x' 'add board --pd a/b' \
        'add board --pd a --stream 1' 'add board --json --uri' 'show' 'show 123' 'show 00000000' 'revoke' 'revoke 00000001 --all' \
        'watch 00000001 00000002' 'frobnicate' 'add board --uses 0' 'add board --range 5' 'list x'; do
        # shellcheck disable=SC2086
        run_here stag-reg $bad
        assert_status 2
    done
    for bad in 'http://h/' 'ddp+tcp://h:1/stag/1?to=0&len=1&access=r' 'ddp+tcp://h:0/stag/00000001?to=0&len=1&access=r' \
        'ddp+tcp://h:1/stag/00000001?to=0&len=1' '@nowhere' ''; do
        run_here ddp-send --to "$bad"
        assert_status 2
    done
    run_here ddp-recv --from 'ddp+xyz://127.0.0.1:1/stag/00000001?to=0&len=1&access=r'
    assert_status 2
    assert_stderr_has 'transport "xyz"; expected tcp, sctp, udp, raw or xdp'
    run_here ddp-recv --from 'ddp+tcp://127.0.0.1:1/stag/00000001?to=0'
    assert_status 2
    assert_stderr_has 'the shell cuts an unquoted URI at &: quote it'
    run_here ddp-send --to 'ddp+tcp://127.0.0.1:1/stag/00000001?to=0&len=1&access=r' x
    assert_status 2
    run_here ddp-recv -p 0 in --control "$(printf 'x%.0s' {1..200})"
    assert_status 4
    serve
    mkfifo pipe
    : >empty
    reg add nowhere
    assert_status 4
    reg add pipe
    assert_status 2
    assert_stderr_has 'pipe: not a regular file'
    reg add in
    assert_status 2
    reg add empty
    assert_status 2
    assert_stderr_has 'empty: the file is empty'
    reg add board --stream 77
    assert_status 4
    assert_stderr_has 'no such connection'
    assert_equal "$(buffers)" 0
    # A listening ddp-send has no buffers.
    port=$(free_port)
    serve_here ddp-send --listen -p "$port" in
    run_here ddp-recv --from "ddp+tcp://127.0.0.1:$port/stag/00000001?to=0&len=1&access=r"
    assert_status 1
    assert_stderr_is "ddp-recv: the listener at 127.0.0.1:$port has no registered buffers; expected the ddp-recv in which stag-reg add registered the buffer"
}

@test "a ddp-recv that stops answering is named with what to look at" {
    local pid

    serve
    register --size 8M --access rw
    mkfifo fifo
    timeout --foreground 20 ddp-send --to "$URI" --timeout 2s <fifo >send.out 2>send.err 3>&- &
    pid=$!
    exec 9>fifo
    head -c 1048576 /dev/zero >&9
    wait_until 10 bash -c "stag-reg list --json --control ctl | jq -es '[.. | .write_octets? // empty] | add >= 1048576'"
    kill -STOP "$SERVE_PID"
    head -c 7340032 /dev/zero >&9
    exec 9>&-
    status=0
    wait $pid || status=$?
    stderr=$(cat send.err)
    assert_status 4
    assert_stderr_has "127.0.0.1:$PORT: conn: the peer"
    assert_stderr_has 'is the network up, and does ddp-recv still run there?'
    reg list --timeout 1s
    assert_status 4
    assert_stderr_is 'stag-reg: ddp-recv did not answer within --timeout: it is stopped or busy; look at that process'
    kill -CONT "$SERVE_PID"
}

@test "the examples of stag-reg(1)" {
    local n=0 block

    # These tests use the default port, which another process on this machine may use.
    [ -n "${NET_LEFT_PID:-}" ] || require_netns
    mkdir run
    XDG_RUNTIME_DIR=$PWD/run serve_in left ddp-recv in
    # shellcheck disable=SC2153
    while IFS= read -r -d $'\f' block; do
        XDG_RUNTIME_DIR=$PWD/run run_in left bash -ec "$(sed -n 's/^\$ //p' <<<"$block")"
        assert_status 0
        n=$((n + 1))
    done < <(sed -n '/^\.SH EXAMPLES/,/^\.SH STANDARDS/p' "$IW_TOP/man/stag-reg.1" |
        sed -e 's/\\-/-/g' -e '/^\.EE/s/.*/\f/' | awk '/^\.EX/ { on = 1; next } /\f/ { if (on) printf "\f"; on = 0 } on')
    assert_equal $n 3
    assert_output_has 'revoked 1'
}

@test "new memory is limited, all of it together" {
    serve_here ddp-recv -p "$PORT" --control ctl --max-memory 1M in
    register --size 600K
    reg add --size 600K
    assert_status 4
    assert_stderr_has "--size 600.0 KiB exceeds the receiver's --max-memory (1.0 MiB, 600.0 KiB in use)"
    # An existing file is not charged: it needs no new memory.
    letters in/f 2000000 a
    reg add in/f
    assert_status 0
    reg revoke "$STAG"
    assert_status 0
    reg add --size 1M
    assert_status 0
    run_here ddp-recv --max-memory 1M 127.0.0.1:x in
    assert_status 2
}

@test "connections to registered buffers are at most half of --max-connections" {
    letters in/f 1000 a
    serve_here ddp-recv -p "$PORT" --control ctl --max-connections 6 in
    register in/f --no-key
    run_here python3 -c "
import subprocess, sys
sys.path.insert(0, '$BATS_TEST_DIRNAME')
from hostile import *
held = []
for _ in range(8):
    try:
        held.append(Peer.connect('127.0.0.1', $PORT, {0: 'ddp-buffer', 1: 1, 2: 1, 3: int('$STAG', 16)}, check=False))
    except Rejected:
        pass
print(len(held))
print(subprocess.run(['ddp-send', '-q', '-p', '$PORT', '-j', '2', 'in/f', '127.0.0.1:copy']).returncode)"
    assert_status 0
    assert_output_is '3
0'
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bats file_tags=beside
#
# Transfers that ssh starts, with a real sshd. Not tested: ssh that asks for a password, because that
# needs a terminal and a user with a password.

load helpers
load net
load ssh

setup_file() {
    net_setup
    ssh_setup
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return 1
    ssh_far
}

teardown_file() {
    net_teardown
}

@test "the test's own sshd runs commands as an ordinary user" {
    start_sshd
    in_far echo hi
    assert_status 0
    assert_output_is hi
    # shellcheck disable=SC2016
    in_far 'id -un; id -u; pwd; command -v ddp-recv; echo $SSH_CONNECTION'
    assert_status 0
    assert_output_has $'iwtest\n12345\n/home\n/opt/ddp-recv\n'"$LEFT_IP "
    assert_output_has " $RIGHT_IP 2222"
    assert_far_is_clean
}

@test "the test's own sshd refuses a wrong key, and its processes end with it" {
    start_sshd
    run_in left ssh -F none -i "$SSH_KEYS/wrong" -p 2222 -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \
        -o UserKnownHostsFile=/dev/null -o BatchMode=yes "$FAR" true
    assert_status 255
    in_far "sleep 100$$ >/dev/null 2>&1 </dev/null &"
    assert_status 0
    assert_equal "$(far_processes)" "sleep sleep 100$$ "
    pid=$(pgrep -f "^sleep 100$$\$")
    end_sshd
    wait_until 5 iw_gone "$pid" || fail_with 'a process outlives its sshd'
}

@test "the test's blocked ports hang or refuse, and others work" {
    start_sshd
    serve_in right python3 -c 'import socket, time; l = socket.create_server(("", 30005)); time.sleep(100)'
    block_ports hang 30000-30010
    run_in left timeout 1 bash -c 'exec 3<>/dev/tcp/'"$RIGHT_IP"'/30005'
    assert_status 124
    in_far echo hi
    assert_output_is hi
    unblock_ports
    block_ports refuse 30000-30010
    run_in left timeout 5 bash -c 'exec 3<>/dev/tcp/'"$RIGHT_IP"'/30005'
    assert_status 1
    unblock_ports
    run_in left timeout 5 bash -c 'exec 3<>/dev/tcp/'"$RIGHT_IP"'/30005'
    assert_status 0
}

# --- transfers ---------------------------------------------------------------------------------------------------------------

# send_far ARG...: ddp-send in `left`, with the ssh of the tests
send_far() {
    run_in left ddp-send --ssh="$(ssh_command)" "$@"
}

recv_far() {
    run_in left ddp-recv --ssh="$(ssh_command)" "$@"
}

# begin CMD...: runs a command in `left`, in the background, with the FIFO `in` as its standard input
begin() {
    # shellcheck disable=SC2046
    setpriv --pdeathsig TERM timeout -k 5 "$IW_TIMEOUT" $(net_into left) "$@" <in >begun.out 2>begun.err 3>&- 4>&- &
    BEGUN=$!
    COMMAND="$*"
}

# The process of that command.
begun_pid() {
    iw_served_pid "$BEGUN"
}

begun_said() {
    cat begun.out begun.err
}

# Waits for the end of that command; sets $status, $output, $stderr.
begun_ends() {
    wait_until "$IW_TIMEOUT" iw_gone "$BEGUN" || fail_with "does not end: $COMMAND" "$(begun_said)"
    status=0
    wait "$BEGUN" || status=$?
    output=$(<begun.out)
    # shellcheck disable=SC2034
    stderr=$(<begun.err)
}

far_listens() {
    [ -n "$(far_listeners)" ]
}

# far_has NAME: a process with this name runs at the far end
far_has() {
    far_processes | grep -q "^$1 "
}

# A tree with names that a shell or a line would change.
odd_tree() {
    mkdir -p "$1/sub dir"
    random_file "$1/plain" 100K
    random_file "$1/two words" 1000
    random_file "$1/quote'\"\\" 10
    random_file "$1/\$HOME;id" 10
    random_file "$1/sub dir/-n" 10
    random_file "$1/sub dir/"$'new\nline' 10
    : >"$1/empty"
}

assert_same_tree() {
    diff -r "$1" "$2" || fail_with "trees differ: $1 $2"
}

@test "ssh: a directory arrives in the far home, and nothing is left" {
    start_sshd
    odd_tree src
    send_far src "$FAR:"
    assert_status 0
    assert_stderr_lacks fallback
    assert_same_tree src far/src
    assert_equal "$(stat -c %u far/src/plain)" "$(stat -c %u far)"
    assert_far_is_clean
}

@test "ssh: a target that does not exist becomes the name of the file, as with scp" {
    start_sshd
    mkdir src
    random_file src/f 100K
    send_far src/f "$FAR:copy"
    assert_status 0
    assert_same_file src/f far/copy
    send_far src/f "$FAR:none/copy"
    assert_status 1
    assert_stderr_has none
}

@test "ssh: names with blanks, quotes and newlines are targets and sources" {
    start_sshd
    odd_tree src
    mkdir "far/to dir" back
    [ "$(id -u)" -ne 0 ] || chown "$SSH_UID" "far/to dir"
    send_far src "$FAR:to dir"
    assert_status 0
    assert_same_tree src "far/to dir/src"
    recv_far "$FAR:to dir/src/two words" "$FAR:to dir/src/quote'\"\\" "$FAR:to dir/src/\$HOME;id" \
        "$FAR:to dir/src/sub dir/"$'new\nline' back
    assert_status 0
    assert_same_file "src/two words" "back/two words"
    assert_same_file "src/quote'\"\\" "back/quote'\"\\"
    assert_same_file "src/\$HOME;id" "back/\$HOME;id"
    assert_same_file "src/sub dir/"$'new\nline' "back/"$'new\nline'
    assert_far_is_clean
}

@test "ssh: -t udp encrypts with DTLS" {
    start_sshd
    odd_tree src
    send_far -t udp src "$FAR:"
    assert_status 0
    assert_same_tree src far/src
    mkdir back
    recv_far -t udp "$FAR:src" back
    assert_status 0
    assert_same_tree src back/src
    assert_far_is_clean
}

@test "ssh: -j 4 moves 300 small files, each connection with a key of its own" {
    local i

    start_sshd
    mkdir src
    for ((i = 0; i < 300; i++)); do echo "file $i" >"src/$i"; done
    random_file src/large 4M
    send_far -j 4 src "$FAR:"
    assert_status 0
    assert_same_tree src far/src
    assert_far_is_clean
}

# --- the data port -----------------------------------------------------------------------------------------------------------

@test "ssh: a data port without an answer makes ssh carry the data, and one line says so" {
    start_sshd
    odd_tree src
    block_ports hang 30000-30010
    send_far --ssh-port-range 30000-30010 src "$FAR:"
    assert_status 0
    assert_same_tree src far/src
    assert_stderr_has "$RIGHT_IP"
    assert_stderr_has 'the transfer uses the connection of ssh instead'
    assert_equal "$(wc -l <<<"$stderr")" 1
    mkdir back
    recv_far --ssh-port-range 30000-30010 "$FAR:src" back
    assert_status 0
    assert_same_tree src back/src
    assert_far_is_clean
    unblock_ports
}

@test "ssh: a data port that refuses, and large files on the connection of ssh" {
    start_sshd
    mkdir src
    random_file src/f 20M
    block_ports refuse 30000-30010
    send_far --ssh-port-range 30000-30010 -j 4 src/f "$FAR:"
    assert_status 0
    assert_stderr_has 'the transfer uses the connection of ssh instead'
    assert_same_file src/f far/f
    assert_far_is_clean
    unblock_ports
}

@test "ssh: --no-fallback makes a blocked data port an error, and sends nothing" {
    start_sshd
    mkdir src
    random_file src/f 100K
    block_ports refuse 30000-30010
    send_far --no-fallback --ssh-port-range 30000-30010 src/f "$FAR:"
    [ "$status" -ne 0 ] || fail_with 'succeeded'
    assert_stderr_has --no-fallback
    assert_equal "$(wc -l <<<"$stderr")" 1
    assert_equal "$(ls -A far)" ''
    assert_far_is_clean
    unblock_ports
}

# As with ProxyJump: the address at which ssh reached the far end has no meaning at the near end.
@test "ssh: an address of the far end that means another host here makes ssh carry the data" {
    start_sshd
    mkdir src
    random_file src/f 100K
    run_in left ddp-send src/f "$FAR:" \
        --ssh="$(ssh_command -o "ProxyCommand='nsenter $NET_ENTER -t $NET_RIGHT_PID --net socat - TCP:127.0.0.1:2222'")"
    assert_status 0
    assert_stderr_has 'connect to 127.0.0.1'
    assert_stderr_has 'the transfer uses the connection of ssh instead'
    assert_same_file src/f far/f
    assert_far_is_clean
}

@test "ssh: a port range in which no port is free is an error" {
    start_sshd
    mkdir src
    random_file src/f 100K
    serve_in right python3 -c 'import socket, time; l = socket.create_server(("", 30005)); time.sleep(100)'
    send_far --ssh-port-range 30005-30005 src/f "$FAR:"
    [ "$status" -ne 0 ] || fail_with 'succeeded'
    assert_stderr_has 30005
    serve_end
    assert_far_is_clean
}

# --- what can be wrong at the far end ----------------------------------------------------------------------------------------

# assert_nothing_sent STATUS TEXT...: one line with each text
assert_nothing_sent() {
    local text

    assert_status "$1"
    shift
    for text in "$@"; do assert_stderr_has "$text"; done
    assert_equal "$(ls -A far)" ''
    assert_far_is_clean
}

@test "ssh: a far end without the program is named, with what to do" {
    start_sshd 'SetEnv PATH=/nowhere'
    mkdir src
    send_far src "$FAR:"
    assert_nothing_sent 4 'ddp-recv' "$RIGHT_IP" '--far-program'
    recv_far "$FAR:x" .
    assert_nothing_sent 4 'ddp-send' '--far-program'
    # Without it in its PATH, the program is found by its path.
    send_far --far-program /opt/ddp-recv src "$FAR:"
    assert_status 0
}

@test "ssh: a banner on standard output is shown, and nothing is sent" {
    # shellcheck disable=SC2016
    start_sshd 'ForceCommand echo "Welcome to $USER"; printf "\033[1mhere\n"; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"'
    mkdir src
    send_far src "$FAR:"
    [ "$status" -ne 0 ] || fail_with 'succeeded'
    assert_nothing_sent "$status" 'Welcome to iwtest' 'standard output'
    assert_stderr_lacks $'\033'
    assert_equal "$(wc -l <<<"$stderr")" 1
}

@test "ssh: a banner without an end is limited" {
    start_sshd 'ForceCommand exec cat /dev/zero'
    mkdir src
    send_far src "$FAR:"
    [ "$status" -ne 0 ] || fail_with 'succeeded'
    [ "${#stderr}" -lt 600 ] || fail_with 'a long message'
    assert_far_is_clean
}

@test "ssh: another version of the start-up names both versions" {
    start_sshd 'ForceCommand echo "iwarp-ssh 7 9.8.7"; cat >/dev/null'
    mkdir src
    send_far src "$FAR:"
    [ "$status" -ne 0 ] || fail_with 'succeeded'
    assert_nothing_sent "$status" 9.8.7 "$(<"$IW_TOP/VERSION")" 'protocol 7'
}

@test "ssh: malformed messages of the far end are errors" {
    local reply

    mkdir src
    for reply in '\000\000\000\000' '\377\377\377\377' '\000\000\000\001\377' '\000\000\000\002\241\000' 'text'; do
        start_sshd "ForceCommand printf 'iwarp-ssh 1 0\\n$reply'; cat >/dev/null"
        send_far src "$FAR:"
        [ "$status" -ne 0 ] || fail_with "succeeded: $reply"
        assert_nothing_sent "$status" "$RIGHT_IP"
        end_sshd
    done
}

@test "ssh: a wrong key, an unknown host and a host without sshd are errors of ssh" {
    start_sshd
    mkdir src
    run_in left ddp-send --ssh="ssh -F none -i '$SSH_KEYS/wrong' -p 2222 -o IdentitiesOnly=yes -o BatchMode=yes \
        -o UserKnownHostsFile='$SSH_KEYS/known_hosts'" src "$FAR:"
    assert_nothing_sent 4 'Permission denied' ssh
    : >"$BATS_TEST_TMPDIR/no_hosts"
    run_in left ddp-send --ssh="$(ssh_command -o "UserKnownHostsFile=$BATS_TEST_TMPDIR/no_hosts")" src "$FAR:"
    assert_nothing_sent 4 ssh
    end_sshd
    send_far src "$FAR:"
    assert_nothing_sent 4 'ssh' 'Connection refused'
}

@test "ssh: a changed host key ends ssh, and nothing is sent" {
    start_sshd
    mkdir src
    sed "s|AAAA[^ ]*|$(cut -d' ' -f2 "$SSH_KEYS/wrong.pub")|" "$SSH_KEYS/known_hosts" >changed
    run_in left ddp-send --ssh="$(ssh_command -o "UserKnownHostsFile=$BATS_TEST_TMPDIR/changed")" src "$FAR:"
    assert_nothing_sent 4 'HOST IDENTIFICATION HAS CHANGED'
}

@test "ssh: a missing ssh program is named" {
    mkdir src
    run_in left ddp-send --ssh=/nowhere/ssh src "$FAR:"
    [ "$status" -ne 0 ] || fail_with 'succeeded'
    assert_stderr_has /nowhere/ssh
    assert_equal "$(wc -l <<<"$stderr")" 1
}

@test "ssh: a host or user that begins with a hyphen is not an option of ssh" {
    mkdir src
    run_in left ddp-send src -- "-oProxyCommand=touch hacked@$RIGHT_IP:"
    assert_status 2
    run_in left ddp-send src -- "iwtest@-oProxyCommand=touch hacked:"
    assert_status 2
    [ ! -e hacked ]
}

@test "ssh: the command line of the far end has no data of the user" {
    start_sshd
    mkfifo in
    begin ddp-send --ssh="$(ssh_command)" - "$FAR:f"
    exec 4>in
    echo start >&4
    wait_until 20 far_has ddp-recv || fail_with 'does not start' "$(begun_said)"
    assert_equal "$(far_processes | grep '^ddp-recv')" 'ddp-recv ddp-recv --ssh-server '
    assert_equal "$(far_processes | grep -v 'ddp-recv --ssh-server $')" ''
    exec 4>&-
    begun_ends
    assert_status 0
}

# --- kill ----------------------------------------------------------------------------------------------------------------------

# near_is_clean: no ssh of this file runs in `left`
near_is_clean() {
    ! pgrep -f "^ssh .*$SSH_KEYS/user" >/dev/null
}

assert_all_clean() {
    assert_far_is_clean
    wait_until 10 near_is_clean || fail_with 'ssh still runs' "$(pgrep -af "$SSH_KEYS/user")"
}

# begin_push [OPTION...]: a push of standard input, which is at half of its way: the far end has some, and waits for the rest
begin_push() {
    rm -f in
    mkfifo in
    begin ddp-send --ssh="$(ssh_command)" "$@" - "$FAR:f"
    exec 4>in
    head -c 300000 /dev/zero >&4
    wait_until 20 begun_half || fail_with 'does not begin' "$(begun_said)"
}

begun_half() {
    [ -n "$(find far -name '.iw-*' -size +100k)" ]
}

# kill_one WHO: near, ssh, far, or its bridge
kill_one() {
    case $1 in
    near) kill -KILL "$(begun_pid)" ;;
    ssh) kill -KILL "$(pgrep -P "$(begun_pid)" -x ssh)" ;;
    far) kill -KILL "$(far_pid ddp-recv)" ;;
    bridge) kill -KILL "$(far_pid iw-ssh-bridge)" ;;
    esac
}

@test "ssh: kill -9 of either end or of ssh during a transfer leaves nothing" {
    local who

    start_sshd
    for who in near ssh far bridge; do
        begin_push
        kill_one $who
        exec 4>&-
        begun_ends
        [ "$status" -ne 0 ] || fail_with "succeeded after the end of $who"
        assert_all_clean
        [ ! -e far/f ] || fail_with "a part has the name of the file after the end of $who"
    done
    # The same command then succeeds.
    IW_STDIN="$SSH_KEYS/user.pub" send_far - "$FAR:f"
    assert_status 0
    assert_same_file "$SSH_KEYS/user.pub" far/f
}

@test "ssh: kill -9 while the data port is tried leaves nothing" {
    local who

    start_sshd
    block_ports hang 30000-30010
    for who in near ssh far; do
        rm -f in
        mkfifo in
        begin ddp-send --ssh="$(ssh_command)" --ssh-port-range 30000-30010 - "$FAR:f"
        exec 4>in
        wait_until 20 far_listens || fail_with 'does not listen' "$(begun_said)"
        kill_one $who
        exec 4>&-
        begun_ends
        [ "$status" -ne 0 ] || fail_with "succeeded after the end of $who"
        assert_all_clean
    done
    unblock_ports
}

@test "ssh: kill -9 while the connection of ssh carries the data leaves nothing" {
    local who

    start_sshd
    block_ports refuse 30000-30010
    for who in near ssh far bridge; do
        begin_push --ssh-port-range 30000-30010
        kill_one $who
        exec 4>&-
        begun_ends
        [ "$status" -ne 0 ] || fail_with "succeeded after the end of $who"
        assert_all_clean
    done
    unblock_ports
}

@test "ssh: kill -9 before the far program starts leaves nothing" {
    mkdir bin
    printf '%s\n' '#!/bin/sh' 'until [ -e go ]; do sleep 0.02; done' 'exec /opt/ddp-recv "$@"' >far/ddp-recv
    chmod 755 far/ddp-recv
    start_sshd 'SetEnv PATH=/home:/usr/bin:/bin'
    mkfifo in
    begin ddp-send --ssh="$(ssh_command)" - "$FAR:f"
    exec 4>in
    wait_until 20 far_has ddp-recv || fail_with 'does not start' "$(begun_said)"
    kill_one near
    exec 4>&-
    begun_ends
    touch far/go
    assert_all_clean
}

@test "ssh: SIGINT ends both ends, and the same command completes the transfer" {
    start_sshd
    mkdir src
    random_file src/f 8M
    mkfifo in
    begin ddp-send --ssh="$(ssh_command)" --bwlimit 20M src/f "$FAR:"
    exec 4>in
    wait_until 20 begun_half || fail_with 'does not begin' "$(begun_said)"
    kill -INT "$(begun_pid)"
    exec 4>&-
    begun_ends
    [ "$status" -ne 0 ] || fail_with 'succeeded'
    assert_all_clean
    send_far src/f "$FAR:"
    assert_status 0
    assert_same_file src/f far/f
    assert_equal "$(find far -name '.iw-*')" ''
}

# --- the listener of the far end --------------------------------------------------------------------------------------------------

# far_port: the port of the far listener
far_port() {
    far_listeners | awk '$1 == "tcp" { sub(".*:", "", $5); print $5 }'
}

@test "ssh: the far listener has only the address at which ssh connected" {
    start_sshd
    begin_push
    assert_equal "$(far_listeners | awk '$1 == "tcp" { sub(":[0-9]*$", "", $5); print $5 }')" "$RIGHT_IP"
    exec 4>&-
    begun_ends
    assert_status 0
    assert_far_is_clean
}

# A third party that reaches the port has no key.
@test "ssh: the far listener refuses connections without the key, and the transfer goes on" {
    start_sshd
    mkdir other
    random_file other/g 100K
    begin_push
    run_in left ddp-send -p "$(far_port)" other/g "$RIGHT_IP:"
    [ "$status" -ne 0 ] || fail_with 'the listener accepts a plain connection'
    run_in left timeout 10 openssl s_client -tls1_3 -connect "$RIGHT_IP:$(far_port)" -alpn iwarp
    [ "$status" -ne 0 ] || fail_with 'the listener accepts TLS without the key'
    run_in left timeout 10 openssl s_client -tls1_3 -connect "$RIGHT_IP:$(far_port)" -alpn iwarp -psk_identity iwarp/1 -psk 00112233445566778899aabbccddeeff
    [ "$status" -ne 0 ] || fail_with 'the listener accepts another key'
    exec 4>&-
    begun_ends
    assert_status 0
    assert_equal "$(stat -c %s far/f)" 300000
    [ ! -e far/g ]
    assert_far_is_clean
}

# The client's octets of a connection, sent again to the same listener while it still listens.
# DDP-119
@test "ssh: a replayed connection is refused by the far listener" {
    require_tool tshark xxd
    start_sshd
    capture_in left all.pcap "tcp and not port $SSH_PORT"
    begin_push
    port=$(far_port)
    capture_end
    tshark -r all.pcap -Y "tcp.dstport == $port && tcp.len > 0" -T fields -e tcp.payload | tr -d ':\n' | xxd -r -p >replay
    [ "$(stat -c %s replay)" -gt 300000 ] || fail_with 'the capture has no data'
    # Nothing of the data or of the file's name is readable.
    ! grep -q 'MPA ID' replay || fail_with 'the connection is not encrypted'
    before=$(find far -name '.iw-*' -printf '%s ')
    run_in left timeout 20 bash -c "exec 5<>/dev/tcp/$RIGHT_IP/$port; cat replay >&5 2>/dev/null; timeout 5 head -c 3 <&5 | xxd -p"
    # A record of type alert, not a ServerHello.
    assert_output_is 150303
    assert_equal "$(find far -name '.iw-*' -printf '%s ')" "$before"
    exec 4>&-
    begun_ends
    assert_status 0
    assert_far_is_clean
}

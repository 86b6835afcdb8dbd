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
    assert_equal "$(far_processes)" "sleep sleep 100$$"
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

# Neither the data nor the name of a file is readable on the network.
assert_encrypted() {
    capture_in left all.pcap "not port $SSH_PORT"
    mkdir -p words
    yes 'words that anyone can read' | head -c 100000 >words/legible-name
    send_far "$@" words "$FAR:"
    assert_status 0
    assert_same_tree words far/words
    capture_end
    [ "$(stat -c %s all.pcap)" -gt 100000 ] || fail_with 'the capture has no data'
    ! grep -aq 'anyone can read' all.pcap || fail_with 'data on the network is not encrypted'
    ! grep -aq 'legible-name' all.pcap || fail_with 'names on the network are not encrypted'
    assert_far_is_clean
}

@test "ssh: -t tcp encrypts data and names with TLS" {
    start_sshd
    assert_encrypted -t tcp
}

@test "ssh: -t udp encrypts data and names with DTLS" {
    start_sshd
    assert_encrypted -t udp
}

@test "ssh: -t udp carries trees in both directions" {
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

@test "ssh: MPA's CRC32c is off inside TLS unless an option demands it" {
    local crc

    start_sshd
    echo data >src
    for crc in '' wanted off; do
        send_far --json ${crc:+--crc $crc} src "$FAR:"
        assert_status 0
        assert_jsonl '[.[] | .crc | booleans] | unique' "$([ "$crc" = wanted ] && echo '[true]' || echo '[false]')"
        in_far "cat src; rm src"
        assert_output_is data
    done
    # The far end is the source.
    in_far "echo data >src"
    recv_far --json "$FAR:src" here
    assert_status 0
    assert_jsonl '[.[] | .crc | booleans] | unique' '[false]'
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
    # shellcheck disable=SC2154
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

@test "ssh: a blocked port of -t udp makes ssh carry the data" {
    start_sshd
    mkdir src
    random_file src/f 100K
    block_ports hang 30000-30010
    send_far -t udp --ssh-port-range 30000-30010 src/f "$FAR:"
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
        --ssh="$(ssh_command -o "ProxyCommand='nsenter -t $NET_RIGHT_PID --net socat - TCP:127.0.0.1:2222'")"
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

@test "ssh: a port range below 1024 names the option to change" {
    start_sshd
    mkdir src
    random_file src/f 100
    send_far --ssh-port-range 80-90 src/f "$FAR:"
    assert_status 1
    assert_stderr_has 'port 80: permission denied'
    assert_stderr_has 'choose others with --ssh-port-range'
    send_far -t udp --ssh-port-range 80-90 src/f "$FAR:"
    assert_status 1
    assert_stderr_has 'choose others with --ssh-port-range'
    assert_far_is_clean
}

@test "ssh: RemoteCommand and LocalCommand of the configuration of ssh do not apply, as with scp" {
    start_sshd
    mkdir src
    random_file src/f 100
    printf '%s\n' 'RemoteCommand id' 'PermitLocalCommand yes' 'LocalCommand echo text' >config
    run_in left ddp-send src/f "$FAR:" --ssh="$(ssh_command -F "'$PWD/config'")"
    assert_status 0
    assert_same_file src/f far/f
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
    start_sshd 'ForceCommand cat /mnt/reply; cat >/dev/null'
    for reply in '\000\000\000\000' '\377\377\377\377' '\000\000\000\001\377' '\000\000\000\002\241\000' 'text'; do
        # shellcheck disable=SC2059
        printf "iwarp-ssh 1 0\n$reply" >"$SSH_KEYS/reply"
        send_far src "$FAR:"
        [ "$status" -ne 0 ] || fail_with "succeeded: $reply"
        assert_nothing_sent "$status" "$RIGHT_IP"
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

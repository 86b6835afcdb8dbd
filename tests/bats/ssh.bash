# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# A real sshd in the namespace `right` of net.bash, run as an ordinary user, for clients in `left`:
#
#   load helpers; load net; load ssh
#   setup_file() { net_setup; ssh_setup; }
#   setup() { skip_with_file; ssh_far; }
#   teardown_file() { net_teardown; }
#
#   start_sshd [LINE...]    starts it; lines of its configuration precede the defaults
#   end_sshd                ends it, and all that it started
#   ssh_command [OPTION...] prints the COMMAND of --ssh=COMMAND; options of ssh precede the defaults
#   $FAR                    USER@ADDRESS, the far end
#   $FAR_HOME               the home of that user, here; at the far end it is /home
#   in_far CMD...           runs a command at the far end through ssh
#   block_ports hang|refuse FIRST-LAST    connections of TCP and UDP to these ports of right: no answer, or
#                           refused at once by ICMP
#   unblock_ports
#   far_pid NAME            prints the process of this name at the far end
#   far_processes           prints the processes of the far end, without sshd
#   far_listeners           prints the sockets of right that listen, without those of sshd
#   assert_far_is_clean     neither is left
#   assert_all_clean        nor an ssh in left
#
#   send_far, recv_far ARG...   ddp-send, ddp-recv in left, with the ssh of the tests
#   begin_push [OPTION...]      begins a push of the file `half` in the background; begun_ends waits for its end
#   kill_one near|ssh|far|bridge    kills a process of it
#
# sshd runs in a process namespace and a mount namespace of its own. So everything that it started
# ends with it. There the user iwtest exists; the folder of the build is /opt, and the keys are in
# /mnt. Without root, user namespaces give the necessary rights.

readonly SSH_UID=12345
readonly SSH_PORT=2222

require_sshd() {
    require_tool ssh ssh-keygen unshare setpriv
    [ -x /usr/sbin/sshd ] || skip 'needs sshd: openssh-server is not installed'
    ssh_namespaces true || skip 'needs netns: cannot make the namespaces of sshd here'
}

# ssh_namespaces CMD...: runs a command with the rights of root, in namespaces in which it may mount
ssh_namespaces() {
    # shellcheck disable=SC2046
    $(net_into right) unshare --mount --pid --fork --kill-child --mount-proc "$@"
}

# Creates the keys, once for all tests of a file.
ssh_setup() {
    [ -z "${FILE_SKIPS:-}" ] || return 0
    file_requires require_sshd || return 0
    SSH_KEYS=$BATS_FILE_TMPDIR/ssh
    FAR=iwtest@$RIGHT_IP
    export SSH_KEYS FAR
    mkdir -m 755 "$SSH_KEYS"
    ssh-keygen -q -t ed25519 -N '' -C host -f "$SSH_KEYS/host"
    ssh-keygen -q -t ed25519 -N '' -C user -f "$SSH_KEYS/user"
    ssh-keygen -q -t ed25519 -N '' -C wrong -f "$SSH_KEYS/wrong"
    cp "$SSH_KEYS/host" "$SSH_KEYS/host_far"
    for address in "$RIGHT_IP" "$RIGHT_IP6"; do
        echo "[$address]:$SSH_PORT $(cat "$SSH_KEYS/host.pub")"
    done >"$SSH_KEYS/known_hosts"
    printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' "iwtest:x:$SSH_UID:$SSH_UID:test:/home:/bin/sh" >"$SSH_KEYS/passwd"
    [ "$(id -u)" -ne 0 ] || chown "$SSH_UID" "$SSH_KEYS/host_far"
}

# Creates the home of the far user, for one test.
ssh_far() {
    FAR_HOME=$BATS_TEST_TMPDIR/far
    mkdir -m 755 "$FAR_HOME"
    [ "$(id -u)" -ne 0 ] || chown "$SSH_UID:$SSH_UID" "$FAR_HOME"
}

start_sshd() {
    local drop='setpriv --reuid 12345 --regid 12345 --clear-groups'

    # The user of the test is root in the namespace of net.bash, and here again an ordinary one.
    [ "$(id -u)" -eq 0 ] || drop='unshare --user --map-user=12345 --map-group=12345'
    {
        printf '%s\n' "$@"
        cat <<CONF
Port $SSH_PORT
HostKey /mnt/host_far
AuthorizedKeysFile /mnt/user.pub
SetEnv PATH=/opt:/usr/bin:/bin
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
MaxStartups 100
PidFile none
CONF
    } >"$SSH_KEYS/sshd.conf"
    # /home comes last: it hides a tree that is there. A change of the user clears the signal that
    # unshare --kill-child requests.
    # shellcheck disable=SC2016,SC2086
    IW_READY='Server listening on 0' serve_in right unshare --mount --pid --fork --kill-child --mount-proc sh -c '
        mount --bind "$2" /opt && mount --bind "$3" /mnt && mount --bind "$3/passwd" /etc/passwd &&
            mount --bind "$1" /home && cd / && shift 3 && exec "$@"' sshd \
        "$FAR_HOME" "$IW_BUILD" "$SSH_KEYS" $drop setpriv --pdeathsig KILL /usr/sbin/sshd -D -e -f /mnt/sshd.conf
    # shellcheck disable=SC2034
    SSHD=$SERVED
}

# unshare ignores SIGTERM.
end_sshd() {
    serve_end "$SSHD" KILL
}

# shellcheck disable=SC2120
ssh_command() {
    # ssh without -F none reads the configuration of the tests' user.
    printf '%s ' ssh -F none "$@" -p $SSH_PORT -i "'$SSH_KEYS/user'" -o "UserKnownHostsFile='$SSH_KEYS/known_hosts'" \
        -o GlobalKnownHostsFile=none -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o IdentityAgent=none \
        -o BatchMode=yes -o ControlPath=none -o LogLevel=ERROR
}

in_far() {
    local words

    # shellcheck disable=SC2119
    eval "words=($(ssh_command))"
    # shellcheck disable=SC2154
    run_in left "${words[@]}" "$FAR" "$@"
}

# The rule of the local addresses has the lowest number, so it must move first.
block_ports() {
    local action=blackhole protocol

    # Linux sends ICMP for prohibited addresses only if it forwards packets.
    if [ "$1" = refuse ]; then
        action=prohibit
        # shellcheck disable=SC2046
        $(net_into right) sh -c "echo 1 >/proc/sys/net/ipv4/conf/$RIGHT_IF/forwarding"
    fi
    net_ip right rule add pref 10 table local
    net_ip right rule del pref 0
    for protocol in tcp udp; do
        net_ip right rule add pref 5 dev "$RIGHT_IF" ipproto $protocol dport "$2" $action
    done
}

unblock_ports() {
    net_ip right rule add pref 0 table local
    net_ip right rule del pref 10
    while net_ip right rule del pref 5 2>/dev/null; do :; done
}

# Prints a line for each process of the far end: its id, its name, its command line. They descend
# from unshare, because sshd is the first process of their namespace.
far_table() {
    local top

    top=$(iw_served_pid "${SERVE_WRAPPER[SSHD]}") || return 0
    # shellcheck disable=SC2016
    ps -e -ww -o pid=,ppid=,comm=,args= | awk -v top="$top" '
        { pid = $1; up[pid] = $2; $1 = $2 = ""; line[pid] = substr($0, 3) }
        END {
            for (pid in up) {
                for (above = pid; above in up && above != top; above = up[above]) { }
                if (above == top && pid != top)
                    print pid, line[pid]
            }
        }'
}

# far_pid NAME
far_pid() {
    far_table | awk -v name="$1" '$2 == name { print $1 }'
}

far_processes() {
    far_table | awk '$2 != "sshd" { sub("^[0-9]+ ", ""); print }'
}

far_listeners() {
    # shellcheck disable=SC2046
    $(net_into right) ss -Hltnu | grep -v ":$SSH_PORT "
}

far_is_clean() {
    [ -z "$(far_processes)" ] && [ -z "$(far_listeners)" ]
}

assert_far_is_clean() {
    wait_until 10 far_is_clean ||
        fail_with 'the far end has processes or listeners left' "$(far_processes)"$'\n'"$(far_listeners)"
}

# --- transfers ---------------------------------------------------------------------------------------------------------------

# send_far ARG...: ddp-send in `left`, with the ssh of the tests
send_far() {
    run_in left ddp-send --ssh="$(ssh_command)" "$@"
}

recv_far() {
    run_in left ddp-recv --ssh="$(ssh_command)" "$@"
}

# begin CMD...: runs a command in `left`, in the background
begin() {
    # shellcheck disable=SC2046
    setpriv --pdeathsig TERM timeout -k 5 $((IW_TIMEOUT * IW_TIME_FACTOR)) $(net_into left) "$@" </dev/null >begun.out 2>begun.err 3>&- &
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
# shellcheck disable=SC2034
begun_ends() {
    wait_until $((IW_TIMEOUT * IW_TIME_FACTOR)) iw_gone "$BEGUN" || fail_with "does not end: $COMMAND" "$(begun_said)"
    status=0
    wait "$BEGUN" || status=$?
    output=$(<begun.out)
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

# near_is_clean: no ssh of this file runs in `left`
near_is_clean() {
    ! pgrep -f "^ssh .*$SSH_KEYS/user" >/dev/null
}

assert_all_clean() {
    assert_far_is_clean
    wait_until 10 near_is_clean || fail_with 'ssh still runs' "$(pgrep -af "$SSH_KEYS/user")"
}

# begin_push [OPTION...]: a push of `half`, of 10 MB, that takes 5 s. It has begun: the far end has a part of it.
begin_push() {
    [ -e half ] || random_file half 10M
    rm -f far/.iw-*
    begin ddp-send --ssh="$(ssh_command)" --bwlimit 16M "$@" half "$FAR:f"
    wait_until 20 begun_half || fail_with 'does not begin' "$(begun_said)"
}

begun_half() {
    [ -n "$(find far -name '.iw-*' -size +100k)" ]
}

# kill_one PARTY: near, ssh, far, or its bridge
kill_one() {
    case $1 in
    near) kill -KILL "$(begun_pid)" ;;
    ssh) kill -KILL "$(pgrep -P "$(begun_pid)" -x ssh)" ;;
    far) kill -KILL "$(far_pid ddp-recv)" ;;
    bridge) kill -KILL "$(far_pid iw-ssh-bridge)" ;;
    esac
}

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Two network namespaces, left and right, joined by a veth pair. A file creates them once, in
# setup_file; no other file uses them:
#
#   load helpers
#   load net
#   setup_file() { net_setup; }          # net_setup --mtu 9000 --offloads off
#   setup() { skip_with_file; }          # if namespaces are unavailable
#   teardown_file() { net_teardown; }
#
#   run_in left CMD...     serve_in right CMD...      in left, right or here
#   LEFT_IP RIGHT_IP LEFT_IP6 RIGHT_IP6 LEFT_IF RIGHT_IF
#   capture_in left FILE   capture_end
#
# With net_setup --relay the two veth ends meet in a third namespace, middle, which forwards nothing
# until a test starts the relay:
#
#   relay_start --link loss=1%,delay=10ms      options of ddp-impair --between left,right
#   relay_end                                  ends the relay and checks that it kept up; $output: a line of JSON for each direction, and the result
#
#   net_files SIZE                             in setup: src/f of that size, dst, and $PORT
#   file_sent T [OPTION...]                    ddp-send, with these options, sends src/f over T to a ddp-recv --once at the right
#   file_arrived                               both ended with status 0, and the file is unchanged; it is removed
#
# A process holds each namespace and ends with the file's own process. When the last process of a
# namespace ends, the kernel removes it with its interfaces, so nothing is left, not even after kill
# -9. Without root, a user namespace gives the necessary rights.

net_probe() {
    if [ "$(id -u)" -eq 0 ]; then
        unshare --net true 2>/dev/null
    else
        unshare --user --map-root-user --net true 2>/dev/null
    fi
}

require_netns() {
    net_probe || skip 'needs netns: cannot make a network namespace here (run as root, or allow user namespaces)'
    require_tool ip ss nsenter setpriv
}

# -t xdp can run in left. Loading BPF programs is impossible in a user namespace; the reason is the
# tool's own message.
require_xdp() {
    run_in left sctp-ddp-ping 192.0.2.1 -t xdp -I "$LEFT_IF" -c 1 --timeout 100ms
    # shellcheck disable=SC2154
    [ "$status" -ne 3 ] || skip "needs xdp: ${stderr##*: }"
}

# Neither end has an XDP program: a program is removed with its process.
no_program() {
    local side

    for side in left right; do
        ! net_ip $side link show | grep -q 'prog/xdp' || return 1
    done
}

# Prints the words that run a command in that namespace.
net_into() {
    case $1 in
    here) ;;
    left) echo "nsenter $NET_ENTER -t $NET_LEFT_PID --net" ;;
    right) echo "nsenter $NET_ENTER -t $NET_RIGHT_PID --net" ;;
    middle) echo "nsenter $NET_ENTER -t $NET_MIDDLE_PID --net" ;;
    *)
        echo "net: no such place: $1" >&2
        return 1
        ;;
    esac
}

# net_hold PREFIX UNSHARE-OPTIONS...: starts the holder of a namespace as $!, without output
net_hold() {
    local prefix=$1
    shift

    # unshare, setpriv and sleep are one process: each replaces the one before it. unshare changes
    # the credentials, which clears the parent-death signal. So setpriv requests the signal after
    # unshare.
    # shellcheck disable=SC2086
    $prefix unshare "$@" setpriv --pdeathsig KILL sleep infinity </dev/null >/dev/null 2>&1 3>&- &
    # The shell must not report how the process ended.
    disown
}

net_is_apart() {
    [ "$(readlink "/proc/$1/ns/net")" != "$2" ] && [ "$(cat "/proc/$1/comm")" = sleep ]
}

net_setup() {
    local mtu=1500 offloads=on relay='' own prefix='' user=() side

    while [ $# -gt 0 ]; do
        case $1 in
        --mtu) mtu=$2 ;;
        --offloads) offloads=$2 ;;
        --relay)
            # Without offloads each frame is one packet.
            relay=yes offloads=off
            shift
            continue
            ;;
        *)
            echo "net_setup: unknown option $1" >&2
            return 1
            ;;
        esac
        shift 2
    done
    file_requires require_netns || return 0
    [ "$offloads" = on ] || file_requires require_tool ethtool || return 0

    NET_ENTER=
    if [ "$(id -u)" -ne 0 ]; then
        user=(--user --map-root-user)
        NET_ENTER='--user --preserve-credentials'
    fi
    own=$(readlink /proc/self/ns/net)
    net_hold '' "${user[@]}" --net
    NET_LEFT_PID=$!
    wait_until 5 net_is_apart "$NET_LEFT_PID" "$own"
    [ ${#user[@]} -eq 0 ] || prefix="nsenter --user --preserve-credentials -t $NET_LEFT_PID"
    net_hold "$prefix" --net
    NET_RIGHT_PID=$!
    wait_until 5 net_is_apart "$NET_RIGHT_PID" "$own"
    NET_MIDDLE_PID=
    if [ -n "$relay" ]; then
        net_hold "$prefix" --net
        NET_MIDDLE_PID=$!
        wait_until 5 net_is_apart "$NET_MIDDLE_PID" "$own"
    fi

    LEFT_IF=left0 RIGHT_IF=right0
    LEFT_IP=10.77.0.1 RIGHT_IP=10.77.0.2
    LEFT_IP6=fd77::1 RIGHT_IP6=fd77::2
    export NET_ENTER NET_LEFT_PID NET_RIGHT_PID NET_MIDDLE_PID LEFT_IF RIGHT_IF LEFT_IP RIGHT_IP LEFT_IP6 RIGHT_IP6

    if [ -n "$relay" ]; then
        net_wire left $LEFT_IF "$mtu"
        net_wire right $RIGHT_IF "$mtu"
    else
        net_ip left link add $LEFT_IF mtu "$mtu" type veth peer name $RIGHT_IF mtu "$mtu" netns "$NET_RIGHT_PID"
    fi
    for side in left right; do
        net_ip $side link set lo up
        if [ $side = left ]; then
            net_ip $side address add $LEFT_IP/24 dev $LEFT_IF
            [ ! -e /proc/net/if_inet6 ] || net_ip $side address add $LEFT_IP6/64 dev $LEFT_IF nodad
            net_ip $side link set $LEFT_IF up
        else
            net_ip $side address add $RIGHT_IP/24 dev $RIGHT_IF
            [ ! -e /proc/net/if_inet6 ] || net_ip $side address add $RIGHT_IP6/64 dev $RIGHT_IF nodad
            net_ip $side link set $RIGHT_IF up
        fi
    done
    if [ "$offloads" = off ]; then
        net_offloads off
    fi
    # The link is up when both ends have resolved each other.
    wait_until 5 net_is_up
}

# net_wire SIDE IF MTU: creates a veth pair from SIDE to middle. The end in middle has no address
# and does not answer.
net_wire() {
    net_ip middle link add "$1" mtu "$3" type veth peer name "$2" mtu "$3" netns "$(net_holder "$1")"
    net_ip middle link set "$1" addrgenmode none
    net_ip middle link set "$1" up
}

net_holder() {
    if [ "$1" = left ]; then echo "$NET_LEFT_PID"; else echo "$NET_RIGHT_PID"; fi
}

net_ip() {
    local side=$1
    shift

    # shellcheck disable=SC2046
    $(net_into "$side") ip "$@"
}

net_is_up() {
    net_ip left -o link show "$LEFT_IF" | grep -q LOWER_UP && net_ip right -o link show "$RIGHT_IF" | grep -q LOWER_UP
}

# net_offloads on|off. With off, every segment is a frame of its own with a correct checksum, as
# captures for other dissectors need it.
net_offloads() {
    # shellcheck disable=SC2046
    $(net_into left) ethtool -K "$LEFT_IF" tso "$1" gso "$1" gro "$1" tx "$1" rx "$1" >/dev/null
    # shellcheck disable=SC2046
    $(net_into right) ethtool -K "$RIGHT_IF" tso "$1" gso "$1" gro "$1" tx "$1" rx "$1" >/dev/null
}

net_teardown() {
    [ -z "${NET_MIDDLE_PID:-}" ] || kill -KILL "$NET_MIDDLE_PID" 2>/dev/null || echo "net: the holder of middle was gone" >&2
    [ -z "${NET_RIGHT_PID:-}" ] || kill -KILL "$NET_RIGHT_PID" 2>/dev/null || echo "net: the holder of right was gone" >&2
    [ -z "${NET_LEFT_PID:-}" ] || kill -KILL "$NET_LEFT_PID" 2>/dev/null || echo "net: the holder of left was gone" >&2
}

run_in() {
    local place=$1
    shift

    iw_run "$(net_into "$place")" "$@"
}

serve_in() {
    local place=$1
    shift

    iw_serve "$(net_into "$place")" "$@"
}

readonly TCPDUMP_COUNTS='^tcpdump: ([0-9]+) packets? captured, ([0-9]+) packets? received by filter, ([0-9]+) packets? dropped by kernel'

# capture_in left|right FILE [FILTER...]: starts tcpdump there and waits until it sees packets; the
# number of the capture is $CAPTURE.
capture_in() {
    local place=$1 file=$2 ifname
    shift 2

    require_tool tcpdump
    # tcpdump changes to another user, which a user namespace does not have.
    require_root
    case $place in
    left) ifname=$LEFT_IF ;;
    right) ifname=$RIGHT_IF ;;
    # On lo tcpdump counts each packet twice as received, and capture_end compares the counts.
    *) fail_with "capture_in: no such place: $place" ;;
    esac
    IW_READY='listening on' serve_in "$place" tcpdump -i "$ifname" -n -U --immediate-mode -B 65536 -w "$file" "$@"
    CAPTURE=$SERVED
    # Packets that arrived before tcpdump set its filter were received, but are never captured.
    capture_counts "$CAPTURE" || fail_with 'tcpdump does not print its counts' "$(iw_served_said "$CAPTURE")"
    CAPTURE_EARLY[CAPTURE]=$((RECEIVED - CAPTURED))
}

# capture_end [N]: ends capture N (default: the last one) after tcpdump has written all packets that
# it received.
capture_end() {
    local n=${1:-$CAPTURE}

    wait_until 10 capture_is_whole "$n" || fail_with 'tcpdump has not written all packets that it received' "$(iw_served_said "$n")"
    serve_end "$n" INT
    # shellcheck disable=SC2154
    [[ $'\n'$stderr == *$'\n0 packets dropped by kernel'* ]] || fail_with 'the capture lost packets'
}

capture_is_whole() {
    iw_served_pid "${SERVE_WRAPPER[$1]}" || return 0
    capture_counts "$1" && [ $((CAPTURED + DROPPED + CAPTURE_EARLY[$1])) -ge "$RECEIVED" ]
}

# capture_counts N: sets CAPTURED, RECEIVED and DROPPED. tcpdump prints these counts when it gets
# SIGUSR1.
capture_counts() {
    local err=$BATS_TEST_TMPDIR/serve.$1.err lines pid

    lines=$(grep -cE "$TCPDUMP_COUNTS" "$err")
    pid=$(iw_served_pid "${SERVE_WRAPPER[$1]}") || return 1
    kill -USR1 "$pid" || return 1
    wait_until 1 capture_said_more "$err" "$lines" || return 1
    [[ $(grep -E "$TCPDUMP_COUNTS" "$err" | tail -n 1) =~ $TCPDUMP_COUNTS ]] || return 1
    CAPTURED=${BASH_REMATCH[1]} RECEIVED=${BASH_REMATCH[2]} DROPPED=${BASH_REMATCH[3]}
}

capture_said_more() {
    [ "$(grep -cE "$TCPDUMP_COUNTS" "$1")" -gt "$2" ]
}

# relay_start [OPTION...]: the options of ddp-impair --between left,right
relay_start() {
    IW_READY='relaying between' serve_in middle ddp-impair --json --seconds 600 --between left,right "$@"
    RELAY=$SERVED
}

# Ends the relay. It must have kept up, and every frame must have been complete.
relay_end() {
    serve_end "$RELAY" INT
    assert_status 0
}

net_files() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir src dst
    PORT=$(free_port)
    random_file src/f "$1"
}

file_sent() {
    local t=$1
    shift

    serve_in right ddp-recv -t "$t" -p "$PORT" --bind '*' --once dst
    run_in left ddp-send -t "$t" -p "$PORT" "$@" src/f "$RIGHT_IP:"
}

file_arrived() {
    assert_status 0
    wait_served
    assert_status 0
    assert_same_file src/f dst/f
    rm dst/f
}

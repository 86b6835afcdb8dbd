#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/plot: pictures of transfers over a lossy link, out of traces and captures that are made here.
# bats file_tags=beside,plain

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
    require_tool gnuplot jq python3
    MADE=$BATS_FILE_TMPDIR/made
    [ -e "$MADE/ping.json" ] || record
    cd "$BATS_TEST_TMPDIR" || return 1
}

readonly OCTETS=700000

# record: a file over udp and over tcp, traced at both ends and captured at the left, and a pingpong
record() {
    local t

    rm -rf "$MADE"
    mkdir -p "$MADE/src"
    cd "$MADE" || return 1
    random_file src/f $OCTETS
    PORT=$(free_port)
    for t in udp tcp; do
        mkdir "dst.$t"
        relay_start --seed 6 --link loss=2%,delay=2ms,rate=50M
        capture_in left "$t.pcap"
        serve_in right ddp-recv -t $t -p "$PORT" --bind '*' --once --trace "$t.recv" "dst.$t"
        run_in left ddp-send -t $t -p "$PORT" --trace "$t.send" src/f "$RIGHT_IP:"
        assert_status 0
        wait_served
        capture_end
        relay_end
    done
    serve_in right ddp-bench --listen -p "$PORT" --bind '*'
    # Without a relay the ends cannot reach each other.
    run_in right ddp-bench -p "$PORT" --json --trace ping "$RIGHT_IP" pingpong -w 0 -n 50
    assert_status 0
    cp "$OUTPUT_FILE" "$BATS_TEST_TMPDIR/result"
    serve_end
    mv "$BATS_TEST_TMPDIR/result" ping.json
}

plot() {
    run_here "$IW_TOP/scripts/plot" "$@"
}

# drawn KIND FILE...: makes KIND.svg, and KIND.dat and KIND.gp in data
drawn() {
    plot "$@" --data data
    assert_status 0
    # shellcheck disable=SC2154
    assert_equal "$stderr" ""
    check svg "$1.svg"
}

check() {
    python3 "$BATS_TEST_DIRNAME/plot_check.py" "$@"
}

# refuses STATUS MESSAGE ARG...
refuses() {
    local wanted=$1 message=$2
    shift 2

    plot "$@"
    assert_status "$wanted"
    assert_stderr_has "$message"
    [ ! -e "$1.svg" ] || fail_with "$1.svg was made"
}

@test "placement shows every octet once, and which came out of order and again" {
    local name sum=0

    drawn placement "$MADE/udp.recv" "$MADE/udp.send"
    for name in in-order ahead retransmitted; do
        [ "$(check rows data/placement.dat $name)" -gt 0 ]
        sum=$((sum + $(check sum data/placement.dat $name 3)))
    done
    assert_equal $sum $OCTETS
    # A chunk that was sent again carries a segment of at most 1412 octets.
    [ "$(check sum data/placement.dat retransmitted 3)" -le $((1412 * $(grep -c chunk_retransmitted "$MADE/udp.send"))) ]
}

@test "placement of the receiver's trace alone shows holes that are filled" {
    drawn placement "$MADE/udp.recv"
    assert_equal "$(check rows data/placement.dat retransmitted)" 0
    [ "$(check rows data/placement.dat fills)" -gt 0 ]
}

@test "placement without tagged messages shows the buffers of the queues, and deliveries" {
    grep -v '"tagged":true' "$MADE/udp.recv" >untagged
    drawn placement untagged
    grep -q 'QN 0 MSN 1' placement.svg
    [ "$(check rows data/placement.dat delivered)" -gt 0 ]
}

@test "placement of a capture shows all octets" {
    drawn placement "$MADE/tcp.pcap"
    assert_equal "$(check sum data/placement.dat in-order 3)" $OCTETS
}

@test "timeline counts the events of both ends" {
    drawn timeline "$MADE/udp.send" "$MADE/udp.recv"
    grep -q "'placed ($(grep -c '"placed"' "$MADE/udp.recv"))'" data/timeline.gp
    grep -q "'retransmitted ($(grep -c chunk_retransmitted "$MADE/udp.send"))'" data/timeline.gp
    grep -q "'lost ($(grep -c '"lost"' "$MADE/udp.send"))'" data/timeline.gp
    [ "$(check rows data/timeline.dat responder-placed)" -gt 1 ]
}

@test "ladder of a capture over TCP has set-up, runs of segments, CRC and end" {
    drawn ladder "$MADE/tcp.pcap"
    grep -qP '\tMPA Request Rev 2, CRC, IRD [0-9]+ ORD' data/ladder.dat
    grep -qP '\tMPA Reply Rev 2, CRC' data/ladder.dat
    grep -qP '\tRDMA Write × [0-9]+ STag [0-9a-f]{8} TO 0x[0-9a-f]+, .*CRC good' data/ladder.dat
    grep -qP '\tTCP retransmission' data/ladder.dat
    grep -qP '\tTCP FIN' data/ladder.dat
    grep -qP '\tSend MSN 1, length [0-9]+, last: ddp-transfer OPEN, CRC good' data/ladder.dat
}

@test "ladder marks the decisions of ddp-impair while the connection lasts" {
    local at

    at=$(ddp-dump --json -r "$MADE/tcp.pcap" | jq -r 'select(.event == "ddp").time_ns' | sed -n 2p)
    cat >decided <<END
{"event":"listening","transport":"tcp","address":"127.0.0.1:1","port":1}
{"event":"decision","time_ns":"$at","connection":1,"from":"responder","rule":1,"action":"delay 1ms"}
{"event":"decision","time_ns":"1","connection":1,"from":"responder","rule":1,"action":"delay 1ms"}
{"event":"result","tool":"ddp-impair"}
END
    sed 's/"time_ns":"[0-9]*",//' decided >record
    refuses 2 'plot: record:2: no time_ns: expected the time of the event' ladder "$MADE/tcp.pcap" record
    drawn ladder "$MADE/tcp.pcap" decided
    assert_equal "$(grep -cP '\trule 1: delay 1ms' data/ladder.dat)" 1
}

@test "ladder shows a Terminate as an error, with what it reports" {
    drawn ladder "$IW_TOP/tests/vectors/traces/term-oobwrite.pcap"
    grep -qP '\tTerminate MSN 1, length 20, last: .*bounds' data/ladder.dat
    [ "$(check rows data/ladder.dat bad)" -eq 1 ]
}

@test "ladder of a capture over SCTP has INIT, sessions, SACKs and retransmissions" {
    drawn ladder "$MADE/udp.pcap"
    grep -qP '\tSCTP INIT, streams' data/ladder.dat
    grep -qP '\tDDP Stream Session Enhanced Initiate, stream 0' data/ladder.dat
    grep -qP '\tSACK with gaps.* up to TSN [0-9]+, 1 gap' data/ladder.dat
    grep -qP '\tDATA retransmission TSN [0-9]+' data/ladder.dat
}

@test "ladder of two traces has both times of a segment" {
    drawn ladder "$MADE/udp.send" "$MADE/udp.recv"
    # The first Send: the link delays it by 2 ms, and the times are those of the traces.
    python3 - data/ladder.dat "$MADE/udp.send" "$MADE/udp.recv" <<'EOF'
import json
import sys
sys.path.insert(0, ".")
rows, name = {}, ""
for line in open(sys.argv[1], encoding="utf-8"):
    cells = line.rstrip("\n").split("\t")
    if line.startswith("# ") and len(cells) == 1:
        name = line[2:].strip()
    elif line.strip() and not line.startswith("#"):
        rows.setdefault(name, []).append(cells)
row = next(float(cells[1]) for cells in rows["send"] if cells[0] < "0.5")
sent = next(float(cells[2]) for cells in rows["times-left"] if float(cells[1]) == row)
came = next(float(cells[2]) for cells in rows["times-right"] if row < float(cells[1]) < row + 0.5)
def traced(path, name):
    events = map(json.loads, open(path, encoding="utf-8"))
    return next(int(e["time_ns"]) / 1e6 for e in events if e["event"] == name and not e["tagged"])
took = traced(sys.argv[3], "segment_received") - traced(sys.argv[2], "segment_sent")
sys.exit(0 if came - sent >= 2 and abs(came - sent - took) < 0.5 else f"{came - sent} ms, traced {took} ms")
EOF
}

@test "throughput adds up to the octets of the file" {
    local width sum

    drawn throughput "$MADE/udp.recv" "$MADE/udp.pcap"
    width=$(sed -n 's/.*intervals of \([0-9.]*\) ms.*/\1/p' data/throughput.gp)
    sum=$(check sum data/throughput.dat initiator-payload 2)
    # Mb/s times ms are 125 octets. Messages of the transfer are a few thousand octets more.
    python3 -c "import sys; t = $sum * $width * 125; sys.exit(not $OCTETS <= t < 1.02 * $OCTETS)"
    sum=$(check sum data/throughput.dat initiator-wire 2)
    python3 -c "import sys; t = $sum * $width * 125; sys.exit(not 1.02 * $OCTETS < t < 1.2 * $OCTETS)"
}

@test "latency shows each round trip and the percentiles of a result" {
    local longest

    drawn latency "$MADE/ping" "$MADE/ping.json"
    [ "$(check sum data/latency.dat bars-0 3)" -ge 50 ]
    longest=$(check max data/latency.dat share-0 1)
    grep -q "'Send to Send: [0-9]*, p50 .*longest" data/latency.gp
    [ "${longest%.*}" -ge "$(($(jq 'select(.event == "result").half_round_trip.max_ns' "$MADE/ping.json") * 2 / 1100))" ]
    assert_equal "$(check max data/latency.dat share-1 2)" 99
}

@test "cwnd shows window, losses and round trips of a trace" {
    drawn cwnd "$MADE/udp.send"
    assert_equal "$(check max data/cwnd.dat cwnd 2)" "$(jq -s 'map(select(.event == "window").cwnd_octets) | max' "$MADE/udp.send")"
    assert_equal "$(check rows data/cwnd.dat lost)" "$(grep -c '"event":"lost"' "$MADE/udp.send")"
    [ "$(check rows data/cwnd.dat srtt)" -gt 3 ]
    # Chunks that are sent after a change of the window are in flight, too.
    assert_equal "$(check max data/cwnd.dat flight 2)" "$(jq -s 'reduce .[] as $e ([0, 0];
        if $e.event == "window" then .[0] = $e.flight_octets
        elif $e.event == "chunk_sent" or $e.event == "chunk_retransmitted" then .[0] += $e.octets
        else . end | .[1] = ([.[0], .[1]] | max)) | .[1]' "$MADE/udp.send")"
    drawn cwnd "$MADE/tcp.send"
    [ "$(check rows data/cwnd.dat srtt)" -gt 1 ]
}

@test "PNG is not blank, the same input makes the same SVG, and the script makes it again" {
    local kind pid pids=()

    # Independent of each other, so at the same time.
    for kind in placement timeline ladder throughput latency cwnd; do
        "$IW_TOP/scripts/plot" $kind "$MADE/udp.send" "$MADE/udp.recv" -o $kind.png 3>&- &
        pids+=($!)
    done
    for kind in placement ladder cwnd; do
        drawn_again $kind 3>&- &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    for kind in placement timeline ladder throughput latency cwnd; do
        check png $kind.png || fail_with "$kind.png is blank"
    done
}

# drawn_again KIND: makes the SVG three times: with its data, in another locale, and with its script
drawn_again() {
    local files=("$MADE/udp.send" "$MADE/udp.recv")

    "$IW_TOP/scripts/plot" "$1" "${files[@]}" -o "$1.svg" --data "$1.data" &&
        LC_ALL=C TZ=Asia/Tokyo "$IW_TOP/scripts/plot" "$1" "${files[@]}" -o - | cmp "$1.svg" - &&
        (cd "$1.data" && rm "$1.svg" && LC_ALL=C.UTF-8 gnuplot -d "$1.gp") &&
        cmp "$1.svg" "$1.data/$1.svg"
}

@test "--from and --to limit the time, --connection selects" {
    local low high

    # From the 6th to the 50th change of the window.
    read -r low high < <(jq -s -r '.[0].t_ns as $first | map(select(.event == "window").t_ns) | [.[5], .[49]] |
        map((. - $first) / 1000000 | tostring) | join(" ")' "$MADE/udp.send")
    drawn cwnd "$MADE/udp.send" --from "${low}ms" --to "${high}ms"
    python3 -c "import sys; sys.exit(not $low <= 1000 * $(check min data/cwnd.dat cwnd 1) + .001)"
    python3 -c "import sys; sys.exit(not 1000 * $(check max data/cwnd.dat cwnd 1) <= $high + .001)"
    drawn ladder "$IW_TOP/tests/vectors/traces/ops.pcap" --connection 0
    refuses 2 'ops.pcap: --connection 77: expected one of 0' placement "$IW_TOP/tests/vectors/traces/ops.pcap" --connection 77
}

@test "each of two connections at the same time has the window of its own association" {
    PORT=$(free_port)
    serve_in right ddp-bench -t udp --listen -p "$PORT" --bind '*' --once
    run_in right ddp-bench -t udp -p "$PORT" "$RIGHT_IP" write -w 0 -n 40 -s 20K -j 2 --trace two
    assert_status 0
    wait_served
    drawn cwnd two --connection 1
    mv data one
    drawn cwnd two --connection 2
    run cmp one/cwnd.dat data/cwnd.dat
    # shellcheck disable=SC2154
    [ "$status" -eq 1 ]
}

@test "the name of a file cannot harm script or SVG" {
    local name="we'ird \`touch x\` <&>"$'\n'"\"n\$(touch y).trace"

    cp "$MADE/udp.recv" "$name"
    drawn placement "$name"
    [ ! -e x ]
    [ ! -e y ]
    grep -qF "we'ird \`touch x\` &lt;&amp;&gt;?\"n\$(touch y).trace" placement.svg ||
        grep -qF "we'ird \`touch x\` &lt;&amp;>?\"n\$(touch y).trace" placement.svg
}

@test "-o writes through a link, as /dev/stdout is one, and never replaces it" {
    : >target
    ln -s target link
    plot cwnd "$MADE/udp.send" -o link
    assert_status 0
    [ -L link ]
    check svg target
    cmp link <("$IW_TOP/scripts/plot" cwnd "$MADE/udp.send" -o -)
}

@test "a file that cannot be plotted is reported with line, value and expectation" {
    head -c 3000 "$MADE/udp.send" >short
    refuses 2 "$(printf 'plot: short:%d: "{' "$(wc -l <short | awk '{ print $1 + 1 }')")" cwnd short
    assert_stderr_has 'expected a whole JSON object; was the line cut?'
    sed 's/"cwnd_octets":[0-9]*/"cwnd_octets":"many"/' "$MADE/udp.send" >wrong
    refuses 2 'window: cwnd_octets "many": expected a number' cwnd wrong
    echo '[1]' >array
    refuses 2 'plot: array:1: "[1]": expected a JSON object' cwnd array
    : >empty
    refuses 2 'plot: empty: empty: expected a trace (--trace), a capture' ladder empty
    refuses 2 'plot: none: No such file or directory: expected a file' ladder none
    refuses 2 'no event window: cwnd needs the trace (--trace) of the end that sends' cwnd "$MADE/udp.pcap"
    refuses 2 'no event placed with an STag: placement needs' placement "$MADE/ping.json"
    refuses 2 'never overlaps it: expected files of one transfer, by one clock (mixed clocks)' ladder "$MADE/udp.send" "$MADE/tcp.recv"
    cat "$MADE/udp.send" "$MADE/udp.recv" >joined
    refuses 2 'expected nothing after trace_end' ladder joined
    sed '5s/"time_ns":"1/"time_ns":"2/' "$MADE/udp.send" >stepped
    refuses 2 'mixed clocks: the time of day was set during the trace' ladder stepped
    refuses 2 '"1y": expected seconds, or a duration such as 20ms' ladder --to 1y joined
    refuses 2 'plot: --png -o a.svg: expected a name that ends in .png' ladder --png -o a.svg joined
    refuses 2 'plot: -o a.gif: expected a name that ends in .svg or .png' ladder -o a.gif joined
    refuses 4 'plot: none/x.svg: No such file or directory: expected a file that can be written' ladder -o none/x.svg "$MADE/udp.send"
}

@test "a file with too many events is refused before it fills the memory" {
    cat >many.py <<'EOF'
import sys
sys.path.insert(0, sys.argv[1])
from plots import inputs
inputs.EVENTS_MAX = 20
inputs.read(sys.argv[2])
EOF
    run_here python3 -B many.py "$IW_TOP/scripts/python" "$MADE/udp.send"
    assert_status 1
    assert_stderr_has "udp.send:21: more than 20 events: expected fewer; plot a part of the file"
}

@test "an interrupted plot leaves no file" {
    local signal program

    mkdir bin folder
    printf '#!/bin/sh\n: >"%s/runs"\nexec sleep 30\n' "$PWD" >bin/gnuplot
    chmod +x bin/gnuplot
    for signal in INT TERM; do
        rm -f runs
        TMPDIR=$PWD/folder PATH=$PWD/bin:$PATH timeout 20 "$IW_TOP/scripts/plot" cwnd "$MADE/udp.send" \
            >said 2>&1 3>&- &
        program=$!
        wait_until 15 test -e runs
        kill -s $signal "$(pgrep -P $program -f scripts/plot)"
        status=0
        wait $program || status=$?
        assert_status $((128 + $(kill -l $signal)))
        assert_equal "$(cat said)" 'plot: interrupted'
        assert_equal "$(ls folder)" ''
    done
}

@test "a missing gnuplot or ddp-dump is exit status 3" {
    mkdir bin
    refuses_here 'gnuplot: not found: expected gnuplot 5; install gnuplot-nox' ladder "$MADE/udp.send"
    ln -s "$(command -v gnuplot)" bin/gnuplot
    [ -x "$IW_TOP/build/ddp-dump" ] || IW_BUILD='' refuses_here 'ddp-dump: not found' ladder "$MADE/udp.pcap"
}

# refuses_here MESSAGE ARG...: run_here needs commands that are not in bin
refuses_here() {
    local message=$1 said rc=0
    shift

    said=$(env PATH="$BATS_TEST_TMPDIR/bin" /usr/bin/python3 "$IW_TOP/scripts/plot" "$@" 2>&1) || rc=$?
    assert_equal $rc 3
    [[ $said == *"$message"* ]] || fail_with "$said"
}

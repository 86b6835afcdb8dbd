#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The lines of --json and --trace, and their schema in iwarp-json(5). The lines of all other tests
# are compared with the schema too, at the end of each test (check_json in helpers.bash).

# bats file_tags=beside

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# schema TOOL LINE: compares one line with the schema
schema() {
    printf '%s\n' "$2" >lines
    run_here python3 "$IW_TOP/tests/bats/json_schema.py" lines "$1" lines
}

# rejects LINE FAULT: LINE, as a line of stag-reg, has only this fault
rejects() {
    schema stag-reg "$1"
    assert_status 1
    assert_output_has "lines:1: stag-reg: $2"
}

# Prints the port of server N, which was started with -p 0.
port_of() {
    sed -n 's/^listening on [^ ]*:\([0-9]*\)\( .*\|,.*\)\?$/\1/p' "$BATS_TEST_TMPDIR/serve.$1.out"
}

# bats test_tags=plain
@test "iwarp-json(5) lists exactly the events and keys that the sources write" {
    require_tool python3
    run_here python3 "$IW_TOP/tests/bats/json_schema.py" sources "$IW_TOP"
    assert_output_is ''
    assert_status 0
}

# bats test_tags=plain
@test "the schema rejects unknown and missing keys, wrong types and large numbers" {
    require_tool python3
    schema stag-reg '{"schema":1,"event":"gone","stag":"0000beef"}'
    assert_output_is ''
    assert_status 0
    rejects '{"schema":1,"event":"went","stag":"0000beef"}' 'event: "went", expected an event of stag-reg'
    rejects '{"schema":1,"event":"gone","stag":"0000beef","why":"x"}' 'why: unknown key, expected one of: event schema stag'
    rejects '{"schema":1,"event":"gone"}' 'stag: missing, expected string, hex'
    rejects '{"schema":1,"event":"gone","stag":7}' 'stag: 7, expected string, hex'
    rejects '{"schema":1,"event":"gone","stag":"7g"}' 'stag: "7g", expected string, hex'
    rejects '{"schema":2,"event":"gone","stag":"0000beef"}' 'schema: 2, expected 1'
    rejects '{"schema":1,"event":"result","buffers":9007199254740992}' 'buffers: 9007199254740992, expected at most 2^53-1'
    rejects '{"schema":1,"event":"result","buffers":true}' 'buffers: true, expected integer, count'
    rejects '{"schema":1,"event":"gone","stag"' 'not JSON'
    schema ddp-xdp '{"schema":1,"event":"result","interfaces":NaN}'
    assert_output_has 'interfaces: NaN, expected integer'
    schema ddp-bench '{"schema":1,"event":"baseline","name":"tcp","bits_per_second":Infinity}'
    assert_output_has 'bits_per_second: inf, expected a finite number'
    schema mpa-probe '{"schema":1,"event":"listening","transport":"tcp","address":"a","port":1,"app":"sink"}'
    assert_output_has 'personality: missing'
    schema ddp-send '{"schema":1,"event":"removed","name":"x?","name_b64":"eP8=","would":false}'
    assert_output_is ''
}

# bats test_tags=plain
@test "a test fails when a tool writes a line that is not in the schema" {
    require_tool python3
    printf '%s\n' '{"schema":1,"event":"gone","stag":5}' >served
    json_note "$PWD/served" "$IW_BUILD/stag-reg" --json list
    run -1 check_json
    [[ ${lines[0]} == *"served:1: stag-reg: stag: 5, expected string, hex" ]]
    rm json.list
}

@test "the listeners of all tools name transport, address, port and UDP port" {
    local tool options wanted

    # Uses an address of its own, because the default UDP port of 127.0.0.1 may be in use.
    while read -r tool options wanted; do
        # shellcheck disable=SC2086
        IW_READY='"event":"listening"' serve_here "$tool" --json -p 0 --bind 127.83.1.7 ${options//,/ }
        serve_end
        assert_jsonl '.[0] | [.event, .transport, .address == "127.83.1.7:\(.port)", .udp_port]' "$wanted"
    done <<'END'
ddp-bench --listen ["listening","tcp",true,null]
ddp-bench --listen,-t,udp ["listening","udp",true,9899]
ddp-bench --listen,-t,udp,--udp-port,17501 ["listening","udp",true,17501]
sctp-ddp-ping --listen ["listening","udp",true,9899]
sctp-ddp-ping --listen,--udp-port,17502 ["listening","udp",true,17502]
mpa-probe --listen ["listening","tcp",true,null]
END
}

@test "with --udp-port 0 the listeners report the UDP port that the system chose" {
    local tool options

    while read -r tool options; do
        # shellcheck disable=SC2086
        IW_READY='"event":"listening"' serve_here "$tool" --json -p 7000 --bind 127.83.1.8 -t udp --udp-port 0 $options
        serve_end
        assert_jsonl '.[0] | [.event, .port, .udp_port > 0 and .udp_port != 9899]' '["listening",7000,true]'
    done <<'END'
ddp-bench --listen
sctp-ddp-ping --listen
END
}

@test "with --port 0 a quiet listener shows its address" {
    local tool options

    while read -r tool options; do
        # shellcheck disable=SC2086
        IW_READY='^listening on 127' serve_here "$tool" -q -p 0 $options
        [ "$(port_of "$SERVED")" -gt 0 ]
        serve_end
        # shellcheck disable=SC2086
        serve_here "$tool" -q -p "$(free_port)" $options
        serve_end
        assert_output_lacks listening
    done <<'END'
ddp-bench --listen
sctp-ddp-ping --listen --udp-port 17503
mpa-probe --listen
END
}

@test "a trace has the time of day, and the octets of each posted and completed request" {
    local begin end sent

    begin=$(date +%s%N)
    IW_READY='^listening on' serve_here ddp-bench --listen -p 0 --once
    run_here ddp-bench 127.0.0.1 -p "$(port_of 1)" write -w 0 -s 5000 -n 20 --trace trace
    assert_status 0
    end=$(date +%s%N)
    sent=$(jq -s -c 'map(select(.octets == 5000 and (.op == "send" or .op == "write"))) | group_by(.event) |
        map([.[0].event, length >= 20, all(.[]; .wr_id | test("^0x[0-9a-f]{16}$"))])' trace)
    assert_equal "$sent" '[["completion",true,true],["posted",true,true]]'
    jq -r .time_ns trace >time_ns
    [ "$(sort -n time_ns | head -n 1)" -ge "$begin" ]
    [ "$(sort -n time_ns | tail -n 1)" -le "$end" ]
    assert_equal "$(jq -s 'map(.t_ns) | . == sort and (.[0] | type == "number")' trace)" true
}

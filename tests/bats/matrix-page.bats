#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/interop-report: the results of the interop matrix as a page, Markdown, CSV and JUnit. The page is
# tested in headless Chromium, without a network. Neither a matrix nor a program of the project is run:
# tests/page/runs.py makes the results.

# bats file_tags=beside,plain

load helpers

setup_file() {
    file_requires require_report || return 0
    export RUNS=$BATS_FILE_TMPDIR/runs
    python3 -B "$IW_TOP/tests/page/runs.py" "$RUNS"
    report "$RUNS/now" --against "$RUNS/old" --history "$RUNS"/past-* >"$RUNS/change" || [ $? -eq 1 ]
    local name
    for name in huge empty hostile; do report "$RUNS/$name"; done
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return
}

require_report() {
    local said status=0

    said=$("$IW_TOP/scripts/interop-report" --help 2>&1) || status=$?
    [ "$status" -ne 3 ] || skip "needs jinja2: ${said##*: }"
}

require_chromium() {
    command -v chromium >/dev/null || skip "needs chromium: it is not installed"
}

report() {
    timeout 60 "$IW_TOP/scripts/interop-report" "$@"
}

# in_browser GROUP...
in_browser() {
    require_chromium
    IW_TIMEOUT=100 run_here python3 -B "$IW_TOP/tests/page/page_test.py" "$RUNS" "$@"
    assert_status 0
}

# rejects PATTERN SED-EXPRESSION: a result.json that was changed in this way
rejects() {
    mkdir -p bad
    sed "$2" "$IW_TOP/tests/page/result.json" >bad/result.json
    run_here "$IW_TOP/scripts/interop-report" bad
    assert_status 2
    assert_stderr_has "interop-report: bad/result.json$1"
    [ "$(ls bad)" = result.json ]
}

@test "the page in a browser: filters, addresses, keyboard, panel" {
    in_browser filters address keyboard panel
}

@test "the page in a browser: measurements, difference of two runs, history of a cell" {
    in_browser measurements changes history
}

@test "the page in a browser: markup in the data is text, empty and large runs, colours, paper" {
    in_browser hostile sizes looks
}

@test "the page names no address outside of its folder" {
    run_here grep -oE '(src|href|url|action)[=(]["'\'']?[a-z]*:?//[^"'\'' ]*|@import' "$RUNS/now/index.html"
    assert_output_is ''
    grep -q "Content-Security-Policy\" content=\"default-src &#39;none&#39;" "$RUNS/now/index.html"
}

@test "the difference of two runs is printed, and new failures are status 1" {
    grep -q '^new failure  probe-rdmac/siw/tcp-send-3/bad-crc (pass -> fail): the responder closed' "$RUNS/change"
    grep -q '^repaired     iwarp-tools/usrsctp/tcp-read-3/bad-crc (fail -> pass)' "$RUNS/change"
    grep -q '^measurement  iwarp-tools/probe-strict/tcp-send-0/none: throughput_bits_per_second x0.53' "$RUNS/change"
    mkdir same && cp "$RUNS/old/result.json" same
    run_here "$IW_TOP/scripts/interop-report" same --against "$RUNS/old"
    assert_status 0
    assert_output_has '0 new failures, 0 new errors, 0 repaired'
    cp "$RUNS/now/result.json" same
    run_here "$IW_TOP/scripts/interop-report" same --against "$RUNS/old"
    assert_status 1
    # Cells of other tests are counted, not listed: 20 and a line with the rest.
    mkdir big
    cp "$RUNS/huge/result.json" big
    run_here "$IW_TOP/scripts/interop-report" big --against "$RUNS/old"
    assert_equal "$(grep -c '^appeared' <<<"$output")" 21
    assert_output_has ' more: see index.html'
}

@test "changes, noise, first run with a result, units, codes of tests" {
    run_here python3 -B "$IW_TOP/tests/page/compare_test.py"
    assert_status 0
}

@test "JUnit, CSV and Markdown hold every cell, also with markup and control characters" {
    run_here python3 -B "$IW_TOP/tests/page/formats_test.py" "$RUNS/now" "$RUNS/hostile" "$RUNS/empty" "$RUNS/huge"
    assert_output_is ''
    assert_status 0
}

@test "an error in result.json is named with its place, and nothing is written" {
    rejects ': cells[1].result: "passed": expected one of pass, fail, unsupported, error' 's/"result": "fail"/"result": "passed"/'
    rejects ': cells[0].seconds: -1: expected a number, at least 0' '0,/"seconds": 1.21/s//"seconds": -1/'
    rejects ': cells[0].server: "nobody": expected one of iwarp-tools, probe-strict' 's/"server": "iwarp-tools"/"server": "nobody"/'
    rejects ': cells[0].log: "../../etc/passwd": expected a path below' 's|"log": "cells/0/log.txt"|"log": "../../etc/passwd"|'
    rejects ': cells[0].log: "javascript:alert(1)": expected a path below' 's|"log": "cells/0/log.txt"|"log": "javascript:alert(1)"|'
    rejects ': cells[1].id: ' 's|probe-strict/write/none|iwarp-tools/write/none|'
    rejects ': run.seed: missing: expected a value' '/"run"/s/"seed": 7, //'
    rejects ': format: 2: expected 1' 's/"format": 1/"format": 2/'
    rejects $': cells[1].result: "\ufffd[31m": expected one of pass' $'s/"result": "fail"/"result": "\u009b[31m"/'
    rejects ': NaN: expected a finite number' 's/1.21/NaN/'
    rejects ': key "seed" is there twice' '/"run"/s/"seed": 7/"seed": 7, "seed": 8/'
    rejects ':4: Expecting' 's/"implementations"/implementations/'
}

@test "a run that is missing, and a folder that cannot be written" {
    run_here "$IW_TOP/scripts/interop-report" nothing
    assert_status 2
    assert_stderr_has 'nothing: No such file or directory: expected the result.json of a run'
    mkdir here && cp "$IW_TOP/tests/page/result.json" here
    mkdir here/result.md
    run_here "$IW_TOP/scripts/interop-report" here
    assert_status 4
    assert_stderr_has 'result.md: Is a directory'
    [ "$(ls -A here)" = "$(printf 'result.json\nresult.md')" ]
}

@test "without Jinja2 or PyYAML the report cannot run here" {
    run_here python3 -S "$IW_TOP/scripts/interop-report" "$RUNS/now"
    assert_status 3
    assert_stderr_has 'interop-report: needs yaml: run scripts/packages --install fabric'
}

@test "an unreadable run is left out of the history, and the report says so" {
    mkdir -p now torn && cp "$IW_TOP/tests/page/result.json" now && head -c 100 now/result.json >torn/result.json
    run_here "$IW_TOP/scripts/interop-report" now --history torn "$RUNS/past-1"
    assert_status 0
    assert_stderr_has 'interop-report: left out of the history: torn/result.json:'
    grep -q '"history":{"runs"' now/index.html
    run_here "$IW_TOP/scripts/interop-report" now --history "$RUNS"
    assert_status 0
    assert_output_is ''
    grep -qE '"history":\{"runs":\[(\{[^{]*\{[^}]*\}\},){9}\{' now/index.html
}

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Copies of the teaching labs, for labs.bats and interop/labs-siw.bats. Load it after helpers.

export IW_LAB=$IW_BUILD/iwarp-lab

# The grader is built only where libseccomp is.
lab_grader_exists() {
    [ -x "$IW_LAB" ] && return 0
    export FILE_SKIPS='needs libseccomp: the grader of the labs was not built'
    return 1
}

# lab_folder NUMBER: prints the name of a lab's folder, such as 01-framing
lab_folder() {
    local folder

    for folder in "$IW_TOP/labs/$(printf %02d "$1")"-*; do basename "$folder"; done
}

# lab_copy NUMBER DIR [solution]: a copy of the folder, as a student has it; with `solution`: with
# the files of the reference solution
lab_copy() {
    local folder

    folder=$(lab_folder "$1")
    [ -d "$IW_TOP/labs/$folder" ] || skip "needs lab $1: it does not exist"
    mkdir -p "$2"
    (cd "$IW_TOP/labs/$folder" && tar -ch --exclude=./build .) | tar -x -C "$2"
    [ -z "${3:-}" ] || find "$IW_TOP/labs/.solutions/$folder" -maxdepth 1 -type f ! -name '*.tsv' ! -name '*.md' -exec cp {} "$2/" \;
}

# lab_break NUMBER DIR NAME: makes the solution in DIR the wrong solution NAME of wrong.tsv
lab_break() {
    python3 - "$IW_TOP/labs/.solutions/$(lab_folder "$1")/wrong.tsv" "$2" "$3" <<'END'
import pathlib
import sys

table, folder, name = sys.argv[1:]
rows = [line.split("\t") for line in pathlib.Path(table).read_text().splitlines()]
rows = [row for row in rows if row[0] == name]
for old, new in ([t.replace("\\n", "\n").replace("\\t", "\t") for t in row[2:4]] for row in rows):
    for file in pathlib.Path(folder).glob("*.c"):
        if file.name not in ("calls.c", "tests.c", "harness.c") and file.read_text().count(old) == 1:
            file.write_text(file.read_text().replace(old, new))
            break
    else:
        sys.exit("%s: its text does not occur once" % name)
if not rows:
    sys.exit("%s: not in %s" % (name, table))
END
}

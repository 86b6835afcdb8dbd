#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The Containerfile: the image builds from the tracked files alone, and a file moves from one
# container to another. A bare Debian replaces debian:bookworm-slim, so that no image is downloaded.

# bats file_tags=compiles,all,plain,ordered

load helpers
load debian

require_container() {
    require_tool buildah
    require_bare_debian
}

setup_file() {
    export WORK

    file_requires require_container || return 0
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/iw-container.XXXXXX")
}

teardown_file() {
    [ -z "${WORK:-}" ] || rm -rf --one-file-system "$WORK"
}

setup() {
    skip_with_file
}

# A store of images and containers for this file alone.
box() {
    local command=$1
    shift

    run_here buildah --root "$WORK/images" --runroot "$WORK/run" --storage-driver vfs "$command" "$@"
    assert_status 0
}

@test "the image builds with nothing but the tree and the packages of Debian" {
    local base

    bare_debian ''
    box from scratch
    base=$output
    # Each step copies some hundred MiB, and waits for the disk.
    IW_TIMEOUT=600 box add -q "$base" "$BARE_DEBIAN" /
    IW_TIMEOUT=600 box commit -q --rm "$base" docker.io/library/debian:bookworm-slim
    IW_TIMEOUT=600 run_here "$IW_TOP/scripts/dist" "$WORK/dist"
    assert_status 0
    mkdir "$WORK/src"
    tar -x -z -f "$WORK"/dist/*.tar.gz -C "$WORK/src" --strip-components=1
    # Link-time optimization is tested by the build of the packages.
    IW_TIMEOUT=1600 box bud --build-arg LTO= --isolation chroot --pull-never -t iwarp-tools -f "$WORK/src/Containerfile" "$WORK/src"
    box inspect --type image --format '{{.OCIv1.Config.User}} {{index .OCIv1.Config.Cmd 0}}' iwarp-tools
    assert_output_is '7471:7471 ddp-recv'
}

@test "the tools of the image run as an ordinary user, and move a file" {
    local box

    [ -d "$WORK/src" ] || fail_with 'the image was not built: see the first test'
    IW_TIMEOUT=600 box from --pull-never iwarp-tools
    box=$output
    # shellcheck disable=SC2016
    IW_TIMEOUT=120 box run --isolation chroot "$box" -- bash -euc '
        [ "$(id -u)" = 7471 ]
        for tool in ddp-bench ddp-dump ddp-impair ddp-recv ddp-send ddp-xdp mpa-probe sctp-ddp-ping stag-reg; do $tool --version; done
        head -c 3000000 /dev/urandom >/tmp/f
        for t in tcp udp; do
            options=; [ $t = tcp ] || options="--udp-port 19899"
            coproc SERVER { exec ddp-recv -t $t $options -p 0 --once --json /srv/incoming; }
            pid=$SERVER_PID
            read -r line <&"${SERVER[0]}"
            port=${line##*\"port\":}
            ddp-send -q -t $t $options -p "${port%%[!0-9]*}" /tmp/f 127.0.0.1:$t
            wait $pid
            cmp /tmp/f /srv/incoming/$t
        done'
    assert_equal "$(grep -c "$(cat "$IW_TOP/VERSION")\$" <<<"$output")" 9
    # The image has no compiler and no source.
    box run --isolation chroot "$box" -- sh -c '! command -v gcc clang make; ls /src 2>/dev/null || :'
    assert_output_is ''
}

@test "scripts/packages runtime names the libraries that the tools of the image load" {
    local tool needed p

    needed=$(for tool in "$IW_BUILD"/{ddp-recv,ddp-dump,ddp-bench,stag-reg}; do ldd "$tool"; done | awk '$3 ~ /^\// { print $3 }' | sort -u |
        while read -r p; do dpkg -S "$(readlink -f "$p")" 2>/dev/null; done | sed 's/:.*//' | sort -u)
    for p in $("$IW_TOP/scripts/packages" runtime); do
        grep -qx "$p" <<<"$needed" || fail_with "no tool loads $p" "$needed"
    done
}

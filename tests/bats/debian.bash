# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# A bare Debian of this system's release, as a tar file. Load helpers.bash first.
#
#   require_bare_debian               skips the test if none can be made here
#   bare_debian PACKAGES [DOWNLOADS]  sets $BARE_DEBIAN to a file with apt, PACKAGES (between commas), and the files that apt needs
#                                     to install DOWNLOADS (between spaces). It is made once and kept in the cache for two weeks.

require_bare_debian() {
    require_root
    require_tool mmdebstrap unshare
    unshare --mount --pid --fork --net true 2>/dev/null || skip 'needs netns: no mount namespace can be made'
    apt_sources | grep -q . || skip 'needs deb: apt has no mirror of this Debian'
}

apt_sources() {
    # shellcheck disable=SC2016
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
        grep ' main$' | sort -u
}

debian_suite() {
    # shellcheck source=/dev/null
    (. /etc/os-release && echo "$VERSION_CODENAME")
}

bare_debian() {
    local cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/iwarp-tools/deb key lock

    mkdir -p "$cache"
    key=$({ echo "$*" && debian_suite && cat "${BASH_SOURCE[0]}"; } | cksum | cut -d ' ' -f 1)
    BARE_DEBIAN=$cache/tree-$key.tar
    exec {lock}>"$cache/lock"
    flock -w 1000 "$lock"
    find "$cache" -name 'tree-*' -mtime +14 -delete
    [ -e "$BARE_DEBIAN" ] || make_bare_debian "$@"
    exec {lock}>&-
}

make_bare_debian() {
    local log=$BATS_TEST_TMPDIR/mmdebstrap.log file=$BARE_DEBIAN.new

    # shellcheck disable=SC2016
    apt_sources | timeout 900 mmdebstrap --quiet --variant=apt --mode=root --format=tar ${1:+--include="$1"} --skip=cleanup/apt \
        ${2:+--customize-hook="chroot \"\$1\" apt-get -qq -y --no-install-recommends --download-only install $2"} \
        "$(debian_suite)" "$file" - >"$log" 2>&1 3>&- || fail_with "mmdebstrap: $(tail -n 5 "$log")"
    mv "$file" "$BARE_DEBIAN"
}

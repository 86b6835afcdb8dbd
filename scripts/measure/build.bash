# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# The programs that the measurements need: builds the missing ones.
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

# helper ID: the test program that a figure needs beside the tools, or nothing
helper() {
	case $1 in
	L3) echo parallel_streams ;;
	P12u) echo crowd ;;
	P15 | P15u) echo setups ;;
	P33) echo connects ;;
	esac
}

# The goals of make for the wanted figures.
goals() {
	local id name

	echo all
	for id in $only; do
		name=$(helper "$id")
		[ -z "$name" ] || echo "${name//_/-}-bin"
	done | sort -u
}

# The programs that the folder $build lacks for the wanted figures.
missing_programs() {
	local id name program

	{
		for name in ddp-bench ddp-recv ddp-send ddp-impair; do echo $name; done
		for id in $only; do
			name=$(helper "$id")
			[ -z "$name" ] || echo "tests/$name/$name"
		done
	} | sort -u | while read -r program; do [ -x "$build/$program" ] || echo "$program"; done
}

# The variables of make with which the folder $build was configured, quoted for a shell.
build_variables() {
	local name value

	for name in CC CFLAGS CPPFLAGS LDFLAGS WITHOUT LTO; do
		value=$(sed -nE "s/^(.* )?$name=(.*)\$/\\2/p" "$build/config.key" 2>/dev/null)
		value=$(sed -E 's/ (CFLAGS|CPPFLAGS|LDFLAGS|WITHOUT|VERSION|FUZZ|LTO|SEEN)=.*//' <<<" $value")
		value=${value# }
		printf ' %s=%q' $name "${value% }"
	done
}

# Fails, and prints the reason, if make would replace the tools in $build: it was built from other
# sources, or with flags that config.key does not hold.
same_sources() {
	if [ ! -w "$build" ]; then
		echo "$build is not writable"
	elif ! grep -qsF -e "-include $build/config.h" "$build/flags.key" || grep -qE -e '-fsanitize|--coverage' "$build/flags.key"; then
		echo "$build was configured for another folder, or with sanitizers"
	elif [ -n "$(find "$top/lib" "$top/cmd" "$top/xdp" -name '*.[ch]' -newer "$build/ddp-bench" -print -quit 2>&1)" ]; then
		echo "$build is older than the sources"
	else
		return 0
	fi
	return 1
}

# Without IW_BUILD: builds in build/. With it: builds only missing programs, so that the tools that
# are measured stay as they are. A figure whose program is still missing is skipped later.
build_programs() {
	local missing why command

	if [ -z "${IW_BUILD:-}" ]; then
		# shellcheck disable=SC2046
		"${MAKE:-make}" --no-print-directory -C "$top" -j"$(nproc)" BUILD=build $(goals) >&2 || exit 3
		return
	fi
	missing=$(missing_programs)
	[ -n "$missing" ] || return 0
	command="make -C $(printf %q "$top") BUILD=$(printf %q "$build")$([ ! -e "$build/config.key" ] || build_variables) $(goals | tr '\n' ' ')"
	echo "bench: $build lacks $(tr '\n' ' ' <<<"$missing")" >&2
	if ! why=$(same_sources); then
		echo "bench: $why: to build them yourself: $command" >&2
		return 0
	fi
	echo "bench: $command" >&2
	eval "\"\${MAKE:-make}\" --no-print-directory -j\"\$(nproc)\" ${command#make}" >&2 || exit 3
}

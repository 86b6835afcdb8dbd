# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One build for everything, not recursive. `make help` lists the targets and the switches.
#
# CC, AR, CFLAGS, CPPFLAGS, LDFLAGS, LDLIBS, PREFIX and DESTDIR belong to the user. The project's
# own flags are in variables that begin with IW_ and come first, so that the user's flags override
# them.

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

VERSION := $(shell cat VERSION)

# --- folders -----------------------------------------------------------------------------------------------------------

BUILD ?= build
# A build folder below this one always has the same relative name, however the caller spells it.
# Commands contain the name, and a changed command causes a rebuild.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR ?= $(PREFIX)/share/doc/iwarp-tools
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
UNITDIR ?= $(PREFIX)/lib/systemd/system
# The grader of the labs, and the labs themselves.
LABEXECDIR ?= $(PREFIX)/libexec/iwarp-labs
LABDIR ?= $(PREFIX)/share/iwarp-labs
# Wireshark's folder of Lua plugins for all users, as `tshark -G folders` prints it.
LUADIR ?= $(LIBDIR)/wireshark/plugins

# --- switches ----------------------------------------------------------------------------------------------------------

SANITIZE ?=
FUZZ ?=
COVERAGE ?=
WERROR ?=
DEBUG ?=
WITHOUT ?=
V ?=
CROSS ?=

comma := ,
empty :=
space := $(empty) $(empty)

# SANITIZE, FUZZ, COVERAGE and CROSS have build folders of their own, so that their objects never
# mix. After a change of another setting the objects are rebuilt.
O := $(BUILD)
ifneq ($(SANITIZE),)
O := $(O)/san-$(subst $(comma),-,$(SANITIZE))
endif
ifneq ($(FUZZ),)
O := $(O)/fuzz
ifeq ($(origin CC),default)
CC := clang
endif
endif
ifneq ($(COVERAGE),)
O := $(O)/coverage
endif

# Programs for another architecture (make check-cross): only the pure rooms and their tests.
ifneq ($(CROSS),)
O := $(O)/cross-$(CROSS)
ifneq ($(filter-out cross-bins print-%,$(or $(MAKECMDGOALS),all)),)
$(error CROSS builds the goal cross-bins only)
endif
CC := $(shell scripts/cross-sysroot $(CROSS) --cc)
IW_CROSS_LDFLAGS := $(shell scripts/cross-sysroot $(CROSS) --ldflags)
PKG_CONFIG := false
endif

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin AR),default)
AR := ar
endif
PKG_CONFIG ?= pkg-config
CFLAGS ?= $(if $(SANITIZE)$(FUZZ),-O1,$(if $(COVERAGE),-O0,-O2)) -g
# Link-time optimization of the tools and libiwarp.so. Off with -O0, sanitizers, fuzzing, coverage
# and for other architectures.
LTO ?= $(if $(SANITIZE)$(FUZZ)$(COVERAGE)$(CROSS)$(filter -O0,$(CFLAGS)),,1)

IW_WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wundef -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wwrite-strings -Wcast-qual -Wformat=2 -Wswitch -Wmissing-field-initializers -Wredundant-decls \
	-Wnested-externs -Wimplicit-fallthrough -Wdouble-promotion -Wunused-result
ifneq ($(WERROR),)
IW_WARNINGS += -Werror
endif

IW_CPPFLAGS := -D_GNU_SOURCE= -Ilib -Ilib/include -Icmd -I. -include $(O)/config.h
ifneq ($(DEBUG),)
IW_CPPFLAGS += -DIW_DEBUG
endif
IW_CFLAGS := -std=gnu11 -fPIC -fvisibility=hidden -fstack-protector-strong -fno-common -pthread $(IW_WARNINGS)
IW_LDFLAGS := -pthread $(IW_CROSS_LDFLAGS)
ifneq ($(SANITIZE),)
IW_CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
IW_LDFLAGS += -fsanitize=$(SANITIZE)
endif
ifneq ($(FUZZ),)
IW_CFLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
IW_LDFLAGS += -fsanitize=address,undefined
endif
ifneq ($(COVERAGE),)
IW_CPPFLAGS += -DIW_COVERAGE
IW_CFLAGS += --coverage
IW_LDFLAGS += --coverage
endif

ifeq ($(V),)
Q := @
say = @printf '  %-7s %s\n' '$(1)' '$(patsubst $(O)/%,%,$(2))'
else
Q :=
say = @:
endif

# --- the default target ------------------------------------------------------------------------------------------------

.PHONY: all lib
all:

# --- configuration -----------------------------------------------------------------------------------------------------
# config.mk and config.h record which optional libraries were found. They are rebuilt when the
# compiler, its flags, scripts/configure or VERSION changed, and when a library or program that the
# script looks for was installed, upgraded or removed. config.h keeps its timestamp if its text is
# the same, so that only relevant changes cause a rebuild.

NO_CONFIG_GOALS := clean help deps dist dist-labs deb format map uninstall
ifneq ($(if $(MAKECMDGOALS),$(filter-out $(NO_CONFIG_GOALS),$(MAKECMDGOALS)),all),)
CONFIGURED := 1
endif

config_seen := $(if $(CONFIGURED),$(shell CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' scripts/configure --seen))
config_key := CC=$(CC) CFLAGS=$(CFLAGS) CPPFLAGS=$(CPPFLAGS) LDFLAGS=$(LDFLAGS) WITHOUT=$(WITHOUT) VERSION=$(VERSION) FUZZ=$(FUZZ) LTO=$(LTO) SEEN=$(config_seen)

ifdef CONFIGURED
ifneq ($(shell cat $(O)/config.key 2>/dev/null),$(strip $(config_key)))
$(shell mkdir -p $(O) && rm -f $(O)/config.mk)
endif
include $(O)/config.mk
endif

$(O)/config.mk: scripts/configure VERSION
	@mkdir -p $(O)
	@echo 'libraries$(if $(filter-out $(BUILD),$(O)), for $(patsubst $(BUILD)/%,%,$(O))):' >&2
	@CC='$(CC)' CFLAGS='$(CFLAGS)' CPPFLAGS='$(CPPFLAGS)' LDFLAGS='$(IW_CROSS_LDFLAGS) $(LDFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' \
		WITHOUT='$(WITHOUT)' LTO='$(LTO)' scripts/configure $(O) >&2
	@printf '%s\n' '$(strip $(config_key))' >$(O)/config.key

$(O)/config.h: $(O)/config.mk ;

# Objects that were compiled with other flags are rebuilt.
keep_text = $(shell mkdir -p $(dir $(1)); printf '%s\n' '$(2)' | cmp -s - $(1) || printf '%s\n' '$(2)' >$(1))
# config.mk sets some of the flags. They are compared only if it exists; make restarts after it has
# created config.mk.
ifneq ($(wildcard $(if $(CONFIGURED),$(O)/config.mk)),)
$(call keep_text,$(O)/flags.key,$(strip $(CC) $(IW_CPPFLAGS) $(CPPFLAGS) $(filter-out -Werror,$(IW_CFLAGS)) $(CFLAGS) $(IW_LTO_CFLAGS) $(IW_LDFLAGS) $(LDFLAGS)))
endif

# --- rules -------------------------------------------------------------------------------------------------------------

# Objects mirror the source tree: lib/ddp/stag.c -> $(O)/obj/lib/ddp/stag.o
objs = $(patsubst %.c,$(O)/obj/%.o,$(1))

$(O)/obj/%.o: %.c $(O)/config.h $(O)/flags.key
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(IW_CPPFLAGS) $(IW_CPPFLAGS_$(firstword $(subst /, ,$*))) $(CPPFLAGS) $(IW_CFLAGS) $(IW_DEP_CFLAGS) \
		$(if $(filter lib/% cmd/%,$<),$(IW_LTO_CFLAGS)) $(CFLAGS) -MMD -MP -c -o $@ $<

include xdp/xdp.mk
include lib/lib.mk
include cmd/cmd.mk
include labs/labs.mk
include tests/tests.mk

all: lib tools labs

ifdef CONFIGURED
-include $(patsubst %.o,%.d,$(IW_ALL_OBJS))
endif

# --- checks ------------------------------------------------------------------------------------------------------------
# scripts/run-tests itself builds what it runs. So a program that does not build is one failure, and
# the other programs still run.

.PHONY: check check-all check-abi check-unit check-sanitize check-fuzz check-sim check-bats check-layers check-cross check-interop check-labs trace lint \
	fuzz sim soak bench demo deps format map can-sanitize mutants

run_tests = +$(Q)MAKE='$(MAKE)' scripts/run-tests --build $(BUILD)

check:
	$(run_tests) --quick build layers lint unit sim fuzz trace bats interop
check-all:
	$(run_tests) build layers lint unit sim fuzz trace bats interop labs sanitize cross
check-unit:
	$(run_tests) build unit
check-sanitize:
	$(run_tests) sanitize
check-fuzz:
	$(run_tests) build fuzz
check-sim:
	$(run_tests) build sim
check-bats:
	$(run_tests) build bats
check-interop:
	$(run_tests) build interop
check-labs:
	$(run_tests) build labs
check-layers: lib tools
	$(Q)scripts/check-layers $(O)
check-cross:
	$(run_tests) cross
# Information before version 1.0. A missing tag or program is no failure.
check-abi: lib
	$(Q)scripts/check-abi $(O) || [ $$? -eq 3 ]

trace:
	$(Q)scripts/make-trace
lint:
	$(Q)BUILD=$(BUILD) MAKE=$(MAKE) scripts/lint
format:
	$(Q)scripts/lint --fix-format

# The names that the public headers mark IW_API become the names that the library exports.
map:
	$(Q)scripts/check-agree --write

# Breaks the rules of the pure rooms one at a time, and reports the breaks that no unit test
# detects.
mutants: $(IW_PURE_UNIT_BINS) $(O)/mutants.flags
	$(Q)scripts/mutants --build $(O) $(FILTER)

.PHONY: check-pure
# For the build of a package: only the unit tests of the pure rooms, without sockets, clock or
# report.
check-pure: $(IW_PURE_UNIT_BINS)
	$(Q)for t in $^; do $$t || exit 1; done

can-sanitize:
	@mkdir -p $(O) && echo 'int main(void) { return 0; }' >$(O)/can.c && $(CC) $(IW_CFLAGS) -o $(O)/can $(O)/can.c && $(O)/can

# --- longer runs -------------------------------------------------------------------------------------------------------

FUZZ_SECONDS ?= 600
TARGETS ?=
SEEDS ?= 20000
FIRST ?= 1
HOURS ?= 1
PARTS ?= stress

fuzz:
	+$(Q)MAKE='$(MAKE)' scripts/fuzz-run --build $(BUILD) --seconds $(FUZZ_SECONDS) $(TARGETS)
sim: sim-bin
	$(Q)$(IW_SIM_BIN) --seeds $(SEEDS) --first $(FIRST)
soak: all
	+$(Q)MAKE='$(MAKE)' scripts/soak --build $(O) --hours $(HOURS) --parts $(PARTS)
bench: all connects-bin crowd-bin parallel-streams-bin setups-bin
	$(Q)IW_BUILD=$(O) scripts/bench
demo: all
	$(Q)scripts/demo-run $(O)
deps:
	$(Q)scripts/packages --install build test fabric hosts cross guest deb

# --- install -----------------------------------------------------------------------------------------------------------

IW_MAN := $(wildcard man/*.[1-8])
# The page about the labs is installed with the labs.
IW_MAN_INSTALLED := $(filter-out $(if $(IW_HAVE_SECCOMP),,man/iwarp-labs.7),$(IW_MAN))
IW_DROP_INS := $(wildcard scripts/systemd/ddp-recv-*.conf)
CONFDIR := $(SYSCONFDIR)/iwarp-tools
D = $(DESTDIR)

# $(call to,FOLDER,MODE,FILES) installs FILES
to = $(if $(strip $(3)),install -d '$(D)$(1)' && install -m $(2) $(3) '$(D)$(1)')

.PHONY: install uninstall dist deb
# libiwarp.a is installed with machine code only: the code for link-time optimization fits only this
# version of the compiler.
install: all
	$(Q)$(call to,$(BINDIR),755,$(IW_TOOL_BINS))
	$(Q)$(call to,$(LIBDIR),644,$(IW_LIB_A))
	$(Q)$(if $(IW_LTO_CFLAGS),objcopy -D -w -R '.gnu.lto_*' -R '.gnu.debuglto_*' '$(D)$(LIBDIR)/$(notdir $(IW_LIB_A))')
	$(Q)$(call to,$(LIBDIR),755,$(IW_LIB_SO))
	$(Q)ln -sf $(notdir $(IW_LIB_SO)) '$(D)$(LIBDIR)/libiwarp.so.$(IW_SOVERSION)'
	$(Q)ln -sf libiwarp.so.$(IW_SOVERSION) '$(D)$(LIBDIR)/libiwarp.so'
	$(Q)$(call to,$(PKGCONFIGDIR),644,$(O)/libiwarp.pc)
	$(Q)$(call to,$(INCLUDEDIR)/iwarp,644,$(wildcard lib/include/iwarp/*.h))
	$(Q)$(foreach page,$(IW_MAN_INSTALLED),$(call to,$(MANDIR)/man$(subst .,,$(suffix $(page))),644,$(page)) &&) :
	$(Q)$(call to,$(BASHCOMPDIR),644,$(wildcard completions/bash/*))
	$(Q)$(call to,$(ZSHCOMPDIR),644,$(wildcard completions/zsh/*))
	$(Q)$(call to,$(FISHCOMPDIR),644,$(wildcard completions/fish/*))
	$(Q)$(call to,$(LUADIR),644,$(wildcard scripts/wireshark/*.lua))
	$(Q)sed -e 's|@BINDIR@|$(BINDIR)|' -e 's|@CONFDIR@|$(CONFDIR)|' scripts/systemd/ddp-recv.service.in >$(O)/ddp-recv.service
	$(Q)$(call to,$(UNITDIR),644,$(O)/ddp-recv.service scripts/systemd/ddp-recv.socket)
	$(Q)[ -e '$(D)$(CONFDIR)/ddp-recv.conf' ] || { $(call to,$(CONFDIR),644,scripts/systemd/ddp-recv.conf); }
ifneq ($(IW_HAVE_SECCOMP),)
	$(Q)$(call to,$(LABEXECDIR),755,$(IW_LAB))
	$(Q)$(call to,$(LABDIR),755,scripts/plot)
	$(Q)$(call to,$(LABDIR)/python,644,$(filter scripts/python/%.py,$(filter-out scripts/python/plots/%,$(IW_LABS_PYTHON))))
	$(Q)$(call to,$(LABDIR)/python/plots,644,$(filter scripts/python/plots/%,$(IW_LABS_PYTHON)))
	$(Q)scripts/dist-labs $(O) >/dev/null
	$(Q)$(call to,$(LABDIR),644,$(IW_LABS_TAR))
endif
	$(Q)$(call to,$(DOCDIR)/examples,644,$(IW_DROP_INS))
	$(Q)$(call to,$(DOCDIR),644,$(wildcard README.md CHANGELOG.md LICENSE docs/*.md))
	$(Q)$(call to,$(DOCDIR)/pictures,644,$(wildcard docs/pictures/*.svg))
	$(Q)if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi

uninstall:
	$(Q)rm -f $(addprefix '$(D)$(BINDIR)'/,$(IW_TOOLS)) \
		$(addprefix '$(D)$(LIBDIR)'/,libiwarp.a libiwarp.so libiwarp.so.$(IW_SOVERSION) $(notdir $(IW_LIB_SO))) \
		'$(D)$(PKGCONFIGDIR)/libiwarp.pc' \
		$(foreach page,$(IW_MAN),'$(D)$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page))') \
		$(addprefix '$(D)$(BASHCOMPDIR)'/,$(notdir $(wildcard completions/bash/*))) \
		$(addprefix '$(D)$(ZSHCOMPDIR)'/,$(notdir $(wildcard completions/zsh/*))) \
		$(addprefix '$(D)$(FISHCOMPDIR)'/,$(notdir $(wildcard completions/fish/*))) \
		$(addprefix '$(D)$(UNITDIR)'/,ddp-recv.service ddp-recv.socket) \
		$(addprefix '$(D)$(LUADIR)'/,$(notdir $(wildcard scripts/wireshark/*.lua)))
	$(Q)! cmp -s '$(D)$(CONFDIR)/ddp-recv.conf' scripts/systemd/ddp-recv.conf || rm -f '$(D)$(CONFDIR)/ddp-recv.conf'
	$(Q)rm -rf '$(D)$(INCLUDEDIR)/iwarp' '$(D)$(DOCDIR)' '$(D)$(LABEXECDIR)' '$(D)$(LABDIR)'

dist:
	$(Q)scripts/dist $(BUILD)
deb:
	$(Q)scripts/deb $(BUILD)

# --- clean and help ----------------------------------------------------------------------------------------------------

.PHONY: clean help
clean:
	$(Q)rm -rf $(BUILD)

# Prints a list that the fragments made from the tree: make print-IW_UNIT_BINS
print-%:
	@echo $($*)

help:
	@sed -n 's/^#| \{0,1\}//p' Makefile

#| Targets
#|   all             the library and the tools, into BUILD
#|   lib             the library alone: needs a C compiler and nothing else
#|   deps            install the Debian packages that building and testing need (root or sudo)
#|   demo            move a file over every transport that this machine can run, and compare it
#|   check           proves the product on this machine in about 8 minutes; ends with `N passed, N failed, N skipped`
#|   check-all       everything that this machine can run: also guests, sanitizers, other machines' programs, Debian packages
#|   check-unit check-sim check-fuzz check-bats check-interop check-labs check-sanitize check-cross check-layers
#|                   parts of it: unit tests, simulator, replayed fuzz corpus, the tools in namespaces, other
#|                   implementations, everything under sanitizers, big-endian and 32-bit programs, uses between rooms
#|   check-abi       the library's binary interface against that of the last tag, by abidiff
#|   trace           coverage of the RFCs' requirements by tests
#|   mutants         breaks rules of the pure rooms one at a time, reports those that no unit test detects. FILTER="sctp/ ..."
#|   lint format     checks of the sources; lay C out as .clang-format says
#|   map             write the names of the public headers into lib/libiwarp.map
#|   fuzz            libFuzzer over all targets: FUZZ_SECONDS=600 each, TARGETS="name..."
#|   sim             the simulator: SEEDS=20000 FIRST=1
#|   soak            random operations on long-lived servers, whose growth is judged and plotted: HOURS=1;
#|                   PARTS=suite repeats the simulator, seeded faults, and the unit, bats and sanitizer suites
#|   bench           measures the figures beside the peers, and plots throughput and latency
#|   install uninstall   PREFIX=/usr/local DESTDIR=
#|   dist            the source tarball, in BUILD
#|   labs dist-labs  the grader of the teaching labs; their tarball for students, in BUILD
#|   deb             Debian packages in BUILD/deb, from that tarball
#|   clean help
#|
#| Switches
#|   BUILD=folder    the build folder (build); each of the next three uses a folder of its own below it
#|   SANITIZE=address,undefined   FUZZ=1   COVERAGE=1
#|   WITHOUT="isal sctp xdp sdt openssl inih pcap seccomp usrsctp"   build as if these libraries were absent
#|   LTO=            switches link-time optimization off; it is on if CC supports it, except in the builds of checks (above)
#|   V=1             prints whole command lines
#|   WERROR=1        warnings are errors
#|   DEBUG=1         TLS writes its keys to the file that SSLKEYLOGFILE names
#|   CC CFLAGS CPPFLAGS LDFLAGS LDLIBS   as usual
#|   IW_MUST_RUN="root netns ..."   for check: a skip for such a reason is a failure

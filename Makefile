# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One build for everything, not recursive. `make help` lists the targets and the switches.
#
# CC, AR, CFLAGS, CPPFLAGS, LDFLAGS, LDLIBS, PREFIX and DESTDIR belong to whoever runs make; what the project needs itself
# lives in variables that begin with IW_ and comes first, so that the user's flags win.

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

VERSION := $(shell cat VERSION)

# --- where things go ---------------------------------------------------------------------------------------------------

BUILD ?= build
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

# --- switches ----------------------------------------------------------------------------------------------------------

SANITIZE ?=
FUZZ ?=
COVERAGE ?=
WERROR ?=
WITHOUT ?=
V ?=

comma := ,
empty :=
space := $(empty) $(empty)

# Each switch that changes the objects builds into a folder of its own: switching never mixes them.
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

ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
NM ?= nm
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g

IW_WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wundef -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wwrite-strings -Wcast-qual -Wformat=2 -Wswitch -Wmissing-field-initializers -Wredundant-decls \
	-Wnested-externs -Wimplicit-fallthrough -Wdouble-promotion -Wunused-result
ifneq ($(WERROR),)
IW_WARNINGS += -Werror
endif

IW_CPPFLAGS := -D_GNU_SOURCE= -Ilib -Ilib/include -include $(O)/config.h
IW_CFLAGS := -std=gnu11 -fPIC -fvisibility=hidden -fstack-protector-strong -fno-common -pthread $(IW_WARNINGS)
IW_LDFLAGS := -pthread
ifneq ($(SANITIZE),)
IW_CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
IW_LDFLAGS += -fsanitize=$(SANITIZE)
endif
ifneq ($(FUZZ),)
IW_CFLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
IW_LDFLAGS += -fsanitize=address,undefined
endif
ifneq ($(COVERAGE),)
IW_CFLAGS += --coverage -O0
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

# --- what this machine has ---------------------------------------------------------------------------------------------
# config.mk and config.h say which optional libraries were found. They are made again when the compiler, its flags, the
# detecting script or VERSION changed; config.h keeps its date when its text is the same.

NO_CONFIG_GOALS := clean help deps dist format
ifneq ($(if $(MAKECMDGOALS),$(filter-out $(NO_CONFIG_GOALS),$(MAKECMDGOALS)),all),)
CONFIGURED := 1
endif

config_key := CC=$(CC) CFLAGS=$(CFLAGS) CPPFLAGS=$(CPPFLAGS) LDFLAGS=$(LDFLAGS) WITHOUT=$(WITHOUT) VERSION=$(VERSION) FUZZ=$(FUZZ)

ifdef CONFIGURED
ifneq ($(shell cat $(O)/config.key 2>/dev/null),$(strip $(config_key)))
$(shell mkdir -p $(O) && rm -f $(O)/config.mk)
endif
include $(O)/config.mk
endif

$(O)/config.mk: scripts/configure VERSION
	@mkdir -p $(O)
	@CC='$(CC)' CFLAGS='$(CFLAGS)' CPPFLAGS='$(CPPFLAGS)' LDFLAGS='$(LDFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' \
		WITHOUT='$(WITHOUT)' scripts/configure $(O)
	@printf '%s\n' '$(strip $(config_key))' >$(O)/config.key

$(O)/config.h: $(O)/config.mk ;

# --- rules -------------------------------------------------------------------------------------------------------------

# Objects mirror the source tree: lib/ddp/stag.c -> $(O)/obj/lib/ddp/stag.o
objs = $(patsubst %.c,$(O)/obj/%.o,$(1))

$(O)/obj/%.o: %.c $(O)/config.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(IW_CPPFLAGS) $(IW_CPPFLAGS_$(firstword $(subst /, ,$*))) $(CPPFLAGS) $(IW_CFLAGS) $(IW_DEP_CFLAGS) $(CFLAGS) \
		-MMD -MP -c -o $@ $<

include lib/lib.mk
include cmd/cmd.mk
include tests/tests.mk

all: lib tools

ifdef CONFIGURED
-include $(patsubst %.o,%.d,$(IW_ALL_OBJS))
endif

# --- for people --------------------------------------------------------------------------------------------------------

.PHONY: clean help
clean:
	$(Q)rm -rf $(BUILD)

help:
	@echo 'make all              library and tools into BUILD (default: build)'

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The rooms of the tools, each a folder of cmd/. A tool is a file NAME.c with main() and the files
# beside it that only this tool uses. cmd/transfer has two tools, ddp-send and ddp-recv. Tools share
# cmd/cli, cmd/cbor and cmd/packet. Tools are linked with the static archives, so that they run from
# the build folder.

# Pure, like the pure rooms of the library.
IW_PURE_TOOL_ROOMS := cbor packet transfer/protocol ddp-impair/link ddp-impair/rules ddp-impair/packets
IW_TOOL_ROOMS := $(IW_PURE_TOOL_ROOMS) cli transfer/files transfer/ssh transfer stag-reg ddp-bench ddp-dump ddp-xdp ddp-impair mpa-probe sctp-ddp-ping

IW_MAIN_SRCS := $(sort $(shell grep -lw '^int main' cmd/*/*.c))
# As IW_XDP_SRCS and IW_NO_XDP_SRCS in lib/lib.mk.
IW_XDP_TOOL_SRCS := $(patsubst %,cmd/ddp-bench/xdp_%.c,bare bench ddp generate)
IW_NO_XDP_TOOL_SRCS := cmd/ddp-bench/xdp_none.c
IW_TOOL_SRCS := $(filter-out $(IW_MAIN_SRCS) $(if $(IW_HAVE_XDP),$(IW_NO_XDP_TOOL_SRCS),$(IW_XDP_TOOL_SRCS)), \
	$(sort $(foreach room,$(IW_TOOL_ROOMS),$(wildcard cmd/$(room)/*.c))))
IW_TOOL_OBJS := $(call objs,$(IW_TOOL_SRCS))
IW_TOOLS := $(basename $(notdir $(IW_MAIN_SRCS)))
IW_TOOL_BINS := $(addprefix $(O)/,$(IW_TOOLS))
IW_ALL_OBJS += $(IW_TOOL_OBJS) $(call objs,$(IW_MAIN_SRCS))
IW_CROSS_OBJS := $(call objs,$(sort $(foreach room,$(IW_PURE_ROOMS),$(wildcard lib/$(room)/*.c)) \
	$(foreach room,$(IW_PURE_TOOL_ROOMS),$(wildcard cmd/$(room)/*.c))))

IW_TOOLS_A := $(O)/libiwtools.a
IW_CROSS_A := $(O)/libiwcross.a

$(IW_TOOLS_A): $(IW_TOOL_OBJS) $(O)/libiwtools.list
	$(archive)

$(IW_CROSS_A): $(IW_CROSS_OBJS) $(O)/libiwcross.list
	$(archive)

ifdef CONFIGURED
$(call keep_text,$(O)/libiwtools.list,$(IW_TOOL_OBJS))
$(call keep_text,$(O)/libiwcross.list,$(IW_CROSS_OBJS))
endif

.PHONY: tools
tools: $(IW_TOOL_BINS)

define tool_rule
$(O)/$(basename $(notdir $(1))): $(call objs,$(1)) $(IW_TOOLS_A) $(IW_LIB_A)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(IW_LTO_LDFLAGS) $$(IW_LDFLAGS) $$(LDFLAGS) -o $$@ $$< $$(IW_TOOLS_A) $$(IW_LIB_A) $$(IW_TOOL_LDLIBS) $$(IW_LIB_LDLIBS) $$(LDLIBS)
endef
$(foreach main,$(IW_MAIN_SRCS),$(eval $(call tool_rule,$(main))))

# Report missing libraries once, before the compiler reports a missing header for each file. Builds
# for another architecture (CROSS) need only the pure rooms and therefore fewer libraries.
ifneq ($(IW_MISSING),)
ifeq ($(CROSS),)
.PHONY: need-tools
need-tools:
	@echo 'the tools need $(strip $(IW_MISSING)): run make deps, or make lib for the library alone' >&2; exit 1
tools $(IW_TOOL_OBJS) $(call objs,$(IW_MAIN_SRCS)): | need-tools
endif
endif

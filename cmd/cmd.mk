# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One binary for each cmd/<tool>.c. Tools are linked with the archives, so that each runs from where it was built.

IW_TOOLS := $(sort $(basename $(notdir $(wildcard cmd/*.c))))
IW_TOOL_BINS := $(addprefix $(O)/,$(IW_TOOLS))
IW_ALL_OBJS += $(call objs,$(wildcard cmd/*.c))

.PHONY: tools
tools: $(IW_TOOL_BINS)

$(IW_TOOL_BINS): $(O)/%: $(O)/obj/cmd/%.o $(IW_TOOLS_A) $(IW_LIB_A)
	$(call say,LD,$@)
	$(Q)$(CC) $(IW_LTO_LDFLAGS) $(IW_LDFLAGS) $(LDFLAGS) -o $@ $< $(IW_TOOLS_A) $(IW_LIB_A) $(IW_TOOL_LDLIBS) $(IW_LIB_LDLIBS) $(LDLIBS)

# Said once, before a compiler says it of every file. Another machine's objects (CROSS) are those of pure rooms, which need less.
ifneq ($(IW_MISSING),)
ifeq ($(CROSS),)
.PHONY: need-tools
need-tools:
	@echo 'the tools need $(strip $(IW_MISSING)): run make deps, or make lib for the library alone' >&2; exit 1
tools $(IW_TOOL_OBJS) $(call objs,$(wildcard cmd/*.c)): | need-tools
endif
endif

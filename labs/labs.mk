# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The grader of the teaching labs, and the tarball for students.

IW_LAB := $(O)/iwarp-lab
IW_LAB_OBJS := $(call objs,$(sort $(wildcard labs/grader/*.c)))
IW_ALL_OBJS += $(IW_LAB_OBJS)

.PHONY: labs dist-labs
labs: $(IW_LAB)

$(IW_LAB): $(IW_LAB_OBJS) $(IW_TOOLS_A) $(IW_LIB_A)
	$(call say,LD,$@)
	$(Q)$(CC) $(IW_LTO_LDFLAGS) $(IW_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(IW_TOOLS_A) $(IW_LIB_A) $(IW_TOOL_LDLIBS) $(IW_LIB_LDLIBS) $(LDLIBS)

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The grader of the teaching labs, and the tarball for students. The grader needs libseccomp: it
# runs code of strangers.

IW_LAB := $(O)/iwarp-lab
# Lab 6: the grader runs the server that students attack.
IW_LAB_OBJS := $(call objs,$(sort $(wildcard labs/grader/*.c labs/grader/*/*.c) labs/06-security/careless.c labs/06-security/scenario.c))
IW_ALL_OBJS += $(if $(IW_HAVE_SECCOMP),$(IW_LAB_OBJS))
IW_LABS_TAR := $(O)/iwarp-labs-$(VERSION).tar.gz
# What `make trace` of a lab needs of scripts/plot
IW_LABS_PYTHON := scripts/python/program.py $(wildcard scripts/python/plots/*.py)

.PHONY: labs dist-labs
# With the tools that the labs' steps and pictures use
labs: $(if $(IW_HAVE_SECCOMP),$(IW_LAB) $(O)/mpa-probe $(O)/ddp-dump)

$(IW_LAB): $(IW_LAB_OBJS) $(IW_TOOLS_A) $(IW_LIB_A)
	$(call say,LD,$@)
	$(Q)$(CC) $(IW_LTO_LDFLAGS) $(IW_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(IW_TOOLS_A) $(IW_LIB_A) $(IW_TOOL_LDLIBS) $(IW_LIB_LDLIBS) -lm $(LDLIBS)

dist-labs:
	$(Q)scripts/dist-labs $(O)

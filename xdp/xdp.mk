# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Each xdp/<name>.bpf.c becomes $(O)/xdp/<name>.skel.h, a header that contains the program, so no file is needed at run time.
# Without libxdp, libbpf, clang or bpftool these headers are not made, and the functions of lib/loader return IW_E_NOTSUP.

IW_BPF_NAMES := $(sort $(basename $(basename $(notdir $(wildcard xdp/*.bpf.c)))))
IW_BPF_SKELS := $(addprefix $(O)/xdp/,$(addsuffix .skel.h,$(IW_BPF_NAMES)))
IW_BPF_CC ?= clang
# -mcpu=v3: 32-bit arithmetic, supported by kernels from 5.1. -g generates the BTF that the maps
# need.
IW_BPF_CFLAGS := -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror) -I. $(IW_BPF_INCLUDES)

ifneq ($(IW_HAVE_XDP),)
# The generated code causes warnings: treat its headers as system headers.
IW_CPPFLAGS += -isystem $(O)/xdp
$(call objs,$(wildcard lib/loader/*.c)): $(IW_BPF_SKELS)
-include $(IW_BPF_SKELS:.skel.h=.d)
# Keep these intermediate files: the .d files name them, so without them a second make would compile and link everything again.
.SECONDARY: $(IW_BPF_SKELS:.skel.h=.bpf.o)
endif

$(O)/xdp/%.bpf.o: xdp/%.bpf.c $(O)/flags.key
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(IW_BPF_CC) $(IW_BPF_CFLAGS) -MMD -MP -MF $(O)/xdp/$*.d -MT $@ -c -o $@.tmp $<
	$(Q)$(IW_BPFTOOL) gen object $@ $@.tmp && rm -f $@.tmp

$(O)/xdp/%.skel.h: $(O)/xdp/%.bpf.o
	$(call say,GEN,$@)
	$(Q)$(IW_BPFTOOL) gen skeleton $< name $*_bpf >$@

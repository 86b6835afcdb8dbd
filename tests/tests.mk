# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Test programs:
#
#   tests/unit/<room>_<file>_test.c   each is one cmocka program
#   tests/sim/*.c                     one program
#   tests/fuzz/<target>_fuzz.c        each is one fuzz target, linked with a main that replays files, or
#                                     with libFuzzer if FUZZ=1
#   tests/crowd/                      many associations with one listener
#   tests/connects/                   connections one after another, plain or with TLS
#   tests/parallel_streams/           eight parallel DDP streams of small messages
#   tests/sessions/                   sessions one after another on an association
#   tests/setups/                     connections one after another, each used once
#   tests/beside/                     attaches an XDP program that is not ours

IW_CPPFLAGS_tests := -Itests

# The tested code is optimized as usual. The unit tests themselves compile in a fifth of the time
# without optimization, which _FORTIFY_SOURCE of a Debian package would require.
$(O)/obj/tests/unit/%_test.o: private CFLAGS += -O0 -U_FORTIFY_SOURCE

# A build without libxdp has no AF_XDP sockets to test, and one without OpenSSL no sessions of TLS.
unit_names := $(filter-out $(if $(IW_HAVE_XDP),,pkt_xsk_test) $(if $(IW_HAVE_OPENSSL),,tls_% pkt_dtls_test verbs_tls_test verbs_dtls_test),$(sort $(basename $(notdir $(wildcard tests/unit/*_test.c)))))
unit_support := $(filter-out %_test.c,$(wildcard tests/unit/*.c))
fuzz_names := $(filter-out $(if $(IW_HAVE_OPENSSL),,tls_% dtls_fuzz),$(sort $(basename $(notdir $(wildcard tests/fuzz/*_fuzz.c)))))
fuzz_support := $(filter-out %_fuzz.c tests/fuzz/replay_main.c,$(wildcard tests/fuzz/*.c))
sim_srcs := $(sort $(wildcard tests/sim/*.c)) tests/unit/pair.c tests/unit/sctp_net.c

IW_UNIT_BINS := $(addprefix $(O)/tests/unit/,$(unit_names))
IW_FUZZ_BINS := $(addprefix $(O)/tests/fuzz/,$(fuzz_names))
IW_SIM_BIN := $(if $(sim_srcs),$(O)/tests/sim/sim)
IW_CROWD_BIN := $(O)/tests/crowd/crowd
IW_CONNECTS_BIN := $(O)/tests/connects/connects
IW_PARALLEL_STREAMS_BIN := $(O)/tests/parallel_streams/parallel_streams
IW_SESSIONS_BIN := $(O)/tests/sessions/sessions
IW_SETUPS_BIN := $(O)/tests/setups/setups
IW_BESIDE_BIN := $(if $(IW_HAVE_XDP),$(O)/tests/beside/beside)
IW_ALL_OBJS += $(call objs,$(wildcard tests/unit/*.c tests/fuzz/*.c tests/sim/*.c tests/crowd/*.c tests/connects/*.c tests/parallel_streams/*.c tests/sessions/*.c tests/setups/*.c \
	$(if $(IW_HAVE_XDP),tests/beside/*.c)))

# These are hundreds of programs, so they link the machine code of the objects even if link-time
# optimization is on.
link_test = $(CC) $(IW_NO_LTO) $(IW_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(IW_TOOLS_A) $(IW_LIB_A) $(1) $(IW_TOOL_LDLIBS) \
	$(IW_LIB_LDLIBS) $(LDLIBS)

$(IW_UNIT_BINS): $(O)/tests/unit/%: $(O)/obj/tests/unit/%.o $(call objs,$(unit_support)) $(IW_TOOLS_A) $(IW_LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(call link_test,-lcmocka)

ifneq ($(FUZZ),)
fuzz_main :=
fuzz_link := -fsanitize=fuzzer
else
fuzz_main := $(call objs,tests/fuzz/replay_main.c)
fuzz_link :=
endif

$(IW_FUZZ_BINS): $(O)/tests/fuzz/%: $(O)/obj/tests/fuzz/%.o $(call objs,$(fuzz_support)) $(fuzz_main) $(IW_TOOLS_A) $(IW_LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(call link_test,$(fuzz_link))

$(O)/tests/sim/sim: $(call objs,$(sim_srcs)) $(IW_TOOLS_A) $(IW_LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(call link_test,)

# Programs of one file each, which tests and scripts/bench run.
$(IW_CROWD_BIN) $(IW_CONNECTS_BIN) $(IW_PARALLEL_STREAMS_BIN) $(IW_SESSIONS_BIN) $(IW_SETUPS_BIN) $(IW_BESIDE_BIN): $(O)/%: $(O)/obj/%.o $(IW_TOOLS_A) $(IW_LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(call link_test,)

# Another SCTP in user space, with its own implementation of DDP.
IW_USRSCTP_BIN := $(if $(IW_HAVE_USRSCTP),$(O)/tests/interop/usrsctp-peer)
IW_ALL_OBJS += $(if $(IW_HAVE_USRSCTP),$(call objs,$(wildcard tests/interop/usrsctp/*.c)))

$(O)/tests/interop/usrsctp-peer: $(call objs,$(wildcard tests/interop/usrsctp/*.c)) $(IW_TOOLS_A) $(IW_LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(call link_test,$(IW_USRSCTP_LDLIBS))

# The example programs of libiwarp(3), compiled as a user would: with the public headers only.
IW_EXAMPLE_BINS := $(addprefix $(O)/,$(basename $(sort $(wildcard tests/examples/*.c))))

$(IW_EXAMPLE_BINS): $(O)/%: %.c $(wildcard lib/include/iwarp/*.h) $(IW_LIB_A) $(O)/flags.key
	@mkdir -p $(@D)
	$(call say,CCLD,$@)
	$(Q)$(CC) -Ilib/include $(CPPFLAGS) $(IW_CFLAGS) $(CFLAGS) $(IW_NO_LTO) $(IW_LDFLAGS) $(LDFLAGS) -o $@ $< $(IW_LIB_A) $(IW_LIB_LDLIBS) \
		$(LDLIBS)

# The unit tests of pure rooms: their names begin with the room. They run in parallel, and for
# another architecture (CROSS).
pure_names := $(foreach room,$(subst /,-,$(IW_PURE_ROOMS) $(IW_PURE_TOOL_ROOMS)),$(filter $(room)_%,$(unit_names)))
IW_PURE_UNIT_BINS := $(addprefix $(O)/tests/unit/,$(pure_names))
IW_CROSS_UNIT_BINS := $(addprefix $(O)/tests/cross/,$(pure_names))

$(IW_CROSS_UNIT_BINS): $(O)/tests/cross/%: $(O)/obj/tests/unit/%.o $(call objs,$(unit_support)) $(IW_CROSS_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(IW_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(IW_CROSS_A) -lcmocka $(IW_TOOL_LDLIBS) $(IW_LIB_LDLIBS) $(LDLIBS)

# For scripts/mutants, which compiles one object of the library at a time and links it before the
# archives: the commands to compile and to link, their inputs, the objects that tests share, the
# programs.
$(O)/mutants.flags: tests/tests.mk $(O)/flags.key $(patsubst %,tests/unit/%.c,$(pure_names))
	@printf '%s\n' '$(CC) $(IW_CPPFLAGS) $(CPPFLAGS) $(IW_CFLAGS) $(IW_DEP_CFLAGS) $(CFLAGS) -w -c' \
		'$(CC) $(IW_NO_LTO) $(IW_LDFLAGS) $(LDFLAGS)' \
		'$(IW_TOOLS_A) $(IW_LIB_A) -lcmocka $(IW_TOOL_LDLIBS) $(IW_LIB_LDLIBS) $(LDLIBS)' '$(call objs,$(unit_support))' \
		'$(IW_PURE_UNIT_BINS)' >$@

# The programs that start threads, for SANITIZE=thread.
thread_names := $(basename $(notdir $(shell grep -l pthread_create tests/unit/*_test.c 2>/dev/null)))
IW_THREAD_BINS := $(addprefix $(O)/tests/unit/,$(thread_names))

.PHONY: example-bins thread-bins test-bins unit-bins fuzz-bins sim-bin crowd-bin connects-bin parallel-streams-bin sessions-bin setups-bin beside-bin usrsctp-bin cross-bins
test-bins: $(if $(IW_HAVE_CMOCKA),unit-bins) fuzz-bins sim-bin crowd-bin connects-bin parallel-streams-bin sessions-bin setups-bin beside-bin usrsctp-bin example-bins
example-bins: $(IW_EXAMPLE_BINS)
thread-bins: $(IW_THREAD_BINS)
cross-bins: $(IW_CROSS_UNIT_BINS)
unit-bins: $(IW_UNIT_BINS) $(O)/mutants.flags
fuzz-bins: $(IW_FUZZ_BINS)
sim-bin: $(IW_SIM_BIN)
crowd-bin: $(IW_CROWD_BIN)
connects-bin: $(IW_CONNECTS_BIN)
parallel-streams-bin: $(IW_PARALLEL_STREAMS_BIN)
sessions-bin: $(IW_SESSIONS_BIN)
setups-bin: $(IW_SETUPS_BIN)
beside-bin: $(IW_BESIDE_BIN)
usrsctp-bin: $(IW_USRSCTP_BIN)

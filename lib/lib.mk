# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The rooms of the library, each a folder of lib/. The build finds a new .c file in a room; add a
# new room to a list here.

# No system call, no clock, no printing, no global state: scripts/check-layers checks their objects.
IW_PURE_ROOMS := util wire agree mpa sctpmap sctp ddp rdmap conn
IW_LIB_ROOMS := $(IW_PURE_ROOMS) verbs llp pkt tls loader os loop trace

# The files that need libxdp and libbpf, and those that take their place in a build without.
IW_XDP_SRCS := $(patsubst %,lib/loader/%.c,attach bpf generate live observe steer) \
	$(patsubst %,lib/pkt/%.c,xdp xsk xsk_dev xsk_loan)
IW_NO_XDP_SRCS := lib/loader/none.c lib/pkt/none.c
# The same for libsctp.
IW_SCTP_SRCS := $(wildcard lib/llp/sctp_kernel*.c)
IW_NO_SCTP_SRCS := lib/llp/sctp_none.c
# The same for OpenSSL.
IW_TLS_SRCS := $(filter-out lib/tls/none.c,$(wildcard lib/tls/*.c))
IW_NO_TLS_SRCS := lib/tls/none.c

IW_LIB_SRCS := $(filter-out $(if $(IW_HAVE_XDP),$(IW_NO_XDP_SRCS),$(IW_XDP_SRCS)) \
	$(if $(IW_HAVE_SCTP),$(IW_NO_SCTP_SRCS),$(IW_SCTP_SRCS)) \
	$(if $(IW_HAVE_OPENSSL),$(IW_NO_TLS_SRCS),$(IW_TLS_SRCS)), \
	$(sort $(foreach room,$(IW_LIB_ROOMS),$(wildcard lib/$(room)/*.c))))
IW_LIB_OBJS := $(call objs,$(IW_LIB_SRCS))
IW_ALL_OBJS := $(IW_LIB_OBJS)

IW_SOVERSION := $(firstword $(subst ., ,$(VERSION)))
IW_LIB_A := $(O)/libiwarp.a
IW_LIB_SO := $(O)/libiwarp.so.$(VERSION)

# The names of its semaphores must stay those in its assembler code.
$(O)/obj/lib/trace/usdt.o: IW_LTO_CFLAGS :=

lib: $(O)/agree.stamp $(IW_LIB_A) $(O)/libiwarp.so $(O)/libiwarp.pc

# An archive is always created anew, so that it never keeps an object whose source was removed. The
# list of its objects is kept in a file, because the removal of a source changes no timestamp.
define archive
@mkdir -p $(@D)
$(call say,AR,$@)
@rm -f $@
$(Q)$(AR) rcs $@ $(filter %.o,$^)
endef

$(IW_LIB_A): $(IW_LIB_OBJS) $(O)/libiwarp.list
	$(archive)

ifdef CONFIGURED
$(call keep_text,$(O)/libiwarp.list,$(IW_LIB_OBJS))
$(call keep_text,$(O)/pc.key,$(PREFIX) $(LIBDIR) $(INCLUDEDIR))
endif

$(IW_LIB_SO): $(IW_LIB_OBJS) $(O)/libiwarp.list lib/libiwarp.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libiwarp.so.$(IW_SOVERSION) -Wl,--version-script=lib/libiwarp.map \
		$(IW_LTO_LDFLAGS) $(IW_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(IW_LIB_LDLIBS) $(LDLIBS)

$(O)/libiwarp.so.$(IW_SOVERSION): $(IW_LIB_SO)
	@ln -sf $(notdir $<) $@

$(O)/libiwarp.so: $(O)/libiwarp.so.$(IW_SOVERSION)
	@ln -sf $(notdir $<) $@

$(O)/libiwarp.pc: lib/libiwarp.pc.in VERSION $(O)/config.mk $(O)/pc.key
	$(call say,GEN,$@)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS_PRIVATE@|$(IW_LIB_LDLIBS)|' $< >$@

# VERSION, the symbol map, the pages and the public headers agree, or the build stops.
$(O)/agree.stamp: VERSION CHANGELOG.md lib/libiwarp.map lib/libiwarp.pc.in scripts/check-agree \
		$(wildcard lib/include/iwarp/*.h man/*.[1-8] debian/changelog debian/libiwarp0.symbols)
	@mkdir -p $(@D)
	$(Q)scripts/check-agree >$@

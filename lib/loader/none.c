// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The functions of this room in a build without libxdp and libbpf: nothing is attached, and nothing
 * can be loaded.
 */
#include <string.h>

#include "loader/attach.h"
#include "loader/bpf.h"
#include "loader/generate.h"
#include "loader/observe.h"
#include "loader/steer.h"
#include "util/text.h"

static int absent(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOTSUP, "xdp: built without libxdp");
}

void iw_bpf_version(char *out, size_t cap)
{
	memset(out, 0, cap);
}

/* --- attach.h --- */

int iw_attach_query(struct iw_xdp_attached *out, unsigned ifindex, struct iw_fault *why)
{
	(void)out;
	(void)ifindex;
	return absent(why);
}

int iw_attach_detach(const struct iw_xdp_attached *a, unsigned ifindex, struct iw_fault *why)
{
	(void)a;
	(void)ifindex;
	return absent(why);
}

bool iw_attach_link_holds(int link)
{
	(void)link;
	return false;
}

int iw_attach_pin(int link, const char *dir, const char *interface, struct iw_fault *why)
{
	(void)link;
	(void)dir;
	(void)interface;
	return absent(why);
}

enum iw_xdp_pinned iw_attach_pinned(const char *dir, const char *interface)
{
	(void)dir;
	(void)interface;
	return IW_XDP_NO_PIN;
}

int iw_attach_unpin(const char *dir, const char *interface, struct iw_fault *why)
{
	(void)dir;
	(void)interface;
	(void)why;
	return 0;
}

int iw_attach_check_dispatcher(struct iw_fault *why)
{
	return absent(why);
}

unsigned iw_attach_dispatchers_left(unsigned ifindex, uint32_t program)
{
	(void)ifindex;
	(void)program;
	return 0;
}

int iw_attach_clean_dispatchers(unsigned ifindex, struct iw_fault *why)
{
	(void)ifindex;
	(void)why;
	return 0;
}

/* --- steer.h --- */

int iw_steer_open(struct iw_steer **out, const struct iw_steer_cfg *cfg, struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return absent(why);
}

void iw_steer_close(struct iw_steer *s)
{
	(void)s;
}

int iw_steer_try(uint32_t *insns, struct iw_fault *why)
{
	*insns = 0;
	return absent(why);
}

const struct iw_steer_facts *iw_steer_facts(const struct iw_steer *s)
{
	static const struct iw_steer_facts none;

	(void)s;
	return &none;
}

int iw_steer_worker_add(struct iw_steer *s, uint32_t *worker, const int *xsk, unsigned n,
			struct iw_fault *why)
{
	(void)s;
	(void)worker;
	(void)xsk;
	(void)n;
	return absent(why);
}

void iw_steer_worker_remove(struct iw_steer *s, uint32_t worker)
{
	(void)s;
	(void)worker;
}

int iw_steer_publish_socket(struct iw_steer *s, uint32_t worker, unsigned queue,
			    const struct iw_xdp_sock *now)
{
	(void)s;
	(void)worker;
	(void)queue;
	(void)now;
	return absent(NULL);
}

int iw_steer_live_add(struct iw_steer *s, uint32_t worker, int packets)
{
	(void)s;
	(void)worker;
	(void)packets;
	return absent(NULL);
}

void iw_steer_live_remove(struct iw_steer *s, uint32_t worker)
{
	(void)s;
	(void)worker;
}

int iw_steer_endpoint_add(struct iw_steer *s, uint32_t *id, const struct iw_addr *addr,
			  uint16_t sctp_port, uint16_t udp_port, uint32_t worker,
			  const struct iw_steer_ppids *ppids, struct iw_fault *why)
{
	(void)s;
	(void)ppids;
	(void)id;
	(void)addr;
	(void)sctp_port;
	(void)udp_port;
	(void)worker;
	return absent(why);
}

void iw_steer_endpoint_remove(struct iw_steer *s, uint32_t id)
{
	(void)s;
	(void)id;
}

int iw_steer_assoc_add(struct iw_steer *s, uint32_t endpoint, uint32_t tag, uint32_t worker,
		       struct iw_fault *why)
{
	(void)s;
	(void)endpoint;
	(void)tag;
	(void)worker;
	return absent(why);
}

void iw_steer_assoc_remove(struct iw_steer *s, uint32_t endpoint, uint32_t tag)
{
	(void)s;
	(void)endpoint;
	(void)tag;
}

int iw_steer_stag_add(struct iw_steer *s, uint32_t endpoint, uint32_t stag,
		      const struct iw_xdp_home *home)
{
	(void)s;
	(void)endpoint;
	(void)stag;
	(void)home;
	return absent(NULL);
}

void iw_steer_stag_remove(struct iw_steer *s, uint32_t endpoint, uint32_t stag)
{
	(void)s;
	(void)endpoint;
	(void)stag;
}

int iw_steer_session_add(struct iw_steer *s, uint32_t endpoint, uint32_t tag, uint16_t number,
			 const struct iw_xdp_home *home)
{
	(void)s;
	(void)endpoint;
	(void)tag;
	(void)number;
	(void)home;
	return absent(NULL);
}

void iw_steer_session_remove(struct iw_steer *s, uint32_t endpoint, uint32_t tag, uint16_t number)
{
	(void)s;
	(void)endpoint;
	(void)tag;
	(void)number;
}

int iw_steer_counters(const struct iw_steer *s, struct iw_xdp_counters *out)
{
	(void)s;
	(void)out;
	return absent(NULL);
}

int iw_steer_prog_fd(const struct iw_steer *s)
{
	(void)s;
	return -1;
}

int iw_steer_look(struct iw_steer **out, const char *interface, struct iw_fault *why)
{
	(void)out;
	(void)interface;
	return absent(why);
}

int iw_steer_link_fd(const struct iw_steer *s)
{
	(void)s;
	return -1;
}

int iw_steer_each(const struct iw_steer *s, enum iw_steer_what what,
		  int (*each)(void *ctx, const void *key, const void *value), void *ctx)
{
	(void)s;
	(void)what;
	(void)each;
	(void)ctx;
	return absent(NULL);
}

int iw_steer_events(struct iw_steer *s, struct iw_xdp_event *out, size_t cap)
{
	(void)s;
	(void)out;
	(void)cap;
	return absent(NULL);
}

uint32_t iw_steer_used_by(const char *interface)
{
	(void)interface;
	return 0;
}

/* --- observe.h --- */

int iw_observe_open(struct iw_observe **out, const char *interface, struct iw_fault *why)
{
	(void)out;
	(void)interface;
	return absent(why);
}

int iw_observe_load(struct iw_observe **out, struct iw_fault *why)
{
	return iw_observe_open(out, NULL, why);
}

int iw_observe_look(struct iw_observe **out, const char *interface, struct iw_fault *why)
{
	return iw_observe_open(out, interface, why);
}

void iw_observe_close(struct iw_observe *o)
{
	(void)o;
}

int iw_observe_link_fd(const struct iw_observe *o)
{
	(void)o;
	return -1;
}

int iw_observe_prog_fd(const struct iw_observe *o)
{
	(void)o;
	return -1;
}

int iw_observe_counters(const struct iw_observe *o, struct iw_xdp_mpa *out)
{
	(void)o;
	(void)out;
	return IW_E_NOTSUP;
}

int iw_observe_each(const struct iw_observe *o,
		    int (*each)(void *ctx, const struct iw_xdp_flow_key *key,
				const struct iw_xdp_flow *flow),
		    void *ctx)
{
	(void)o;
	(void)each;
	(void)ctx;
	return IW_E_NOTSUP;
}

/* --- generate.h --- */

int iw_generate_open(struct iw_generate **out, const struct iw_generate_cfg *cfg,
		     struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return absent(why);
}

int iw_generate_counter_open(struct iw_generate_counter *g, struct iw_fault *why)
{
	*g = (struct iw_generate_counter){ .map = -1 };
	return absent(why);
}

void iw_generate_counter_close(struct iw_generate_counter *g)
{
	(void)g;
}

uint64_t iw_generate_sent(const struct iw_generate *g)
{
	(void)g;
	return 0;
}

int iw_generate_run(struct iw_generate *g, unsigned n, struct iw_fault *why)
{
	(void)g;
	(void)n;
	return absent(why);
}

void iw_generate_close(struct iw_generate *g)
{
	(void)g;
}

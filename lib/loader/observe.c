// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loads the observing program, and reads its maps. */
#include "loader/observe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "loader/attach.h"
#include "loader/bpf.h"
#include "loader/interface.h"
#include "os/os.h"
#include "util/text.h"

#include <observe.skel.h>

#define EACH_MAX (1u << 16)

enum map { FLOWS, MPA, MAPS };

static const struct iw_bpf_shape shape[MAPS] = {
	[FLOWS] = { "flows", sizeof(struct iw_xdp_flow_key), sizeof(struct iw_xdp_flow) },
	[MPA] = { "mpa", sizeof(uint32_t), sizeof(struct iw_xdp_mpa) },
};

struct iw_observe {
	struct observe_bpf *skel; /* NULL: another process loaded the program */
	int prog, link;           /* -1: none */
	int map[MAPS];
};

static int load_own(struct iw_observe *o, const char *interface, unsigned ifindex,
		    struct iw_fault *why)
{
	int err;

	(void)interface;
	(void)ifindex;
	o->skel = observe_bpf__open();
	if (!o->skel)
		return iw_bpf_fail(why, errno, "xdp: open the program observe");
	err = iw_bpf_load(o->skel->obj, "observe", why);
	if (err)
		return err;
	o->prog = bpf_program__fd(o->skel->progs.iw_observe_1);
	for (int i = 0; i < MAPS; i++)
		o->map[i] = bpf_object__find_map_fd_by_name(o->skel->obj, shape[i].name);
	return 0;
}

static int attach_own(struct iw_observe *o, const char *interface, unsigned ifindex,
		      struct iw_fault *why)
{
	int err = load_own(o, interface, ifindex, why);
	bool native;

	return err ? err
		   : iw_attach_program(&o->link, &native, o->prog, interface, ifindex,
				       IW_XDP_NATIVE,
				       "use another interface, for --program mpa needs native mode",
				       why);
}

static int join(struct iw_observe *o, const char *interface, unsigned ifindex, struct iw_fault *why)
{
	struct iw_xdp_attached a;
	int err = iw_attach_query(&a, ifindex, why);

	if (err)
		return err;
	if (a.owner != IW_XDP_OBSERVE)
		return iw_fail(why, IW_E_NOENT, "xdp: no observing program on %s", interface);
	o->prog = bpf_prog_get_fd_by_id(a.program);
	if (o->prog < 0)
		return iw_os_fail(why, errno, "xdp: open the program on %s", interface);
	return iw_bpf_join(o->prog, o->map, shape, MAPS, interface, why);
}

static int open_one(struct iw_observe **out, const char *interface,
		    int (*get)(struct iw_observe *, const char *, unsigned, struct iw_fault *),
		    struct iw_fault *why)
{
	struct iw_observe *o = calloc(1, sizeof(*o));
	unsigned ifindex = 0;
	int err = 0;

	if (!o)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	o->prog = o->link = o->map[FLOWS] = o->map[MPA] = -1;
	if (interface)
		err = iw_interface_index(&ifindex, interface, why);
	if (!err) {
		iw_bpf_begin();
		err = get(o, interface, ifindex, why);
		iw_bpf_end();
	}
	if (err) {
		iw_observe_close(o);
		return err;
	}
	*out = o;
	return 0;
}

int iw_observe_open(struct iw_observe **out, const char *interface, struct iw_fault *why)
{
	return open_one(out, interface, attach_own, why);
}

int iw_observe_load(struct iw_observe **out, struct iw_fault *why)
{
	return open_one(out, NULL, load_own, why);
}

int iw_observe_look(struct iw_observe **out, const char *interface, struct iw_fault *why)
{
	return open_one(out, interface, join, why);
}

void iw_observe_close(struct iw_observe *o)
{
	if (!o)
		return;
	if (o->link >= 0)
		close(o->link);
	if (o->skel) {
		observe_bpf__destroy(o->skel);
	} else {
		for (int i = 0; i < MAPS; i++)
			if (o->map[i] >= 0)
				close(o->map[i]);
		if (o->prog >= 0)
			close(o->prog);
	}
	free(o);
}

int iw_observe_link_fd(const struct iw_observe *o)
{
	return o->link;
}

int iw_observe_prog_fd(const struct iw_observe *o)
{
	return o->prog;
}

int iw_observe_counters(const struct iw_observe *o, struct iw_xdp_mpa *out)
{
	uint32_t zero = 0;

	return iw_bpf_sum(out, sizeof(*out), o->map[MPA], &zero);
}

int iw_observe_each(const struct iw_observe *o,
		    int (*each)(void *ctx, const struct iw_xdp_flow_key *key,
				const struct iw_xdp_flow *flow),
		    void *ctx)
{
	struct iw_xdp_flow_key key;
	struct iw_xdp_flow flow;
	void *before = NULL;
	int ret = 0;

	/* If the current key is deleted, the iteration restarts; the bound ends it. */
	for (uint32_t n = 0;
	     n < EACH_MAX && ret == 0 && bpf_map_get_next_key(o->map[FLOWS], before, &key) == 0;
	     n++) {
		if (bpf_map_lookup_elem(o->map[FLOWS], &key, &flow) == 0)
			ret = each(ctx, &key, &flow);
		before = &key;
	}
	return ret;
}

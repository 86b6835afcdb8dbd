// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loads the steering program, and changes and reads its maps. All its state is in the maps.
 * Therefore a process can join a resident program, and finds what a killed process left in it.
 */
#include "loader/steer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "loader/bpf.h"
#include "loader/interface.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"
#include "wire/sctpddp.h"

#include <steer.skel.h>

#define EACH_MAX (1u << 20)

enum map {
	ENDPOINTS,
	ASSOCS,
	STAGS,
	SESSIONS,
	XSKS,
	SOCKETS,
	LIVE,
	COUNTERS,
	STREAMS,
	RECENT,
	GENERATION,
	EVENTS,
	MAPS
};

static const struct iw_bpf_shape shape[MAPS] = {
	[ENDPOINTS] = { "endpoints", sizeof(struct iw_xdp_endpoint_key),
			sizeof(struct iw_xdp_endpoint) },
	[ASSOCS] = { "assocs", sizeof(struct iw_xdp_assoc_key), sizeof(struct iw_xdp_assoc) },
	[STAGS] = { "stags", sizeof(struct iw_xdp_stag_key), sizeof(struct iw_xdp_home) },
	[SESSIONS] = { "sessions", sizeof(struct iw_xdp_stream_key), sizeof(struct iw_xdp_home) },
	[XSKS] = { "xsks", sizeof(uint32_t), sizeof(uint32_t) },
	[SOCKETS] = { "sockets", sizeof(uint32_t), sizeof(struct iw_xdp_sock) },
	[LIVE] = { "live", sizeof(uint32_t), sizeof(uint32_t) },
	[COUNTERS] = { "counters", sizeof(uint32_t), sizeof(struct iw_xdp_counters) },
	[STREAMS] = { "streams", sizeof(struct iw_xdp_stream_key), sizeof(struct iw_xdp_stream) },
	[RECENT] = { "recent", sizeof(uint32_t), sizeof(struct iw_xdp_recent) },
	[GENERATION] = { "generation", sizeof(uint32_t), sizeof(uint64_t) },
	[EVENTS] = { "events", 0, 0 },
};

/* The array in which take_event() stores events. */
struct batch {
	struct iw_xdp_event *out;
	size_t n, cap;
};

struct iw_steer {
	struct steer_bpf *skel; /* NULL: another process loaded the program */
	int prog, link;         /* -1: none */
	int map[MAPS];
	char interface[16];
	struct iw_steer_facts facts;
	struct ring_buffer *ring; /* NULL: events were not requested */
	struct batch batch;
};

/* --- a program of our own --------------------------------------------------------------------- */

static void set_sizes(struct steer_bpf *b, const struct iw_steer_cfg *cfg, unsigned queues)
{
	struct {
		struct bpf_map *map;
		uint32_t entries;
	} size[] = {
		{ b->maps.endpoints, cfg->endpoints_max },
		{ b->maps.assocs, cfg->assocs_max },
		{ b->maps.sessions, 2 * cfg->assocs_max },
		{ b->maps.stags, cfg->stags_max },
		{ b->maps.xsks, queues * IW_XDP_WORKERS },
		{ b->maps.sockets, queues * IW_XDP_WORKERS },
	};

	/* Fails only for a map that is loaded. */
	for (size_t i = 0; i < IW_ARRAY_LEN(size); i++)
		if (size[i].entries > 0)
			(void)bpf_map__set_max_entries(size[i].map, size[i].entries);
}

static int open_own(struct iw_steer *s, const struct iw_steer_cfg *cfg, struct iw_fault *why)
{
	s->skel = steer_bpf__open();
	if (!s->skel)
		return iw_bpf_fail(why, errno, "xdp: open the program steer");
	set_sizes(s->skel, cfg, s->facts.queues);
	s->skel->rodata->sample_every = cfg->sample ? cfg->sample : IW_XDP_SAMPLE_DEFAULT;
	return 0;
}

static int own_loaded(struct iw_steer *s, struct iw_fault *why)
{
	s->prog = bpf_program__fd(s->skel->progs.iw_steer_5);
	for (int i = 0; i < MAPS; i++)
		s->map[i] = bpf_object__find_map_fd_by_name(s->skel->obj, shape[i].name);
	/* The program does not use this map. Binding it lets processes that join find it. */
	return bpf_prog_bind_map(s->prog, s->map[SOCKETS], NULL) < 0
		       ? iw_os_fail(why, errno, "xdp: bind the map of sockets")
		       : 0;
}

/* --- a program of another process ------------------------------------------------------------- */

static int join(struct iw_steer *s, const struct iw_xdp_attached *a, struct iw_fault *why)
{
	int err;

	s->prog = bpf_prog_get_fd_by_id(a->inside ? a->inside : a->program);
	if (s->prog < 0)
		return iw_os_fail(why, errno, "xdp: join the program on %s", s->interface);
	err = iw_bpf_join(s->prog, s->map, shape, MAPS, s->interface, why);
	if (err)
		return err;
	s->facts.resident = true;
	s->facts.dispatched = a->inside != 0;
	s->facts.native = a->native;
	return 0;
}

/* --- open and close --------------------------------------------------------------------------- */

/*
 * libxdp changes the type of our program, so it must load it. If it cannot use a dispatcher, it
 * silently attaches our program alone, which was not requested.
 */
static int dispatch(struct iw_steer *s, const struct iw_steer_cfg *cfg, struct iw_fault *why)
{
	static const enum xdp_attach_mode mode[] = { [IW_XDP_ANY] = XDP_MODE_UNSPEC,
						     [IW_XDP_NATIVE] = XDP_MODE_NATIVE,
						     [IW_XDP_GENERIC] = XDP_MODE_SKB };
	struct xdp_program *p;
	struct iw_xdp_attached a;
	int err = iw_attach_check_dispatcher(why);

	if (err)
		return err;
	p = xdp_program__from_bpf_obj(s->skel->obj, "xdp.frags");
	err = (int)libxdp_get_error(p);
	if (!err) {
		err = xdp_program__set_xdp_frags_support(p, true);
		if (!err)
			err = xdp_program__attach(p, (int)s->facts.ifindex, mode[cfg->mode], 0);
		/* The object, with the loaded program, remains ours. */
		xdp_program__close(p);
	}
	if (err == -EBUSY || err == -EEXIST)
		return iw_attach_busy(s->interface, s->facts.ifindex, s->prog, -err, why);
	if (err)
		return iw_bpf_fail(why, err, "xdp: attach to %s through the dispatcher",
				   s->interface);
	err = own_loaded(s, why);
	if (!err)
		err = iw_attach_query(&a, s->facts.ifindex, why);
	if (err)
		return err;
	s->facts.native = a.native;
	s->facts.dispatched = a.owner == IW_XDP_DISPATCHER;
	if (s->facts.dispatched)
		return 0;
	err = iw_attach_detach(&a, s->facts.ifindex, why);
	if (err)
		return err;
	return iw_bpf_fail(
		why, EOPNOTSUPP,
		"xdp: libxdp cannot use its dispatcher on this kernel; use `ddp-xdp attach` without --dispatcher");
}

static int attach_own(struct iw_steer *s, const struct iw_steer_cfg *cfg, struct iw_fault *why)
{
	int err = open_own(s, cfg, why);

	if (err)
		return err;
	if (cfg->dispatcher)
		return dispatch(s, cfg, why);
	err = iw_bpf_load(s->skel->obj, "steer", why);
	if (!err)
		err = own_loaded(s, why);
	if (err || cfg->load_only)
		return err;
	/* cfg->alone is set by ddp-xdp; the other tools have --require. */
	return iw_attach_program(&s->link, &s->facts.native, s->prog, s->interface,
				 s->facts.ifindex, cfg->mode,
				 cfg->alone ? "use --mode generic" : "leave out --require native",
				 why);
}

static int get_program(struct iw_steer *s, const struct iw_steer_cfg *cfg, struct iw_fault *why)
{
	struct iw_xdp_attached a;
	int err = 0;

	memset(&a, 0, sizeof(a));
	if (!cfg->load_only)
		err = iw_attach_query(&a, s->facts.ifindex, why);
	if (err)
		return err;
	if ((a.owner != IW_XDP_STEER && !a.inside) || cfg->alone)
		return attach_own(s, cfg, why);
	err = join(s, &a, why);
	if (!err && cfg->mode == IW_XDP_NATIVE && !a.native)
		return iw_fail(why, IW_E_NOTSUP,
			       "xdp: the resident program on %s is in generic mode", s->interface);
	return err;
}

static void read_facts(struct iw_steer *s)
{
	struct bpf_prog_info info;
	struct bpf_map_info map = { 0 };
	uint32_t len = sizeof(map);

	if (iw_bpf_prog_info(s->prog, &info, NULL, NULL) == 0)
		s->facts.insns = info.verified_insns;
	/* The maps have entries for the queues at the time they were created. */
	if (s->facts.resident && bpf_obj_get_info_by_fd(s->map[XSKS], &map, &len) == 0)
		s->facts.queues = IW_MIN(s->facts.queues, map.max_entries / IW_XDP_WORKERS);
}

int iw_steer_open(struct iw_steer **out, const struct iw_steer_cfg *cfg, struct iw_fault *why)
{
	struct iw_steer *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	s->prog = s->link = -1;
	for (int i = 0; i < MAPS; i++)
		s->map[i] = -1;
	memcpy(s->interface, cfg->interface,
	       IW_MIN(strlen(cfg->interface), sizeof(s->interface) - 1));
	err = iw_interface_index(&s->facts.ifindex, cfg->interface, why);
	if (!err) {
		s->facts.queues = iw_interface_queues(cfg->interface);
		iw_bpf_begin();
		err = get_program(s, cfg, why);
		iw_bpf_end();
	}
	if (err) {
		iw_steer_close(s);
		return err;
	}
	read_facts(s);
	*out = s;
	return 0;
}

void iw_steer_close(struct iw_steer *s)
{
	if (!s)
		return;
	ring_buffer__free(s->ring);
	if (s->link >= 0)
		close(s->link);
	if (s->skel) {
		steer_bpf__destroy(s->skel);
	} else {
		for (int i = 0; i < MAPS; i++)
			if (s->map[i] >= 0)
				close(s->map[i]);
		if (s->prog >= 0)
			close(s->prog);
	}
	free(s);
}

int iw_steer_try(uint32_t *insns, struct iw_fault *why)
{
	const struct iw_steer_cfg cfg = { .interface = "lo", .load_only = true };
	struct iw_steer *s;
	int err = iw_steer_open(&s, &cfg, why);

	if (err)
		return err;
	*insns = s->facts.insns;
	iw_steer_close(s);
	return 0;
}

const struct iw_steer_facts *iw_steer_facts(const struct iw_steer *s)
{
	return &s->facts;
}

int iw_steer_prog_fd(const struct iw_steer *s)
{
	return s->prog;
}

/*
 * Invalidates what the program remembers of its last packet. The number is random, so that two
 * processes that do this at the same time do not restore an earlier number.
 */
static void forget_recent(struct iw_steer *s)
{
	uint32_t zero = 0;
	uint64_t number;

	if (iw_os_random(&number, sizeof(number)) < 0)
		number = iw_os_now();
	(void)bpf_map_update_elem(s->map[GENERATION], &zero, &number, BPF_ANY);
}

/* --- sweeping --------------------------------------------------------------------------------- */

/*
 * Deletes the entries of a hash that match. A deletion may restart the iteration, so the next key
 * is requested first. A process that adds keys at the same time can lengthen it: the bound ends it.
 */
static void sweep(int map, bool (*match)(const void *value, const void *key, uint32_t),
		  uint32_t which)
{
	uint8_t key[2][sizeof(struct iw_xdp_endpoint_key)], value[sizeof(struct iw_xdp_home)];
	bool more = bpf_map_get_next_key(map, NULL, key[0]) == 0;
	unsigned at = 0;

	_Static_assert(sizeof(struct iw_xdp_assoc_key) <= sizeof(struct iw_xdp_endpoint_key) &&
			       sizeof(struct iw_xdp_assoc) <= sizeof(struct iw_xdp_home) &&
			       sizeof(struct iw_xdp_endpoint) <= sizeof(struct iw_xdp_home),
		       "one room for all");
	for (uint32_t n = 0; more && n < UINT32_MAX; n++, at ^= 1) {
		more = bpf_map_get_next_key(map, key[at], key[at ^ 1]) == 0;
		if (bpf_map_lookup_elem(map, key[at], value) == 0 && match(value, key[at], which))
			(void)bpf_map_delete_elem(map, key[at]);
	}
}

static bool endpoint_is(const void *value, const void *key, uint32_t id)
{
	struct iw_xdp_endpoint e;

	(void)key;
	memcpy(&e, value, sizeof(e));
	return e.id == id;
}

static bool assoc_of_worker(const void *value, const void *key, uint32_t worker)
{
	struct iw_xdp_assoc a;

	(void)key;
	memcpy(&a, value, sizeof(a));
	return a.worker == worker;
}

static bool assoc_of_endpoint(const void *value, const void *key, uint32_t id)
{
	struct iw_xdp_assoc_key k;

	(void)value;
	memcpy(&k, key, sizeof(k));
	return k.endpoint == id;
}

static bool stag_of_endpoint(const void *value, const void *key, uint32_t id)
{
	struct iw_xdp_stag_key k;

	(void)value;
	memcpy(&k, key, sizeof(k));
	return k.endpoint == id;
}

static bool session_of_endpoint(const void *value, const void *key, uint32_t id)
{
	struct iw_xdp_stream_key k;

	(void)value;
	memcpy(&k, key, sizeof(k));
	return k.endpoint == id;
}

/* --- workers ---------------------------------------------------------------------------------- */

struct endpoint_of {
	uint32_t worker, id;
};

static int find_endpoint(void *ctx, const void *key, const void *value)
{
	struct endpoint_of *of = ctx;
	struct iw_xdp_endpoint e;

	(void)key;
	memcpy(&e, value, sizeof(e));
	of->id = e.id;
	return e.worker == of->worker;
}

static void forget_worker(struct iw_steer *s, uint32_t worker)
{
	static const struct iw_xdp_sock none;
	struct endpoint_of of = { .worker = worker };

	iw_steer_live_remove(s, worker);
	for (uint32_t n = 0;
	     n < EACH_MAX && iw_steer_each(s, IW_STEER_ENDPOINTS, find_endpoint, &of); n++)
		iw_steer_endpoint_remove(s, of.id);
	sweep(s->map[ASSOCS], assoc_of_worker, worker);
	forget_recent(s);
	for (unsigned q = 0; q < s->facts.queues; q++) {
		uint32_t slot = IW_XDP_XSK(q, worker);

		(void)bpf_map_update_elem(s->map[SOCKETS], &slot, &none, BPF_ANY);
	}
}

/* True if a process that is still alive has registered a socket for this worker. */
static bool is_taken(struct iw_steer *s, uint32_t worker)
{
	for (unsigned q = 0; q < s->facts.queues; q++) {
		uint32_t slot = IW_XDP_XSK(q, worker);
		struct iw_xdp_sock sock;

		if (bpf_map_lookup_elem(s->map[SOCKETS], &slot, &sock) == 0 && sock.pid != 0 &&
		    (kill((pid_t)sock.pid, 0) == 0 || errno != ESRCH))
			return true;
	}
	return false;
}

static void drop_sockets(struct iw_steer *s, uint32_t worker, unsigned n)
{
	for (unsigned q = 0; q < n; q++) {
		uint32_t slot = IW_XDP_XSK(q, worker);

		(void)bpf_map_delete_elem(s->map[XSKS], &slot);
	}
}

/* Returns 0; -EEXIST: the number is in use; another negative errno. */
static int put_sockets(struct iw_steer *s, uint32_t worker, const int *xsk, unsigned n)
{
	for (unsigned q = 0; q < n; q++) {
		uint32_t slot = IW_XDP_XSK(q, worker);
		int err;

		if (xsk[q] < 0)
			continue;
		err = bpf_map_update_elem(s->map[XSKS], &slot, &xsk[q], BPF_NOEXIST);
		if (err < 0) {
			drop_sockets(s, worker, q);
			return err;
		}
	}
	return 0;
}

static int report_owner(struct iw_steer *s, uint32_t worker, const int *xsk, unsigned n)
{
	struct iw_xdp_sock sock = { .pid = (uint32_t)getpid() };

	for (unsigned q = 0; q < n; q++)
		if (xsk[q] >= 0 && iw_steer_publish_socket(s, worker, q, &sock) < 0)
			return IW_E_OS;
	return 0;
}

int iw_steer_worker_add(struct iw_steer *s, uint32_t *worker, const int *xsk, unsigned n,
			struct iw_fault *why)
{
	bool any = false;
	int err = -EEXIST;
	uint32_t w;

	for (unsigned q = 0; q < n; q++)
		any = any || xsk[q] >= 0;
	if (!any || n > s->facts.queues)
		return iw_fail(why, IW_E_INVAL, "xdp: %u sockets for the %u queues of %s", n,
			       s->facts.queues, s->interface);
	for (w = 0; w < IW_XDP_WORKERS && err == -EEXIST; w++)
		if (!is_taken(s, w))
			err = put_sockets(s, w, xsk, n);
	if (err == -EEXIST)
		return iw_fail(why, IW_E_FULL, "xdp: %s has %u workers already", s->interface,
			       (uint32_t)IW_XDP_WORKERS);
	if (err == -EINVAL || err == -EOPNOTSUPP || err == -EBADF || err == -ENOTSOCK)
		return iw_fail(why, IW_E_INVAL, "xdp: no AF_XDP socket with a receive ring");
	if (err < 0)
		return iw_os_fail(why, -err, "xdp: steer to a socket of %s", s->interface);
	*worker = w - 1;
	/* Removes entries of a killed process. */
	forget_worker(s, *worker);
	err = report_owner(s, *worker, xsk, n);
	if (err) {
		iw_steer_worker_remove(s, *worker);
		return iw_fail(why, err, "xdp: publish the sockets of %s", s->interface);
	}
	return 0;
}

int iw_steer_live_add(struct iw_steer *s, uint32_t worker, int packets)
{
	if (s->facts.dispatched)
		return IW_E_NOTSUP;
	return bpf_map_update_elem(s->map[LIVE], &worker, &packets, BPF_ANY) < 0 ? IW_E_OS : 0;
}

void iw_steer_live_remove(struct iw_steer *s, uint32_t worker)
{
	(void)bpf_map_delete_elem(s->map[LIVE], &worker);
}

void iw_steer_worker_remove(struct iw_steer *s, uint32_t worker)
{
	forget_worker(s, worker);
	drop_sockets(s, worker, s->facts.queues);
}

int iw_steer_publish_socket(struct iw_steer *s, uint32_t worker, unsigned queue,
			    const struct iw_xdp_sock *now)
{
	uint32_t slot = IW_XDP_XSK(queue, worker);

	if (worker >= IW_XDP_WORKERS || queue >= s->facts.queues)
		return IW_E_INVAL;
	return bpf_map_update_elem(s->map[SOCKETS], &slot, now, BPF_ANY) < 0 ? IW_E_OS : 0;
}

/* --- endpoints, associations, STags ----------------------------------------------------------- */

static void endpoint_key(struct iw_xdp_endpoint_key *key, const struct iw_addr *addr,
			 uint16_t sctp_port, uint16_t udp_port)
{
	memset(key, 0, sizeof(*key));
	iw_put_be16((uint8_t *)&key->sctp_port, sctp_port);
	iw_put_be16((uint8_t *)&key->udp_port, udp_port);
	if (addr->len == 0 || iw_addr_is_any(addr))
		return;
	if (addr->sa.sa_family == AF_INET6) {
		memcpy(key->addr, &addr->in6.sin6_addr, 16);
		return;
	}
	iw_put_be16((uint8_t *)&key->addr[2] + 2, 0xffff);
	memcpy(&key->addr[3], &addr->in.sin_addr, 4);
}

int iw_steer_endpoint_add(struct iw_steer *s, uint32_t *id, const struct iw_addr *addr,
			  uint16_t sctp_port, uint16_t udp_port, uint32_t worker,
			  const struct iw_steer_ppids *ppids, struct iw_fault *why)
{
	struct iw_xdp_endpoint e = {
		.worker = worker,
		.ppid_segment = ppids ? ppids->segment : IW_SCTP_PPID_SEGMENT,
		.ppid_control = ppids ? ppids->control : IW_SCTP_PPID_CONTROL,
	};
	struct iw_xdp_endpoint_key key;
	int err = 0;

	/* Random, so that a process that joins need not know the ids of the others. */
	while (e.id == 0 && err == 0)
		err = iw_os_random(&e.id, sizeof(e.id));
	if (err)
		return iw_fail(why, err, "xdp: no random number for an endpoint");
	endpoint_key(&key, addr, sctp_port, udp_port);
	err = bpf_map_update_elem(s->map[ENDPOINTS], &key, &e, BPF_NOEXIST);
	forget_recent(s);
	*id = e.id;
	if (err == -EEXIST)
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: SCTP port %u on %s is in use by another endpoint: choose another with --port",
			(uint32_t)sctp_port, s->interface);
	if (err == -E2BIG)
		return iw_fail(why, IW_E_FULL, "xdp: no room for another endpoint on %s",
			       s->interface);
	return err < 0 ? iw_os_fail(why, -err, "xdp: add an endpoint on %s", s->interface) : 0;
}

void iw_steer_endpoint_remove(struct iw_steer *s, uint32_t id)
{
	sweep(s->map[ENDPOINTS], endpoint_is, id);
	sweep(s->map[ASSOCS], assoc_of_endpoint, id);
	sweep(s->map[SESSIONS], session_of_endpoint, id);
	sweep(s->map[STAGS], stag_of_endpoint, id);
	forget_recent(s);
}

int iw_steer_assoc_add(struct iw_steer *s, uint32_t endpoint, uint32_t tag, uint32_t worker,
		       struct iw_fault *why)
{
	struct iw_xdp_assoc_key key = { endpoint, tag };
	struct iw_xdp_assoc a = { worker };
	int err = bpf_map_update_elem(s->map[ASSOCS], &key, &a, BPF_ANY);

	forget_recent(s);
	if (err == -E2BIG)
		return iw_fail(why, IW_E_FULL, "xdp: no room for another association on %s",
			       s->interface);
	return err < 0 ? iw_os_fail(why, -err, "xdp: add an association on %s", s->interface) : 0;
}

void iw_steer_assoc_remove(struct iw_steer *s, uint32_t endpoint, uint32_t tag)
{
	struct iw_xdp_assoc_key key = { endpoint, tag };

	(void)bpf_map_delete_elem(s->map[ASSOCS], &key);
	forget_recent(s);
}

int iw_steer_stag_add(struct iw_steer *s, uint32_t endpoint, uint32_t stag,
		      const struct iw_xdp_home *home)
{
	struct iw_xdp_stag_key key = { endpoint, stag };
	int err = bpf_map_update_elem(s->map[STAGS], &key, home, BPF_ANY);

	return err == -E2BIG ? IW_E_FULL : err < 0 ? IW_E_OS : 0;
}

void iw_steer_stag_remove(struct iw_steer *s, uint32_t endpoint, uint32_t stag)
{
	struct iw_xdp_stag_key key = { endpoint, stag };

	(void)bpf_map_delete_elem(s->map[STAGS], &key);
	forget_recent(s);
}

int iw_steer_session_add(struct iw_steer *s, uint32_t endpoint, uint32_t tag, uint16_t number,
			 const struct iw_xdp_home *home)
{
	struct iw_xdp_stream_key key = { .endpoint = endpoint, .tag = tag, .stream = number };
	int err = bpf_map_update_elem(s->map[SESSIONS], &key, home, BPF_ANY);

	forget_recent(s);
	return err == -E2BIG ? IW_E_FULL : err < 0 ? IW_E_OS : 0;
}

void iw_steer_session_remove(struct iw_steer *s, uint32_t endpoint, uint32_t tag, uint16_t number)
{
	struct iw_xdp_stream_key key = { .endpoint = endpoint, .tag = tag, .stream = number };

	(void)bpf_map_delete_elem(s->map[SESSIONS], &key);
	forget_recent(s);
}

/* --- counters --------------------------------------------------------------------------------- */

int iw_steer_counters(const struct iw_steer *s, struct iw_xdp_counters *out)
{
	uint32_t zero = 0;

	_Static_assert(sizeof(*out) % sizeof(uint64_t) == 0, "nothing but counters");
	return iw_bpf_sum(out, sizeof(*out), s->map[COUNTERS], &zero);
}

/* --- for ddp-xdp ------------------------------------------------------------------------------ */

int iw_steer_look(struct iw_steer **out, const char *interface, struct iw_fault *why)
{
	struct iw_steer_cfg cfg = { .interface = interface };
	struct iw_xdp_attached a;
	unsigned ifindex;
	int err = iw_interface_index(&ifindex, interface, why);

	if (!err)
		err = iw_attach_query(&a, ifindex, why);
	if (!err && a.owner != IW_XDP_STEER && !a.inside)
		err = iw_fail(why, IW_E_NOENT, "xdp: no steering program on %s", interface);
	return err ? err : iw_steer_open(out, &cfg, why);
}

int iw_steer_link_fd(const struct iw_steer *s)
{
	return s->link;
}

/* Reads a stream's entry, and adds what the CPUs have not yet added to it. */
static bool sum_stream(const struct iw_steer *s, void *out, const void *key)
{
	struct iw_xdp_stream sum;
	uint32_t zero = 0;
	int cpus = libbpf_num_possible_cpus();
	struct iw_xdp_recent *r = cpus > 0 ? calloc((size_t)cpus, sizeof(*r)) : NULL;
	bool got = r && iw_bpf_sum(&sum, sizeof(sum), s->map[STREAMS], key) == 0 &&
		   bpf_map_lookup_elem(s->map[RECENT], &zero, r) == 0;

	for (int i = 0; got && i < cpus; i++)
		if (r[i].has_stream && memcmp(&r[i].stream, key, sizeof(r[i].stream)) == 0) {
			sum.segments += r[i].pending.segments;
			sum.octets += r[i].pending.octets;
		}
	if (got)
		memcpy(out, &sum, sizeof(sum));
	free(r);
	return got;
}

/* A socket entry without a process is unused. */
static bool is_in_use(enum iw_steer_what what, const void *value)
{
	struct iw_xdp_sock sock;

	if (what != IW_STEER_SOCKETS)
		return true;
	memcpy(&sock, value, sizeof(sock));
	return sock.pid != 0;
}

int iw_steer_each(const struct iw_steer *s, enum iw_steer_what what,
		  int (*each)(void *ctx, const void *key, const void *value), void *ctx)
{
	static const enum map map_of[] = {
		[IW_STEER_ENDPOINTS] = ENDPOINTS, [IW_STEER_ASSOCS] = ASSOCS,
		[IW_STEER_SOCKETS] = SOCKETS,     [IW_STEER_STREAMS] = STREAMS,
		[IW_STEER_SESSIONS] = SESSIONS,   [IW_STEER_STAGS] = STAGS
	};
	int map = s->map[map_of[what]], ret = 0;
	union {
		uint64_t align;
		uint8_t octets[64];
	} key = { 0 }, value;
	void *before = NULL;

	/* If the current key is deleted, the iteration restarts; the bound ends it. */
	for (uint32_t n = 0;
	     n < EACH_MAX && ret == 0 && bpf_map_get_next_key(map, before, key.octets) == 0; n++) {
		bool got = what == IW_STEER_STREAMS
				   ? sum_stream(s, value.octets, key.octets)
				   : bpf_map_lookup_elem(map, key.octets, value.octets) == 0;

		if (got && is_in_use(what, value.octets))
			ret = each(ctx, key.octets, value.octets);
		before = key.octets;
	}
	return ret;
}

static int take_event(void *ctx, void *data, size_t size)
{
	struct batch *b = ctx;

	if (size >= sizeof(*b->out))
		memcpy(&b->out[b->n++], data, sizeof(*b->out));
	/* -1 ends the calls when the array is full; this event is consumed too. */
	return b->n == b->cap ? -1 : 0;
}

int iw_steer_events(struct iw_steer *s, struct iw_xdp_event *out, size_t cap)
{
	struct batch b = { out, 0, cap };

	if (!s->ring)
		s->ring = ring_buffer__new(s->map[EVENTS], take_event, &s->batch, NULL);
	if (!s->ring)
		return IW_E_OS;
	s->batch = b;
	(void)ring_buffer__consume(s->ring);
	return (int)s->batch.n;
}

/* Finds a process that is alive and has a socket. */
static int find_user(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_sock *s = value;

	(void)key;
	if (kill((pid_t)s->pid, 0) < 0 && errno == ESRCH)
		return 0;
	*(uint32_t *)ctx = s->pid;
	return 1;
}

uint32_t iw_steer_used_by(const char *interface)
{
	struct iw_steer *s = NULL;
	struct iw_fault why;
	uint32_t pid = 0;

	if (iw_steer_look(&s, interface, &why) == 0)
		(void)iw_steer_each(s, IW_STEER_SOCKETS, find_user, &pid);
	iw_steer_close(s);
	return pid;
}

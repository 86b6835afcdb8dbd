// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One interface as JSON: the "status" event. */
#include <string.h>

#include "ddp-xdp/internal.h"
#include "util/num.h"
#include "wire/ddp.h"

/* clang-format off */
#define IW_X_(name, key, text) key,
static const char *const pass_keys[] = { IW_XDP_PASS_LIST(IW_X_) };
static const char *const seen_keys[] = { IW_XDP_SEEN_LIST(IW_X_) };
#undef IW_X_
#define IW_X_(name, text) #name,
static const char *const mpa_keys[] = { IW_XDP_MPA_LIST(IW_X_) };
#undef IW_X_
/* clang-format on */
static const char *const tl_keys[] = { "untagged", "untagged_last", "tagged", "tagged_last" };

static int endpoint_json(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_endpoint_key *k = key;
	const struct iw_xdp_endpoint *e = value;
	struct iw_json *w = ctx;
	char text[IW_ADDR_TEXT];

	iw_json_open_object(w, NULL);
	iw_json_str(w, "address", iw_status_addr(text, k->addr));
	iw_json_u64(w, "sctp_port", iw_status_port(&k->sctp_port));
	iw_json_u64(w, "udp_port", iw_status_port(&k->udp_port));
	iw_json_u64(w, "worker", e->worker);
	iw_json_close(w);
	return 0;
}

static int socket_json(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_sock *s = value;
	struct iw_json *w = ctx;
	uint32_t slot;

	memcpy(&slot, key, sizeof(slot));
	iw_json_open_object(w, NULL);
	iw_json_u64(w, "queue", slot / IW_XDP_WORKERS);
	iw_json_u64(w, "worker", slot % IW_XDP_WORKERS);
	iw_json_u64(w, "pid", s->pid);
	iw_json_bool(w, "zerocopy", s->flags & IW_XDP_SOCK_ZEROCOPY);
	iw_json_bool(w, "need_wakeup", s->flags & IW_XDP_SOCK_NEED_WAKEUP);
	iw_json_bool(w, "multi_buffer", s->flags & IW_XDP_SOCK_SG);
	iw_json_bool(w, "busy_poll", s->flags & IW_XDP_SOCK_BUSY_POLL);
	iw_json_u64(w, "rx_packets", s->rx);
	iw_json_u64(w, "tx_packets", s->tx);
	iw_json_u64(w, "tx_live", s->live);
	iw_json_u64(w, "rx_dropped", s->rx_dropped);
	iw_json_u64(w, "rx_ring_full", s->rx_ring_full);
	iw_json_u64(w, "rx_fill_empty", s->rx_fill_empty);
	iw_json_u64(w, "tx_invalid", s->tx_invalid);
	iw_json_close(w);
	return 0;
}

static int stream_json(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_stream_key *k = key;
	const struct iw_xdp_stream *s = value;
	struct iw_json *w = ctx;

	iw_json_open_object(w, NULL);
	iw_json_u64(w, "tag", k->tag);
	iw_json_u64(w, "stream", k->stream);
	iw_json_u64(w, "segments", s->segments);
	iw_json_u64(w, "octets", s->octets);
	iw_json_close(w);
	return 0;
}

static void put_list_json(struct iw_json *w, const char *key, const char *const *keys,
			  const uint64_t *value, size_t n)
{
	iw_json_open_object(w, key);
	for (size_t i = 0; i < n; i++)
		iw_json_u64(w, keys[i], value[i]);
	iw_json_close(w);
}

static void put_opcodes_json(struct iw_json *w, const struct iw_xdp_counters *c)
{
	iw_json_open_array(w, "opcodes");
	for (uint8_t i = 0; i < 16; i++) {
		if (c->opcode[i] == 0)
			continue;
		iw_json_open_object(w, NULL);
		iw_json_u64(w, "opcode", i);
		iw_json_str(w, "name", iw_opcode_name(i));
		iw_json_u64(w, "segments", c->opcode[i]);
		iw_json_close(w);
	}
	iw_json_close(w);
}

static void put_steer_json(struct iw_json *w, const struct iw_status *l)
{
	const struct iw_xdp_counters *c = &l->count;

	iw_json_bool(w, "multi_buffer", true);
	iw_json_open_array(w, "endpoints");
	(void)iw_steer_each(l->steer, IW_STEER_ENDPOINTS, endpoint_json, w);
	iw_json_close(w);
	iw_json_u64(w, "associations", iw_status_count(l, IW_STEER_ASSOCS));
	iw_json_u64(w, "sessions", iw_status_count(l, IW_STEER_SESSIONS));
	iw_json_u64(w, "stags", iw_status_count(l, IW_STEER_STAGS));
	iw_json_open_array(w, "sockets");
	(void)iw_steer_each(l->steer, IW_STEER_SOCKETS, socket_json, w);
	iw_json_close(w);
	iw_json_u64(w, "packets", c->packets);
	iw_json_u64(w, "octets", c->octets);
	if (l->at_before) {
		iw_json_u64(w, "packets_per_second",
			    iw_status_rate(l, c->packets - l->before.packets));
		iw_json_u64(w, "bits_per_second",
			    8 * iw_status_rate(l, c->octets - l->before.octets));
	}
	iw_json_u64(w, "chunks", c->chunks);
	iw_json_u64(w, "data", c->data);
	iw_json_u64(w, "segments", c->segments);
	iw_json_u64(w, "controls", c->controls);
	iw_json_u64(w, "foreign", c->foreign);
	iw_json_u64(w, "tagged_octets", c->tagged_octets);
	iw_json_u64(w, "untagged_octets", c->untagged_octets);
	iw_json_u64(w, "events_lost", c->events_lost);
	put_list_json(w, "tl", tl_keys, c->tl, 4);
	put_opcodes_json(w, c);
	put_list_json(w, "passed", pass_keys, c->passed, IW_XDP_PASS_COUNT);
	put_list_json(w, "seen", seen_keys, c->seen, IW_XDP_SEEN_COUNT);
	iw_json_open_array(w, "streams");
	(void)iw_steer_each(l->steer, IW_STEER_STREAMS, stream_json, w);
	iw_json_close(w);
}

static int flow_json(void *ctx, const struct iw_xdp_flow_key *k, const struct iw_xdp_flow *f)
{
	struct iw_json *w = ctx;
	char text[IW_ADDR_TEXT];

	iw_json_open_object(w, NULL);
	iw_json_str(w, "source", iw_status_addr(text, k->src));
	iw_json_u64(w, "source_port", iw_status_port(&k->sport));
	iw_json_str(w, "destination", iw_status_addr(text, k->dst));
	iw_json_u64(w, "destination_port", iw_status_port(&k->dport));
	iw_json_u64(w, "segments", f->segments);
	iw_json_u64(w, "followed", f->followed);
	iw_json_u64(w, "aligned", f->aligned);
	iw_json_u64(w, "fpdus", f->fpdus);
	iw_json_u64(w, "holes", f->holes);
	iw_json_u64(w, "resent", f->resent);
	iw_json_bool(w, "markers", f->markers == IW_XDP_MARKERS);
	iw_json_bool(w, "lost", f->lost);
	iw_json_close(w);
	return 0;
}

static void put_mpa_json(struct iw_json *w, const struct iw_status *l)
{
	const uint64_t *value = (const uint64_t *)&l->mpa;

	_Static_assert(sizeof(l->mpa) == sizeof(mpa_keys) / sizeof(mpa_keys[0]) * sizeof(*value),
		       "a key for each");
	iw_json_open_object(w, "mpa");
	for (size_t i = 0; i < IW_ARRAY_LEN(mpa_keys); i++)
		iw_json_u64(w, mpa_keys[i], value[i]);
	iw_json_f64(w, "aligned_share", iw_status_aligned(&l->mpa));
	iw_json_open_array(w, "connections");
	(void)iw_observe_each(l->observe, flow_json, w);
	iw_json_close(w);
	iw_json_close(w);
}

int iw_status_json(struct iw_json *w, const struct iw_status *l, struct iw_fault *why)
{
	iw_json_begin(w, "status");
	iw_json_str(w, "interface", l->name);
	iw_json_u64(w, "ifindex", l->ifindex);
	iw_json_str(w, "owner", iw_attach_owner_name(l->a.owner));
	iw_json_u64(w, "queues", l->queues);
	if (l->a.program) {
		iw_json_str(w, "name", l->a.name);
		iw_json_str(w, "mode", l->a.native ? "native" : "generic");
		iw_json_u64(w, "program_id", l->a.program);
		iw_json_u64(w, "link_id", l->a.link);
		iw_json_u64(w, "verified_insns", l->a.insns);
		iw_json_u64(w, "runs", l->a.runs);
		iw_json_u64(w, "run_ns", l->a.run_ns);
	}
	if (l->holder_pid) {
		iw_json_u64(w, "holder_pid", (uint64_t)l->holder_pid);
		iw_json_str(w, "holder", l->holder_name);
	}
	if (l->pinned != IW_XDP_NO_PIN) {
		iw_json_str(w, "pin", l->pins);
		iw_json_bool(w, "pin_stale", l->pinned == IW_XDP_STALE);
	}
	if (l->dispatchers_left)
		iw_json_u64(w, "dispatchers_left", l->dispatchers_left);
	if (l->steer)
		put_steer_json(w, l);
	if (l->observe)
		put_mpa_json(w, l);
	return iw_status_end_line(w, why);
}

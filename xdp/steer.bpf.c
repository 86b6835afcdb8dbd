// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The steering program: redirects packets for our SCTP endpoints to the AF_XDP socket of the worker
 * that owns their association, and passes all others to the kernel unchanged.
 *
 * It makes no protocol decision and drops no received packet. If it dropped a DATA chunk, it would
 * drop each retransmission, too, until the peer aborts the association; and RFC 5041 7.1 requires
 * that an unknown STag is reported. It only counts and samples errors in our packets; the engine
 * handles them.
 */
#include "xdp/parse.h"

/* As struct iw_xdp_event's every; 0: no samples. The loader sets it before it loads the program. */
const volatile uint32_t sample_every = 256;

#define CHUNKS_MAX 512
#define ETHER_LEN  14

#define CHUNK_DATA   0
#define DATA_E       1
#define DATA_B       2
#define SSN_LEN      2
#define TAGGED_LEN   14
#define UNTAGGED_LEN 18

/* Headers as on the wire, like those in parse.h. */
struct udp {
	uint16_t sport, dport, len, checksum;
};
struct sctp {
	uint16_t sport, dport;
	uint32_t tag, checksum;
};
/* The first octets of a DATA chunk with a tagged segment, with its TO. */
struct chunk {
	uint8_t type, flags;
	uint16_t len;
	uint32_t tsn;
	uint16_t stream, ssn;
	uint32_t ppid;
	uint16_t ddp_ssn;
	uint8_t ddp, rdmap;
	uint32_t stag, rest[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, IW_XDP_ENDPOINTS_DEFAULT);
	__type(key, struct iw_xdp_endpoint_key);
	__type(value, struct iw_xdp_endpoint);
} endpoints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, IW_XDP_ASSOCS_DEFAULT);
	__type(key, struct iw_xdp_assoc_key);
	__type(value, struct iw_xdp_assoc);
} assocs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, IW_XDP_STAGS_DEFAULT);
	__type(key, struct iw_xdp_stag_key);
	__type(value, struct iw_xdp_home);
} stags SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 2 * IW_XDP_ASSOCS_DEFAULT);
	__type(key, struct iw_xdp_stream_key);
	__type(value, struct iw_xdp_home);
} sessions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, IW_XDP_WORKERS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} xsks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IW_XDP_WORKERS);
	__type(key, uint32_t);
	__type(value, struct iw_xdp_sock);
} sockets SEC(".maps");

struct packets {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 + IW_XDP_LIVE_BURST);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct iw_xdp_live));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, IW_XDP_WORKERS);
	__type(key, uint32_t);
	__array(values, struct packets);
} live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct iw_xdp_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct iw_xdp_stream_key);
	__type(value, struct iw_xdp_stream);
} streams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct iw_xdp_recent);
} recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} generation SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

/* The endpoint of a packet, and fields of struct iw_xdp_meta. */
struct found {
	struct iw_xdp_endpoint_key to;
	uint32_t ip, sctp, sctp_len, flags;
};

/* --- from the frame to the SCTP header -------------------------------------------------------- */

/* Fills *f and copies the SCTP common header to *h. Returns OURS, or the enum iw_xdp_pass why the
 * kernel gets the packet. */
static __always_inline int parse_below(struct cursor *c, struct found *f, struct sctp *h)
{
	struct ip ip = { .protocol = 0 };
	struct udp u;
	int pass = parse_ip(c, &ip);

	f->ip = ip.off;
	if (pass != OURS)
		return pass;
	/* The carrier would reply without the VLAN tag, so the peer would not receive it, and
	 * another network might. */
	if (ip.vlan)
		return IW_XDP_PASS_VLAN;
	__builtin_memcpy(f->to.addr, ip.dst, sizeof(f->to.addr));
	f->flags = ip.v6 ? IW_XDP_META_IPV6 : 0;
	if (ip.protocol == PROTO_UDP) {
		uint32_t len;

		if (c->left < sizeof(u) || !LOAD(c->ctx, c->off, &u))
			return IW_XDP_PASS_UDP_BAD;
		len = bpf_ntohs(u.len);
		if (len < sizeof(u) || len > c->left)
			return IW_XDP_PASS_UDP_BAD;
		f->to.udp_port = u.dport;
		f->flags |= IW_XDP_META_UDP;
		c->left = len;
		skip(c, sizeof(u));
	} else if (ip.protocol != PROTO_SCTP) {
		return IW_XDP_PASS_PROTOCOL;
	}
	if (c->left < sizeof(*h) || !LOAD(c->ctx, c->off, h))
		return IW_XDP_PASS_SCTP_SHORT;
	f->to.sctp_port = h->dport;
	f->sctp = c->off;
	f->sctp_len = c->left;
	return OURS;
}

/* --- the endpoint and the association --------------------------------------------------------- */

static __always_inline struct iw_xdp_endpoint *find_endpoint(const struct iw_xdp_endpoint_key *to)
{
	struct iw_xdp_endpoint *e = bpf_map_lookup_elem(&endpoints, to);
	struct iw_xdp_endpoint_key any = { .sctp_port = to->sctp_port, .udp_port = to->udp_port };

	return e ? e : bpf_map_lookup_elem(&endpoints, &any);
}

static __always_inline bool is_recent(const struct iw_xdp_recent *r,
				      const struct iw_xdp_endpoint_key *to, uint32_t tag,
				      uint64_t now)
{
	uint64_t differs = r->generation ^ now;

	/* One branch: a branch for each comparison would double the verifier's paths each time. */
	differs |= (r->tag ^ tag) | (uint32_t)(r->to.sctp_port ^ to->sctp_port) |
		   (uint32_t)(r->to.udp_port ^ to->udp_port);
	for (int i = 0; i < 4; i++)
		differs |= r->to.addr[i] ^ to->addr[i];
	return differs == 0;
}

/*
 * Adds the pending counts of a stream to its entry in the map "streams". An entry that was evicted
 * begins again at 0.
 *
 * The functions that are not inline are those that the verifier would otherwise check on every path
 * to them. For it, their pointers refer to memory of an unknown kind. Before Linux 6.2 it does not
 * accept such memory as key or value of a map, so these are copied to the stack.
 */
__noinline int flush_stream(struct iw_xdp_recent *r)
{
	struct iw_xdp_stream_key key;
	struct iw_xdp_stream *s, pending;

	if (!r || !r->has_stream)
		return 0;
	key = r->stream;
	pending = r->pending;
	s = bpf_map_lookup_elem(&streams, &key);
	if (s) {
		s->segments += pending.segments;
		s->octets += pending.octets;
	} else {
		bpf_map_update_elem(&streams, &key, &pending, BPF_ANY);
	}
	r->has_stream = 0;
	return 0;
}

/* Looks up the endpoint and the association of a packet, and makes them the recent ones. Returns 0
 * if the packet is not for an endpoint of ours. */
__noinline int look_up(struct iw_xdp_recent *r, const struct iw_xdp_endpoint_key *to, uint32_t tag,
		       uint64_t now)
{
	struct iw_xdp_assoc_key key = { .tag = tag };
	struct iw_xdp_endpoint_key own;
	struct iw_xdp_endpoint *e;
	struct iw_xdp_assoc *a;

	if (!r || !to)
		return 0;
	own = *to;
	e = find_endpoint(&own);
	if (!e)
		return 0;
	flush_stream(r);
	key.endpoint = e->id;
	a = bpf_map_lookup_elem(&assocs, &key);
	r->generation = now;
	r->to = own;
	r->tag = tag;
	r->endpoint = e->id;
	r->worker = a ? a->worker : e->worker;
	r->known = a ? 1 : 0;
	r->ppid_segment = e->ppid_segment;
	r->ppid_control = e->ppid_control;
	r->has_stag = 0;
	return 1;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* An event that may be sampled. */
struct occasion {
	uint32_t kind, endpoint, tag, stag;
	uint16_t stream;
	uint32_t from; /* offset of the first octet to show */
};

/* Writes an event into the ring buffer if it is the one to be sampled. count: events of this kind
 * on this CPU, including this one. */
static __always_inline void sample(struct xdp_md *ctx, struct iw_xdp_counters *n, uint64_t count,
				   const struct occasion *o)
{
	uint32_t every = sample_every, len = bpf_xdp_get_buff_len(ctx);
	struct iw_xdp_event *e;
	uint32_t shown;

	if (every == 0 || (count - 1) % every != 0)
		return;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		n->events_lost++;
		return;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->time_ns = bpf_ktime_get_ns();
	e->kind = o->kind;
	e->every = every;
	e->endpoint = o->endpoint;
	e->tag = o->tag;
	e->stag = o->stag;
	e->stream = o->stream;
	e->len = len;
	shown = o->from < len ? len - o->from : 0;
	if (shown > IW_XDP_HEAD)
		shown = IW_XDP_HEAD;
	if (shown > 0 && bpf_xdp_load_bytes(ctx, o->from, e->head, one_to(IW_XDP_HEAD, shown)) == 0)
		e->head_len = shown;
	bpf_ringbuf_submit(e, 0);
}

/* --- chunks ----------------------------------------------------------------------------------- */

struct walk {
	struct cursor at;
	struct iw_xdp_counters *n;
	struct iw_xdp_recent *r;
	uint32_t chunks, segments, first, unknown, flags;
	uint32_t bad;
};

/* Counts a segment with that many octets of user data on a stream of the recent association. */
__noinline int count_stream(struct iw_xdp_recent *r, uint32_t stream, uint32_t octets)
{
	static const struct iw_xdp_stream none;
	struct iw_xdp_stream_key key = { .stream = stream };

	if (!r)
		return 0;
	key.endpoint = r->endpoint;
	key.tag = r->tag;
	if (!r->has_stream || r->stream.stream != stream) {
		flush_stream(r);
		if (!bpf_map_lookup_elem(&streams, &key))
			bpf_map_update_elem(&streams, &key, &none, BPF_NOEXIST);
		r->has_stream = 1;
		r->stream = key;
		r->pending = none;
	}
	r->pending.segments++;
	r->pending.octets += octets;
	return 0;
}

/* Checks an STag on an SCTP stream of the recent association (RFC 5041 8.2). Returns
 * IW_XDP_SEEN_NO_SESSION or IW_XDP_SEEN_STAG_UNKNOWN; IW_XDP_SEEN_COUNT: it is valid there. */
__noinline int judge_stag(struct iw_xdp_recent *r, uint32_t stream, uint32_t stag)
{
	struct iw_xdp_stream_key on = { .stream = stream };
	struct iw_xdp_stag_key key = { .stag = stag };
	struct iw_xdp_home *session, *home;

	if (!r || (r->has_stag && r->stag == stag && r->stag_stream == stream))
		return IW_XDP_SEEN_COUNT;
	on.endpoint = key.endpoint = r->endpoint;
	on.tag = r->tag;
	session = bpf_map_lookup_elem(&sessions, &on);
	if (!session)
		return IW_XDP_SEEN_NO_SESSION;
	home = bpf_map_lookup_elem(&stags, &key);
	if (!home || home->pd != session->pd ||
	    (home->stream != 0 && home->stream != session->stream))
		return IW_XDP_SEEN_STAG_UNKNOWN;
	/* Not into the cache: the STag may expire before the next segment. */
	if (home->expires)
		return bpf_ktime_get_ns() < home->expires ? IW_XDP_SEEN_COUNT
							  : IW_XDP_SEEN_STAG_UNKNOWN;
	r->stag = stag;
	r->stag_stream = stream;
	r->has_stag = 1;
	return IW_XDP_SEEN_COUNT;
}

static __always_inline void look_up_stag(struct walk *w, const struct chunk *c)
{
	struct occasion o = {
		.kind = IW_XDP_EV_STAG,
		.endpoint = w->r->endpoint,
		.tag = w->r->tag,
		.stag = bpf_ntohl(c->stag),
		.stream = bpf_ntohs(c->stream),
		.from = w->at.off,
	};
	int seen = judge_stag(w->r, o.stream, o.stag);

	if (seen == IW_XDP_SEEN_NO_SESSION)
		w->n->seen[IW_XDP_SEEN_NO_SESSION]++;
	if (seen != IW_XDP_SEEN_STAG_UNKNOWN)
		return;
	w->unknown++;
	sample(w->at.ctx, w->n, ++w->n->seen[IW_XDP_SEEN_STAG_UNKNOWN], &o);
}

/* user: octets of user data in a DATA chunk with a segment. */
static __always_inline void look_at_segment(struct walk *w, const struct chunk *c, uint32_t user)
{
	bool tagged = c->ddp & 0x80;
	uint32_t head = SSN_LEN + (tagged ? TAGGED_LEN : UNTAGGED_LEN);

	w->n->segments++;
	if (w->segments++ == 0)
		w->first = w->at.off;
	if ((c->flags & (DATA_B | DATA_E)) != (DATA_B | DATA_E)) {
		w->n->seen[IW_XDP_SEEN_DATA_PART]++;
		/* Only the first fragment has the DDP header. */
		if (!(c->flags & DATA_B))
			return;
	}
	if (user < SSN_LEN + 1 || user < head) {
		w->n->seen[IW_XDP_SEEN_DDP_SHORT]++;
		return;
	}
	w->n->tl[c->ddp >> 6]++;
	w->n->opcode[c->rdmap & 0xf]++;
	if (tagged)
		w->n->tagged_octets += user - head;
	else
		w->n->untagged_octets += user - head;
	if (!w->r->known)
		return;
	count_stream(w->r, bpf_ntohs(c->stream), user - head);
	if (tagged)
		look_up_stag(w, c);
}

static __always_inline void look_at_data(struct walk *w, const struct chunk *c, uint32_t len)
{
	uint32_t ppid = bpf_ntohl(c->ppid);

	w->n->data++;
	if (len < __builtin_offsetof(struct chunk, ddp_ssn)) {
		w->n->seen[IW_XDP_SEEN_DATA_SHORT]++;
		w->flags |= IW_XDP_META_MIXED;
		return;
	}
	if (ppid == w->r->ppid_segment) {
		look_at_segment(w, c, len - __builtin_offsetof(struct chunk, ddp_ssn));
		return;
	}
	w->flags |= IW_XDP_META_MIXED;
	if (ppid == w->r->ppid_control)
		w->n->controls++;
	else
		w->n->foreign++;
}

/* Examines one chunk, for bpf_loop. Returns 1 to end the loop. */
static long next_chunk(uint32_t index, void *ctx)
{
	struct walk *w = ctx;
	struct chunk c = { 0 };
	uint32_t len, left = w->at.left;

	if (left == 0)
		return 1;
	/* This may read octets after the chunk, or after the packet: len limits their use. */
	if (left < sizeof(c) || !LOAD(w->at.ctx, w->at.off, &c)) {
		uint32_t n = left < sizeof(c) ? left : sizeof(c);

		if (bpf_xdp_load_bytes(w->at.ctx, w->at.off, &c, one_to(sizeof(c), n)) < 0)
			n = 0;
		if (n < 4) {
			w->bad = 1;
			return 1;
		}
	}
	len = bpf_ntohs(c.len);
	if (len < 4 || len > left) {
		w->bad = 1;
		return 1;
	}
	w->chunks++;
	w->n->chunks++;
	if (c.type == CHUNK_DATA)
		look_at_data(w, &c, len);
	else
		w->flags |= IW_XDP_META_MIXED;
	/* The last chunk may lack its padding. RFC 9260 3.2 requires it, but the engine decides
	 * whether to accept the packet. */
	len = (len + 3) & ~3u;
	if (len > left)
		len = left;
	skip(&w->at, len);
	return 0;
}

static __always_inline void walk_chunks(struct walk *w, const struct found *f)
{
	struct occasion o = {
		.kind = IW_XDP_EV_CHUNK,
		.endpoint = w->r->endpoint,
		.tag = w->r->tag,
		.from = f->ip,
	};

	bpf_loop(CHUNKS_MAX, next_chunk, w, 0);
	if (w->bad)
		sample(w->at.ctx, w->n, ++w->n->seen[IW_XDP_SEEN_CHUNK_BAD], &o);
	else if (w->at.left > 0)
		w->n->seen[IW_XDP_SEEN_CHUNK_MORE]++;
	else
		w->flags |= IW_XDP_META_CHUNKS;
}

/* --- the program ------------------------------------------------------------------------------ */

static __always_inline void write_meta(struct xdp_md *ctx, struct iw_xdp_counters *n,
				       const struct found *f, const struct walk *w)
{
	struct iw_xdp_meta *m;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*m)) < 0) {
		n->seen[IW_XDP_SEEN_NO_META]++;
		return;
	}
	m = (void *)(long)ctx->data_meta;
	if ((void *)(m + 1) > (void *)(long)ctx->data)
		return;
	m->magic = IW_XDP_META_MAGIC;
	m->ip = f->ip;
	m->sctp = f->sctp;
	m->sctp_len = f->sctp_len;
	m->flags = f->flags | w->flags | (w->r->known ? IW_XDP_META_ASSOC : 0);
	m->chunks = w->chunks;
	m->segments = w->segments;
	m->first = w->first;
	m->unknown = w->unknown;
	m->endpoint = w->r->endpoint;
	m->tag = w->r->tag;
}

static __always_inline int steer_to(struct xdp_md *ctx, struct iw_xdp_counters *n,
				    const struct found *f, struct iw_xdp_recent *r)
{
	struct walk w = {
		.at = { ctx, f->sctp + sizeof(struct sctp), f->sctp_len - sizeof(struct sctp) },
		.n = n,
		.r = r,
	};
	uint32_t slot = IW_XDP_XSK(ctx->rx_queue_index, r->worker);
	uint32_t len = bpf_xdp_get_buff_len(ctx);

	if (!bpf_map_lookup_elem(&xsks, &slot)) {
		n->passed[IW_XDP_PASS_SOCKET]++;
		return XDP_PASS;
	}
	if (!r->known)
		n->seen[IW_XDP_SEEN_NO_ASSOC]++;
	if (len > (uint32_t)((long)ctx->data_end - (long)ctx->data))
		n->seen[IW_XDP_SEEN_MULTI_BUFFER]++;
	n->packets++;
	n->octets += len;
	walk_chunks(&w, f);
	write_meta(ctx, n, f, &w);
	return bpf_redirect_map(&xsks, slot, XDP_PASS);
}

/* --- live frames: packets to send ------------------------------------------------------------- */

/* True if the frame is a live frame that begins with an order, copied to *o. */
static __always_inline bool has_order(struct xdp_md *ctx, struct iw_xdp_order *o)
{
	struct iw_xdp_order *at = (void *)(long)ctx->data;

	if (ctx->ingress_ifindex != IW_XDP_LIVE_INGRESS)
		return false;
	if ((void *)(at + 1) > (void *)(long)ctx->data_end || at->type != IW_XDP_LIVE_TYPE)
		return false;
	*o = *at;
	return true;
}

/* Replaces the live frame, with its order, by the frame of that packet. */
static __always_inline bool write_frame(struct xdp_md *ctx, const struct iw_xdp_live *p)
{
	uint32_t at, len = p->len;
	int grows;

	if (len < ETHER_LEN || len > IW_XDP_LIVE_FRAME)
		return false;
	if (bpf_xdp_adjust_head(ctx, IW_XDP_LIVE_ORDER) < 0)
		return false;
	grows = (int)len - (int)(ctx->data_end - ctx->data);
	if (grows && bpf_xdp_adjust_tail(ctx, grows) < 0)
		return false;
	/* Read here: the verifier of Linux 6.1 forgets the value's range when it passes through the
	 * stack. */
	at = *(const volatile uint32_t *)&p->at;
	if (at > IW_XDP_LIVE_HEAD)
		return false;
	return bpf_xdp_store_bytes(ctx, 0, (void *)(p->octets + at), len) == 0;
}

/* Sends the next packet of a worker. Returns the verdict of the program; -1: there is no such
 * worker, so the frame is treated as a received one. */
static __always_inline int send_next(struct xdp_md *ctx, const struct iw_xdp_order *o)
{
	uint32_t zero = 0, next;
	void *packets = bpf_map_lookup_elem(&live, &o->worker);
	struct iw_xdp_live *common, *p;

	if (!packets)
		return -1;
	common = bpf_map_lookup_elem(packets, &zero);
	if (!common)
		return -1;
	next = common->next;
	p = bpf_map_lookup_elem(packets, &next);
	if (!p || next > common->last || !write_frame(ctx, p)) {
		common->bad++;
		return XDP_DROP;
	}
	common->next = next + 1;
	return bpf_redirect(common->ifindex, 0);
}

SEC("xdp.frags")
int iw_steer_5(struct xdp_md *ctx)
{
	struct iw_xdp_order o;
	uint32_t zero = 0;
	struct iw_xdp_counters *n = bpf_map_lookup_elem(&counters, &zero);
	struct iw_xdp_recent *r = bpf_map_lookup_elem(&recent, &zero);
	uint64_t *now = bpf_map_lookup_elem(&generation, &zero);
	struct cursor c = { ctx, 0, bpf_xdp_get_buff_len(ctx) };
	struct found f = { 0 };
	struct sctp h;
	int pass;

	if (has_order(ctx, &o)) {
		int verdict = send_next(ctx, &o);

		if (verdict >= 0)
			return verdict;
	}
	if (!n || !r || !now)
		return XDP_PASS;
	pass = parse_below(&c, &f, &h);
	if (pass == OURS) {
		uint32_t tag = bpf_ntohl(h.tag);
		uint64_t generation_now = *now;

		if (is_recent(r, &f.to, tag, generation_now) ||
		    look_up(r, &f.to, tag, generation_now))
			return steer_to(ctx, n, &f, r);
		pass = IW_XDP_PASS_ENDPOINT;
	}
	if (pass >= 0 && pass < IW_XDP_PASS_COUNT) {
		uint64_t count = ++n->passed[pass];
		struct occasion o = { .kind = IW_XDP_EV_FRAGMENT, .from = f.ip };

		if (pass == IW_XDP_PASS_FRAGMENT)
			sample(ctx, n, count, &o);
	}
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";

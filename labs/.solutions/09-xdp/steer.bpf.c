/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The steering program.
 *
 * A cursor moves from header to header. `left` is what the headers so far say about the end of the
 * packet; it is always within the frame, but the verifier cannot follow that arithmetic. So at()
 * compares with data_end again, in the form that the verifier knows: a pointer into the packet plus
 * a constant.
 *
 * Each layer's function moves the cursor over its header and returns OK, or the counter of a frame
 * that goes to the kernel.
 */
#include "steer.h"

struct streams_map streams SEC(".maps");
struct xsks_map xsks SEC(".maps");
struct counters_map counters SEC(".maps");

#define OK COUNTERS

/* The largest offset of a header. The verifier accepts offsets below 65,536. */
#define OFFSET_MAX 0x3fff

struct cursor {
	struct xdp_md *ctx;
	__u32 off;  /* octets from the begin of the frame */
	__u32 left; /* octets from there to the end of the packet */
};

/*
 * Returns the address of the next len octets, or NULL if the packet ends before. The mask changes
 * nothing after the comparison with OFFSET_MAX. But the compiler may keep the offset that was
 * compared in another register than the one that is added, and then the verifier does not know a
 * limit of the latter. The asm statement hides the value, so that the compiler cannot omit the mask.
 */
static __always_inline void *at(const struct cursor *c, __u32 len)
{
	void *data = (void *)(long)c->ctx->data, *end = (void *)(long)c->ctx->data_end;
	__u32 off = c->off;

	if (c->left < len || off > OFFSET_MAX)
		return NULL;
	asm volatile("" : "+r"(off));
	data += off & OFFSET_MAX;
	return data + len <= end ? data : NULL;
}

static __always_inline void skip(struct cursor *c, __u32 len)
{
	c->off += len;
	c->left -= len;
}

static __always_inline int count(__u32 kind)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &kind);

	if (n)
		++*n;
	return XDP_PASS;
}

/* *type: what follows the tags. */
static __always_inline __u32 parse_ethernet(struct cursor *c, __u16 *type)
{
	struct ethernet_header *h = at(c, sizeof(*h));

	if (!h)
		return PASSED_MALFORMED;
	*type = bpf_ntohs(h->type);
	skip(c, sizeof(*h));
	for (__u32 i = 0; *type == TYPE_VLAN || *type == TYPE_SERVICE; i++) {
		struct vlan_tag *tag;

		if (i == VLANS_MAX)
			return PASSED_VLANS;
		tag = at(c, sizeof(*tag));
		if (!tag)
			return PASSED_MALFORMED;
		*type = bpf_ntohs(tag->type);
		skip(c, sizeof(*tag));
	}
	return OK;
}

static __always_inline __u32 parse_ipv4(struct cursor *c, __u8 *protocol)
{
	struct ipv4_header *h = at(c, sizeof(*h));
	__u32 len, total;

	if (!h)
		return PASSED_MALFORMED;
	len = (h->version_ihl & 0xf) * 4;
	total = bpf_ntohs(h->total);
	if (h->version_ihl >> 4 != 4 || len < sizeof(*h) || total < len || total > c->left)
		return PASSED_MALFORMED;
	/* MF, or an offset. Only the first fragment has an SCTP header, and it is not complete. */
	if (bpf_ntohs(h->fragment) & 0x3fff)
		return PASSED_FRAGMENT;
	*protocol = h->protocol;
	/* The packet may end before the frame, which Ethernet pads to 60 octets. */
	c->left = total;
	skip(c, len);
	return OK;
}

/* Skips the extension headers of IPv6. *next: initially that of the IPv6 header. */
static __always_inline __u32 skip_extensions(struct cursor *c, __u8 *next)
{
	for (__u32 i = 0;
	     *next == NEXT_HOP_BY_HOP || *next == NEXT_DESTINATION || *next == NEXT_FRAGMENT; i++) {
		struct extension_header *h;
		__u32 len;

		if (i == EXTENSIONS_MAX)
			return PASSED_EXTENSIONS;
		h = at(c, sizeof(*h));
		if (!h)
			return PASSED_MALFORMED;
		len = (h->len + 1) * 8;
		if (*next == NEXT_FRAGMENT) {
			/* Without offset and M it is a whole packet (RFC 6946). */
			if (bpf_ntohs(h->fragment) & 0xfff9)
				return PASSED_FRAGMENT;
			len = sizeof(*h);
		}
		if (len > c->left)
			return PASSED_MALFORMED;
		*next = h->next;
		skip(c, len);
	}
	return OK;
}

static __always_inline __u32 parse_ipv6(struct cursor *c, __u8 *protocol)
{
	struct ipv6_header *h = at(c, sizeof(*h));
	__u32 payload;

	if (!h)
		return PASSED_MALFORMED;
	payload = bpf_ntohs(h->payload);
	if (bpf_ntohl(h->version) >> 28 != 6 || payload > c->left - sizeof(*h))
		return PASSED_MALFORMED;
	*protocol = h->next;
	skip(c, sizeof(*h));
	c->left = payload;
	return skip_extensions(c, protocol);
}

static __always_inline __u32 parse_udp(struct cursor *c)
{
	struct udp_header *h = at(c, sizeof(*h));
	__u32 len;

	if (!h)
		return PASSED_MALFORMED;
	if (h->destination != bpf_htons(SCTP_UDP_PORT))
		return PASSED_NOT_SCTP;
	len = bpf_ntohs(h->len);
	if (len < sizeof(*h) || len > c->left)
		return PASSED_MALFORMED;
	c->left = len;
	skip(c, sizeof(*h));
	return OK;
}

/* Moves the cursor from the begin of the frame to the SCTP packet. */
static __always_inline __u32 find_sctp(struct cursor *c)
{
	__u8 protocol = 0;
	__u16 type = 0;
	__u32 why = parse_ethernet(c, &type);

	if (why != OK)
		return why;
	if (type == TYPE_IPV4)
		why = parse_ipv4(c, &protocol);
	else if (type == TYPE_IPV6)
		why = parse_ipv6(c, &protocol);
	else
		why = PASSED_NOT_IP;
	if (why != OK || protocol == PROTOCOL_SCTP)
		return why;
	return protocol == PROTOCOL_UDP ? parse_udp(c) : PASSED_NOT_SCTP;
}

/* Moves the cursor to the first DATA chunk; *len is its length. */
static __always_inline __u32 find_data(struct cursor *c, __u32 *len)
{
	for (int i = 0; i < CHUNKS_MAX && c->left > 0; i++) {
		struct chunk_header *h = at(c, sizeof(*h));
		__u32 padded;

		if (!h)
			return PASSED_MALFORMED;
		*len = bpf_ntohs(h->len);
		if (*len < sizeof(*h) || *len > c->left)
			return PASSED_MALFORMED;
		if (h->type == CHUNK_DATA)
			return OK;
		/* The padding of the last chunk may be missing. */
		padded = (*len + 3) & ~3u;
		skip(c, padded < c->left ? padded : c->left);
	}
	return PASSED_NO_DATA;
}

/* The counter for a DATA chunk of len octets with a DDP segment. */
static __always_inline __u32 kind_of(struct cursor *c, __u8 flags, __u32 len)
{
	struct ddp_start *ddp;

	if (!(flags & DATA_BEGINNING) || len < sizeof(struct data_chunk) + sizeof(*ddp))
		return REDIRECTED_PART;
	skip(c, sizeof(struct data_chunk));
	ddp = at(c, sizeof(*ddp));
	if (!ddp)
		return REDIRECTED_PART;
	return ddp->control & DDP_TAGGED ? REDIRECTED_TAGGED : REDIRECTED_UNTAGGED;
}

static __always_inline int redirect(struct xdp_md *ctx, __u32 slot, __u32 kind)
{
	__u32 entry = ctx->rx_queue_index * SLOTS + slot;

	/* Otherwise the entry would be one of another queue. */
	if (slot >= SLOTS || ctx->rx_queue_index >= QUEUES || !bpf_map_lookup_elem(&xsks, &entry))
		return count(PASSED_NO_SOCKET);
	count(kind);
	return bpf_redirect_map(&xsks, entry, XDP_PASS);
}

SEC("xdp")
int steer(struct xdp_md *ctx)
{
	struct cursor c = { .ctx = ctx, .left = bpf_xdp_get_buff_len(ctx) };
	struct stream_key key = { 0 };
	struct sctp_header *sctp;
	struct data_chunk *data;
	__u32 why = find_sctp(&c), len = 0, *slot;

	if (why != OK)
		return count(why);
	sctp = at(&c, sizeof(*sctp));
	if (!sctp)
		return count(PASSED_MALFORMED);
	key.tag = bpf_ntohl(sctp->tag);
	key.port = bpf_ntohs(sctp->destination);
	skip(&c, sizeof(*sctp));
	why = find_data(&c, &len);
	if (why != OK)
		return count(why);
	data = at(&c, sizeof(*data));
	if (!data || len < sizeof(*data))
		return count(PASSED_MALFORMED);
	if (data->ppid != bpf_htonl(PPID_SEGMENT))
		return count(PASSED_NOT_SEGMENT);
	key.stream = bpf_ntohs(data->stream);
	slot = bpf_map_lookup_elem(&streams, &key);
	if (!slot)
		return count(PASSED_UNKNOWN);
	return redirect(ctx, *slot, kind_of(&c, data->chunk.flags, len));
}

char _license[] SEC("license") = "Dual BSD/GPL";

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The state of one interface as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/human.h"
#include "cli/table.h"
#include "ddp-xdp/internal.h"
#include "wire/ddp.h"

#define STREAMS_MAX 64 /* streams or flows in text; JSON has all */

/* clang-format off */
#define IW_X_(name, key, text) text,
static const char *const pass_texts[] = { IW_XDP_PASS_LIST(IW_X_) };
static const char *const seen_texts[] = { IW_XDP_SEEN_LIST(IW_X_) };
#undef IW_X_
/* clang-format on */

static void print_program(const struct iw_status *l)
{
	if (l->a.program == 0) {
		printf("%s: no XDP program\n", l->name);
		return;
	}
	if (l->a.owner == IW_XDP_UNKNOWN) {
		printf("%s: unknown, %s mode, program %u, which this user may not look at: be root for its name and counters\n",
		       l->name, l->a.native ? "native" : "generic", l->a.program);
		return;
	}
	printf("%s: %s (%s), %s mode, program %u", l->name, iw_attach_owner_name(l->a.owner),
	       l->a.name, l->a.native ? "native" : "generic", l->a.program);
	if (l->holder_pid)
		printf(", kept by process %d (%s)\n", l->holder_pid, l->holder_name);
	else if (l->pinned == IW_XDP_PINNED)
		printf(", pinned in %s\n", l->pins);
	else
		printf(", %s\n", l->a.link ? "kept by a link" : "kept until it is detached");
}

static int print_socket(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_sock *s = value;
	uint32_t slot;

	(void)ctx;
	memcpy(&slot, key, sizeof(slot));
	printf("  socket of process %u: queue %u, worker %u, %s%s%s; %" PRIu64 " received, %" PRIu64
	       " sent (%" PRIu64 " by the program); dropped: %" PRIu64 " ring full, %" PRIu64
	       " no frame, %" PRIu64 " other\n",
	       s->pid, slot / IW_XDP_WORKERS, slot % IW_XDP_WORKERS,
	       s->flags & IW_XDP_SOCK_ZEROCOPY ? "zero-copy" : "copy",
	       s->flags & IW_XDP_SOCK_SG ? ", multi-buffer" : "",
	       s->flags & IW_XDP_SOCK_BUSY_POLL ? ", busy-poll" : "", s->rx, s->tx, s->live,
	       s->rx_ring_full, s->rx_fill_empty, s->rx_dropped);
	return 0;
}

static int print_endpoint(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_endpoint_key *k = key;
	char text[IW_ADDR_TEXT];

	(void)ctx;
	(void)value;
	printf("  endpoint %s, SCTP port %u", iw_status_addr(text, k->addr),
	       iw_status_port(&k->sctp_port));
	if (k->udp_port)
		printf(" in UDP port %u", iw_status_port(&k->udp_port));
	putchar('\n');
	return 0;
}

static int print_stream(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_stream_key *k = key;
	const struct iw_xdp_stream *s = value;
	unsigned *n = ctx;
	char size[IW_HUMAN_TEXT];

	if (++*n > STREAMS_MAX)
		return 1;
	printf("  association %08x, stream %u: %" PRIu64 " segments, %s\n", k->tag, k->stream,
	       s->segments, iw_human_size(size, s->octets));
	return 0;
}

/* Adds a row for each counter that is not zero: its value, where, and its text. */
static void add_counts(struct iw_table *t, const char *const *texts, const uint64_t *value,
		       size_t n, const char *where)
{
	for (size_t i = 0; i < n; i++) {
		if (value[i] == 0)
			continue;
		iw_table_addf(t, "  %" PRIu64, value[i]);
		iw_table_addf(t, "%s%s", where, texts[i]);
	}
}

static int print_steer(const struct iw_status *l, struct iw_fault *why)
{
	const struct iw_xdp_counters *c = &l->count;
	char size[IW_HUMAN_TEXT], rate[IW_HUMAN_TEXT];
	struct iw_table t;
	unsigned n = 0;
	int err;

	(void)iw_steer_each(l->steer, IW_STEER_ENDPOINTS, print_endpoint, NULL);
	(void)iw_steer_each(l->steer, IW_STEER_SOCKETS, print_socket, NULL);
	printf("  %" PRIu64 " associations, %" PRIu64 " sessions on them, %" PRIu64
	       " STags; steered %" PRIu64 " packets, %s",
	       iw_status_count(l, IW_STEER_ASSOCS), iw_status_count(l, IW_STEER_SESSIONS),
	       iw_status_count(l, IW_STEER_STAGS), c->packets, iw_human_size(size, c->octets));
	if (l->at_before)
		printf(" (%" PRIu64 "/s, %s)", iw_status_rate(l, c->packets - l->before.packets),
		       iw_human_rate(rate, 8 * iw_status_rate(l, c->octets - l->before.octets)));
	if (l->a.runs)
		printf("; the program takes %" PRIu64 " ns per packet", l->a.run_ns / l->a.runs);
	putchar('\n');
	iw_table_init(&t, "rl");
	for (uint8_t i = 0; i < 16; i++) {
		const char *name = iw_opcode_name(i);

		add_counts(&t, &name, &c->opcode[i], 1, "segments of ");
	}
	add_counts(&t, seen_texts, c->seen, IW_XDP_SEEN_COUNT, "passed to sockets: ");
	add_counts(&t, pass_texts, c->passed, IW_XDP_PASS_COUNT, "to the kernel: ");
	err = iw_table_write(&t, stdout, 0);
	iw_table_fini(&t);
	(void)iw_steer_each(l->steer, IW_STEER_STREAMS, print_stream, &n);
	return err ? iw_fail(why, err, "out of memory") : 0;
}

static int print_flow(void *ctx, const struct iw_xdp_flow_key *k, const struct iw_xdp_flow *f)
{
	char a[IW_ADDR_TEXT], b[IW_ADDR_TEXT];
	unsigned *n = ctx;

	if (++*n > STREAMS_MAX)
		return 1;
	printf("  %s port %u to %s port %u: %" PRIu64 " of %" PRIu64
	       " segments begin with one of %" PRIu64 " FPDUs%s%s\n",
	       iw_status_addr(a, k->src), iw_status_port(&k->sport), iw_status_addr(b, k->dst),
	       iw_status_port(&k->dport), f->aligned, f->followed, f->fpdus,
	       f->markers == IW_XDP_MARKERS ? ", with markers" : "",
	       f->lost ? "; no longer followed" : "");
	return 0;
}

static void print_mpa(const struct iw_status *l)
{
	const struct iw_xdp_mpa *m = &l->mpa;
	unsigned n = 0;

	printf("  %" PRIu64 " flows of MPA; %" PRIu64 " FPDUs; %" PRIu64 " of %" PRIu64
	       " TCP segments begin with one (%.1f %%)\n",
	       m->flows, m->fpdus, m->aligned, m->followed, 100 * iw_status_aligned(m));
	if (m->holes || m->resent || m->lost)
		printf("  %" PRIu64 " holes, %" PRIu64 " retransmitted segments, %" PRIu64
		       " flows no longer followed\n",
		       m->holes, m->resent, m->lost);
	(void)iw_observe_each(l->observe, print_flow, &n);
}

int iw_status_print(const struct iw_status *l, struct iw_fault *why)
{
	int err = 0;

	print_program(l);
	if (l->pinned == IW_XDP_STALE)
		printf("  %s/%s: leftover pin of a link without a program; remove it with `ddp-xdp detach -I %s "
		       "--force-clean`\n",
		       l->pins, l->name, l->name);
	if (l->dispatchers_left)
		printf("  /sys/fs/bpf/xdp: leftovers of former dispatchers (%u); remove them with "
		       "`ddp-xdp detach -I %s --force-clean`\n",
		       l->dispatchers_left, l->name);
	if (l->steer)
		err = print_steer(l, why);
	if (l->observe)
		print_mpa(l);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The carrier of Ethernet frames: forwards them between two interfaces. The ends are other
 * interfaces, each joined to one of these two, by a veth pair for example; this host has no address
 * on that network.
 *
 * The ends may use checksum and segmentation offloads, and the kernel may join frames that arrive.
 * Rules, links and captures are about frames as they are on a wire, so such data is completed and
 * divided first. A direction that has none of these passes it on as it is: fewer, larger pieces.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/confine.h"
#include "cli/log.h"
#include "cli/signals.h"
#include "ddp-impair/impair.h"
#include "ddp-impair/direction.h"
#include "ddp-impair/packets/early.h"
#include "ddp-impair/packets/offload.h"
#include "ddp-impair/packets/table.h"
#include "os/os.h"
#include "util/num.h"

enum {
	BATCH = 64,
	TAG = 4, /* a VLAN tag */
	/* An IP packet of the greatest length, as segmentation offload sends it. */
	FRAME_MAX = 14 + 2 * TAG + 65535,
	SOCKET_BUFFER = 32 << 20,
};

/* One interface. A frame that arrives here leaves at the other one, through this direction. */
struct side {
	const char *name;
	int fd;
	struct iw_relay_direction direction;
	bool direct;        /* what arrives is sent as it is */
	uint64_t offloaded; /* dropped: it cannot be divided into frames */
	uint64_t overrun;   /* lost before this program received them */
	uint64_t refused;   /* rejected by the other interface */
};

struct frames {
	struct iw_relay *r;
	struct iw_flows *flows; /* NULL: there are no rules */
	struct side side[2];
};

/* --- frames in and out ------------------------------------------------------------------------ */

static void set_buffers(int fd)
{
	int size = SOCKET_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int open_socket(const char *name, struct iw_fault *why)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq all = { .mr_type = PACKET_MR_PROMISC };
	int fd, on = 1;

	at.sll_ifindex = all.mr_ifindex = (int)if_nametoindex(name);
	if (at.sll_ifindex == 0)
		return iw_os_fail(why, errno, "interface %s", name);
	/* The protocol is 0, so that the socket receives nothing until it is bound to its
	 * interface. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return iw_os_fail(why, errno, "--between: packet socket (needs CAP_NET_RAW)");
	/* Do not receive the frames that this program sends. */
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		iw_os_fail(why, errno, "packet socket on %s", name);
		close(fd);
		return why->err;
	}
	set_buffers(fd);
	return fd;
}

/*
 * What arrived in one call: the header of PACKET_VNET_HDR, space for a VLAN tag, and the frame. One
 * octet more than a frame: a read that fills it is too long.
 */
struct piece {
	struct virtio_net_hdr vnet;
	uint8_t *data; /* the frame */
	size_t len;
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control;
	uint8_t buffer[TAG + FRAME_MAX + 1];
};

static struct piece pieces[BATCH];

static void take_frame(struct frames *f, struct side *s, uint8_t *frame, size_t len, uint64_t now)
{
	struct iw_fate fate;
	uint64_t flow;

	if (!f->flows) {
		iw_link_push(s->direction.link, frame, len, now);
		return;
	}
	flow = iw_flows_frame(f->flows, frame, len, now, &fate);
	iw_reorder_push(&s->direction.order, flow, frame, fate.len, &fate, now);
}

/* Linux 6.2 and later. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

static enum iw_offload_kind offload_kind(unsigned gso_type)
{
	switch (gso_type & ~(unsigned)VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_NONE:
		return IW_OFFLOAD_NONE;
	case VIRTIO_NET_HDR_GSO_TCPV4:
	case VIRTIO_NET_HDR_GSO_TCPV6:
		return IW_OFFLOAD_TCP;
	case VIRTIO_NET_HDR_GSO_UDP_L4:
		return IW_OFFLOAD_UDP;
	}
	return IW_OFFLOAD_OTHER;
}

static struct iw_offload_work work_of(const struct virtio_net_hdr *h)
{
	return (struct iw_offload_work){ .kind = offload_kind(h->gso_type),
					 .size = h->gso_size,
					 .ecn = h->gso_type & VIRTIO_NET_HDR_GSO_ECN,
					 .checksum = h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM,
					 .start = h->csum_start,
					 .field = h->csum_offset };
}

static void take_frames(struct frames *f, struct side *s, struct piece *p, uint64_t now)
{
	static uint8_t room[FRAME_MAX];
	const struct iw_offload_work work = work_of(&p->vnet);
	struct iw_offload offload;
	uint8_t *frame;
	size_t len;

	if (!iw_offload_begin(&offload, &work, p->data, p->len)) {
		s->offloaded++;
		return;
	}
	while ((frame = iw_offload_next(&offload, room, &len)))
		take_frame(f, s, frame, len, now);
}

/* The kernel removes the VLAN tag of a frame that arrives. */
static void restore_tag(struct piece *p, struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	struct tpacket_auxdata aux;

	if (!c || c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
		return;
	memcpy(&aux, CMSG_DATA(c), sizeof(aux));
	if (!(aux.tp_status & TP_STATUS_VLAN_VALID) || p->len < 2 * ETH_ALEN)
		return;
	p->data -= TAG;
	p->len += TAG;
	memmove(p->data, p->data + TAG, 2 * ETH_ALEN);
	iw_put_be16(p->data + 2 * ETH_ALEN,
		    aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : ETH_P_8021Q);
	iw_put_be16(p->data + 2 * ETH_ALEN + 2, aux.tp_vlan_tci);
	p->vnet.csum_start += TAG;
	p->vnet.hdr_len += TAG;
}

/* The arguments of one sendmmsg(). */
struct outgoing {
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH][2];
	int n;
};

static void add(struct outgoing *out, const struct virtio_net_hdr *vnet, const uint8_t *data,
		size_t len)
{
	struct iovec *iov = out->iov[out->n];

	iov[0] = (struct iovec){ (void *)(uintptr_t)vnet, sizeof(*vnet) };
	iov[1] = (struct iovec){ (void *)(uintptr_t)data, len };
	out->msg[out->n++].msg_hdr = (struct msghdr){ .msg_iov = iov, .msg_iovlen = 2 };
}

/* One that the interface rejects is lost, as on a wire. */
static void send_all(struct side *s, int fd, struct outgoing *out)
{
	int sent;

	for (int done = 0; done < out->n; done += sent) {
		sent = sendmmsg(fd, out->msg + done, (unsigned)(out->n - done), 0);
		if (sent <= 0) {
			s->refused++;
			sent = 1;
		}
	}
	out->n = 0;
}

static void pass_on(struct side *s, struct outgoing *out, const struct piece *p)
{
	iw_link_pass(s->direction.link, p->len);
	add(out, &p->vnet, p->data, p->len);
}

/* Returns how many pieces arrived, or -1. */
static int receive(struct side *s, struct mmsghdr msg[static BATCH])
{
	struct iovec iov[BATCH][2];

	for (int i = 0; i < BATCH; i++) {
		struct piece *p = &pieces[i];

		iov[i][0] = (struct iovec){ &p->vnet, sizeof(p->vnet) };
		iov[i][1] = (struct iovec){ p->buffer + TAG, sizeof(p->buffer) - TAG };
		msg[i].msg_hdr = (struct msghdr){ .msg_iov = iov[i],
						  .msg_iovlen = 2,
						  .msg_control = &p->control,
						  .msg_controllen = sizeof(p->control) };
	}
	return recvmmsg(s->fd, msg, BATCH, MSG_DONTWAIT, NULL);
}

/* False: larger than a frame can be. */
static bool open_piece(struct piece *p, struct mmsghdr *msg)
{
	p->data = p->buffer + TAG;
	p->len = msg->msg_len - sizeof(p->vnet);
	if (p->len > FRAME_MAX - TAG)
		return false;
	restore_tag(p, &msg->msg_hdr);
	return true;
}

/*
 * A read reports once that an interface has gone down; frames arrive again when it is up. An
 * interface that was removed has no index any more, and never returns.
 */
static bool only_down(const struct side *s, int errnum)
{
	struct sockaddr_ll at = { 0 };
	socklen_t len = sizeof(at);

	return errnum == ENETDOWN && getsockname(s->fd, (struct sockaddr *)&at, &len) == 0 &&
	       at.sll_ifindex > 0;
}

static int take_in(struct frames *f, struct side *s, const struct side *other, struct iw_fault *why)
{
	struct mmsghdr msg[BATCH];
	struct outgoing out;
	int n = receive(s, msg);
	uint64_t now = iw_os_now();

	out.n = 0;
	/* EINVAL: an offload that PACKET_VNET_HDR cannot describe. */
	if (n < 0 && errno == EINVAL)
		s->offloaded++;
	else if (n < 0 && errno != EAGAIN && errno != EINTR && !only_down(s, errno))
		return iw_os_fail(why, errno, "read from %s", s->name);
	for (int i = 0; i < n; i++)
		if (!open_piece(&pieces[i], &msg[i]))
			s->offloaded++;
		else if (s->direct)
			pass_on(s, &out, &pieces[i]);
		else
			take_frames(f, s, &pieces[i], now);
	send_all(s, other->fd, &out);
	return 0;
}

/* Sends the frames that are due on the other side. */
static void give_out(struct frames *f, struct side *s, const struct side *other)
{
	static const struct virtio_net_hdr complete;
	struct iw_link_frame *frames[BATCH];
	struct outgoing out;
	uint64_t now = iw_os_now();
	int n;

	iw_reorder_tick(&s->direction.order, now);
	do {
		out.n = 0;
		for (n = 0; n < BATCH && (frames[n] = iw_link_pop(s->direction.link, now)); n++)
			add(&out, &complete, frames[n]->data, frames[n]->len);
		send_all(s, other->fd, &out);
		for (int i = 0; i < n; i++) {
			if (f->r->capture)
				iw_relay_capture_frame(f->r->capture, frames[i]->data,
						       frames[i]->len);
			iw_link_put(s->direction.link, frames[i]);
		}
	} while (n == BATCH);
}

static int wait_for(const struct frames *f, struct iw_fault *why)
{
	const struct side *side = f->side;
	struct pollfd fds[] = { { .fd = side[0].fd, .events = POLLIN },
				{ .fd = side[1].fd, .events = POLLIN },
				{ .fd = iw_signals_fd(), .events = POLLIN } };
	uint64_t at = IW_MIN(f->r->end_ns, IW_MIN(iw_relay_direction_deadline(&side[0].direction),
						  iw_relay_direction_deadline(&side[1].direction)));
	uint64_t now = iw_os_now(), left = at > now ? at - now : 0;
	struct timespec time = { (time_t)(left / IW_SEC(1)), (long)(left % IW_SEC(1)) };

	if (ppoll(fds, IW_ARRAY_LEN(fds), at == IW_TIME_NEVER ? NULL : &time, NULL) < 0 &&
	    errno != EINTR)
		return iw_os_fail(why, errno, "poll");
	return 0;
}

static int relay(struct frames *f, struct iw_fault *why)
{
	int err = 0;

	while (!err && !iw_signals_stop() && iw_os_now() < f->r->end_ns) {
		for (int i = 0; i < 2 && !err; i++)
			err = take_in(f, &f->side[i], &f->side[!i], why);
		for (int i = 0; i < 2; i++)
			give_out(f, &f->side[i], &f->side[!i]);
		if (!err)
			err = wait_for(f, why);
	}
	return err;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static int open_sides(struct frames *f, struct iw_fault *why)
{
	struct iw_flow_cfg cfg = iw_relay_flow_cfg(f->r);
	int err = 0;

	if (f->r->need_units && iw_flows_new(&f->flows, &cfg) < 0)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	for (int i = 0; i < 2 && !err; i++) {
		struct side *s = &f->side[i];

		s->name = f->r->between[i];
		s->direct = !f->flows && !f->r->linked[i] && !f->r->capture;
		s->fd = open_socket(s->name, why);
		err = s->fd < 0 ? why->err
				: iw_relay_direction_init(&s->direction, &f->r->link[i], why);
	}
	return err ? err : iw_confine_plain(f->r->cli, IW_CONFINE_LISTENS, why);
}

/* Returns whether the link did exactly what the options say. */
static bool was_sound(struct side *s)
{
	struct tpacket_stats kernel = { 0 };
	socklen_t len = sizeof(kernel);
	bool slow;

	if (getsockopt(s->fd, SOL_PACKET, PACKET_STATISTICS, &kernel, &len) == 0)
		s->overrun = kernel.tp_drops;
	slow = s->overrun || s->refused || iw_link_stat(s->direction.link)->hold_full;
	if (s->offloaded)
		iw_log_error("%s: dropped %" PRIu64
			     " times what an offload had joined and this program cannot divide,"
			     " such as a tunnel: switch offloads off at the other end of it"
			     " (ethtool -K IF tso off gso off tx off), and gro and lro of %s",
			     s->name, s->offloaded, s->name);
	if (slow)
		iw_log_error("%s: the relay did not keep up", s->name);
	return !s->offloaded && !slow;
}

/* Reports directions that were not read to their end. Returns whether there are none. */
static bool were_read(const struct frames *f)
{
	uint64_t unread = f->flows ? iw_flows_unread(f->flows) : 0;

	if (unread)
		iw_log_error("rules were not applied to the rest of %" PRIu64
			     " directions of TCP connections: more than %u segments or %u MiB came"
			     " before a missing segment, or memory ran out",
			     unread, IW_EARLY_SEGMENTS, IW_EARLY_OCTETS >> 20);
	return unread == 0;
}

static int report(struct frames *f)
{
	const struct iw_relay_count flows[] = {
		{ "connections", f->flows ? iw_flows_count(f->flows) : 0 },
		{ "missed", f->flows ? iw_flows_missed(f->flows) : 0 },
		{ "unread", f->flows ? iw_flows_unread(f->flows) : 0 },
		{ NULL, 0 },
	};
	bool sound = were_read(f);
	int err = 0;

	for (int i = 0; i < 2; i++)
		sound = was_sound(&f->side[i]) && sound;
	for (int i = 0; i < 2 && !err; i++) {
		struct side *s = &f->side[i];
		const struct iw_relay_count counts[] = { { "offloaded", s->offloaded },
							 { "overrun", s->overrun },
							 { "refused", s->refused },
							 { NULL, 0 } };

		err = iw_relay_report(f->r, &s->direction, s->name, f->side[!i].name, counts);
	}
	return err ? IW_EXIT_FAILED : iw_relay_report_end(f->r, flows, sound);
}

int iw_relay_frames(struct iw_relay *r)
{
	static struct frames f;
	struct iw_fault why = { 0 };
	int err, status;

	f = (struct frames){ .r = r, .side = { { .fd = -1 }, { .fd = -1 } } };
	/* Delays must be exact: the default timer slack would add 50 us. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL);
	err = open_sides(&f, &why);
	if (!err) {
		if (!r->cli->quiet)
			fprintf(stderr, "%s: relaying between %s and %s\n", r->cli->tool,
				r->between[0], r->between[1]);
		err = relay(&f, &why);
	}
	status = err ? iw_cli_fail(r->cli, &why) : report(&f);
	for (int i = 0; i < 2; i++) {
		iw_relay_direction_fini(&f.side[i].direction);
		if (f.side[i].fd >= 0)
			close(f.side[i].fd);
	}
	iw_flows_free(f.flows);
	return status;
}

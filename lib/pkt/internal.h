/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside pkt: what the carriers have in common. */
#ifndef IW_PKT_INTERNAL_H
#define IW_PKT_INTERNAL_H

#include "pkt/pkt.h"

#include <sys/socket.h>

/* Room for the control messages of one packet. */
#define IW_PKT_CONTROL 256

/*
 * Can this process use raw IP sockets for SCTP? transport ("raw", "xdp") begins the reason.
 * IW_E_NOTSUP: the kernel speaks SCTP itself, or has no raw sockets; IW_E_PERM: no CAP_NET_RAW;
 * IW_E_OS.
 */
IW_MUST_CHECK int iw_pkt_raw_check(const char *transport, struct iw_fault *why);
/* Binds a socket to an interface. IW_E_NOENT: no such interface; or another error of errno. */
IW_MUST_CHECK int iw_pkt_bind_interface(int fd, const char *interface, struct iw_fault *why);
/* Binds to an interface, sets buffers (as far as the system allows), asks for ICMP errors and for the
 * address that packets come to; DF on all that is sent. 0 or a negative error. */
IW_MUST_CHECK int iw_pkt_prepare(int fd, int family, const struct iw_pkt_cfg *cfg,
				 struct iw_fault *why);
/* Octets that may wait for us, as the system counts them. */
size_t iw_pkt_rcvbuf(int fd);
/* MTU of the way to cfg's peer; else of the interface that has the address, of the largest when it is
 * any. */
uint32_t iw_pkt_mtu(const struct iw_pkt_cfg *cfg);
/* Errors of earlier packets that a send reports in its place, at most; the next call is about the packet itself. */
#define IW_PKT_REPORTS 4
/*
 * Returns the MTU in the last error of the local stack, which is about the packet that it has just
 * rejected; 0: none. Empties the error queue: ICMP messages in it are lost, and are repeated for
 * the packets that follow.
 */
uint32_t iw_pkt_said_mtu(int fd);
/*
 * Whether a packet that was not taken is to be tried again, by errno of its send: when there was no room, yes. When a queue of
 * this machine dropped it (ENOBUFS, told with IP_RECVERR), a few times in a row: the queue may be full, or never take it, as a veth
 * whose other end has a smaller MTU. No: it is lost. What was taken sets c->refused to 0.
 */
bool iw_pkt_try_again(struct iw_pkt *c, int err);
/* Whether DF is set on what is sent now: fragment clears it. */
void iw_pkt_set_df(int fd, int family, bool on);
/* The address that a packet came to, from its control messages; len 0: not told. */
void iw_pkt_local(struct iw_addr *out, const struct msghdr *m);
/* Adds a control message that says from which address to send. */
void iw_pkt_from(struct msghdr *m, const struct iw_addr *local);
struct sock_extended_err;
/* What the error means for SCTP. udp: the packet was sent in UDP. */
enum iw_pkt_error_kind iw_pkt_classify(const struct sock_extended_err *e, bool udp);
/* Takes one message off the error queue. False: none. */
bool iw_pkt_take_error(int fd, bool udp, struct iw_pkt_error *out);

#endif

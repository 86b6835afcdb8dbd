/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside pkt: functions that several carriers use. */
#ifndef IW_PKT_INTERNAL_H
#define IW_PKT_INTERNAL_H

#include "pkt/pkt.h"

#include <sys/socket.h>

/* Room for the control messages of one packet. */
#define IW_PKT_CONTROL 256

/*
 * Checks that this process can use raw IP sockets for SCTP. transport ("raw", "xdp") begins the
 * text of *why. 0; IW_E_NOTSUP: the kernel has SCTP itself, or no raw sockets; IW_E_PERM:
 * CAP_NET_RAW is missing; IW_E_OS.
 */
IW_MUST_CHECK int iw_pkt_raw_check(const char *transport, struct iw_fault *why);
/* Binds a socket to an interface. IW_E_NOENT: no such interface; others by errno. */
IW_MUST_CHECK int iw_pkt_bind_interface(int fd, const char *interface, struct iw_fault *why);
/*
 * Prepares a socket: binds it to cfg's interface, sets buffers as far as the system allows,
 * requests ICMP errors and the local address of received packets, and sets DF. Returns 0 or an
 * error by errno.
 */
IW_MUST_CHECK int iw_pkt_prepare(int fd, int family, const struct iw_pkt_cfg *cfg,
				 struct iw_fault *why);
/* Returns the octets that can wait to be received, as the system counts them. */
size_t iw_pkt_rcvbuf(int fd);
/* Returns the MTU of the path to cfg's peer. Without a peer: of the interface that has the bound
 * address, or of the interface with the largest MTU if the address is any. */
uint32_t iw_pkt_mtu(const struct iw_pkt_cfg *cfg);
/* A send reports at most this many errors of earlier packets before it accepts the packet
 * itself. */
#define IW_PKT_REPORTS 4
/*
 * Returns the MTU in the last error of the local stack, which is about the packet that it just
 * rejected; 0: none. Empties the error queue: ICMP messages in it are lost; routers repeat them for
 * the following packets.
 */
uint32_t iw_pkt_reported_mtu(int fd);
/*
 * Whether to retry a packet that was not sent, by the errno of its send. Yes if there was no room.
 * Yes, a few times in a row, if a queue of this host dropped it (ENOBUFS, reported with
 * IP_RECVERR): the queue may be full, or may never accept it, as a veth whose other end has a
 * smaller MTU. No: the packet is lost. The caller sets c->refused to 0 after each packet that was
 * sent.
 */
bool iw_pkt_try_again(struct iw_pkt *c, int err);
/* Sets or clears DF for the following packets; they are fragmented without it. */
void iw_pkt_set_df(int fd, int family, bool on);
/* Reads the local address of a received packet from its control messages; len 0: not there. */
void iw_pkt_local(struct iw_addr *out, const struct msghdr *m);
/* Adds a control message with the source address to send from. */
void iw_pkt_from(struct msghdr *m, const struct iw_addr *local);
struct sock_extended_err;
/* Returns what an error means for SCTP. udp: the packet was sent in UDP. */
enum iw_pkt_error_kind iw_pkt_classify(const struct sock_extended_err *e, bool udp);
/* Takes one message off the error queue. False: the queue is empty. */
bool iw_pkt_take_error(int fd, bool udp, struct iw_pkt_error *out);

#endif

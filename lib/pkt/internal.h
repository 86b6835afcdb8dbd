/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside pkt: functions that several carriers use. */
#ifndef IW_PKT_INTERNAL_H
#define IW_PKT_INTERNAL_H

#include "pkt/pkt.h"

#include <sys/socket.h>

/* Octets for the control messages of one packet. */
#define IW_PKT_CONTROL  256
/* Packets of one send over UDP or IP (UDP_MAX_SEGMENTS of Linux). */
#define IW_PKT_SEGS_MAX 64

/*
 * Checks that this process can use raw IP sockets for SCTP. transport, "raw" or "xdp", is named in
 * *why. IW_E_NOTSUP: the kernel's own SCTP is loaded, or the kernel has no raw sockets; IW_E_PERM:
 * CAP_NET_RAW is missing; IW_E_OS.
 */
IW_MUST_CHECK int iw_pkt_raw_check(const char *transport, struct iw_fault *why);
/* Binds a socket to an interface. IW_E_NOENT: no such interface; other errors: the system call
 * failed, by errno as iw_os_fail maps it. */
IW_MUST_CHECK int iw_pkt_bind_interface(int fd, const char *interface, struct iw_fault *why);
/*
 * Prepares a socket: binds it to cfg's interface, sets the buffers as far as the system allows,
 * requests ICMP errors and the local address of received packets, and sets DF. Errors: those of
 * iw_pkt_bind_interface; others by errno.
 */
IW_MUST_CHECK int iw_pkt_prepare(int fd, int family, const struct iw_pkt_cfg *cfg,
				 struct iw_fault *why);
/* Returns the size of the socket's receive buffer in octets, with the kernel's overhead; 0: not
 * known. */
size_t iw_pkt_rcvbuf(int fd);
/* Returns the MTU of the path to cfg's peer in octets, at most IW_PKT_MAX. Without a peer: of the
 * interface that has the bound address, or the largest MTU of all interfaces if the address is
 * any. */
uint32_t iw_pkt_mtu(const struct iw_pkt_cfg *cfg);
/* A send is retried at most this often while it returns errors of earlier packets. */
#define IW_PKT_REPORTS 4
/*
 * Returns the MTU in octets from the last error of the local stack, which is about the packet that
 * it just rejected; 0: none. Empties the error queue. The ICMP messages in it are lost, but routers
 * repeat them for the following packets.
 */
uint32_t iw_pkt_reported_mtu(int fd);
/*
 * Decides by the errno of a failed send whether to retry the packet. True: the socket is full
 * (EAGAIN), or a queue of this host dropped the packet (ENOBUFS, reported with IP_RECVERR). ENOBUFS
 * is retried at most 15 times in a row: such a queue may also never accept the packet, like a veth
 * whose other end has a smaller MTU. False: the packet is lost. The caller sets c->refused to 0
 * after each packet that was sent.
 */
bool iw_pkt_try_again(struct iw_pkt *c, int err);
/* Sets or clears DF for the packets that follow; without DF, they may be fragmented. */
void iw_pkt_set_df(int fd, int family, bool on);
/* Reads the local address of a received packet from its control messages. out->len 0: they do not
 * contain it. */
void iw_pkt_local(struct iw_addr *out, const struct msghdr *m);
/* Appends a control message with the source address to m->msg_control, which has IW_PKT_CONTROL
 * octets. local->len 0: appends nothing. */
void iw_pkt_from(struct msghdr *m, const struct iw_addr *local);
/* The carrier "udp" with DTLS (dtls.c): as open() of struct iw_pkt_ops; cfg->tls is set. */
IW_MUST_CHECK int iw_pkt_dtls_open(struct iw_pkt **out, const struct iw_pkt_cfg *cfg,
				   struct iw_fault *why);
struct sock_extended_err;
/* Returns what an error means for SCTP. udp: the packet was sent in UDP. */
enum iw_pkt_error_kind iw_pkt_classify(const struct sock_extended_err *e, bool udp);
/* Takes one error off the socket's error queue. udp: as for iw_pkt_classify. False: the queue is
 * empty. */
bool iw_pkt_take_error(int fd, bool udp, struct iw_pkt_error *out);

#endif

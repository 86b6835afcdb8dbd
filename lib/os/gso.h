/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Segmentation offload of UDP sockets. GSO (Linux 4.18) divides a message that is sent into datagrams
 * of one size, of which the last may be shorter. GRO (Linux 5.0) joins such datagrams when they
 * arrive. No state.
 */
#ifndef IW_OS_GSO_H
#define IW_OS_GSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Octets that iw_gso_add() appends to the control messages. */
#define IW_GSO_CONTROL CMSG_SPACE(sizeof(uint16_t))

/* Returns whether the socket supports GSO. The path may not: a send then fails with EIO or EINVAL.
 * False: errno has the reason. */
bool iw_gso_is_supported(int fd);
/*
 * Lets the kernel divide the message into datagrams of seg octets: appends a control message at
 * m->msg_control + m->msg_controllen, where IW_GSO_CONTROL octets are free.
 */
void iw_gso_add(struct msghdr *m, size_t seg);

/* Switches GRO on. False: errno has the reason; each datagram is then a message of its own. */
bool iw_gro_enable(int fd);
/* Returns the size of the datagrams that GRO has joined into a received message of len octets; len
 * if it has joined none. */
size_t iw_gro_size(struct msghdr *m, size_t len);

#endif

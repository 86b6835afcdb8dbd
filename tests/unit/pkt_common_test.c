// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Errors about sent packets in the error queue of a socket: RFC 9260 10, RFC 6951 5.5. */
#include "pkt/internal.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/num.h"

enum { V4 = SO_EE_ORIGIN_ICMP, V6 = SO_EE_ORIGIN_ICMP6, HERE = SO_EE_ORIGIN_LOCAL };

/* ICMP1 to ICMP4, ICMP7 to ICMP9: type and code decide; errno is the same for several. */
static void each_icmp_message_is_mapped_to_its_kind_of_error(void **state)
{
	static const struct {
		int err;
		uint8_t origin, type, code;
		enum iw_pkt_error_kind plain, udp;
	} rows[] = {
		{ EMSGSIZE, V4, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, IW_PKT_TOO_BIG,
		  IW_PKT_TOO_BIG },
		{ EMSGSIZE, V6, ICMP6_PACKET_TOO_BIG, 0, IW_PKT_TOO_BIG, IW_PKT_TOO_BIG },
		{ EMSGSIZE, HERE, 0, 0, IW_PKT_TOO_BIG, IW_PKT_TOO_BIG },
		{ ENOPROTOOPT, V4, ICMP_DEST_UNREACH, ICMP_PROT_UNREACH, IW_PKT_NO_PROTOCOL,
		  IW_PKT_NO_PROTOCOL },
		{ ECONNREFUSED, V4, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, IW_PKT_UNREACHABLE,
		  IW_PKT_NO_PROTOCOL },
		{ EHOSTUNREACH, V4, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, IW_PKT_UNREACHABLE,
		  IW_PKT_UNREACHABLE },
		{ ENETUNREACH, V4, ICMP_DEST_UNREACH, ICMP_NET_UNREACH, IW_PKT_UNREACHABLE,
		  IW_PKT_UNREACHABLE },
		{ EHOSTUNREACH, V4, ICMP_TIME_EXCEEDED, 0, IW_PKT_ERROR_OTHER, IW_PKT_ERROR_OTHER },
		{ EPROTO, V4, ICMP_PARAMETERPROB, 0, IW_PKT_ERROR_OTHER, IW_PKT_ERROR_OTHER },
		{ ECONNREFUSED, V6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOPORT, IW_PKT_UNREACHABLE,
		  IW_PKT_NO_PROTOCOL },
		{ EHOSTUNREACH, V6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADDR, IW_PKT_UNREACHABLE,
		  IW_PKT_UNREACHABLE },
		{ EPROTO, V6, ICMP6_PARAM_PROB, ICMP6_PARAMPROB_NEXTHEADER, IW_PKT_NO_PROTOCOL,
		  IW_PKT_NO_PROTOCOL },
		{ EPROTO, V6, ICMP6_PARAM_PROB, ICMP6_PARAMPROB_HEADER, IW_PKT_ERROR_OTHER,
		  IW_PKT_ERROR_OTHER },
		{ EHOSTUNREACH, V6, ICMP6_TIME_EXCEEDED, 0, IW_PKT_ERROR_OTHER,
		  IW_PKT_ERROR_OTHER },
		{ EHOSTUNREACH, HERE, 0, 0, IW_PKT_ERROR_OTHER, IW_PKT_ERROR_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct sock_extended_err e = { .ee_errno = (uint32_t)rows[i].err,
					       .ee_origin = rows[i].origin,
					       .ee_type = rows[i].type,
					       .ee_code = rows[i].code };

		assert_int_equal(iw_pkt_classify(&e, false), rows[i].plain);
		assert_int_equal(iw_pkt_classify(&e, true), rows[i].udp);
	}
}

/* A datagram to a closed port of the loopback interface. */
static void port_unreachable_quotes_the_packet(void **state)
{
	const struct iw_pkt_cfg cfg = { .udp_port = 0 };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(to);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), other = socket(AF_INET, SOCK_DGRAM, 0);
	struct iw_pkt_error e;
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_pkt_prepare(fd, AF_INET, &cfg, &why), 0);
	assert_int_equal(bind(other, (struct sockaddr *)&to, len), 0);
	assert_int_equal(getsockname(other, (struct sockaddr *)&to, &len), 0);
	close(other);
	assert_false(iw_pkt_take_error(fd, true, &e));
	assert_int_equal(sendto(fd, "sixteen octets..", 16, 0, (struct sockaddr *)&to, len), 16);
	for (int i = 0; i < 1000 && !iw_pkt_take_error(fd, true, &e); i++)
		usleep(1000);
	assert_int_equal(e.kind, IW_PKT_NO_PROTOCOL);
	assert_false(e.local);
	assert_int_equal(e.len, 16);
	assert_memory_equal(e.head, "sixteen octets..", 16);
	assert_int_equal(e.peer.in.sin_port, to.sin_port);
	close(fd);
}

/* An error queue that replaces the kernel's. */
enum { PLAYED_FD = 1 << 20 };
static struct sock_extended_err played[4];
static unsigned nplayed, at;

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	struct cmsghdr *c = m->msg_control;

	if (fd != PLAYED_FD)
		return syscall(SYS_recvmsg, fd, m, flags);
	if (at == nplayed) {
		errno = EAGAIN;
		return -1;
	}
	*c = (struct cmsghdr){ .cmsg_level = IPPROTO_IPV6,
			       .cmsg_type = IPV6_RECVERR,
			       .cmsg_len = CMSG_LEN(sizeof(played[0])) };
	memcpy(CMSG_DATA(c), &played[at++], sizeof(played[0]));
	m->msg_controllen = CMSG_SPACE(sizeof(played[0]));
	return 0;
}

/* The size comes from this host's own error. ICMP messages before it are about other packets. */
static void a_rejected_packet_has_the_mtu_that_this_host_reports(void **state)
{
	(void)state;
	played[0] = (struct sock_extended_err){ .ee_errno = EMSGSIZE,
						.ee_origin = V4,
						.ee_type = ICMP_DEST_UNREACH,
						.ee_code = ICMP_FRAG_NEEDED,
						.ee_info = 600 };
	played[1] = (struct sock_extended_err){ .ee_errno = EMSGSIZE,
						.ee_origin = HERE,
						.ee_info = 1400 };
	at = 0;
	nplayed = 2;
	assert_int_equal(iw_pkt_reported_mtu(PLAYED_FD), 1400);
	/* The last error is about the packet; none remains for the next packet. */
	played[2] = (struct sock_extended_err){ .ee_errno = EMSGSIZE,
						.ee_origin = HERE,
						.ee_info = 1000 };
	played[3] = played[0];
	at = 0;
	nplayed = 4;
	assert_int_equal(iw_pkt_reported_mtu(PLAYED_FD), 1000);
	assert_int_equal(at, 4);
	at = 0;
	nplayed = 1;
	assert_int_equal(iw_pkt_reported_mtu(PLAYED_FD), 0);
	assert_int_equal(iw_pkt_reported_mtu(PLAYED_FD), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_icmp_message_is_mapped_to_its_kind_of_error),
		cmocka_unit_test(port_unreachable_quotes_the_packet),
		cmocka_unit_test(a_rejected_packet_has_the_mtu_that_this_host_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The port of kernel SCTP with a simulated kernel: SCTP socket calls are intercepted, and each
 * association has a script of the results of recvmsg. So messages can arrive in parts, with
 * notifications and other associations in between, as under memory pressure.
 */
#include "llp/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/num.h"

#ifdef IW_HAVE_SCTP
#include <netinet/sctp.h>

#define ASSOCS   3
#define STEPS    40
#define LISTENER 0 /* index of its sockets */
#define PART     40000

/* The result of one recvmsg. */
struct step {
	const void *data;
	size_t len;
	int flags;
	uint16_t stream;
	bool ordered;
};

/* A socket of the code under test, and its other end, which makes it readable by writing an
 * octet. */
static struct played {
	int fd, far;
	struct step step[STEPS];
	unsigned n, at;
	bool lingers_not; /* closing it sends an ABORT */
	int send_errno;   /* of a message; 0: sent. The first one is too long for the path */
	bool has_sent;
	bool closed, aborted;
} played[1 + ASSOCS];
static unsigned accepted;
static int accept_errno; /* of the next accept4; 0: it succeeds */
static uint8_t octets[200000];

static struct played *find(int fd)
{
	for (unsigned i = 0; i <= ASSOCS; i++)
		if (played[i].fd == fd)
			return &played[i];
	return NULL;
}

static int make(struct played *p)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) < 0)
		return -1;
	*p = (struct played){ .fd = fd[0], .far = fd[1] };
	return p->fd;
}

int socket(int domain, int type, int protocol)
{
	if (protocol != IPPROTO_SCTP)
		return (int)syscall(SYS_socket, domain, type, protocol);
	/* The first socket only checks whether SCTP is available. */
	if (played[LISTENER].fd > 0)
		close(played[LISTENER].far);
	return make(&played[LISTENER]);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	struct played *p = find(fd);
	struct linger l;

	if (!p)
		return (int)syscall(SYS_setsockopt, fd, level, option, value, len);
	if (level == SOL_SOCKET && option == SO_LINGER) {
		memcpy(&l, value, sizeof(l));
		p->lingers_not = l.l_onoff && l.l_linger == 0;
	}
	return 0;
}

int close(int fd)
{
	struct played *p = fd > 0 ? find(fd) : NULL;

	if (p) {
		p->closed = true;
		p->aborted = p->lingers_not;
	}
	return (int)syscall(SYS_close, fd);
}

int getsockopt(int fd, int level, int option, void *restrict value, socklen_t *restrict len)
{
	struct played *p = find(fd);

	if (!p)
		return (int)syscall(SYS_getsockopt, fd, level, option, value, len);
	/* An association that has ended has no status. */
	if (option == SCTP_STATUS && p->send_errno) {
		errno = EINVAL;
		return -1;
	}
	memset(value, 0, *len);
	return 0;
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return find(fd) ? 0 : (int)syscall(SYS_bind, fd, addr, len);
}

int listen(int fd, int backlog)
{
	return find(fd) ? 0 : (int)syscall(SYS_listen, fd, backlog);
}

static void fill_addr(struct sockaddr *addr, socklen_t *len)
{
	const struct sockaddr_in in = { .sin_family = AF_INET,
					.sin_port = htons(7),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	memcpy(addr, &in, sizeof(in));
	*len = sizeof(in);
}

int getsockname(int fd, struct sockaddr *restrict addr, socklen_t *restrict len)
{
	if (!find(fd))
		return (int)syscall(SYS_getsockname, fd, addr, len);
	fill_addr(addr, len);
	return 0;
}

int accept4(int fd, struct sockaddr *restrict addr, socklen_t *restrict len, int flags)
{
	(void)fd;
	(void)flags;
	if (accept_errno || accepted == ASSOCS) {
		errno = accept_errno ? accept_errno : EAGAIN;
		return -1;
	}
	fill_addr(addr, len);
	return make(&played[++accepted]);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	struct played *p = find(fd);
	struct step *s;
	size_t n;

	if (!p)
		return syscall(SYS_recvmsg, fd, m, flags);
	if (p->at == p->n) {
		errno = EAGAIN;
		return -1;
	}
	s = &p->step[p->at++];
	n = IW_MIN(s->len, m->msg_iov[0].iov_len);
	memcpy(m->msg_iov[0].iov_base, s->data, n);
	m->msg_flags = s->flags;
	if (s->flags & MSG_NOTIFICATION) {
		m->msg_controllen = 0;
	} else {
		struct sctp_rcvinfo info = { .rcv_sid = s->stream,
					     .rcv_ppid = htonl(16),
					     .rcv_flags = s->ordered ? 0 : SCTP_UNORDERED };
		struct cmsghdr *c = CMSG_FIRSTHDR(m);

		*c = (struct cmsghdr){ .cmsg_level = IPPROTO_SCTP,
				       .cmsg_type = SCTP_RCVINFO,
				       .cmsg_len = CMSG_LEN(sizeof(info)) };
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		m->msg_controllen = CMSG_SPACE(sizeof(info));
	}
	return (ssize_t)n;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct played *p = find(fd);

	if (!p)
		return syscall(SYS_sendmsg, fd, m, flags);
	errno = p->has_sent ? p->send_errno : EMSGSIZE;
	p->has_sent = true;
	return errno ? -1 : 0;
}

static void comes(unsigned who, const void *data, size_t len, int flags)
{
	struct played *p = &played[who];

	assert_true(p->n < STEPS);
	p->step[p->n++] =
		(struct step){ .data = data, .len = len, .flags = flags, .stream = (uint16_t)who };
	assert_int_equal(write(p->far, "", 1), 1);
}

/* --- */

static struct iw_port *port;
static struct iw_assoc *assoc[1 + ASSOCS];
static const struct sctp_assoc_change up = { .sac_type = SCTP_ASSOC_CHANGE,
					     .sac_length = sizeof(up),
					     .sac_state = SCTP_COMM_UP,
					     .sac_outbound_streams = 9,
					     .sac_inbound_streams = 9 };
static const struct sctp_adaptation_event indication = { .sai_type = SCTP_ADAPTATION_INDICATION,
							 .sai_length = sizeof(indication),
							 .sai_adaptation_ind = 1 };
static const struct sctp_pdapi_event aborted = { .pdapi_type = SCTP_PARTIAL_DELIVERY_EVENT,
						 .pdapi_length = sizeof(aborted),
						 .pdapi_indication =
							 SCTP_PARTIAL_DELIVERY_ABORTED };
static struct iw_assoc_event event;

static bool next_msg(struct iw_port_msg *m)
{
	while (port->ops->input(port, 0, NULL) > 0) {
		if (port->ops->next_msg(port, m))
			return true;
		if (port->ops->next_event(port, &event))
			return false;
	}
	return false;
}

static int set_up(void **state)
{
	const struct iw_port_cfg cfg = { .llp = { .host = "127.0.0.1",
						  .port = 7,
						  .listen = true,
						  .backlog = 9,
						  .streams = 9 } };
	struct iw_port_msg m;
	struct iw_fault why;

	(void)state;
	memset(played, 0, sizeof(played));
	memset(assoc, 0, sizeof(assoc));
	accepted = 0;
	accept_errno = 0;
	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * 7 + (i >> 8));
	if (iw_port_find("sctp")->open(&port, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	assert_int_equal(write(played[LISTENER].far, "", 1), 1);
	assert_int_equal(port->ops->input(port, 0, NULL), 1);
	assert_int_equal(accepted, ASSOCS);
	for (unsigned i = 1; i <= ASSOCS; i++) {
		comes(i, &up, sizeof(up), MSG_NOTIFICATION | MSG_EOR);
		event = (struct iw_assoc_event){ 0 };
		assert_false(next_msg(&m));
		assert_non_null(event.assoc);
		assert_int_equal(event.what, IW_ASSOC_UP);
		assoc[i] = event.assoc;
		assoc[i]->user = &assoc[i];
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	port->ops->close(port);
	for (unsigned i = 0; i <= ASSOCS; i++)
		close(played[i].far);
	return 0;
}

static void assert_msg(unsigned who, const uint8_t *data, size_t len)
{
	struct iw_port_msg m;

	assert_true(next_msg(&m));
	assert_ptr_equal(m.assoc, assoc[who]);
	assert_int_equal(m.stream, who);
	assert_int_equal(m.len, len);
	assert_memory_equal(m.data, data, len);
}

static void assert_nothing(void)
{
	struct iw_port_msg m;
	uint8_t drop[STEPS];

	event = (struct iw_assoc_event){ 0 };
	for (unsigned i = 1; i <= ASSOCS; i++)
		while (recv(played[i].fd, drop, sizeof(drop), MSG_DONTWAIT) > 0)
			;
	assert_false(port->ops->next_msg(port, &m));
	assert_false(port->ops->next_event(port, &event));
}

/* SCTP-55: RFC 5043 10. */
static void ordered_data_aborts_its_association(void **state)
{
	struct iw_port_msg m;

	(void)state;
	event = (struct iw_assoc_event){ 0 };
	comes(1, octets, 10, MSG_EOR);
	played[1].step[played[1].n - 1].ordered = true;
	assert_false(next_msg(&m));
	assert_int_equal(event.what, IW_ASSOC_DOWN);
	assert_ptr_equal(event.assoc, assoc[1]);
	assert_int_equal(assoc[1]->why.err, IW_E_DSS_ILLEGAL);
	assert_true(played[1].aborted);
	assert_false(played[2].aborted || played[2].closed);
	comes(2, octets, 10, MSG_EOR);
	assert_msg(2, octets, 10);
}

/* Its queue is not empty, so that it would wake the loop all the time. */
static void listener_without_free_descriptors_rests(void **state)
{
	const struct iw_port_ops *ops = port->ops;
	uint64_t now = IW_SEC(1), at;

	(void)state;
	assert_nothing();
	accept_errno = EMFILE;
	assert_true(ops->deadline(port) == IW_TIME_NEVER);
	assert_int_equal(ops->input(port, now, NULL), 1);
	assert_int_equal(ops->input(port, now, NULL), 0);
	at = ops->deadline(port);
	assert_in_range(at, now + 1, now + IW_SEC(1));
	ops->timeout(port, at - 1);
	assert_int_equal(ops->input(port, at - 1, NULL), 0);
	accept_errno = 0;
	ops->timeout(port, at);
	assert_true(ops->deadline(port) == IW_TIME_NEVER);
	assert_int_equal(ops->input(port, at, NULL), 1);
}

static void an_association_is_aborted_on_request(void **state)
{
	(void)state;
	port->ops->abort(assoc[1], NULL, 0);
	assert_true(played[1].aborted);
	port->ops->release(assoc[2]);
	assert_true(played[2].closed);
	assert_false(played[2].aborted);
}

/* The path MTU has become smaller, and the peer ends the association before the fragments leave. */
static void association_that_ends_at_a_fragmented_send_was_closed_by_the_peer(void **state)
{
	const struct iw_port_out m = { .ppid = 16, .hdr = octets, .hdr_len = 9 };

	(void)state;
	played[1].send_errno = EPIPE;
	assert_int_equal(port->ops->send(assoc[1], &m, 0), IW_E_CLOSED);
	assert_true(played[1].closed);
	assert_int_equal(assoc[1]->why.err, IW_E_CLOSED);
	assert_int_equal(assoc[1]->why.os_errno, EPIPE);
}

static void a_message_in_parts_is_put_together(void **state)
{
	(void)state;
	comes(1, octets, PART, 0);
	comes(1, octets + PART, PART, 0);
	comes(1, octets + 2 * PART, 5, MSG_EOR);
	comes(1, octets + 3, 100, MSG_EOR);
	assert_msg(1, octets, 2 * PART + 5);
	assert_msg(1, octets + 3, 100);
	assert_nothing();
}

static void a_notification_between_parts_of_a_message_is_handled(void **state)
{
	(void)state;
	comes(1, octets, PART, 0);
	comes(1, &indication, sizeof(indication), MSG_NOTIFICATION | MSG_EOR);
	comes(1, octets + PART, PART, MSG_EOR);
	assert_msg(1, octets, 2 * PART);
	assert_true(assoc[1]->indicated);
	assert_int_equal(assoc[1]->adaptation, 1);
	assert_nothing();
}

static void a_notification_in_parts_between_parts_of_a_message_is_handled(void **state)
{
	const uint8_t *p = (const uint8_t *)&indication;

	(void)state;
	comes(1, octets, PART, 0);
	comes(1, p, 5, MSG_NOTIFICATION);
	comes(1, octets + PART, 10, 0);
	comes(1, p + 5, sizeof(indication) - 5, MSG_NOTIFICATION | MSG_EOR);
	comes(1, octets + PART + 10, 10, MSG_EOR);
	assert_msg(1, octets, PART + 20);
	assert_int_equal(assoc[1]->adaptation, 1);
	/* A notification longer than any known one is skipped to its end. */
	comes(1, octets, 100000, MSG_NOTIFICATION);
	comes(1, octets, 100000, MSG_NOTIFICATION | MSG_EOR);
	comes(1, octets, 7, MSG_EOR);
	assert_msg(1, octets, 7);
}

static void an_incomplete_message_stops_no_other_association(void **state)
{
	(void)state;
	comes(1, octets, PART, 0);
	comes(2, octets + 1, PART, 0);
	comes(3, octets + 2, 300, MSG_EOR);
	comes(3, octets + 3, 400, MSG_EOR);
	assert_msg(3, octets + 2, 300);
	assert_msg(3, octets + 3, 400);
	assert_nothing();
	comes(2, octets + 1 + PART, 8, MSG_EOR);
	assert_msg(2, octets + 1, PART + 8);
	comes(1, octets + PART, 9, MSG_EOR);
	assert_msg(1, octets, PART + 9);
	assert_nothing();
}

static void a_message_without_an_end_ends_only_its_association(void **state)
{
	struct iw_port_msg m;

	(void)state;
	event = (struct iw_assoc_event){ 0 };
	for (int i = 0; i < 4; i++)
		comes(1, octets, PART, 0);
	assert_false(next_msg(&m));
	assert_int_equal(event.what, IW_ASSOC_DOWN);
	assert_ptr_equal(event.assoc, assoc[1]);
	assert_int_equal(assoc[1]->why.err, IW_E_DSS_ILLEGAL);
	assert_non_null(strstr(assoc[1]->why.text, "131072"));
	assert_true(played[1].aborted);
	port->ops->release(assoc[1]);
	comes(2, octets, 10, MSG_EOR);
	assert_msg(2, octets, 10);
}

static void a_message_that_the_stack_aborts_is_dropped(void **state)
{
	(void)state;
	comes(1, octets, PART, 0);
	comes(1, &aborted, sizeof(aborted), MSG_NOTIFICATION | MSG_EOR);
	comes(1, octets + 5, 50, MSG_EOR);
	assert_msg(1, octets + 5, 50);
}

static void an_association_that_ends_amid_a_message_leaves_no_part(void **state)
{
	(void)state;
	comes(1, octets, PART, 0);
	comes(2, octets, 10, MSG_EOR);
	assert_msg(2, octets, 10);
	assert_nothing();
	port->ops->release(assoc[1]);
	comes(3, octets, 10, MSG_EOR);
	assert_msg(3, octets, 10);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(ordered_data_aborts_its_association),
		test(listener_without_free_descriptors_rests),
		test(an_association_is_aborted_on_request),
		test(association_that_ends_at_a_fragmented_send_was_closed_by_the_peer),
		test(a_message_in_parts_is_put_together),
		test(a_notification_between_parts_of_a_message_is_handled),
		test(a_notification_in_parts_between_parts_of_a_message_is_handled),
		test(an_incomplete_message_stops_no_other_association),
		test(a_message_without_an_end_ends_only_its_association),
		test(a_message_that_the_stack_aborts_is_dropped),
		test(an_association_that_ends_amid_a_message_leaves_no_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void not_built(void **state)
{
	(void)state;
	print_message("# needs sctp: built without libsctp\n");
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(not_built) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif

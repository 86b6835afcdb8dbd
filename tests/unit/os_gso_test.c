// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One send of several datagrams, and one receive of them. */
#include "os/gso.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/addr.h"

enum { SEG = 1000, LEN = 2500 };

union control {
	struct cmsghdr align;
	uint8_t octets[64];
};

static int open_pair(int fd[2])
{
	struct iw_addr at = { .len = sizeof(at.in) };

	for (int i = 0; i < 2; i++) {
		fd[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_true(fd[i] >= 0);
	}
	at.in.sin_family = AF_INET;
	at.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd[1], &at.sa, at.len), 0);
	assert_int_equal(getsockname(fd[1], &at.sa, &at.len), 0);
	return connect(fd[0], &at.sa, at.len);
}

static ssize_t receive(int fd, uint8_t *buf, size_t cap, size_t *seg)
{
	union control control;
	struct iovec iov = { buf, cap };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.octets,
			    .msg_controllen = sizeof(control.octets) };
	ssize_t n = recvmsg(fd, &m, 0);

	*seg = n < 0 ? 0 : iw_gro_size(&m, (size_t)n);
	return n;
}

static void datagrams_of_one_message_are_joined_again(void **state)
{
	static uint8_t out[LEN], in[65536];
	union control control;
	struct iovec iov = { out, LEN };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.octets };
	size_t seg, got = 0;
	int fd[2];

	(void)state;
	assert_int_equal(open_pair(fd), 0);
	if (!iw_gso_is_supported(fd[0]) || !iw_gro_enable(fd[1]))
		skip();
	for (size_t i = 0; i < LEN; i++)
		out[i] = (uint8_t)(i * 7);
	iw_gso_add(&m, SEG);
	assert_int_equal(m.msg_controllen, IW_GSO_CONTROL);
	assert_int_equal(sendmsg(fd[0], &m, 0), LEN);
	/* The kernel may join all, or pass them one by one. */
	while (got < LEN) {
		ssize_t n = receive(fd[1], in + got, sizeof(in) - got, &seg);

		assert_true(n > 0);
		assert_in_range(seg, 1, SEG);
		got += (size_t)n;
	}
	assert_int_equal(got, LEN);
	assert_memory_equal(in, out, LEN);
	/* A single datagram. */
	assert_int_equal(send(fd[0], out, 300, 0), 300);
	assert_int_equal(receive(fd[1], in, sizeof(in), &seg), 300);
	assert_int_equal(seg, 300);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams_of_one_message_are_joined_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

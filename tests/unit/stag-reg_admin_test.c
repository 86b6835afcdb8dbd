// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests to a manager and its answers. The test plays the manager at the other end of a socket.
 */
#include "stag-reg/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "stag-reg_far_end.h"

static char dir[] = "/tmp/rm_admin_XXXXXX", file[sizeof(dir) + 8];
static struct iw_fault why;

static int set_up(void **state)
{
	(void)state;
	why = (struct iw_fault){ 0 };
	return join_far_end(1000000);
}

static void answer_buffer(uint32_t stag)
{
	struct iw_manager_reply r = { .kind = IW_MANAGER_BUFFER };

	r.buffer = (struct iw_manager_buffer){ .stag = stag,
					       .len = 5,
					       .access = IW_CLAIM_READ,
					       .left_ms = UINT64_MAX,
					       .open = true,
					       .transport = "tcp",
					       .host = "127.0.0.1",
					       .port = 7471 };
	answer(&r);
}

/* Receives the next request; false: none. *fd: its descriptor, or -1. */
static bool asked(struct iw_manager_request *q, int *fd)
{
	uint8_t msg[IW_MANAGER_MSG_MAX];
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} aux;
	struct iovec iov = { msg, sizeof(msg) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &aux,
			    .msg_controllen = sizeof(aux.room) };
	ssize_t n = recvmsg(manager, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (n < 0)
		return false;
	if (CMSG_FIRSTHDR(&m))
		memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(*fd));
	assert_int_equal(iw_manager_request_decode(q, msg, (size_t)n, &why), 0);
	return true;
}

static void a_file_is_opened_for_the_rights_that_peers_get(void **state)
{
	static const struct {
		unsigned access;
		int mode;
	} cases[] = { { IW_CLAIM_READ, O_RDONLY },
		      { IW_CLAIM_WRITE, O_RDWR },
		      { IW_CLAIM_READ | IW_CLAIM_WRITE, O_RDWR } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct iw_manager_request q = { .op = IW_MANAGER_ADD, .access = cases[i].access },
					  got;
		struct iw_manager_buffer b;
		int fd;

		answer_buffer(7);
		answer_end(1);
		assert_int_equal(iw_manager_admin_add(&admin, &q, file, &b, &why), 0);
		assert_int_equal(b.stag, 7);
		assert_true(asked(&got, &fd));
		assert_int_equal(got.op, IW_MANAGER_ADD);
		assert_string_equal(got.label, file);
		assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, cases[i].mode);
		close(fd);
	}
}

static void new_memory_takes_no_file_along(void **state)
{
	struct iw_manager_request q = {
		.op = IW_MANAGER_ADD, .memory = true, .len = 5, .access = IW_CLAIM_READ
	};
	struct iw_manager_buffer b;
	int fd;

	(void)state;
	answer_buffer(7);
	answer_end(1);
	assert_int_equal(iw_manager_admin_add(&admin, &q, NULL, &b, &why), 0);
	assert_true(asked(&q, &fd));
	assert_int_equal(fd, -1);
	assert_string_equal(q.label, "");
}

static void a_file_that_cannot_be_opened_is_an_error_without_a_request(void **state)
{
	struct iw_manager_request q = { .op = IW_MANAGER_ADD, .access = IW_CLAIM_READ };
	struct iw_manager_buffer b;
	int fd;

	(void)state;
	assert_true(iw_manager_admin_add(&admin, &q, "/nowhere/at/all", &b, &why) < 0);
	assert_non_null(strstr(why.text, "/nowhere/at/all"));
	assert_false(asked(&q, &fd));
}

static void an_answer_without_the_buffer_is_malformed(void **state)
{
	struct iw_manager_request q = { .op = IW_MANAGER_ADD, .access = IW_CLAIM_READ };
	struct iw_manager_buffer b;

	(void)state;
	answer_end(0);
	assert_int_equal(iw_manager_admin_add(&admin, &q, file, &b, &why), IW_E_FORMAT);
}

static void a_refusal_has_the_error_and_text_of_the_manager(void **state)
{
	struct iw_manager_request q = { .op = IW_MANAGER_ADD, .access = IW_CLAIM_READ };
	struct iw_manager_buffer b;

	(void)state;
	answer(&(struct iw_manager_reply){
		.kind = IW_MANAGER_ERROR, .err = IW_E_LIMIT, .text = "the house is full" });
	assert_int_equal(iw_manager_admin_add(&admin, &q, file, &b, &why), IW_E_LIMIT);
	assert_non_null(strstr(why.text, "the house is full"));
}

static void a_list_is_sent_to_its_end(void **state)
{
	struct iw_manager_request q;
	struct iw_manager_reply r;
	int fd;

	(void)state;
	answer_buffer(7);
	answer(&(struct iw_manager_reply){ .kind = IW_MANAGER_PEER,
					   .peer = { .stream = 3, .addr = "192.0.2.1:5" } });
	answer_end(1);
	assert_int_equal(iw_manager_admin_list(&admin, 7, true, &why), 0);
	assert_true(asked(&q, &fd));
	assert_int_equal(q.op, IW_MANAGER_LIST);
	assert_int_equal(q.stag, 7);
	assert_true(q.peers);
	assert_int_equal(iw_manager_admin_next(&admin, &r, &why), 1);
	assert_int_equal(r.buffer.stag, 7);
	assert_int_equal(iw_manager_admin_next(&admin, &r, &why), 1);
	assert_int_equal(r.peer.stream, 3);
	assert_int_equal(iw_manager_admin_next(&admin, &r, &why), 0);
	assert_int_equal(r.count, 1);
}

static void revoking_returns_the_number_of_registrations(void **state)
{
	struct iw_manager_request q;
	uint64_t revoked;
	int fd;

	(void)state;
	answer_end(1);
	answer_end(0);
	assert_int_equal(iw_manager_admin_revoke(&admin, 7, &revoked, &why), 0);
	assert_int_equal(revoked, 1);
	assert_int_equal(iw_manager_admin_revoke(&admin, 7, &revoked, &why), 0);
	assert_int_equal(revoked, 0);
	assert_true(asked(&q, &fd));
	assert_int_equal(q.op, IW_MANAGER_REVOKE);
	assert_int_equal(q.stag, 7);
}

static void silence_and_a_closed_socket_are_errors(void **state)
{
	uint64_t revoked;

	(void)state;
	assert_int_equal(iw_manager_admin_revoke(&admin, 0, &revoked, &why), IW_E_TIMEOUT);
	shutdown(manager, SHUT_RDWR);
	assert_int_equal(iw_manager_admin_revoke(&admin, 0, &revoked, &why), IW_E_CLOSED);
	assert_int_equal(revoked, 0);
}

static void socket_without_a_server_is_an_error_of_the_first_call(void **state)
{
	struct iw_manager_admin none = { .path = "/nowhere/ctl", .fd = -1 };

	(void)state;
	assert_int_equal(iw_manager_admin_list(&none, 0, false, &why), IW_E_STATE);
	assert_non_null(strstr(why.text, "/nowhere/ctl"));
	iw_manager_admin_close(&none);
}

static int make_file(void **state)
{
	int fd;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/f", dir);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	return close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(file) < 0 || rmdir(dir) < 0 ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, leave_far_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_opened_for_the_rights_that_peers_get),
		TEST(new_memory_takes_no_file_along),
		TEST(a_file_that_cannot_be_opened_is_an_error_without_a_request),
		TEST(an_answer_without_the_buffer_is_malformed),
		TEST(a_refusal_has_the_error_and_text_of_the_manager),
		TEST(a_list_is_sent_to_its_end),
		TEST(revoking_returns_the_number_of_registrations),
		TEST(silence_and_a_closed_socket_are_errors),
		TEST(socket_without_a_server_is_an_error_of_the_first_call),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}

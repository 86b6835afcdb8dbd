// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The text that sctp-ddp-ping writes about a peer. */
#include "sctp-ddp-ping/show.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli_capture.h"

static int show_rejection(const void *arg)
{
	const struct iw_ping_show show = { .transport = "udp", .host = "192.0.2.1" };
	struct iw_ping_diagnosis d = { .transport = "udp",
				       .what = IW_FAR_REJECTED,
				       .fault = { .err = IW_E_REJECTED } };

	/* As the library reports a Reject: the text has the Private Data as it was received. */
	d.private_data_len = strlen(arg);
	memcpy(d.private_data, arg, d.private_data_len);
	snprintf(d.fault.text, sizeof(d.fault.text),
		 "sctp: the peer rejected the connection: \"%s\"", (const char *)arg);
	return iw_ping_show_diagnosis(&show, &d);
}

static void reason_of_a_reject_cannot_control_the_terminal(void **state)
{
	static struct capture c;

	(void)state;
	capture_run(&c, show_rejection, "no \x1b[2J room");
	assert_int_equal(c.status, 0);
	assert_null(strchr(c.out, '\x1b'));
	assert_non_null(strstr(c.out, "rejected the connection: \"no \\x1b[2J room\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reason_of_a_reject_cannot_control_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

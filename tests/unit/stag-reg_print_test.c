// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A buffer in all output forms. */
#include "stag-reg/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli_capture.h"

struct job {
	struct iw_manager_print print;
	bool json, list;
	struct iw_manager_reply r[2];
	int failed;
};

static struct capture c;

/* Prints a list of r, or the Advertisement of its first buffer. */
static int print(const void *arg)
{
	const struct job *job = arg;
	struct iw_manager_print p = job->print;
	struct iw_manager_list list = { .p = &p };
	struct iw_fault why = { 0 };
	struct iw_json json;
	int err = 0;

	iw_json_init(&json, STDOUT_FILENO);
	p.json = job->json ? &json : NULL;
	if (!job->list)
		err = iw_manager_print_advert(&p, &job->r[0].buffer, &why);
	for (int i = 0; job->list && !err && i < 2; i++)
		if (job->r[i].kind != IW_MANAGER_END)
			err = iw_manager_list_add(&list, &job->r[i], &why);
	if (!err && job->list)
		err = iw_manager_list_end(&list, job->failed, &why);
	iw_json_fini(&json);
	return err ? 1 : 0;
}

static struct iw_manager_reply buffer(const char *host)
{
	struct iw_manager_reply r = { .kind = IW_MANAGER_BUFFER };

	r.buffer = (struct iw_manager_buffer){
		.stag = 0x123abc,
		.to = 4096,
		.len = 1000,
		.access = IW_CLAIM_READ | IW_CLAIM_WRITE,
		.domain = "team",
		.left_ms = 61000,
		.uses = 5,
		.label = "bo\033ard",
		.transport = "tcp",
		.port = 7471,
		.tally = { .writes = 1, .write_octets = 500, .reads = 1 }
	};
	r.buffer.key.set = true;
	memset(r.buffer.key.octets, 0x0f, sizeof(r.buffer.key.octets));
	snprintf(r.buffer.host, sizeof(r.buffer.host), "%s", host);
	return r;
}

#define KEY       "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"
#define URI(host) "ddp+tcp://" host ":7471/stag/00123abc?to=4096&len=1000&access=rw&key=" KEY

static void the_forms_of_an_advertisement(void **state)
{
	struct job job = { .r = { buffer("192.0.2.1") } };

	(void)state;
	capture_run(&c, print, &job);
	assert_string_equal(c.out, "STag        00123abc\n"
				   "TO          4096\n"
				   "length      1000 (1000 B)\n"
				   "access      rw\n"
				   "endpoint    192.0.2.1:7471, tcp\n"
				   "source      bo\\x1bard\n"
				   "PD          team\n"
				   "expires in  1:01\n"
				   "uses        2 of 5\n"
				   "URI         " URI("192.0.2.1") "\n");
	job.print.form = IW_MANAGER_FORM_SHELL;
	capture_run(&c, print, &job);
	assert_string_equal(c.out,
			    "IW_STAG='00123abc'\nIW_TO='4096'\nIW_LEN='1000'\nIW_ACCESS='rw'\n"
			    "IW_ENDPOINT='192.0.2.1:7471'\nIW_TRANSPORT='tcp'\n"
			    "IW_KEY='" KEY "'\nIW_URI='" URI("192.0.2.1") "'\n");
	job.print.form = IW_MANAGER_FORM_URI;
	capture_run(&c, print, &job);
	assert_string_equal(c.out, URI("192.0.2.1") "\n");
}

static void the_host_is_one_that_others_can_connect_to(void **state)
{
	struct job job = { .print = { .form = IW_MANAGER_FORM_URI },
			   .r = { buffer("2001:db8::1") } };
	char own[256], expected[512];

	(void)state;
	capture_run(&c, print, &job);
	assert_string_equal(c.out, URI("[2001:db8::1]") "\n");
	assert_int_equal(gethostname(own, sizeof(own)), 0);
	snprintf(expected, sizeof(expected), "ddp+tcp://%s:7471/", own);
	job.r[0] = buffer("0.0.0.0");
	capture_run(&c, print, &job);
	assert_memory_equal(c.out, expected, strlen(expected));
	job.r[0] = buffer("::");
	capture_run(&c, print, &job);
	assert_memory_equal(c.out, expected, strlen(expected));
	job.print.host = "board.example";
	capture_run(&c, print, &job);
	assert_string_equal(c.out, URI("board.example") "\n");
}

static void elements_of_a_list_have_no_keys(void **state)
{
	struct job job = { .list = true, .r = { buffer("192.0.2.1"), buffer("192.0.2.1") } };

	(void)state;
	job.r[1].buffer.domain[0] = '\0';
	job.r[1].buffer.stream = UINT32_MAX;
	job.r[1].buffer.left_ms = UINT64_MAX;
	capture_run(&c, print, &job);
	assert_string_equal(
		c.out,
		"STag      access  length  written  read  expires in  PD                 source\n"
		"00123abc  rw      1000 B    500 B   0 B  1:01        team               bo\\x1bard\n"
		"00123abc  rw      1000 B    500 B   0 B              stream 4294967295  bo\\x1bard\n");
	job.json = true;
	capture_run(&c, print, &job);
	assert_int_equal(c.status, 0);
	assert_non_null(strstr(c.out, "\"needs_key\":true"));
	assert_null(strstr(c.out, KEY));
	job.list = false;
	capture_run(&c, print, &job);
	assert_non_null(strstr(c.out, "\"key\":\"" KEY "\",\"uri\":\"" URI("192.0.2.1") "\""));
}

static void peers_follow_an_empty_line(void **state)
{
	struct job job = { .list = true };

	(void)state;
	job.r[0] =
		(struct iw_manager_reply){ .kind = IW_MANAGER_PEER,
					   .peer = { .stream = 3,
						     .addr = "192.0.2.1:5",
						     .tally = { .reads = 2, .read_octets = 2048 },
						     .ended = true,
						     .why = "went away" } };
	capture_run(&c, print, &job);
	assert_string_equal(
		c.out, "\nstream  peer         writes  written  reads     read  state\n"
		       "     3  192.0.2.1:5       0      0 B      2  2.0 KiB  ended: went away\n");
}

static void an_empty_list_and_one_that_failed_print_nothing(void **state)
{
	struct job job = { .list = true };

	(void)state;
	capture_run(&c, print, &job);
	assert_string_equal(c.out, "");
	assert_int_equal(c.status, 0);
	job.r[0] = buffer("192.0.2.1");
	job.failed = IW_E_CLOSED;
	capture_run(&c, print, &job);
	assert_string_equal(c.out, "");
	assert_int_equal(c.status, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_forms_of_an_advertisement),
		cmocka_unit_test(the_host_is_one_that_others_can_connect_to),
		cmocka_unit_test(elements_of_a_list_have_no_keys),
		cmocka_unit_test(peers_follow_an_empty_line),
		cmocka_unit_test(an_empty_list_and_one_that_failed_print_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

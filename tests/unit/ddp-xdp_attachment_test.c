// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The decisions and texts of ddp-xdp: in new namespaces, in which lo has no program, and with
 * states made by hand. tests/bats/ddp-xdp.bats tests attached programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ddp-xdp/detach.h"
#include "ddp-xdp/attachment.h"
#include "ddp-xdp/internal.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "cli/log.h"
#include "cli/signals.h"
#include "loader/interface.h"
#include "unit/cli_capture.h"
#include "util/num.h"

#define LO 1 /* index of lo in a new namespace */

static char pins[64];
static struct capture c;

/* What a child runs in new namespaces, with its own /sys/fs/bpf. */
struct place {
	int (*fn)(void);
	bool dispatcher; /* with leftovers of a dispatcher, of program 4711 */
};

enum { NO_PLACE = 77 };

static int in_place(const void *arg)
{
	const struct place *p = arg;

	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/sys/fs/bpf", "tmpfs", 0, NULL) < 0)
		return NO_PLACE;
	if (p->dispatcher && (mkdir("/sys/fs/bpf/xdp", 0700) < 0 ||
			      mkdir("/sys/fs/bpf/xdp/dispatch-1-4711", 0700) < 0 ||
			      mkdir("/sys/fs/bpf/xdp/dispatch-2-4711", 0700) < 0))
		return 99;
	iw_log_setup("ddp-xdp", IW_LOG_WARN);
	return p->fn();
}

/* Returns the exit status of fn, or skips the test. */
static int there(int (*fn)(void), bool dispatcher)
{
	struct place p = { fn, dispatcher };
	struct iw_xdp_attached a;
	struct iw_fault why;

	if (iw_attach_query(&a, LO, &why) == IW_E_NOTSUP) {
		print_message("# needs xdp: %s\n", why.text);
		skip();
	}
	capture_run(&c, in_place, &p);
	if (c.status == NO_PLACE) {
		print_message("# needs root: no namespaces of one's own here\n");
		skip();
	}
	return c.status;
}

static void pin(bool is)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/lo", pins);
	if (is)
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	else
		(void)unlink(path);
}

static bool pin_is_there(void)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/lo", pins);
	return access(path, F_OK) == 0;
}

static int set_up(void **state)
{
	(void)state;
	snprintf(pins, sizeof(pins), "/tmp/iw-pins-XXXXXX");
	return mkdtemp(pins) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	pin(false);
	return rmdir(pins);
}

/* --- detach ----------------------------------------------------------------------------------- */

/* Returns 0: detached; 10: not detached; else the error, made positive. */
static int detach(const char *interface, bool force)
{
	struct iw_detached d;
	struct iw_fault why = { 0 };
	struct iw_json w;
	bool done;
	int err = iw_detach_program(&d, &done, interface, pins, force, &why);

	if (err) {
		printf("%s\n", why.text);
		return -err;
	}
	iw_json_init(&w, STDOUT_FILENO);
	if (done && iw_detached_json(&w, &d, interface, &why) < 0)
		return 98;
	iw_json_fini(&w);
	if (done)
		iw_detached_print(&d, interface, pins);
	else
		printf("%s\n", why.text);
	return done ? 0 : 10;
}

static int detach_lo(void)
{
	return detach("lo", false);
}

static int detach_lo_by_force(void)
{
	return detach("lo", true);
}

static int detach_none(void)
{
	return detach("no-such-if", true);
}

static void detach_without_an_attached_program_does_nothing(void **state)
{
	(void)state;
	assert_int_equal(there(detach_none, false), -IW_E_NOENT);
	assert_non_null(strstr(c.out, "no-such-if"));
	for (int force = 0; force < 2; force++) {
		assert_int_equal(there(force ? detach_lo_by_force : detach_lo, false), 10);
		assert_non_null(strstr(c.out, "lo: no XDP program is attached\n"));
	}
}

static void a_pin_without_a_program_is_removed_only_by_force(void **state)
{
	(void)state;
	pin(true);
	assert_int_equal(there(detach_lo, false), 10);
	assert_non_null(strstr(c.out, "but a pin is left over; --force-clean"));
	assert_true(pin_is_there());
	assert_int_equal(there(detach_lo_by_force, false), 0);
	assert_false(pin_is_there());
	assert_non_null(
		strstr(c.out, "\"program_id\":0,\"pin_removed\":true,\"dispatchers_removed\":0"));
	assert_non_null(strstr(c.out, "/lo removed"));
	assert_null(strstr(c.out, "detached"));
}

/* Leftovers of another interface are not counted. */
static void leftovers_of_a_dispatcher_are_reported_and_removed_only_by_force(void **state)
{
	(void)state;
	assert_int_equal(there(detach_lo, true), 10);
	assert_non_null(strstr(c.out, "but files of a dispatcher are left over; --force-clean"));
	assert_int_equal(there(detach_lo_by_force, true), 0);
	assert_non_null(strstr(c.out, "\"pin_removed\":false,\"dispatchers_removed\":1"));
	assert_non_null(strstr(c.out, "dispatchers (1)"));
}

/* --- status ----------------------------------------------------------------------------------- */

static int status(const char *interface, size_t expected)
{
	struct iw_fault why = { 0 };
	struct iw_status *l;
	struct iw_json w;
	size_t n;
	int err = iw_status_find(&l, &n, interface, pins, &why);

	iw_json_init(&w, STDOUT_FILENO);
	if (!err)
		err = iw_status_report(l, n, &w, true, &why);
	if (!err)
		err = iw_status_report(l, n, NULL, true, &why);
	iw_json_fini(&w);
	if (!err && n && l->at_before == 0)
		err = -97;
	iw_status_free(l, n);
	return err ? -err : n == expected ? 0 : 10;
}

static int status_of_lo(void)
{
	return status("lo", 1);
}

static int status_of_all(void)
{
	return status(NULL, 0);
}

static int status_of_none(void)
{
	return status("no-such-if", 0);
}

static void status_finds_the_named_interface_or_all_with_a_program(void **state)
{
	(void)state;
	assert_int_equal(there(status_of_all, false), 0);
	assert_string_equal(c.out, "");
	assert_int_equal(there(status_of_none, false), 0);
	assert_string_equal(c.out, "");
	pin(true);
	assert_int_equal(there(status_of_lo, true), 0);
	assert_non_null(strstr(c.out, "\"event\":\"status\",\"interface\":\"lo\",\"ifindex\":1,"
				      "\"owner\":\"none\",\"queues\":1"));
	assert_non_null(strstr(c.out, "\"pin_stale\":false,\"dispatchers_left\":1}"));
	assert_null(strstr(c.out, "program_id"));
	assert_non_null(strstr(c.out, "lo: no XDP program\n"));
	assert_non_null(strstr(c.out, "leftovers of former dispatchers (1); remove them with "
				      "`ddp-xdp detach -I lo --force-clean`"));
	pin(false);
}

static struct iw_status shown;

static int show(const void *arg)
{
	struct iw_fault why;
	struct iw_json w;
	int err;

	(void)arg;
	iw_json_init(&w, STDOUT_FILENO);
	err = iw_status_json(&w, &shown, &why);
	iw_json_fini(&w);
	return err || iw_status_print(&shown, &why) < 0;
}

static void shows(const char *text)
{
	capture_run(&c, show, NULL);
	assert_int_equal(c.status, 0);
	if (!strstr(c.out, text))
		fail_msg("\"%s\" is not in: %s", text, c.out);
}

/*
 * Shows a process before a pin, and a pin before the link. A stale pin does not hold the program.
 */
static void status_reports_the_holder(void **state)
{
	(void)state;
	shown = (struct iw_status){
		.name = "eth9",
		.pins = "/pins",
		.ifindex = 9,
		.queues = 4,
		.a = { .owner = IW_XDP_FOREIGN, .program = 17, .name = "other", .insns = 5 }
	};
	shows("\neth9: foreign (other), generic mode, program 17, kept until it is detached\n");
	shows("\"owner\":\"foreign\",\"queues\":4,\"name\":\"other\",\"mode\":\"generic\",\"program_id\":17");
	assert_null(strstr(c.out, "\"pin"));
	assert_null(strstr(c.out, "holder"));
	shown.a.link = 3;
	shown.a.native = true;
	shows("native mode, program 17, kept by a link\n");
	shown.pinned = IW_XDP_STALE;
	shows("kept by a link\n  /pins/eth9: leftover pin of a link without a program; remove it with `ddp-xdp detach -I eth9");
	shows("\"pin\":\"/pins\",\"pin_stale\":true");
	shown.pinned = IW_XDP_PINNED;
	shows(", pinned in /pins\n");
	shows("\"pin_stale\":false");
	assert_null(strstr(c.out, "leftover"));
	shown.holder_pid = 4242;
	memcpy(shown.holder_name, "ddp-xdp", 8);
	shows(", kept by process 4242 (ddp-xdp)\n");
	shows("\"holder_pid\":4242,\"holder\":\"ddp-xdp\"");
	assert_null(strstr(c.out, ", pinned in"));
}

static void status_of_a_program_that_may_not_be_queried_is_unknown(void **state)
{
	(void)state;
	shown = (struct iw_status){ .name = "eth9",
				    .pins = "/pins",
				    .ifindex = 9,
				    .queues = 4,
				    .a = { .owner = IW_XDP_UNKNOWN, .program = 17, .name = "?" } };
	shows("\neth9: unknown, generic mode, program 17, which this user may not look at: be root for its name and counters\n");
	shows("\"owner\":\"unknown\",\"queues\":4");
}

static void addresses_ports_and_rates_read_as_people_write_them(void **state)
{
	static const uint8_t any[16], v6[16] = { 0x20, 1, 0xd, 0xb8, [15] = 1 },
				      v4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
	struct iw_status l = { .at = IW_SEC(10) };
	char text[IW_ADDR_TEXT];
	uint16_t port;

	(void)state;
	assert_string_equal(iw_status_addr(text, any), "*");
	assert_string_equal(iw_status_addr(text, v6), "2001:db8::1");
	assert_string_equal(iw_status_addr(text, v4), "10.0.0.1");
	iw_put_be16((uint8_t *)&port, 7471);
	assert_int_equal(iw_status_port(&port), 7471);
	/* No rate for the first reading, nor for two readings at the same time. */
	assert_int_equal(iw_status_rate(&l, 1000), 0);
	l.at_before = IW_MSEC(9500);
	assert_int_equal(iw_status_rate(&l, 1000), 2000);
	l.at_before = l.at;
	assert_int_equal(iw_status_rate(&l, 1000), 0);
	assert_true(iw_status_aligned(&(struct iw_xdp_mpa){ .aligned = 3 }) == 0);
	assert_true(iw_status_aligned(&(struct iw_xdp_mpa){ .aligned = 3, .followed = 4 }) == 0.75);
}

/* --- attach ----------------------------------------------------------------------------------- */

static int attach_none(void)
{
	const struct iw_attachment_cfg cfg = { .interface = "no-such-if", .pins = pins };
	struct iw_fault why = { 0 };
	struct iw_attachment k;
	int err = iw_attachment_create(&k, &cfg, &why);

	printf("%s", why.text);
	if (k.steer || k.observe || k.link != -1 || k.holder_pid)
		return 96;
	iw_attachment_free(&k);
	return -err;
}

static void a_missing_interface_is_named(void **state)
{
	(void)state;
	assert_int_equal(there(attach_none, false), -IW_E_NOENT);
	assert_string_equal(c.out, "interface no-such-if: no such interface; `ip link` lists them");
}

/* The wait ends when the program is detached. */
static int wait_without_a_link(const void *arg)
{
	const struct iw_attachment k = { .link = -1 };
	struct iw_fault why = { 0 };
	int err;

	(void)arg;
	if (iw_signals_init(&why) < 0)
		return 95;
	err = iw_attachment_wait(&k, "eth9", &why);
	printf("%s", why.text);
	return -err;
}

static int wait_until_asked(const void *arg)
{
	const struct iw_attachment k = { .link = -1 };
	struct iw_fault why = { 0 };

	(void)arg;
	if (iw_signals_init(&why) < 0 || raise(SIGTERM) != 0)
		return 95;
	return -iw_attachment_wait(&k, "eth9", &why);
}

static void foreground_wait_ends_with_the_program_or_on_a_stop_request(void **state)
{
	(void)state;
	capture_run(&c, wait_without_a_link, NULL);
	assert_int_equal(c.status, -IW_E_NOENT);
	assert_string_equal(c.out, "interface eth9: another process detached the program");
	capture_run(&c, wait_until_asked, NULL);
	assert_int_equal(c.status, 0);
}

static struct iw_attachment_cfg attached_as = { .interface = "eth9", .pins = "/pins" };

static int report_attachment(const void *arg)
{
	const struct iw_attachment *k = arg;
	struct iw_fault why;
	struct iw_json w;
	int err;

	iw_json_init(&w, STDOUT_FILENO);
	err = iw_attachment_json(&w, &attached_as, k, &why);
	iw_json_fini(&w);
	iw_attachment_print(&attached_as, k);
	return err;
}

static void an_attachment_reports_its_holder_and_lost_offloads(void **state)
{
	static const struct {
		enum iw_attachment_holder holder;
		const char *json, *text;
	} rows[] = {
		{ IW_HELD_BY_PROCESS, "\"kept_by\":\"holder\",\"holder_pid\":42,\"offloads\"",
		  ", kept by process 42\n" },
		{ IW_HELD_BY_FOREGROUND,
		  "\"kept_by\":\"foreground\",\"holder_pid\":42,\"offloads\"",
		  ", kept by process 42\n" },
		{ IW_HELD_BY_PIN, "\"kept_by\":\"pin\",\"pin\":\"/pins\",\"offloads\"",
		  ", pinned in /pins\n" },
		{ IW_HELD_BY_DISPATCHER, "\"kept_by\":\"dispatcher\",\"offloads\"",
		  ", in a dispatcher\n" },
	};
	struct iw_attachment k = { .a = { .program = 17, .link = 3, .native = true, .insns = 5 },
				   .ifindex = 9,
				   .queues = 1,
				   .link = -1,
				   .offloads_before = IW_XDP_TSO | IW_XDP_LRO | IW_XDP_TX_CSUM,
				   .offloads_after = IW_XDP_TSO };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		attached_as.holder = rows[i].holder;
		k.holder_pid = i < 2 ? 42 : 0;
		capture_run(&c, report_attachment, &k);
		assert_int_equal(c.status, 0);
		assert_non_null(strstr(c.out, rows[i].json));
		assert_non_null(strstr(c.out, rows[i].text));
		assert_non_null(strstr(
			c.out,
			"\"offloads\":[\"tso\"],\"offloads_lost\":[\"lro\",\"tx-checksum\"]"));
		assert_non_null(strstr(c.out, "eth9: offload lro was switched off\n"
					      "eth9: offload tx-checksum was switched off\n"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(detach_without_an_attached_program_does_nothing),
		cmocka_unit_test(a_pin_without_a_program_is_removed_only_by_force),
		cmocka_unit_test(leftovers_of_a_dispatcher_are_reported_and_removed_only_by_force),
		cmocka_unit_test(status_finds_the_named_interface_or_all_with_a_program),
		cmocka_unit_test(status_reports_the_holder),
		cmocka_unit_test(status_of_a_program_that_may_not_be_queried_is_unknown),
		cmocka_unit_test(addresses_ports_and_rates_read_as_people_write_them),
		cmocka_unit_test(a_missing_interface_is_named),
		cmocka_unit_test(foreground_wait_ends_with_the_program_or_on_a_stop_request),
		cmocka_unit_test(an_attachment_reports_its_holder_and_lost_offloads),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

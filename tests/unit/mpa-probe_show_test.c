// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The output about a probe, as text and as JSON, from results made here. */
#include "mpa-probe/show.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "mpa/mpa.h"
#include "util/num.h"

#define REP "MPA ID Rep Frame"

static struct iw_probe_attempt attempts[4];
static struct iw_probe_result r;
static char text[16384];

static const struct iw_ask p2p = { .rev = 2,
				   .crc = true,
				   .enhanced = true,
				   .peer_to_peer = true,
				   .rtr = IW_RTR_ALL,
				   .ird = 16,
				   .ord = 16 };

/* Makes an attempt with that outcome and these octets. */
static struct iw_probe_attempt attempt(enum iw_purpose purpose, const struct iw_ask *ask,
				       enum iw_outcome o, const char *raw, size_t len)
{
	struct iw_probe_attempt c = { .purpose = purpose, .ask = *ask };

	c.answer.outcome = o;
	c.answer.connect_ns = 50000;
	memcpy(c.answer.raw, raw, len);
	c.answer.raw_len = len;
	return c;
}

/* A Reply of Linux siw with a greeting in its Private Data. */
static void make_endpoint(void)
{
	static const char reply[] = REP "\x50\x02\0\x09\x90\x10\x40\x10"
					"hi\0\x1b\xff";
	struct iw_answer *a = &attempts[0].answer;
	struct iw_ask ask = p2p;

	memset(attempts, 0, sizeof(attempts));
	attempts[0] = attempt(IW_PURPOSE_MAIN, &p2p, IW_OUTCOME_ACCEPTED, reply, sizeof(reply) - 1);
	a->flags = 0x50;
	a->rev = 2;
	a->enhanced = true;
	a->e = (struct iw_mpa_enhanced){
		.peer_to_peer = true, .rtr_write = true, .ird = 16, .ord = 16
	};
	a->pd_off = 24;
	a->pd_len = 5;
	a->crc = true;
	a->rtr = a->rtr_sent = IW_RTR_WRITE;
	a->reply_ns = 123456;
	a->facts = (struct iw_play_facts){ .local = "127.0.0.1:40000",
					   .peer = "127.0.0.1:7471",
					   .mss = 1448,
					   .pmtu = 1500,
					   .rtt_ns = 40000 };
	a->proof = IW_PROOF_WORKS;
	a->reads = 3;
	a->fpdus = a->aligned = 3;
	a->rtt_ns = 61000;
	ask.markers = true;
	attempts[1] = attempt(IW_PURPOSE_MARKERS, &ask, IW_OUTCOME_REFUSED,
			      REP "\x70\x02\0\x04\0\0\0\0", 24);
	attempts[1].answer.flags = 0x70;
	attempts[1].answer.rev = 2;
	attempts[1].answer.enhanced = true;
	attempts[1].answer.ending = IW_ENDING_FIN;
	r = (struct iw_probe_result){ .iwarp = true,
				      .main = attempts,
				      .attempts = attempts,
				      .nattempts = 2,
				      .took_ns = IW_MSEC(42) };
	(void)snprintf(r.target, sizeof(r.target), "127.0.0.1:7471");
	r.verdict = (struct iw_verdict){ .impl = IW_IMPL_SIW, .npro = 2, .ncontra = 1, .score = 7 };
	r.verdict.pro[0] = (struct iw_evidence){ IW_FACT_ECHOES_RESERVED, true };
	r.verdict.pro[1] = (struct iw_evidence){ IW_FACT_MARKERS_OBEYED, false };
	r.verdict.contra[0] = (struct iw_evidence){ IW_FACT_DEPTH_32, true };
}

static void make_failure(enum iw_outcome o, const char *why, const char *seems)
{
	memset(attempts, 0, sizeof(attempts));
	attempts[0] = attempt(IW_PURPOSE_MAIN, &p2p, o, "", 0);
	(void)iw_fail(&attempts[0].answer.why, IW_E_FORMAT, "%s", why);
	(void)snprintf(attempts[0].answer.text, sizeof(attempts[0].answer.text), "%s", seems);
	r = (struct iw_probe_result){ .main = attempts, .attempts = attempts, .nattempts = 1 };
	(void)snprintf(r.target, sizeof(r.target), "[::1]:80");
}

static void show(int (*fn)(const struct iw_probe_result *r, FILE *f, unsigned columns))
{
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_non_null(f);
	assert_int_equal(fn(&r, f, 200), 0);
	fclose(f);
}

static int make_result(struct iw_json *w)
{
	return iw_probe_write_json(w, &r, 0);
}

static int make_attempt(struct iw_json *w)
{
	return iw_probe_attempt_write_json(w, 7, &r.attempts[1]);
}

static void json(int (*fn)(struct iw_json *w))
{
	int fd = memfd_create("json", 0);
	struct iw_json w;
	ssize_t n;

	iw_json_init(&w, fd);
	assert_int_equal(fn(&w), 0);
	iw_json_fini(&w);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	close(fd);
}

#define HAS(s)   assert_non_null(strstr(text, s))
#define LACKS(s) assert_null(strstr(text, s))

/* --- text --- */

static void report_of_an_endpoint(void **state)
{
	(void)state;
	make_endpoint();
	show(iw_probe_show);
	HAS("127.0.0.1:7471: an iWARP endpoint\n");
	HAS("2, enhanced (RFC 6581)");
	HAS("on: C=1 in the Request, C=1 in the Reply");
	HAS("to the peer off, from the peer off; a Request with M=1 is refused by R = 1, then closed");
	HAS("16 and 16, for a Request with 16 and 16");
	HAS("offered Send Write Read; agreed Write; sent write");
	HAS("1448 octets, MULPDU 1442, path MTU 1500");
	HAS("3 RDMA Reads answered, CRC correct; 3 of 3 FPDUs at the start of a socket read");
	HAS("61.0 us for a zero-length RDMA Read, 40.0 us measured by TCP");
	HAS("looks like    Linux siw (software iWARP)");
	HAS("+ its Reply echoes the reserved flag bits of the Request");
	HAS("+ it does not accept a Request with M = 1");
	HAS("- IRD and ORD of 16382 become 32");
	/* Private Data in hex and as text, without characters that control a terminal. */
	HAS("5 \"hi");
	HAS("6869001bff");
	assert_null(strchr(text, '\x1b'));
}

static void report_of_an_endpoint_that_is_not_iwarp(void **state)
{
	(void)state;
	make_failure(IW_OUTCOME_NOT_MPA, "whatever", "HTTP (\"HTTP/1.1 400\")");
	show(iw_probe_show);
	assert_string_equal(text,
			    "[::1]:80: not an iWARP endpoint: it speaks HTTP (\"HTTP/1.1 400\")\n");
	make_failure(IW_OUTCOME_CLOSED, "the peer closed the connection", "");
	r.nattempts = 3;
	show(iw_probe_show);
	assert_string_equal(
		text,
		"[::1]:80: not an iWARP endpoint: the peer closed the connection; another program may"
		" listen there: give the port of the iWARP listener with -p\n");
	make_failure(IW_OUTCOME_PORT_CLOSED, "connect to ::1 port 80: connection refused", "");
	show(iw_probe_show);
	assert_string_equal(text, "[::1]:80: not an iWARP endpoint: connection refused\n");
}

static void no_verdict_without_an_answer_or_after_one_request(void **state)
{
	(void)state;
	make_failure(IW_OUTCOME_UNREACHABLE, "no answer within 500 ms", "");
	show(iw_probe_show);
	assert_string_equal(
		text,
		"[::1]:80: not known whether it is an iWARP endpoint: no answer within 500 ms\n");
	make_failure(IW_OUTCOME_RESET, "the peer reset the connection", "");
	show(iw_probe_show);
	HAS("[::1]:80: does not accept this Request with Rev 2: the peer reset the connection; ");
	LACKS("not an iWARP endpoint");
}

static void report_of_a_refusal(void **state)
{
	(void)state;
	make_failure(IW_OUTCOME_REFUSED, "refused", "");
	memcpy(attempts[0].answer.raw,
	       REP "\x20\x01\0\x03"
		   "no!",
	       23);
	attempts[0].answer.raw_len = 23;
	attempts[0].answer.ending = IW_ENDING_RESET;
	show(iw_probe_show);
	HAS("[::1]:80: speaks MPA, but refuses the connection\n");
	HAS("Rev 1 C=0 M=0 R=1 Private Data 3 \"no!\" 6e6f21\n");
	HAS("the peer reset the connection\n");
}

static void grid_has_a_row_for_each_connection(void **state)
{
	(void)state;
	make_endpoint();
	attempts[2] =
		attempt(IW_PURPOSE_GRID, &(struct iw_ask){ .rev = 3 }, IW_OUTCOME_RESET, "", 0);
	(void)iw_fail(&attempts[2].answer.why, IW_E_MPA_LOST, "the peer reset the connection");
	attempts[3] = attempts[0];
	attempts[3].purpose = IW_PURPOSE_GRID;
	attempts[3].answer.proof = IW_PROOF_BROKEN;
	(void)iw_fail(&attempts[3].answer.broken, IW_E_MPA_CRC, "its CRC is wrong");
	r.nattempts = 4;
	r.gone = true;
	show(iw_probe_show_grid);
	HAS("main       2  1  0  Send Write Read  accepted  Rev 2 C=1 M=0 RTR Write IRD 16 ORD 16 Private Data 5; FPDUs: works");
	HAS("markers    2  1  1  Send Write Read  refused   Rev 2 C=1 M=0 client-server IRD 0 ORD 0, then closed");
	HAS("grid       3  0  0  -                reset     the peer reset the connection");
	HAS("Private Data 5; its CRC is wrong");
	HAS("\nstopped: the listener no longer accepts");
}

/* --- JSON --- */

static void json_of_an_endpoint(void **state)
{
	(void)state;
	make_endpoint();
	json(make_result);
	assert_int_equal(
		strncmp(text,
			"{\"schema\":1,\"event\":\"result\",\"target\":\"127.0.0.1:7471\",\"iwarp\":true,\"outcome\":\"accepted\",",
			83),
		0);
	HAS("\"request\":{\"rev\":2,\"m\":false,\"c\":true,\"r\":false,\"s\":true,\"reserved\":0,\"peer_to_peer\":true,\"rtr\":[\"send\",\"write\",\"read\"],\"ird\":16,\"ord\":16,\"private_data_octets\":0}");
	HAS("\"emss_octets\":1448,\"path_mtu_octets\":1500,\"mulpdu_octets\":1442");
	HAS("\"private_data_octets\":5,\"private_data_hex\":\"6869001bff\"");
	HAS("\"agreed\":{\"crc\":true,\"tx_markers\":false,\"rx_markers\":false,\"rtr\":[\"write\"],\"rtr_unasked\":false,\"rtr_sent\":\"write\"}");
	HAS("\"fpdu_exchange\":\"works\"");
	HAS("\"reads_answered\":3,\"read_rtt_ns\":61000");
	HAS("\"looks_like\":{\"name\":\"siw\"");
	HAS("{\"fact\":\"markers_obeyed\",\"is\":false,");
	HAS("\"against\":[{\"fact\":\"depth_32\",\"is\":true,");
	HAS("\"connections\":2,\"took_ns\":42000000,\"exit_status\":0}\n");
	assert_null(strchr(text, '\x1b'));
}

static void json_of_an_attempt(void **state)
{
	(void)state;
	make_endpoint();
	json(make_attempt);
	assert_int_equal(
		strncmp(text,
			"{\"schema\":1,\"event\":\"attempt\",\"number\":7,\"purpose\":\"markers\",\"outcome\":\"refused\",",
			76),
		0);
	HAS("\"reply\":{\"rev\":2,\"m\":false,\"c\":true,\"r\":true,");
	HAS("\"ending\":\"fin\"");
	LACKS("\"agreed\"");
}

static void json_of_an_endpoint_that_is_not_iwarp(void **state)
{
	(void)state;
	make_failure(IW_OUTCOME_NOT_MPA, "16 octets are no MPA key", "SSH");
	memcpy(attempts[0].answer.raw, "SSH-2.0\xff", 8);
	attempts[0].answer.raw_len = 8;
	json(make_result);
	HAS("\"iwarp\":false,\"outcome\":\"not_mpa\"");
	HAS("\"text\":\"16 octets are no MPA key\",\"seems\":\"SSH\"");
	HAS("\"received\":\"SSH-2.0\\\\xff\",\"received_b64\":");
	LACKS("looks_like");
	LACKS("\"reply\"");
}

/* --- frames --- */

static const char *frame(const char *octets, size_t len)
{
	struct iw_text t;

	iw_text_init(&t, text, sizeof(text));
	iw_probe_frame_show(&t, (const uint8_t *)octets, len);
	return text;
}

static void frames_in_a_line(void **state)
{
	static char long_frame[IW_ASK_MAX] = "MPA ID Req Frame\x40\x01\x02";

	(void)state;
	assert_string_equal(
		frame(REP "\x57\x02\0\x04\xc0\x01\x40\x02", 24),
		"Rev 2 C=1 M=0 R=0 reserved 0x07 peer-to-peer RTR Send Read IRD 1 ORD 2");
	assert_string_equal(frame(REP "\x10\x02\0\x04\0\x01\0\x02", 24),
			    "Rev 2 C=0 M=0 R=0 client-server IRD 1 ORD 2");
	assert_string_equal(frame(REP "\x40\x01\0\0", 20), "Rev 1 C=1 M=0 R=0");
	assert_string_equal(frame(REP "\x40\x01\0\x01", 20),
			    "Rev 1 C=1 M=0 R=0, 20 of its 21 octets");
	assert_string_equal(frame(REP "\x40", 17), "incomplete: 17 octets of at least 20");
	assert_string_equal(frame("GET / HTTP/1.1\r\n\r\n\r\n", 20), "not an MPA frame");
	/* The longest Private Data. */
	memset(long_frame + 20, 'x', 512);
	frame(long_frame, sizeof(long_frame));
	HAS("Private Data 512 \"xxxx");
	assert_int_equal(strlen(strrchr(text, ' ') + 1), 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_of_an_endpoint),
		cmocka_unit_test(report_of_an_endpoint_that_is_not_iwarp),
		cmocka_unit_test(no_verdict_without_an_answer_or_after_one_request),
		cmocka_unit_test(report_of_a_refusal),
		cmocka_unit_test(grid_has_a_row_for_each_connection),
		cmocka_unit_test(json_of_an_endpoint),
		cmocka_unit_test(json_of_an_attempt),
		cmocka_unit_test(json_of_an_endpoint_that_is_not_iwarp),
		cmocka_unit_test(frames_in_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The facts of a connection, in JSON and as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/conn_facts.h"

#include <string.h>

#include "unit/cli_capture.h"
#include "util/text.h"

static struct capture c;
static const struct iw_qp_info qp = {
	.local = "192.0.2.1:7471",
	.peer = "192.0.2.2:4711",
	.rev = 2,
	.crc = true,
	.rx_markers = true,
	.emss = 1448,
	.mulpdu = 1442,
	.ird = 3,
	.ord = 4,
	.rtr = IW_RTR_SEND | IW_RTR_READ,
	.tx_octets = 5,
	.rx_octets = 6,
	.tx_fpdus = 7,
	.rx_fpdus = 8,
	.nudges = 9,
};
static const struct iw_assoc_info assoc = {
	.in = 10,
	.out = 11,
	.indicated = true,
	.adaptation = 1,
	.npaths = 2,
	.path = { { .addr = "192.0.2.2:9899",
		    .active = true,
		    .primary = true,
		    .mtu = 1500,
		    .srtt_ns = 2000 },
		  { .addr = "192.0.2.3:9899" } },
};

static int write_line(const void *arg)
{
	const bool *tcp = arg;
	struct iw_json w;
	int err;

	iw_json_init(&w, STDOUT_FILENO);
	iw_json_begin(&w, "e");
	iw_cli_facts_ends_json(&w, qp.local, *tcp ? qp.peer : "");
	iw_cli_facts_json(&w, &qp, *tcp);
	iw_cli_facts_setup_json(&w, &qp, *tcp);
	iw_cli_facts_traffic_json(&w, &qp, *tcp);
	if (!*tcp)
		iw_cli_facts_assoc_json(&w, &assoc);
	err = iw_json_end(&w);
	iw_json_fini(&w);
	return err;
}

static void json_has_each_fact_with_its_unit(void **state)
{
	bool tcp = true;

	(void)state;
	capture_run(&c, write_line, &tcp);
	assert_string_equal(
		c.out,
		"{\"schema\":1,\"event\":\"e\",\"local\":\"192.0.2.1:7471\",\"peer\":\"192.0.2.2:4711\","
		"\"crc\":true,\"tx_markers\":false,\"rx_markers\":true,\"large_fpdus\":false,"
		"\"emss_octets\":1448,\"mulpdu_octets\":1442,\"rev\":2,\"ird\":3,\"ord\":4,"
		"\"rtr\":[\"send\",\"read\"],\"tx_octets\":5,\"rx_octets\":6,\"tx_fpdus\":7,"
		"\"rx_fpdus\":8,\"nudges\":9}\n");
}

static void json_over_sctp_has_no_facts_of_mpa(void **state)
{
	bool tcp = false;

	(void)state;
	capture_run(&c, write_line, &tcp);
	assert_string_equal(
		c.out,
		"{\"schema\":1,\"event\":\"e\",\"local\":\"192.0.2.1:7471\",\"crc\":true,"
		"\"mulpdu_octets\":1442,\"rev\":2,\"ird\":3,\"ord\":4,\"tx_octets\":5,"
		"\"rx_octets\":6,\"tx_fpdus\":7,\"rx_fpdus\":8,\"streams_out\":11,\"streams_in\":10,"
		"\"adaptation_indication\":1,\"addresses\":[{\"address\":\"192.0.2.2:9899\","
		"\"primary\":true,\"active\":true,\"path_mtu_octets\":1500,\"srtt_ns\":2000},"
		"{\"address\":\"192.0.2.3:9899\",\"primary\":false,\"active\":false,"
		"\"path_mtu_octets\":0,\"srtt_ns\":0}]}\n");
}

static void text_has_the_same_facts(void **state)
{
	struct iw_assoc_info other = assoc;
	struct iw_qp_info old = qp;
	struct iw_text t;
	char buf[200];

	(void)state;
	iw_text_init(&t, buf, sizeof(buf));
	iw_cli_facts_text(&t, &qp, true);
	assert_string_equal(buf,
			    "MPA Rev 2, CRC on, markers from the peer, EMSS 1448, MULPDU 1442, "
			    "IRD 3, ORD 4, RTR send or read");
	iw_text_init(&t, buf, sizeof(buf));
	iw_cli_facts_text(&t, &qp, false);
	assert_string_equal(buf, "enhanced (RFC 6581), CRC on, MULPDU 1442, IRD 3, ORD 4");
	old.rev = 1;
	iw_text_init(&t, buf, sizeof(buf));
	iw_cli_facts_text(&t, &old, false);
	assert_string_equal(buf, "CRC on, MULPDU 1442, IRD 3, ORD 4");
	iw_text_init(&t, buf, sizeof(buf));
	iw_cli_facts_assoc_text(&t, &assoc);
	assert_string_equal(buf, "11 streams out, 10 in, adaptation indication 0x00000001 (DDP)");
	other.indicated = false;
	iw_text_init(&t, buf, sizeof(buf));
	iw_cli_facts_assoc_text(&t, &other);
	assert_string_equal(buf, "11 streams out, 10 in, no adaptation indication");
	iw_text_init(&t, buf, sizeof(buf));
	iw_cli_facts_path_text(&t, &assoc.path[0]);
	assert_string_equal(buf,
			    "address 192.0.2.2:9899, primary, path MTU 1500, round trip 2.0 us");
	iw_text_init(&t, buf, sizeof(buf));
	iw_cli_facts_path_text(&t, &assoc.path[1]);
	assert_string_equal(buf, "address 192.0.2.3:9899, inactive, path MTU 0");
}

static int write_encryption(const void *arg)
{
	struct iw_json w;
	int err;

	iw_json_init(&w, STDOUT_FILENO);
	iw_json_begin(&w, "e");
	iw_cli_facts_tls_json(&w, arg);
	err = iw_json_end(&w);
	iw_json_fini(&w);
	return err;
}

static void json_of_a_plain_connection_has_no_encryption(void **state)
{
	struct iw_tls_info plain = { .version = NULL };

	(void)state;
	capture_run(&c, write_encryption, &plain);
	assert_string_equal(c.out, "{\"schema\":1,\"event\":\"e\"}\n");
}

static void json_has_the_encryption_and_the_key_of_the_peer(void **state)
{
	struct iw_tls_info pinned = {
		.version = "TLSv1.3",
		.cipher = "TLS_AES_128_GCM_SHA256",
		.auth = IW_TLS_AUTH_PIN,
		.has_peer_pin = true,
	};
	struct iw_tls_info psk = {
		.version = "DTLSv1.2",
		.cipher = "ECDHE-PSK-CHACHA20-POLY1305",
		.auth = IW_TLS_AUTH_PSK,
	};

	(void)state;
	capture_run(&c, write_encryption, &pinned);
	assert_string_equal(
		c.out,
		"{\"schema\":1,\"event\":\"e\",\"tls_version\":\"TLSv1.3\","
		"\"tls_cipher\":\"TLS_AES_128_GCM_SHA256\",\"tls_auth\":\"pin\","
		"\"tls_peer_key\":\"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}\n");
	capture_run(&c, write_encryption, &psk);
	assert_string_equal(
		c.out, "{\"schema\":1,\"event\":\"e\",\"tls_version\":\"DTLSv1.2\","
		       "\"tls_cipher\":\"ECDHE-PSK-CHACHA20-POLY1305\",\"tls_auth\":\"psk\"}\n");
}

static void text_says_how_the_peer_was_authenticated(void **state)
{
	static const struct {
		enum iw_tls_auth auth;
		bool key;
		const char *text;
	} cases[] = {
		{ IW_TLS_AUTH_PSK, false, "V C, peer authenticated by PSK" },
		{ IW_TLS_AUTH_PIN, true, "V C, peer authenticated by its pinned key" },
		{ IW_TLS_AUTH_CA, true, "V C, peer authenticated by its certificate" },
		{ IW_TLS_AUTH_NONE, false, "V C, peer not authenticated" },
		{ IW_TLS_AUTH_NONE, true,
		  "V C, peer key SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
	};
	struct iw_text t;
	char buf[200];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct iw_tls_info tls = { .version = "V",
					   .cipher = "C",
					   .auth = cases[i].auth,
					   .has_peer_pin = cases[i].key };

		iw_text_init(&t, buf, sizeof(buf));
		iw_cli_facts_tls_text(&t, &tls);
		assert_string_equal(buf, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_each_fact_with_its_unit),
		cmocka_unit_test(json_over_sctp_has_no_facts_of_mpa),
		cmocka_unit_test(text_has_the_same_facts),
		cmocka_unit_test(json_of_a_plain_connection_has_no_encryption),
		cmocka_unit_test(json_has_the_encryption_and_the_key_of_the_peer),
		cmocka_unit_test(text_says_how_the_peer_was_authenticated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

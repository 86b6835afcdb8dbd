// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Channel bindings: source and sink at the ends of the same TLS session, and of different ones. */
#include "transfer/protocol/xfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transfer/protocol/msg.h"
#include "unit/transfer-protocol_pair.h"
#include "util/num.h"

static struct xpair pair; /* too large for the stack */
static const uint8_t one[IW_XFER_BINDING_LEN] = { 1, 2, 3, [31] = 4 };
static const uint8_t other[IW_XFER_BINDING_LEN] = { 1, 2, 3, [31] = 5 };
static const enum iw_xfer_mode modes[] = { IW_XFER_WRITE, IW_XFER_READ, IW_XFER_SEND };

/* What the test saw of the messages of each side: [1] is the source. */
static struct {
	unsigned messages, bindings;
	bool first_has; /* the first message has a binding */
	bool named;     /* a message other than OPEN, NOP and ABORT */
} seen[2];
/* The binding of this side's first message is changed in transit: 1 is the source; -1: none. */
static int change;

static bool watch(struct xpair *p, bool from_source, uint8_t *msg, size_t *len, size_t cap)
{
	struct iw_xfer_msg m;
	struct iw_fault why;

	(void)p;
	(void)cap;
	if (msg[0] == 0) /* a data Send */
		return true;
	assert_int_equal(iw_xfer_msg_decode(&m, msg, *len, &why), 0);
	seen[from_source].bindings += m.binding != NULL;
	if (seen[from_source].messages++ == 0)
		seen[from_source].first_has = m.binding;
	seen[from_source].named |= m.type != IW_XFER_MSG_NOP && m.type != IW_XFER_MSG_OPEN &&
				   m.type != IW_XFER_MSG_ABORT;
	if (m.binding && change == from_source)
		msg[m.binding - msg] ^= 1;
	return true;
}

/* NULL: that side has a plain connection. */
static void start(bool pull, enum iw_xfer_mode mode, const uint8_t *source, const uint8_t *sink)
{
	const struct xpair_opts o = {
		.pull = pull, .mode = mode, .digest = IW_XFER_XXH3, .seed = 3
	};

	xpair_init(&pair, &o);
	memset(seen, 0, sizeof(seen));
	change = -1;
	pair.meddle = watch;
	if (source)
		iw_xfer_bind(pair.source.x, source);
	if (sink)
		iw_xfer_bind(pair.sink.x, sink);
	xpair_add(&pair, IW_XFER_FILE, "a", 3 * IW_XFER_CHUNK);
	xpair_add(&pair, IW_XFER_DIR, "d", 0);
}

/* Nothing was named by the initiator, and nothing was placed. */
static void assert_nothing_done(bool pull)
{
	assert_false(seen[!pull].named);
	assert_false(pair.opened);
	assert_int_equal(pair.creates, 0);
	assert_true(pair.source.ended && pair.sink.ended);
}

static void assert_refused(const struct xpair_side *s, const char *text)
{
	assert_int_equal(s->fault.err, IW_E_TLS);
	if (!strstr(s->fault.text, text))
		fail_msg("expected \"%s\" in: %s", text, s->fault.text);
}

static void equal_bindings_are_sent_once_by_each_side(void **state)
{
	(void)state;
	for (unsigned pull = 0; pull < 2; pull++) {
		for (size_t m = 0; m < IW_ARRAY_LEN(modes); m++) {
			start(pull, modes[m], one, one);
			xpair_run(&pair);
			assert_int_equal(pair.source.fault.err, IW_OK);
			assert_int_equal(pair.sink.fault.err, IW_OK);
			assert_true(pair.file[0].committed);
			for (unsigned i = 0; i < 2; i++)
				assert_true(seen[i].bindings == 1 && seen[i].first_has);
			xpair_fini(&pair);
		}
	}
}

static void plain_connections_have_no_binding(void **state)
{
	(void)state;
	start(false, IW_XFER_WRITE, NULL, NULL);
	xpair_run(&pair);
	assert_int_equal(pair.source.fault.err, IW_OK);
	assert_int_equal(seen[0].bindings + seen[1].bindings, 0);
	xpair_fini(&pair);
}

static void different_bindings_end_the_transfer_before_anything_is_named(void **state)
{
	(void)state;
	for (unsigned pull = 0; pull < 2; pull++) {
		struct xpair_side *responder = pull ? &pair.source : &pair.sink;
		struct xpair_side *initiator = pull ? &pair.sink : &pair.source;

		start(pull, IW_XFER_WRITE, one, other);
		xpair_run(&pair);
		assert_nothing_done(pull);
		assert_refused(responder, "the channel bindings of both ends differ (RFC 9266)");
		/* The ABORT says why, and has no binding. */
		assert_int_equal(initiator->fault.err, IW_E_REJECTED);
		assert_non_null(strstr(initiator->fault.text, "channel bindings"));
		assert_int_equal(seen[pull].bindings, 0);
		xpair_fini(&pair);
	}
}

static void the_initiator_compares_too(void **state)
{
	(void)state;
	for (unsigned pull = 0; pull < 2; pull++) {
		start(pull, IW_XFER_WRITE, one, one);
		change = pull;
		xpair_run(&pair);
		assert_refused(pull ? &pair.sink : &pair.source, "differ (RFC 9266)");
		assert_false(seen[!pull].named);
		assert_int_equal(pair.creates, 0);
		xpair_fini(&pair);
	}
}

static void encryption_at_one_end_only_is_refused(void **state)
{
	(void)state;
	for (unsigned pull = 0; pull < 2; pull++) {
		struct xpair_side *responder = pull ? &pair.source : &pair.sink;

		start(pull, IW_XFER_WRITE, pull ? NULL : one, pull ? one : NULL);
		xpair_run(&pair);
		assert_nothing_done(pull);
		assert_refused(responder, "the peer's side of this connection is encrypted");
		xpair_fini(&pair);
		start(pull, IW_XFER_WRITE, pull ? one : NULL, pull ? NULL : one);
		xpair_run(&pair);
		assert_true(pair.source.ended && pair.sink.ended);
		assert_false(pair.opened);
		assert_int_equal(pair.creates, 0);
		assert_refused(responder, "first message has no channel binding");
		xpair_fini(&pair);
	}
}

/* A NOP with a binding of that many octets; 0: without one. */
static size_t make_nop(uint8_t buf[static 64], size_t binding)
{
	struct iw_cbor_out o;

	iw_cbor_out_init(&o, buf, 64);
	iw_cbor_map(&o, binding ? 3 : 2);
	iw_cbor_uint(&o, IW_XFER_KEY_TYPE);
	iw_cbor_uint(&o, IW_XFER_MSG_NOP);
	iw_cbor_uint(&o, IW_XFER_KEY_CREDIT);
	iw_cbor_uint(&o, 100);
	if (binding) {
		iw_cbor_uint(&o, IW_XFER_KEY_BINDING);
		iw_cbor_bytes(&o, one, binding);
	}
	return o.len;
}

static void the_initiator_waits_for_the_binding_of_the_responder(void **state)
{
	struct iw_fault why;
	uint8_t buf[64];
	uint64_t sends;

	(void)state;
	start(false, IW_XFER_WRITE, NULL, NULL);
	pair.lone = true;
	/* With credit for more messages than OPEN. */
	pair.source_cfg.peer.recvs = 16;
	iw_xfer_free(pair.source.x);
	assert_int_equal(iw_xfer_new(&pair.source.x, &pair.source_cfg, &why), 0);
	iw_xfer_bind(pair.source.x, one);
	iw_xfer_start(pair.source.x, &pair.source_cfg.peer, pair.now);
	xpair_act_all(&pair, &pair.source);
	sends = iw_xfer_counts(pair.source.x)->msgs_sent;
	assert_int_equal(sends, 1); /* OPEN */
	xpair_inject(&pair, &pair.source, buf, make_nop(buf, sizeof(one)));
	xpair_act_all(&pair, &pair.source);
	assert_true(iw_xfer_counts(pair.source.x)->msgs_sent > sends);
	assert_false(pair.source.ended);
	xpair_fini(&pair);
}

static void a_first_message_without_or_with_a_short_binding_is_refused(void **state)
{
	uint8_t buf[64];

	(void)state;
	for (size_t len = 0; len < sizeof(one); len += sizeof(one) - 1) {
		start(false, IW_XFER_WRITE, one, NULL);
		pair.lone = true;
		xpair_act_all(&pair, &pair.source);
		xpair_inject(&pair, &pair.source, buf, make_nop(buf, len));
		xpair_act_all(&pair, &pair.source);
		assert_true(pair.source.ended);
		if (len == 0)
			assert_refused(&pair.source, "first message has no channel binding");
		else
			assert_int_equal(pair.source.fault.err, IW_E_FORMAT);
		xpair_fini(&pair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_bindings_are_sent_once_by_each_side),
		cmocka_unit_test(plain_connections_have_no_binding),
		cmocka_unit_test(different_bindings_end_the_transfer_before_anything_is_named),
		cmocka_unit_test(the_initiator_compares_too),
		cmocka_unit_test(encryption_at_one_end_only_is_refused),
		cmocka_unit_test(the_initiator_waits_for_the_binding_of_the_responder),
		cmocka_unit_test(a_first_message_without_or_with_a_short_binding_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

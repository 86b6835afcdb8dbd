// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Control messages, requests and answers: a decoded message stays the same when it is encoded and
 * decoded again, and respects its limits. */
#include "stag-reg/msg.h"

#include "fuzz/property.h"

static void must_be_told(const struct iw_fault *why)
{
	must(why->err == IW_E_FORMAT || why->err == IW_E_TRUNC || why->err == IW_E_LIMIT);
	must(why->text[0]);
}

static void check_request(const uint8_t *data, size_t len)
{
	struct iw_manager_request q, again;
	uint8_t msg[IW_MANAGER_MSG_MAX];
	struct iw_fault why = { 0 };
	size_t n;

	if (iw_manager_request_decode(&q, data, len, &why) != 0) {
		must_be_told(&why);
		return;
	}
	must(q.op >= IW_MANAGER_ADD && q.op <= IW_MANAGER_REVOKE);
	must(q.op != IW_MANAGER_ADD || (q.access && q.off + q.len <= INT64_MAX));
	must(!*q.domain || iw_manager_name_valid(q.domain, strlen(q.domain)));
	n = iw_manager_request_encode(msg, &q);
	must(n <= sizeof(msg));
	must(iw_manager_request_decode(&again, msg, n, &why) == 0);
	must(memcmp(&q, &again, sizeof(q)) == 0);
}

static void check_reply(const uint8_t *data, size_t len)
{
	struct iw_manager_reply r, again;
	uint8_t msg[IW_MANAGER_MSG_MAX];
	struct iw_fault why = { 0 };
	size_t n;

	if (iw_manager_reply_decode(&r, data, len, &why) != 0) {
		must_be_told(&why);
		return;
	}
	must(r.kind != IW_MANAGER_ERROR || r.err < 0);
	n = iw_manager_reply_encode(msg, &r);
	must(n <= sizeof(msg));
	must(iw_manager_reply_decode(&again, msg, n, &why) == 0);
	must(memcmp(&r, &again, sizeof(r)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	check_request(data, len);
	check_reply(data, len);
	return 0;
}

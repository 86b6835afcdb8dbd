// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The channel binding (RFC 9266): both ends of a TLS or DTLS session derive the same value from it,
 * and no other session has that value.
 *
 * The initiator sends it in OPEN. A responder compares it before it accepts OPEN, and sends its own
 * in its first message. Until then the initiator sends nothing else.
 */
#include <string.h>

#include "transfer/protocol/internal.h"
#include "util/text.h"

void iw_xfer_bind(struct iw_xfer *x, const uint8_t binding[static IW_XFER_BINDING_LEN])
{
	memcpy(x->binding, binding, IW_XFER_BINDING_LEN);
	x->bound = x->unproved = true;
	x->binding_due = x->cfg.initiator;
}

static int refuse(struct iw_xfer *x, const char *text)
{
	struct iw_fault why;

	iw_xfer_fault(&why, IW_E_TLS, "%s", text);
	iw_xfer_fail(x, &why);
	return IW_E_TLS;
}

int iw_xfer_check_binding(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	if (!x->bound && m->binding)
		return refuse(
			x,
			"the peer's side of this connection is encrypted and this side is not: another party between them ends the encryption (RFC 9266)");
	/* An ABORT without it has the reason why the peer sends nothing else. */
	if (!x->unproved || (!m->binding && m->type == IW_XFER_MSG_ABORT))
		return 0;
	if (!m->binding)
		return refuse(
			x,
			"the peer's first message has no channel binding (RFC 9266): its side of this connection is not encrypted, or its version is older");
	if (memcmp(m->binding, x->binding, IW_XFER_BINDING_LEN) != 0)
		return refuse(
			x,
			"the channel bindings of both ends differ (RFC 9266): another party decrypts this connection between them");
	x->unproved = false;
	x->binding_due = !x->cfg.initiator;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Start-up of initiator and responder (RFC 5044 7.1.2): receives and sends Request and Reply. It
 * asks for no octet after the frame, so that later octets stay in TCP.
 */
#include "mpa/mpa.h"

#include <assert.h>
#include <string.h>

#include "mpa/internal.h"

/*
 * Returns the octets of the frame that are known to follow: the first 20 and, once these are
 * received and checked, PD_Length more.
 */
static size_t frame_need(const struct iw_mpa *m)
{
	if (m->in_len < IW_MPA_FRAME_LEN)
		return IW_MPA_FRAME_LEN;
	return IW_MIN(IW_MPA_FRAME_LEN + (size_t)iw_get_be16(m->in + 18), (size_t)FRAME_MAX);
}

int iw_mpa_startup_rx_vec(struct iw_mpa *m, struct iw_vec vec[2])
{
	if (m->state != IW_MPA_WAIT_REQUEST && m->state != IW_MPA_WAIT_REPLY)
		return 0;
	m->rx.asked = frame_need(m) - m->in_len;
	if (m->rx.asked == 0)
		return 0;
	vec[0] = (struct iw_vec){ .base = m->in + m->in_len, .len = m->rx.asked };
	return 1;
}

/*
 * Name the protocol whose server or client sends this octet first; "": unknown. They look at one
 * octet only, so that the text does not depend on how much TCP has delivered.
 */
static const char *guess_responder(uint8_t first)
{
	switch (first) {
	case 'H':
	case '<': /* without a status line */
		return "an HTTP server answers";
	case 'S':
		return "an SSH server answers";
	case '2':
		return "an SMTP or FTP server answers";
	}
	return "";
}

static const char *guess_initiator(uint8_t first)
{
	switch (first) {
	case 'G':
	case 'H':
	case 'P':
		return "an HTTP client begins";
	case 'S':
		return "an SSH client begins";
	}
	return "";
}

/* Types of TLS records (RFC 8446 5.1). */
#define TLS_ALERT     0x15
#define TLS_HANDSHAKE 0x16

/* A server answers a Request with an alert; some send a record of the handshake first. */
static bool is_tls(const struct iw_mpa *m)
{
	return m->in[0] == TLS_HANDSHAKE || (m->cfg.initiator && m->in[0] == TLS_ALERT);
}

static int peer_has_tls(const struct iw_mpa *m, uint8_t want, struct iw_fault *why)
{
	return iw_fail(
		why, IW_E_MPA_FRAME,
		m->cfg.initiator
			? "the peer expects TLS: a TLS server answers like this; give --tls, or the port of a plain iWARP listener with -p (octet 0 of the MPA key is %b, expected %b)"
			: "mpa: the peer speaks TLS: a TLS client begins like this; start the listener with --tls, or the peer without it (octet 0 of the MPA key is %b, expected %b)",
		(uint32_t)m->in[0], (uint32_t)want);
}

static int not_the_key(const struct iw_mpa *m, size_t i, uint8_t want, struct iw_fault *why)
{
	const char *hint = "";

	if (i == 0 && is_tls(m))
		return peer_has_tls(m, want, why);
	if (i == 0)
		hint = m->cfg.initiator ? guess_responder(m->in[0]) : guess_initiator(m->in[0]);
	if (!*hint)
		return iw_fail(why, IW_E_MPA_FRAME,
			       "mpa: not an MPA %s: octet %u of the key is %b, expected %b%s",
			       m->cfg.initiator ? "Reply" : "Request", (uint32_t)i,
			       (uint32_t)m->in[i], (uint32_t)want,
			       m->cfg.initiator ? "; is an iWARP listener on this port?" : "");
	return iw_fail(
		why, IW_E_MPA_FRAME,
		m->cfg.initiator
			? "not an iWARP listener: %s like this; give the listener's port with -p (octet %u of the MPA key is %b, expected %b)"
			: "mpa: not an MPA Request: %s like this (octet %u of the key is %b, expected %b)",
		hint, (uint32_t)i, (uint32_t)m->in[i], (uint32_t)want);
}

/*
 * Fails at the first wrong octet of the key, because a peer of another protocol may never send
 * sixteen (RFC 5044 7.1.1, 7.1.2 rules 5 and 8).
 */
static int check_key(const struct iw_mpa *m, struct iw_fault *why)
{
	uint8_t want[IW_MPA_FRAME_LEN], other[IW_MPA_FRAME_LEN];
	enum iw_mpa_kind kind = m->cfg.initiator ? IW_MPA_REPLY : IW_MPA_REQUEST;
	enum iw_mpa_kind not_kind = m->cfg.initiator ? IW_MPA_REQUEST : IW_MPA_REPLY;
	size_t have = IW_MIN(m->in_len, (size_t)IW_MPA_KEY_LEN);
	size_t i = 0;

	iw_wire_mpa_frame_encode(want, sizeof(want), &(struct iw_mpa_frame){ .kind = kind });
	iw_wire_mpa_frame_encode(other, sizeof(other), &(struct iw_mpa_frame){ .kind = not_kind });
	while (i < have && m->in[i] == want[i])
		i++;
	if (i == have)
		return 0;
	if (memcmp(m->in, other, i + 1) == 0)
		return iw_fail(
			why, IW_E_MPA_FRAME,
			m->cfg.initiator
				? "mpa: got an MPA Request, expected a Reply: both ends are initiators, or an echo service is there; give the listener's port with -p"
				: "mpa: got an MPA Reply, expected a Request: both ends are responders");
	return not_the_key(m, i, want[i], why);
}

static int got_request(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_mpa_unit *u)
{
	iw_mpa_take_request(m, f);
	m->deadline = IW_TIME_NEVER;
	iw_mpa_set_state(m, IW_MPA_DECIDING);
	*u = (struct iw_mpa_unit){ .kind = IW_MPA_UNIT_REQUEST };
	return 1;
}

static int got_reply(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_mpa_unit *u,
		     struct iw_fault *why)
{
	int ret;

	m->deadline = IW_TIME_NEVER;
	/* RFC 5044 7.1.2 rule 3: MPA is over, TCP stays open. */
	if (f->flags & IW_MPA_R) {
		iw_mpa_take_reject(m, f);
		iw_mpa_set_state(m, IW_MPA_STREAMING);
		*u = (struct iw_mpa_unit){ .kind = IW_MPA_UNIT_REJECT };
		return 1;
	}
	ret = iw_mpa_take_reply(m, f, why);
	/*
	 * The peer is in full operation now, so a Reply that does not match is answered with a
	 * Terminate (RFC 6581 9).
	 */
	m->tx.open = true;
	if (ret < 0)
		return iw_mpa_failed(m, ret, why);
	iw_mpa_set_state(m, IW_MPA_FULL);
	*u = (struct iw_mpa_unit){ .kind = IW_MPA_UNIT_REPLY };
	return 1;
}

int iw_mpa_startup_next(struct iw_mpa *m, struct iw_mpa_unit *u, struct iw_fault *why)
{
	struct iw_mpa_frame f;
	int consumed, ret;

	if (m->state != IW_MPA_WAIT_REQUEST && m->state != IW_MPA_WAIT_REPLY)
		return 0;
	ret = check_key(m, why);
	if (ret < 0)
		return iw_mpa_failed(m, ret, why);
	if (m->in_len < IW_MPA_FRAME_LEN)
		return 0;
	consumed = iw_wire_mpa_frame_decode(&f, m->in, m->in_len);
	ret = iw_mpa_check_head(m, &f, why);
	if (ret < 0)
		return iw_mpa_failed(m, ret, why);
	if (consumed == 0)
		return 0;
	return m->cfg.initiator ? got_reply(m, &f, u, why) : got_request(m, &f, u);
}

static int undecided(const struct iw_mpa *m, struct iw_fault *why)
{
	if (m->state == IW_MPA_DECIDING)
		return 0;
	return iw_fail(why, IW_E_STATE, "mpa: no Request is pending: the state is %s",
		       iw_mpa_state_name(m->state));
}

int iw_mpa_accept(struct iw_mpa *m, uint16_t ird, uint16_t ord, const uint8_t *pd, size_t pd_len,
		  struct iw_fault *why)
{
	int ret = undecided(m, why);

	if (ret == 0)
		ret = iw_mpa_build_accept(m, ird, ord, pd, pd_len, why);
	if (ret == 0)
		iw_mpa_set_state(m, IW_MPA_FULL_RX);
	return ret;
}

int iw_mpa_reject(struct iw_mpa *m, const uint8_t *pd, size_t pd_len, struct iw_fault *why)
{
	int ret = undecided(m, why);

	if (ret == 0)
		ret = iw_mpa_build_reject(m, pd, pd_len, why);
	if (ret == 0)
		iw_mpa_set_state(m, IW_MPA_STREAMING);
	return ret;
}

struct iw_vec iw_mpa_tx_startup(const struct iw_mpa *m)
{
	union {
		const uint8_t *in;
		void *out;
	} p = { .in = m->out + m->out_sent }; /* iw_vec has no const; the caller only reads */

	/* An initiator's Request waits for iw_mpa_start. */
	if (m->state == IW_MPA_IDLE || m->out_sent == m->out_len)
		return (struct iw_vec){ 0 };
	return (struct iw_vec){ .base = p.out, .len = m->out_len - m->out_sent };
}

void iw_mpa_tx_startup_sent(struct iw_mpa *m, size_t bytes)
{
	assert(bytes <= m->out_len - m->out_sent);
	m->out_sent += bytes;
}

bool iw_mpa_is_mute(const struct iw_mpa *m)
{
	return m->out_len == 0;
}

struct iw_vec iw_mpa_startup_in(const struct iw_mpa *m)
{
	union {
		const uint8_t *in;
		void *out;
	} p = { .in = m->in }; /* as above */

	return (struct iw_vec){ .base = p.out, .len = m->in_len };
}

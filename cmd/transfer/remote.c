// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Copies a stream into a registered buffer of the peer, or out of it. */
#include "transfer/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/confine.h"
#include "cli/human.h"
#include "cli/param.h"
#include "cli/signals.h"
#include "os/os.h"
#include "stag-reg/claim.h"
#include "transfer/files/out.h"
#include "transfer/report.h"
#include "util/num.h"
#include "util/text.h"

#define CHUNK IW_URI_OPERATION
#define SLOTS 8u    /* operations in flight, each with at most CHUNK octets */
#define FLUSH SLOTS /* wr_id of the Read after all Writes */

enum phase { CONNECTING, MOVING, FLUSHING, LEAVING, OVER };

struct remote {
	const struct iw_remote_cfg *cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_qp *qp;
	/* signals, and watched: standard input or output while it is waited for; -1: neither */
	int epoll, watched;
	enum phase phase;
	struct iw_fault fault; /* the first failure */
	uint64_t began_at;

	/*
	 * A ring of slots. To: [head, tail) are in flight, and tail is being filled. From: [head,
	 * tail) are in flight, or read and not written out.
	 */
	uint8_t *mem;
	struct iw_mr *sink[SLOTS];
	uint32_t len[SLOTS];       /* octets in the slot */
	uint32_t head, tail, done; /* from: [head, done) are read */
	uint32_t filled;           /* to: octets in slot tail */
	uint32_t out;              /* from: octets of slot head that are written out */
	uint64_t posted;           /* octets of the buffer for which an operation was posted */
	uint64_t moved;            /* completed */
	bool eof;                  /* end of standard input */
};

static void fail(struct remote *m, const struct iw_fault *why)
{
	if (!m->fault.err)
		m->fault = *why;
	if (m->qp)
		iw_abort(m->qp);
	m->phase = OVER;
}

static uint8_t *slot(const struct remote *m, uint32_t n)
{
	return m->mem + (size_t)(n % SLOTS) * CHUNK;
}

/* --- waiting --- */

static void watch(struct remote *m, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	if (fd == m->watched)
		return;
	if (m->watched >= 0)
		(void)epoll_ctl(m->epoll, EPOLL_CTL_DEL, m->watched, NULL);
	m->watched = -1;
	/* epoll rejects regular files, which never block. */
	if (fd >= 0 && epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &ev) == 0)
		m->watched = fd;
}

static bool input_ready(void)
{
	struct pollfd pfd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&pfd, 1, 0) != 0;
}

/* --- to --- */

static void post(struct remote *m, const struct iw_send_wr *wr)
{
	struct iw_fault why;
	int err = iw_post_send(m->qp, wr, &why);

	/* If the connection is ending, its last event has the reason. */
	if (err && err != IW_E_STATE)
		fail(m, &why);
}

static void post_write(struct remote *m)
{
	uint32_t n = m->tail++;
	struct iw_sge sge = { slot(m, n), m->filled };
	struct iw_send_wr wr = { .wr_id = n % SLOTS,
				 .op = IW_WR_WRITE,
				 .sge = &sge,
				 .nsge = 1,
				 .remote_stag = m->cfg->uri.stag,
				 .remote_to = m->cfg->uri.to + m->posted };

	m->len[n % SLOTS] = m->filled;
	m->posted += m->filled;
	m->filled = 0;
	post(m, &wr);
}

/*
 * When this Read is answered, all Writes before it were placed. If the buffer does not permit
 * Reads, the peer's orderly close must suffice.
 */
static void post_flush(struct remote *m)
{
	struct iw_send_wr wr = { .wr_id = FLUSH,
				 .op = IW_WR_READ,
				 .sink = m->sink[0],
				 .remote_stag = m->cfg->uri.stag,
				 .remote_to = m->cfg->uri.to };
	struct iw_qp_info info;

	iw_qp_info(m->qp, &info);
	if (info.ord == 0) {
		iw_disconnect(m->qp);
		m->phase = LEAVING;
		return;
	}
	m->phase = FLUSHING;
	post(m, &wr);
}

/*
 * Returns 1 with *got octets, or at the end of input; 0: none are available now, or m has failed.
 */
static int read_input(struct remote *m, void *p, size_t len, size_t *got)
{
	struct iw_fault why;
	ssize_t n;

	if (!input_ready())
		return 0;
	n = read(STDIN_FILENO, p, len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0) {
		iw_os_fail(&why, errno, "read standard input");
		fail(m, &why);
		return 0;
	}
	*got = (size_t)n;
	m->eof = n == 0;
	return 1;
}

/* Checks, when the buffer is full, that the input ends too. What fits is written in any case. */
static void expect_end(struct remote *m)
{
	size_t got;
	char more;

	if (read_input(m, &more, 1, &got) == 0 || m->eof)
		return;
	iw_xfer_fault(&m->fault, IW_E_LIMIT,
		      "standard input has more than the %U octets of the buffer, which is full",
		      m->cfg->uri.len);
	m->eof = true;
}

static void fill(struct remote *m)
{
	while (!m->eof && m->phase == MOVING && m->tail - m->head < SLOTS) {
		uint64_t left = m->cfg->uri.len - m->posted - m->filled;
		size_t got, room = (size_t)IW_MIN((uint64_t)(CHUNK - m->filled), left);

		if (left == 0) {
			if (m->filled > 0)
				post_write(m);
			expect_end(m);
			break;
		}
		if (read_input(m, slot(m, m->tail) + m->filled, room, &got) == 0)
			break;
		m->filled += (uint32_t)got;
		if (m->filled == CHUNK)
			post_write(m);
	}
	if (m->phase != MOVING)
		return;
	/*
	 * A partly filled slot is sent if nothing else is in flight, or no more input will follow.
	 */
	if (m->filled > 0 && (m->eof || m->tail == m->head))
		post_write(m);
	watch(m, !m->eof && m->tail - m->head < SLOTS ? STDIN_FILENO : -1, EPOLLIN);
	if (m->eof)
		post_flush(m);
}

/* --- from --- */

static void post_reads(struct remote *m)
{
	while (m->phase == MOVING && m->tail - m->head < SLOTS && m->posted < m->cfg->uri.len) {
		uint32_t n = m->tail++;
		struct iw_send_wr wr = { .wr_id = n % SLOTS,
					 .op = IW_WR_READ,
					 .remote_stag = m->cfg->uri.stag,
					 .remote_to = m->cfg->uri.to + m->posted,
					 .sink = m->sink[n % SLOTS],
					 .len = (uint32_t)IW_MIN((uint64_t)CHUNK,
								 m->cfg->uri.len - m->posted) };

		m->len[n % SLOTS] = wr.len;
		m->posted += wr.len;
		post(m, &wr);
	}
}

static void write_out(struct remote *m)
{
	struct iw_file_fault what;
	struct iw_fault why;

	watch(m, -1, 0);
	while (m->head != m->done) {
		size_t wrote;
		int r = iw_out_write(slot(m, m->head) + m->out, m->len[m->head % SLOTS] - m->out,
				     &wrote, &what);

		if (r < 0) {
			iw_xfer_fault(&why, IW_E_OS, "%s", what.text);
			fail(m, &why);
			return;
		}
		m->out += (uint32_t)wrote;
		if (r == 1) {
			watch(m, iw_out_fd(), EPOLLOUT);
			return;
		}
		if (m->out == m->len[m->head % SLOTS]) {
			m->out = 0;
			m->head++;
		}
	}
}

static void drain(struct remote *m)
{
	write_out(m);
	post_reads(m);
	if (m->phase == MOVING && m->posted == m->cfg->uri.len && m->head == m->tail) {
		iw_disconnect(m->qp);
		m->phase = LEAVING;
	}
}

/* --- the connection --- */

/* Compares the buffer that the peer describes with that of the URI. */
static int check_buffer(const struct remote *m, const struct iw_claim *c, struct iw_fault *why)
{
	const struct iw_uri *u = &m->cfg->uri;
	unsigned need = m->cfg->from ? IW_CLAIM_READ : IW_CLAIM_WRITE;

	if (!(c->rights & need))
		return iw_xfer_fault(
			why, IW_E_REJECTED,
			"STag %x: registered for %s only; revoke it and register it with --access %s or rw, or use %s",
			u->stag, need == IW_CLAIM_READ ? "writing" : "reading",
			iw_access_text(need),
			need == IW_CLAIM_READ ? "ddp-send --to" : "ddp-recv --from");
	/* The decoders have checked that the sums do not wrap. */
	if (u->to < c->to || u->to + u->len > c->to + c->len)
		return iw_xfer_fault(
			why, IW_E_REJECTED,
			"the URI asks for %U octets from Tagged Offset %U, the buffer has %U from %U: change to= and len=",
			u->len, u->to, c->len, c->to);
	return 0;
}

static void on_up(struct remote *m)
{
	struct iw_qp_info info;
	struct iw_claim c;
	struct iw_fault why;
	int err;

	if (m->phase != CONNECTING)
		return;
	iw_qp_info(m->qp, &info);
	err = iw_cli_secure_established(m->cfg->secure, m->qp, &why);
	if (!err)
		err = iw_claim_decode(&c, true, info.private_data, info.private_data_len, &why);
	if (!err)
		err = check_buffer(m, &c, &why);
	if (err) {
		fail(m, &why);
		return;
	}
	m->phase = MOVING;
	m->began_at = iw_os_now();
	iw_report_connected(m->qp);
}

/* Uses the reason of the peer if there is one. */
static void on_rejected(struct remote *m, const struct iw_fault *said)
{
	struct iw_fault why = *said;
	struct iw_qp_info info;
	struct iw_claim c;
	bool ours;

	iw_qp_info(m->qp, &info);
	ours = info.private_data_len > 0 &&
	       iw_claim_decode(&c, true, info.private_data, info.private_data_len, NULL) == 0 &&
	       c.form == IW_CLAIM_REJECT;
	if (ours && c.code == IW_XFER_CODE_REFUSED && !m->cfg->uri.key.set)
		iw_xfer_fault(
			&why, IW_E_REJECTED,
			"STag %x: rejected, and the URI has no key=; quote the whole URI in the shell, as stag-reg show STAG --uri prints it",
			m->cfg->uri.stag);
	else if (ours && c.code == IW_XFER_CODE_REFUSED)
		iw_xfer_fault(&why, IW_E_REJECTED, "%s: the peer rejected STag %x: %s", info.peer,
			      m->cfg->uri.stag, c.text[0] ? c.text : iw_xfer_code_text(c.code));
	else if (ours)
		iw_xfer_fault(&why, IW_E_REJECTED, "%s: the peer rejected the connection: %s",
			      info.peer, c.text[0] ? c.text : iw_xfer_code_text(c.code));
	else if (info.private_data_len > 0)
		iw_xfer_fault(
			&why, IW_E_REJECTED,
			"the listener at %s has no registered buffers; expected the ddp-recv in which stag-reg add registered the buffer",
			info.peer);
	fail(m, &why);
}

/*
 * If the peer invalidated the STag during the transfer, says so instead of the text of the
 * Terminate.
 */
static void explain_lost_stag(const struct remote *m, struct iw_fault *why)
{
	int err = iw_err_from_term(why->term);
	struct iw_qp_info info;
	size_t len;

	if (!why->from_peer || (err != IW_E_DDP_STAG && err != IW_E_RP_STAG))
		return;
	iw_log_info("%s", why->text);
	iw_qp_info(m->qp, &info);
	snprintf(why->text, sizeof(why->text),
		 "STag 0x%08x at %s: revoked, expired, or its --uses were reached, after %" PRIu64
		 " octets; register it again with stag-reg add",
		 m->cfg->uri.stag, info.peer, m->moved);
	len = strlen(why->text);
	if (m->cfg->from)
		snprintf(why->text + len, sizeof(why->text) - len,
			 " (--uses %" PRIu64 " or more: one for each MiB)",
			 iw_uri_operations(m->cfg->uri.len));
	else
		snprintf(why->text + len, sizeof(why->text) - len,
			 " (each MiB takes one of its --uses)");
}

static void on_closed(struct remote *m, const struct iw_fault *why)
{
	struct iw_fault reason = *why;
	struct iw_qp_info info;

	if (m->phase == OVER)
		return;
	if (why->err == IW_E_TIMEOUT && m->phase > CONNECTING) {
		iw_qp_info(m->qp, &info);
		iw_xfer_fault(&reason, why->err,
			      "%s: %s; is the network up, and does ddp-recv still run there?",
			      info.peer, why->text);
		fail(m, &reason);
	} else if (why->err) {
		iw_cli_secure_failed(m->cfg->secure, &reason);
		explain_lost_stag(m, &reason);
		fail(m, &reason);
	} else if (m->phase != LEAVING) {
		iw_qp_info(m->qp, &info);
		iw_xfer_fault(
			&reason, IW_E_CLOSED,
			"%s: the peer closed after %U octets were %s; is ddp-recv still running there? A new one needs the buffer registered again",
			info.peer, m->moved, m->cfg->from ? "read" : "sent");
		fail(m, &reason);
	}
	m->phase = OVER;
}

static void take_events(struct remote *m)
{
	struct iw_async_event ev;

	while (iw_next_event(m->ctx, &ev)) {
		switch (ev.type) {
		case IW_EV_CONNECT_REQUEST:
			break;
		case IW_EV_ESTABLISHED:
			on_up(m);
			break;
		case IW_EV_REJECTED:
			on_rejected(m, &ev.fault);
			break;
		case IW_EV_PEER_CLOSED:
			/* No message for the peer is left. */
			iw_disconnect(m->qp);
			break;
		case IW_EV_CLOSED:
			on_closed(m, &ev.fault);
			break;
		}
	}
}

/* Completions arrive in the order of posting. */
static void take_completions(struct remote *m)
{
	struct iw_wc wc[SLOTS + 1];
	int n = iw_cq_poll(m->cq, wc, SLOTS + 1);
	struct iw_fault why;

	if (n < 0) {
		iw_fail(&why, n, "completion queue: %s", iw_err_text(n));
		fail(m, &why);
	}
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IW_OK)
			continue; /* the connection has ended; the fault of CLOSED has the reason */
		if (wc[i].wr_id == FLUSH) {
			iw_disconnect(m->qp);
			m->phase = LEAVING;
			continue;
		}
		m->moved += m->len[wc[i].wr_id];
		if (m->cfg->from) {
			m->done++;
		} else {
			/* fill() uses slot tail only while fewer than SLOTS are in flight. */
			m->head++;
		}
	}
}

static void look_at_signals(struct remote *m)
{
	struct iw_fault why;

	if (!iw_signals_stop() || m->phase == OVER)
		return;
	iw_xfer_fault(&why, IW_E_CANCELED, "interrupted");
	fail(m, &why);
}

static void loop(struct remote *m)
{
	while (m->phase != OVER) {
		struct iw_fault why;
		int r = iw_cq_wait(m->cq, -1);

		if (r < 0) {
			iw_fail(&why, r, "waiting for the connection failed");
			fail(m, &why);
			return;
		}
		/* The completions of an ended connection were queued before its event. */
		take_completions(m);
		take_events(m);
		look_at_signals(m);
		if (m->phase == MOVING && m->cfg->from)
			drain(m);
		else if (m->phase == MOVING)
			fill(m);
	}
}

/* --- beginning and end --- */

static int open_memory(struct remote *m, struct iw_fault *why)
{
	m->mem = malloc((size_t)SLOTS * CHUNK);
	if (!m->mem)
		return iw_fail(why, IW_E_NOMEM, "no memory for the stream");
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct iw_mr_attr attr = {
			.addr = slot(m, i), .len = CHUNK, .access = IW_ACCESS_READ_SINK, .qp = m->qp
		};
		int err = iw_mr_reg(&m->sink[i], m->pd, &attr, why);

		if (err)
			return err;
	}
	return 0;
}

static int open_all(struct remote *m, struct iw_fault *why)
{
	struct iw_cli *cli = m->cfg->cli;
	struct iw_ctx_attr attr = { .size = sizeof(attr),
				    .setup_ns = cli->setup_timeout_ns,
				    .stall_ns = cli->timeout_ns,
				    .trace = cli->trace.f ? iw_cli_trace_line : NULL,
				    .trace_ctx = &cli->trace };
	struct iw_qp_attr qp = { .size = sizeof(qp), .sq_depth = SLOTS + 1, .rq_depth = 1 };
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = iw_signals_fd() };
	int err = iw_ctx_new(&m->ctx, &attr, why);

	if (err)
		return err;
	err = iw_pd_new(&m->pd, m->ctx);
	if (!err)
		err = iw_cq_new(&m->cq, m->ctx);
	if (err)
		return iw_fail(why, err, "open the library: %s", iw_err_text(err));
	qp.send_cq = qp.recv_cq = m->cq;
	err = iw_qp_new(&m->qp, m->pd, &qp, why);
	if (!err)
		err = open_memory(m, why);
	if (err)
		return err;
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll < 0 || epoll_ctl(m->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
		return iw_os_fail(why, errno, "watch for signals");
	return iw_ctx_wake_fd(m->ctx, m->epoll, why);
}

static int begin(struct remote *m, struct iw_fault *why)
{
	const struct iw_uri *u = &m->cfg->uri;
	struct iw_claim c = { .form = IW_CLAIM_REQUEST,
			      .version_max = IW_CLAIM_VERSION,
			      .version_min = IW_CLAIM_VERSION,
			      .stag = u->stag,
			      .key = u->key };
	struct iw_cli_param param = m->cfg->conn;
	uint8_t pd[IW_XFER_PD_MAX];
	int err = open_all(m, why);

	if (err)
		return err;
	param.protocol.private_data = pd;
	param.protocol.private_data_len = iw_claim_encode(pd, &c);
	err = iw_connect(m->qp, &param.at, &param.protocol, why);
	/* Uses only standard input and output. */
	return err ? err : iw_confine_plain(m->cfg->cli, 0, why);
}

static int print_outcome(const struct remote *m)
{
	const struct iw_remote_cfg *cfg = m->cfg;
	uint64_t ns = iw_os_now() - m->began_at, rate = iw_bits_per_second(m->moved, ns);
	char size[IW_HUMAN_TEXT], speed[IW_HUMAN_TEXT], stag[9];
	struct iw_json *w = &cfg->cli->out;

	snprintf(stag, sizeof(stag), "%08x", cfg->uri.stag);
	iw_human_size(size, m->moved);
	iw_human_rate(speed, rate);
	if (cfg->cli->json) {
		iw_json_begin(w, "result");
		iw_json_str(w, "stag", stag);
		iw_json_str(w, "transport", cfg->uri.transport);
		iw_json_u64(w, "moved_octets", m->moved);
		iw_json_u64(w, "duration_ns", ns);
		iw_json_u64(w, "bits_per_second", rate);
		if (iw_json_end(w) != 0)
			return IW_EXIT_FAILED;
	} else if (cfg->from) {
		iw_log_info("read %s from %s, %s", size, stag, speed);
	} else if (!cfg->cli->quiet) {
		printf("wrote %s to %s, %s\n", size, stag, speed);
	}
	return IW_EXIT_OK;
}

int iw_remote_run(const struct iw_remote_cfg *cfg)
{
	struct remote m = { .cfg = cfg, .epoll = -1, .watched = -1 };
	struct iw_fault why = { 0 };
	int status;

	if (cfg->from)
		iw_out_open();
	if (begin(&m, &why) != 0)
		m.fault = why;
	else
		loop(&m);
	status = m.fault.err ? iw_cli_fail(cfg->cli, &m.fault) : print_outcome(&m);
	iw_ctx_free(m.ctx);
	free(m.mem);
	if (m.epoll >= 0)
		close(m.epoll);
	return status;
}

/* --- the option --- */

static bool is_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Reads the first line of the file. A pipe can be read only once, so a trial stops there. */
static void read_line(char line[static IW_URI_TEXT], const char *option, const char *path,
		      const struct argp_state *state)
{
	char text[80];
	FILE *f;

	if (iw_cli_config_trial() && !is_regular(path))
		exit(IW_EXIT_OK);
	f = fopen(path, "re");

	line[0] = '\0';
	if (!f)
		argp_failure(state, IW_EXIT_USAGE, 0, "%s @%s: %s", option, path,
			     iw_os_strerror(text, sizeof(text), errno));
	else if (!fgets(line, IW_URI_TEXT, f))
		argp_error(state, "%s @%s: cannot read a line", option, path);
	if (f)
		fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
}

void iw_remote_arg(struct iw_uri *out, const char *option, const char *arg,
		   const struct argp_state *state)
{
	char line[IW_URI_TEXT] = "", text[80];
	bool from_file = arg[0] == '@';
	const char *why = NULL;

	if (from_file)
		read_line(line, option, arg + 1, state);
	if (iw_uri_parse(out, from_file ? line : arg, &why) == 0 &&
	    !iw_cli_is_transport(out->transport)) {
		snprintf(text, sizeof(text),
			 "transport \"%s\"; expected tcp, sctp, udp, raw or xdp", out->transport);
		why = text;
	}
	/*
	 * The message does not quote the line of a file, which may be a secret or not text at all.
	 */
	if (why)
		argp_error(state, from_file ? "%s %s: first line: %s" : "%s \"%s\": %s", option,
			   arg, why);
}

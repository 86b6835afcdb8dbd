// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One connection: turns the machine's actions into work requests, and completions into its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/listener.h"
#include "cli/param.h"
#include "os/os.h"
#include "transfer/internal.h"
#include "util/text.h"

#define LEAVE_EVICTED IW_SEC(1) /* if the peer's memory is needed */

/* --- life --- */

static struct iw_hello own_hello(const struct session *s, enum iw_xfer_role role)
{
	const struct iw_transfer_cfg *cfg = s->hub->cfg;
	struct iw_hello h = { .major_max = IW_XFER_MAJOR,
			      .major_min = IW_XFER_MAJOR_MIN,
			      .role = role,
			      .mode = cfg->mode,
			      .digest = cfg->digest };

	h.files = IW_XFER_FILES;
	h.ranges = IW_XFER_RANGES;
	h.patience_ms = (uint32_t)IW_MAX(s->hub->cli->timeout_ns / IW_MSEC(1), (uint64_t)1);
	return h;
}

static void size_recvs(struct session *s)
{
	bool data = s->mine.role == IW_XFER_SINK && s->mine.mode == IW_XFER_SEND;

	s->mine.recvs = !s->initiator ? RECVS_FIRST : data ? RECVS_DATA : RECVS_MORE;
	s->mine.recv_size = !s->initiator ? IW_XFER_FIRST_RECV
			    : data        ? IW_XFER_PIECE + IW_XFER_DATA_HDR
					  : IW_XFER_MSG_MAX;
}

int iw_session_new(struct session **out, struct hub *h, struct group *g, bool initiator,
		   struct iw_fault *why)
{
	struct session *s = g ? calloc(1, sizeof(*s)) : NULL;

	if (!s) {
		if (g)
			g->sessions--;
		return iw_fail(why, IW_E_NOMEM, "no memory for a connection");
	}
	s->hub = h;
	s->group = g;
	s->initiator = initiator;
	s->timer.at = IW_TIME_NEVER;
	s->leave_by = IW_TIME_NEVER;
	s->pace_at = IW_TIME_NEVER;
	iw_list_init(&s->ready);
	iw_list_init(&s->starved);
	iw_list_init(&s->files);
	iw_list_init(&s->group_tasks);
	iw_list_add_tail(&h->sessions, &s->all);
	h->nsessions++;
	*out = s;
	return 0;
}

/* Computes the digest of a control message. False: it failed. */
static bool digest_of(void *ctx, const uint8_t *msg, size_t len, struct iw_xfer_digest *out)
{
	const struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = len };
	struct session *s = ctx;

	return iw_session_work(s) && iw_hasher_chunk(&s->work->hasher, &iov, 1, out) == 0;
}

/* Creates the queue pair and the machine. s->mine is set. */
static int set_up(struct session *s, struct iw_fault *why)
{
	struct hub *h = s->hub;
	bool sink = s->mine.role == IW_XFER_SINK;
	struct iw_qp_attr attr = { .size = sizeof(attr),
				   .send_cq = h->cq,
				   .recv_cq = h->cq,
				   .sq_depth = sink ? SQ_SINK : SQ_SOURCE,
				   .rq_depth = (sink && s->mine.mode == IW_XFER_SEND ? RECVS_DATA
										     : RECVS_MORE) +
					       RECVS_FIRST,
				   .user = s };
	struct iw_xfer_cfg cfg = { .mem = &s->mem,
				   .role = s->mine.role,
				   .initiator = s->initiator,
				   .slots = !sink && s->mine.mode == IW_XFER_WRITE
						    ? SLOTS_SOURCE_WRITE
						    : SLOTS,
				   .sq_depth = attr.sq_depth,
				   .stall_ns = h->cli->timeout_ns,
				   .opts = h->cfg->opts,
				   .conns = h->cfg->jobs };
	int err = 0;

	if (sink && h->shows_progress)
		cfg.opts |= IW_XFER_OPT_TOTAL;
	size_recvs(s);
	cfg.mine = s->mine;
	cfg.peer = s->peer;
	if (s->mine.digest != IW_XFER_NONE) {
		cfg.digest = digest_of;
		cfg.digest_ctx = s;
	}
	if (s->initiator && !sink) {
		cfg.path = h->cfg->path;
		cfg.listed = h->cfg->listed;
		cfg.listed_len = h->cfg->listed_len;
	}
	/* Created with the pipe, before the session. */
	if (h->pipe_qp && !h->pipe_session) {
		s->qp = h->pipe_qp;
		h->pipe_session = s;
		h->pipe_used = true;
	} else {
		err = iw_qp_new(&s->qp, h->pd, &attr, why);
	}
	if (!err)
		iw_session_account(s);
	if (!err)
		err = iw_xfer_new(&s->x, &cfg, why);
	if (!err && iw_session_add_recvs(s, s->mine.recvs, s->mine.recv_size) != 0)
		err = iw_fail(why, IW_E_NOMEM, "no memory for receives");
	return err;
}

/*
 * GET requests the contents of a directory as "dir/.", because a source ignores slashes at the end
 * of a path.
 */
static int want_path(struct session *s, const char *path)
{
	size_t len = strlen(path);
	char text[IW_XFER_NAME_MAX + 2];

	if (len == 0 || len > IW_XFER_NAME_MAX || path[len - 1] != '/')
		return iw_xfer_want_path(s->x, path, len);
	memcpy(text, path, len);
	text[len] = '.';
	return iw_xfer_want_path(s->x, text, len + 1);
}

static bool has_includes(const struct iw_filter *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->rules[i].include)
			return true;
	return false;
}

/*
 * Warns about patterns that match a path of the user, because patterns apply only to names below
 * the paths. A directory whose contents are sent has no name. After --include, --exclude '*' is
 * probably not meant for the paths.
 */
static void warn_of_patterns(const struct session *s)
{
	const struct iw_transfer_cfg *cfg = s->hub->cfg;
	const char *verb = s->mine.role == IW_XFER_SOURCE ? "sent" : "fetched";

	if (s->hub->report.silent || has_includes(&cfg->filter))
		return;
	for (size_t i = 0; i < cfg->npaths; i++) {
		size_t len;
		const char *at = iw_walk_name(cfg->paths[i], &len);
		char *name = iw_name_terminated(at, len);

		if (name && !iw_walk_is_contents(cfg->paths[i]) &&
		    iw_filter_excludes(&cfg->filter, name, true))
			iw_log_warn(
				"%s: %s in spite of --exclude, because it is named itself: patterns choose among the names below it",
				cfg->paths[i], verb);
		free(name);
	}
}

static int want_paths(struct session *s, struct iw_fault *why)
{
	const struct iw_transfer_cfg *cfg = s->hub->cfg;
	int err = 0;

	for (size_t i = 0; i < cfg->npaths && !err; i++) {
		if (s->mine.role == IW_XFER_SINK)
			err = want_path(s, cfg->paths[i]);
		else
			err = iw_source_path(s, cfg->paths[i]);
		if (err)
			iw_fail(why, err, "%s: %s", cfg->paths[i], iw_err_text(err));
	}
	if (s->mine.role == IW_XFER_SINK)
		iw_xfer_want_end(s->x);
	return err;
}

/*
 * Over SCTP all connections of a transfer are streams of one association. Returns a queue pair on
 * it; NULL: there is no other connection yet, or the transport is tcp.
 */
static const struct iw_qp *companion(const struct session *s)
{
	if (strcmp(s->hub->cli->transport, "tcp") == 0)
		return NULL;
	for (struct iw_list *n = s->hub->sessions.next; n != &s->hub->sessions; n = n->next) {
		const struct session *other = iw_container_of(n, struct session, all);

		if (other != s && other->group == s->group && other->qp && !other->closed)
			return other->qp;
	}
	return NULL;
}

int iw_session_connect(struct session *s, bool first, struct iw_fault *why)
{
	struct hub *h = s->hub;
	struct iw_cli_param param = h->cfg->conn;
	uint8_t pd[IW_XFER_PD_MAX];
	int err;

	s->mine = own_hello(s, h->cfg->role);
	memcpy(s->mine.id, s->group->id, sizeof(s->mine.id));
	s->mine.conn = s->conn;
	/*
	 * A responder that has sent nothing may not have received OPEN; then it does not know the
	 * transfer.
	 */
	s->mine.again = s->group->redials > 0 && iw_group_counts(s->group).msgs_received > 0;
	err = set_up(s, why);
	if (err)
		return err;
	if (!iw_session_work(s)) {
		*why = s->fault;
		return why->err ? why->err : iw_fail(why, IW_E_NOMEM, "no memory for a transfer");
	}
	if (first)
		warn_of_patterns(s);
	/*
	 * A source takes its paths once. A sink requests all of them on each connection, because
	 * the others may be lost.
	 */
	if (first || s->mine.role == IW_XFER_SINK)
		err = want_paths(s, why);
	if (err)
		return err;
	snprintf(s->peer_text, sizeof(s->peer_text), "%.63s", param.at.host);
	param.at.beside = companion(s);
	param.protocol.private_data = pd;
	param.protocol.private_data_len = iw_hello_encode(pd, &s->mine);
	if (h->cfg->pipe) {
		const struct iw_adopt how = { .size = sizeof(how), .fd = h->cfg->pipe };

		return iw_adopt(s->qp, &how, &param.protocol, why);
	}
	return iw_connect(s->qp, &param.at, &param.protocol, why);
}

int iw_session_accept(struct session *s, struct iw_conn_req *req, const struct iw_hello *request,
		      struct iw_fault *why)
{
	struct iw_protocol_attr protocol = s->hub->cfg->conn.protocol;
	struct iw_hello answer;
	uint8_t pd[IW_XFER_PD_MAX];
	int err;

	/* iw_hello_answer has checked that the Request's terms are acceptable. */
	s->peer = *request;
	s->mine = own_hello(s, s->hub->cfg->role);
	s->mine.major_max = s->mine.major_min = IW_MIN(request->major_max, (uint32_t)IW_XFER_MAJOR);
	s->mine.mode = request->mode;
	s->mine.digest = request->digest;
	memcpy(s->mine.id, request->id, sizeof(s->mine.id));
	err = set_up(s, why);
	if (err) {
		iw_hello_reject(&answer, IW_XFER_CODE_LIMIT, why->text);
		iw_reject(req, pd, iw_hello_encode(pd, &answer));
		return err;
	}
	protocol.private_data = pd;
	protocol.private_data_len = iw_hello_encode(pd, &s->mine);
	return iw_accept(req, s->qp, &protocol, why);
}

static void redial(struct session *s)
{
	struct iw_fault why;

	s->hub->nwaiting--;
	s->leave_by = IW_TIME_NEVER;
	/* A responder waited in vain, or the other connections have completed the transfer. */
	if (!s->initiator || s->group->ended_well) {
		s->phase = PH_GONE;
		return;
	}
	s->phase = PH_CONNECTING;
	s->group->redials++;
	s->leave_by = iw_time_add(s->lost_at, s->hub->cli->timeout_ns);
	if (iw_session_connect(s, false, &why) != 0) {
		s->closed_why = why;
		s->closed = true;
		if (!s->x)
			s->phase = PH_GONE;
	}
	iw_session_make_ready(s);
}

void iw_session_free(struct session *s)
{
	struct hub *h = s->hub;

	iw_list_del(&s->all);
	iw_list_del(&s->ready);
	iw_list_del(&s->starved);
	iw_heap_del(&h->timers, &s->timer);
	/* The queue pair may still use the memory: free it first. */
	if (s->qp)
		iw_qp_free(s->qp);
	if (h->pipe_session == s) {
		h->pipe_qp = NULL;
		h->pipe_session = NULL;
	}
	iw_session_free_memory(s);
	iw_xfer_free(s->x);
	free(s->gone);
	iw_session_settle(s);
	h->nsessions--;
	iw_hub_slot_freed(h);
	free(s);
}

/* --- events --- */

/* The listener that this side needs at the peer. */
static const char *wanted(const struct session *s)
{
	return s->mine.role == IW_XFER_SOURCE ? "ddp-recv" : "ddp-send --listen";
}

static bool read_reply(struct session *s, struct iw_qp_info *info)
{
	struct iw_fault why;
	int err = iw_hello_decode(&s->peer, info->private_data, info->private_data_len, &why);

	/* A peer accepted that is not a transfer tool, for example mpa-probe --listen. */
	if (err && !iw_hello_is_ours(info->private_data, info->private_data_len))
		err = iw_xfer_fault(
			&why, IW_E_REJECTED,
			"not a %s: its Reply lacks the Private Data of ddp-transfer (%u octets seen); start `%s DIR` there, or correct --port",
			wanted(s), (uint32_t)info->private_data_len, wanted(s));
	if (!err)
		err = iw_hello_check(&s->peer, &s->mine, &why);
	if (!err)
		return true;
	iw_xfer_fail(s->x, &why);
	return false;
}

/* ssh start-up: the peer must have proved that it knows the key. The pipe of ssh needs no key. */
static int check_key(const struct session *s, struct iw_fault *why)
{
	struct iw_tls_info info = { .size = sizeof(info) };

	if (!s->hub->cfg->link || s->hub->cfg->pipe)
		return 0;
	if (iw_qp_tls(s->qp, &info) == 0 && info.auth == IW_TLS_AUTH_PSK)
		return 0;
	return iw_xfer_fault(why, IW_E_TLS, "the connection is not encrypted with the agreed key");
}

/* Compares the key of the peer with the remembered one, or with the one that ssh has carried. */
static bool is_known(struct session *s)
{
	struct iw_cli_secure *secure = s->hub->cfg->secure;
	struct iw_fault why;
	int err = secure ? iw_cli_secure_established(secure, s->qp, &why) : check_key(s, &why);

	if (!err)
		return true;
	iw_xfer_fail(s->x, &why);
	return false;
}

/* Over TLS or DTLS, both ends of the transfer prove that they are the ends of the session. */
static void bind_channel(struct session *s)
{
	struct iw_tls_info info = { .size = sizeof(info) };

	if (iw_qp_tls(s->qp, &info) == 0)
		iw_xfer_bind(s->x, info.binding);
}

/* Encryption notices every changed octet. ssh encrypts its pipe. */
static bool is_encrypted(const struct session *s)
{
	struct iw_tls_info info = { .size = sizeof(info) };

	return s->hub->cfg->pipe || iw_qp_tls(s->qp, &info) == 0;
}

void iw_session_up(struct session *s)
{
	struct iw_qp_info info;

	if (s->phase != PH_CONNECTING)
		return;
	s->phase = PH_UP;
	s->leave_by = IW_TIME_NEVER;
	s->established = s->group->established = true;
	s->group->unanswered = false;
	if (s->attempts > 0)
		s->group->last_loss[0] = '\0';
	s->group->connections++;
	iw_hub_connected(s->hub);
	iw_qp_info(s->qp, &info);
	if (!s->hub->cfg->pipe)
		snprintf(s->peer_text, sizeof(s->peer_text), "%s", info.peer);
	iw_report_connected(s->qp);
	if (s->group->moved_at == 0) {
		s->group->began_at = s->group->moved_at = s->hub->now;
		if (!info.crc && s->mine.digest == IW_XFER_NONE && !is_encrypted(s))
			iw_log_warn(
				"%s: neither CRC nor digest (--crc, --digest): octets that change on their way are not noticed",
				info.peer);
	}
	bind_channel(s);
	if (!s->initiator || (is_known(s) && read_reply(s, &info)))
		iw_xfer_start(s->x, s->initiator ? &s->peer : NULL, s->hub->now);
	iw_session_make_ready(s);
}

/* The listener speaks another protocol. *why has the text of the rejection, if there is one. */
static void explain_rejection(const struct session *s, const struct iw_qp_info *info,
			      struct iw_fault *why)
{
	const char *found = iw_cli_listener(info->private_data, info->private_data_len);
	struct iw_fault rejected = *why;

	if (found)
		iw_xfer_fault(why, IW_E_REJECTED,
			      "not a %s: %s listens there; start `%s DIR` there, or correct --port",
			      wanted(s), found, wanted(s));
	else
		iw_xfer_fault(why, IW_E_REJECTED, "%s; start `%s DIR` there, or correct --port",
			      rejected.text, wanted(s));
}

/* Uses the reason of the peer if there is one. */
void iw_session_rejected(struct session *s, const struct iw_fault *why)
{
	struct iw_qp_info info;
	struct iw_hello reply;
	struct iw_fault own = *why, said;

	iw_qp_info(s->qp, &info);
	if (info.private_data_len > 0) {
		if (iw_hello_decode(&reply, info.private_data, info.private_data_len, &said) == 0 &&
		    iw_hello_check(&reply, &s->mine, &said) == IW_E_REJECTED)
			own = said;
		else
			explain_rejection(s, &info, &own);
	}
	if (info.peer[0])
		snprintf(s->peer_text, sizeof(s->peer_text), "%s", info.peer);
	s->closed_why = own;
	s->closed = true;
}

void iw_session_completion(struct session *s, const struct iw_wc *wc)
{
	struct hub *h = s->hub;

	if (s->phase == PH_GONE)
		return;
	if (wc->wr_id & RECV_BIT) {
		uint32_t i = (uint32_t)(wc->wr_id & ~RECV_BIT);
		struct recv *r = &s->recv[i];

		if (wc->status != IW_OK)
			return; /* the connection has ended; the fault of CLOSED has the reason */
		iw_session_used(s, r, wc->len);
		/* A message may be taken before the event of the established connection. */
		iw_session_up(s);
		if (iw_xfer_received(s->x, i, r->p, wc->len, h->now) == IW_XFER_RECV_REPOST &&
		    iw_post_recv(s->qp, RECV_BIT | i, r->p, r->size, NULL) != 0)
			s->stuck = true;
	} else {
		iw_xfer_completed(s->x, wc->wr_id, wc->status, h->now);
	}
	iw_session_make_ready(s);
}

void iw_session_closed(struct session *s)
{
	if (s->hub->cfg->secure && s->phase == PH_CONNECTING)
		iw_cli_secure_failed(s->hub->cfg->secure, &s->closed_why);
	iw_xfer_lost(s->x, &s->closed_why);
	iw_session_make_ready(s);
}

/* --- the actions of the machine --- */

static void post(struct session *s, const struct iw_send_wr *wr)
{
	struct iw_fault why;

	if (s->stuck || s->closed)
		return;
	if (iw_post_send(s->qp, wr, &why) != 0) {
		/* The connection is ending; its last event has the reason. */
		iw_log_info("%s: %s", s->peer_text, why.text);
		s->stuck = true;
	}
}

static void post_send(struct session *s, const struct iw_xfer_act *a)
{
	struct iw_sge sge[2] = { { a->msg, a->msg_len } };
	struct iw_send_wr wr = { .wr_id = a->cookie, .op = IW_WR_SEND, .sge = sge, .nsge = 1 };

	if (a->type == IW_XFER_ACT_DATA) {
		sge[1] = (struct iw_sge){ (const uint8_t *)s->work->slot[a->slot] + a->slot_off,
					  (size_t)a->len };
		wr.nsge = 2;
	}
	post(s, &wr);
}

static void post_write(struct session *s, const struct iw_xfer_act *a)
{
	struct iw_sge sge = { s->work->slot[a->slot], (size_t)a->len };
	struct iw_send_wr wr = { .wr_id = a->cookie,
				 .op = IW_WR_WRITE,
				 .sge = &sge,
				 .nsge = 1,
				 .remote_stag = a->stag,
				 .remote_to = a->to };

	post(s, &wr);
}

static void post_read(struct session *s, const struct iw_xfer_act *a)
{
	struct iw_send_wr wr = { .wr_id = a->cookie,
				 .op = IW_WR_READ,
				 .remote_stag = a->stag,
				 .remote_to = a->to,
				 .sink = s->work->mr[a->slot],
				 .sink_to = a->to,
				 .len = (uint32_t)a->len };

	post(s, &wr);
}

static void register_slot(struct session *s, const struct iw_xfer_act *a)
{
	static const unsigned rights[] = { [IW_XFER_RIGHT_REMOTE_READ] = IW_ACCESS_REMOTE_READ,
					   [IW_XFER_RIGHT_REMOTE_WRITE] = IW_ACCESS_REMOTE_WRITE,
					   [IW_XFER_RIGHT_READ_SINK] = IW_ACCESS_READ_SINK };
	struct work *w = iw_session_work(s);
	struct iw_mr_attr attr = {
		.len = (size_t)a->len,
		.to = a->to,
		.access = rights[a->right],
		.qp = s->qp,
		.tally = true,
	};
	struct iw_fault why;

	w->reg_waits = !iw_session_slot(s, a->slot);
	w->reg = *a;
	if (!w->reg_waits && s->mine.role == IW_XFER_SINK) {
		w->reg_waits = !iw_hub_pace(s->hub, s, a->len);
		if (w->reg_waits)
			return;
		w->paced[a->slot] = (uint32_t)a->len;
	}
	if (w->reg_waits) {
		iw_session_starve(s);
		return;
	}
	attr.addr = w->slot[a->slot];
	if (iw_mr_reg(&w->mr[a->slot], s->hub->pd, &attr, &why) != 0) {
		w->mr[a->slot] = NULL;
		iw_xfer_fail(s->x, &why);
		return;
	}
	if (a->right != IW_XFER_RIGHT_READ_SINK)
		s->lent_octets += a->len;
	iw_xfer_registered(s->x, a->slot, iw_mr_stag(w->mr[a->slot]));
}

static void revoke_slot(struct session *s, uint32_t i)
{
	struct work *w = s->work;
	uint64_t octets = iw_mr_written(w->mr[i]);

	iw_mr_revoke(w->mr[i]);
	w->mr[i] = NULL;
	/* A pack fills only a part of its window. */
	if (s->mine.role == IW_XFER_SINK && s->mine.mode == IW_XFER_WRITE)
		iw_hub_unpace(s->hub, w->paced[i] - IW_MIN(octets, (uint64_t)w->paced[i]));
	iw_xfer_written(s->x, i, octets);
}

/* The waiting actions of file, which has ended, are obsolete. */
static void drop_waiting(struct session *s, const struct file *file)
{
	struct work *w = s->work;
	bool load = w->load_waits && w->load.file == file,
	     store = w->store_waits && w->store.file == file,
	     commit = w->commit_waits && w->commit.file == file;

	if (load && file->src.stream)
		iw_hub_watch_in(s->hub, -1);
	if ((store || commit) && file->target.to_stdout)
		iw_hub_watch_out(s->hub, -1);
	w->load_waits &= !load;
	w->store_waits &= !store;
	w->commit_waits &= !commit;
}

static void take_result(struct session *s, const struct iw_xfer_act *a)
{
	struct file *file = a->file;
	bool again = false;

	if (s->mine.role == IW_XFER_SOURCE)
		again = iw_source_result(s, a);
	else
		again = iw_sink_result(s, a);
	if (!again)
		iw_session_report(s, a);
	if (!file)
		return;
	if (file == s->moving)
		s->moving = NULL;
	drop_waiting(s, file);
	if (s->mine.role == IW_XFER_SINK)
		iw_sink_forget(file);
	else if (!again && file->tasks == 0)
		iw_session_file_free(file);
}

/* A lost connection will hardly close in order, and its replacement waits for its end. */
static uint64_t time_to_leave(const struct session *s)
{
	uint64_t timeout = s->hub->cli->timeout_ns;

	if (s->evicted)
		return LEAVE_EVICTED;
	return IW_MIN(LEAVE, iw_xfer_was_lost(s->x) ? timeout / 4 : timeout);
}

static void leave(struct session *s)
{
	s->phase = PH_LEAVING;
	s->leave_by = iw_time_add(s->hub->now, time_to_leave(s));
	s->leave_by = IW_MIN(s->leave_by, s->hub->end_by);
	/* A source's posted work requests still use its slots. */
	if (s->evicted && s->work && s->mine.role == IW_XFER_SINK)
		iw_session_free_slots(s);
	if (!s->closed)
		iw_disconnect(s->qp);
}

static void post_recvs(struct session *s, const struct iw_xfer_act *a)
{
	int err = iw_session_add_recvs(s, a->count, a->size32);
	struct iw_fault why;

	if (err == IW_E_LIMIT || err == IW_E_NOMEM) {
		iw_fail(&why, err, "%U octets of receives: more than is left of %s",
			(uint64_t)a->count * a->size32,
			err == IW_E_LIMIT ? "--max-memory" : "this machine's memory");
		iw_xfer_fail(s->x, &why);
	} else if (err) {
		s->stuck = true;
	}
}

/* Performs *a. Returns the octets of file input and output that it took. */
static uint64_t perform(struct session *s, const struct iw_xfer_act *a)
{
	switch (a->type) {
	case IW_XFER_ACT_POST_RECVS:
		post_recvs(s, a);
		return 0;
	case IW_XFER_ACT_REPOST:
		iw_session_repost(s, a);
		return 0;
	case IW_XFER_ACT_SEND:
	case IW_XFER_ACT_DATA:
		post_send(s, a);
		return 0;
	case IW_XFER_ACT_BEAT:
		post(s, &(struct iw_send_wr){ .wr_id = a->cookie, .op = IW_WR_WRITE });
		return 0;
	case IW_XFER_ACT_WRITE:
		post_write(s, a);
		return 0;
	case IW_XFER_ACT_READ:
		post_read(s, a);
		return 0;
	case IW_XFER_ACT_REGISTER:
		register_slot(s, a);
		return 0;
	case IW_XFER_ACT_REVOKE:
		revoke_slot(s, a->slot);
		return 0;
	case IW_XFER_ACT_CLOSE:
		leave(s);
		return 0;
	case IW_XFER_ACT_DROP:
		s->phase = PH_GONE;
		return 0;
	case IW_XFER_ACT_RESULT:
		take_result(s, a);
		return 0;
	case IW_XFER_ACT_END:
		s->ended = true;
		s->fault = a->fault;
		return 0;
	case IW_XFER_ACT_PATH:
	case IW_XFER_ACT_NEXT_FILE:
	case IW_XFER_ACT_HAVE:
	case IW_XFER_ACT_WANTED:
	case IW_XFER_ACT_GONE:
	case IW_XFER_ACT_NEXT_RANGE:
	case IW_XFER_ACT_LOAD:
	case IW_XFER_ACT_FINISH:
		return iw_source_act(s, a);
	case IW_XFER_ACT_OPENED:
	case IW_XFER_ACT_CREATE:
	case IW_XFER_ACT_STORE:
	case IW_XFER_ACT_COMMIT:
	case IW_XFER_ACT_ABANDON:
	case IW_XFER_ACT_REMOVE:
	case IW_XFER_ACT_FINAL:
		return iw_sink_act(s, a);
	}
	return 0;
}

/* Retries the actions that had to wait. */
static uint64_t retry_waiting(struct session *s)
{
	struct work *w = s->work;
	uint64_t cost = 0;

	if (!w || s->ended)
		return 0;
	if (w->reg_waits) {
		const struct iw_xfer_act a = w->reg;

		register_slot(s, &a);
	}
	if (w->next_waits)
		iw_source_next(s);
	if (w->load_waits) {
		const struct iw_xfer_act a = w->load;

		cost += iw_source_load(s, &a);
	}
	if (w->store_waits) {
		const struct iw_xfer_act a = w->store;

		cost += iw_sink_store(s, &a);
		if (!w->store_waits)
			iw_session_repost(s, &a);
	}
	if (s->mine.role == IW_XFER_SINK)
		iw_sink_retry(s);
	return cost;
}

bool iw_session_run(struct session *s)
{
	struct hub *h = s->hub;
	uint64_t cost;
	struct iw_xfer_act a;

	if (!s->x)
		return false;
	cost = retry_waiting(s);
	/* iw_source_act and iw_sink_act allocate s->work before any action that needs it. */
	while (cost < TURN_COST && s->phase != PH_GONE && iw_xfer_next(s->x, &a, h->now)) {
		cost += perform(s, &a);
		if (a.type == IW_XFER_ACT_STORE && !(s->work && s->work->store_waits))
			iw_session_repost(s, &a);
		if (cost > 0)
			h->now = iw_os_now();
	}
	if (s->closed && iw_xfer_is_over(s->x))
		s->phase = PH_GONE;
	if (!iw_list_empty(&h->starved) && iw_session_return_slots(s))
		iw_hub_slot_freed(h);
	return cost >= TURN_COST && s->phase != PH_GONE;
}

/* --- time --- */

/* Ends the attempt to set a lost connection up again. The time limit of set-up may be longer. */
static void give_redial_up(struct session *s)
{
	s->leave_by = IW_TIME_NEVER;
	iw_fail(&s->closed_why, IW_E_TIMEOUT,
		"the connection could not be set up again within %U ms",
		s->hub->cli->timeout_ns / IW_MSEC(1));
	s->closed = true;
	iw_session_make_ready(s);
}

void iw_session_timeout(struct session *s)
{
	uint64_t now = s->hub->now;

	if (now >= s->leave_by) {
		if (s->phase == PH_WAITING && !s->hub->stopping)
			redial(s);
		else if (s->phase == PH_CONNECTING && !s->closed)
			give_redial_up(s);
		else
			s->phase = PH_GONE;
		return;
	}
	s->pace_at = IW_TIME_NEVER;
	/*
	 * Octets that move inside a chunk are progress. On a slow line there may be no other
	 * progress for minutes.
	 */
	iw_session_sample(s);
	iw_session_windows(s);
	iw_xfer_timeout(s->x, now);
	iw_session_make_ready(s);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One connection in the loop: octets in, octets out, its deadline, its transport's end. */
#include "loop/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"

/*
 * What one link may move before the next one has its turn: batches of up to IW_LOOP_SCRATCH in, of
 * a struct iw_txbuf out.
 */
#define RX_BUDGET   8
#define TX_BUDGET   4
/*
 * A batch of more octets may find room for a part of it only, which ends within an FPDU. Sent as a
 * short segment that part would shift all FPDUs behind it against the segments (RFC 5044 5.1).
 */
#define CUT_RISK    16384
/* How long a link that found no memory keeps still. */
#define REST_NS     IW_MSEC(10)
/*
 * An EMSS older than that is read again before octets are cut to it. It changes with the path,
 * which is rare.
 */
#define EMSS_AGE_NS IW_MSEC(1)

static bool over(const struct iw_link *k)
{
	return iw_conn_state(k->conn) == IW_CONN_CLOSED;
}

/* ---------------------------------------------------------------- what is watched for, and when */

static void lost(struct iw_link *k, const struct iw_fault *why, uint64_t now)
{
	iw_conn_lost(k->conn, why, now);
}

static void watch_for(struct iw_link *k, uint32_t events, uint64_t now)
{
	struct iw_fault why;

	if (k->watched && events == k->armed)
		return;
	if (iw_loop_watch(k->loop, k->llp->fd, events, &k->watch, !k->watched, &why) != 0) {
		lost(k, &why, now);
		return;
	}
	k->watched = true;
	k->armed = events;
}

/*
 * @fired: what the socket was just found ready for. Writability stays watched until it is found and
 * not needed, so that a steady flow does not switch it off and on again.
 */
static void watch_anew(struct iw_link *k, uint32_t fired, uint64_t now)
{
	uint32_t events = 0;

	if (over(k))
		return;
	if (k->connecting || k->blocked || (k->armed & EPOLLOUT && !(fired & EPOLLOUT)))
		events |= EPOLLOUT;
	if (!k->connecting && iw_conn_wants_rx(k->conn)) {
		events |= EPOLLIN;
		k->deaf = false;
	}
	if (k->rest_until)
		events = 0;
	if (k->deaf || (k->direct && events == EPOLLIN))
		return;
	k->direct = false;
	watch_for(k, events, now);
}

/* Always beyond now, whatever the engine says: the loop must not turn on one timer for ever. */
static uint64_t deadline(const struct iw_link *k, uint64_t now)
{
	uint64_t at = iw_conn_deadline(k->conn);

	if (over(k))
		return FAR_AWAY;
	if (k->connecting)
		at = IW_MIN(at, k->attempt_at);
	if (k->rest_until)
		at = IW_MIN(at, k->rest_until);
	return IW_MAX(at, now + 1);
}

/* A deadline that moved away costs nothing: the timer fires early once and is set anew then. */
static void look_at_clock(struct iw_link *k, uint64_t now)
{
	uint64_t at = deadline(k, now);

	if (at < k->watch.timer.at)
		iw_loop_set_timer(k->loop, &k->watch, at);
}

/* Every way of serving a link ends here. */
static void settle(struct iw_link *k, uint32_t fired, uint64_t now)
{
	watch_anew(k, fired, now);
	look_at_clock(k, now);
	iw_loop_note(&k->loop->news, &k->news);
}

static void rest(struct iw_link *k, uint64_t now)
{
	k->rest_until = now + REST_NS;
}

/* ---------------------------------------------------------------- out */

static void take_notices(struct iw_link *k)
{
	struct iw_notice n;

	while (k->llp->ops->next_notice(k->llp, &n))
		if (n.kind == IW_NOTICE_EMSS)
			iw_conn_set_emss(k->conn, n.value);
}

static void know_emss(struct iw_link *k, uint64_t now)
{
	if (!iw_conn_aligned(k->conn) || now < k->emss_at + EMSS_AGE_NS)
		return;
	k->emss_at = now;
	k->llp->ops->refresh(k->llp);
	take_notices(k);
}

/*
 * What the peer sent before it went away, a Terminate perhaps, is still to be read: the socket is
 * readable now, and its end tells.
 */
static void send_failed(struct iw_link *k, const struct iw_fault *why, uint64_t now)
{
	if (!iw_conn_wants_rx(k->conn)) {
		lost(k, why, now);
		return;
	}
	k->tx_dead = true;
	k->send_why = *why;
}

static void shut_down(struct iw_link *k, uint64_t now)
{
	struct iw_fault why;

	if (k->llp->ops->shutdown(k->llp, &why) != 0)
		send_failed(k, &why, now);
}

/* While much is to be sent, segments wait to be full, so that FPDUs stay aligned with them. */
static void hold_short(struct iw_link *k, bool on)
{
	struct iw_fault why;

	if (on == k->holding || !k->llp->ops->hold_short)
		return;
	/* Without it some FPDUs are not aligned, which receivers have to live with. */
	if (k->llp->ops->hold_short(k->llp, on, &why) == 0)
		k->holding = on;
}

/*
 * A full socket takes octets again only when a third of its buffer is free. On a slow line that takes longer than the time that the
 * peer has to take some.
 */
static void look_at_unacked(struct iw_link *k, uint64_t now)
{
	uint64_t left;

	if (!k->blocked || !k->llp->ops->unacked)
		return;
	left = k->llp->ops->unacked(k->llp);
	if (left < k->unacked)
		iw_conn_drained(k->conn, now);
	k->unacked = left;
}

static void send_out(struct iw_link *k, uint64_t now)
{
	struct iw_fault why;
	struct iw_tx tx;
	int budget;

	for (budget = TX_BUDGET; budget > 0; budget--) {
		int64_t n;

		know_emss(k, now);
		if (!iw_conn_send(k->conn, &tx, now))
			break;
		if (tx.bytes > CUT_RISK && iw_conn_aligned(k->conn))
			hold_short(k, true);
		n = k->llp->ops->send(
			k->llp, &(struct iw_msg){ .vec = tx.vec, .nvec = tx.nvec, .eor = tx.eor },
			1, &why);
		if (n == IW_E_NOMEM) {
			rest(k, now);
			return;
		}
		if (n < 0 && n != IW_E_AGAIN) {
			send_failed(k, &why, now);
			return;
		}
		if (n > 0)
			iw_conn_sent(k->conn, (size_t)n, now);
		if (n < 0 || (size_t)n < tx.bytes) {
			k->blocked = true;
			look_at_unacked(k, now);
			return;
		}
		/* As a rule that was all: cheaper to ask than to find out by beginning a batch. */
		if (!iw_conn_wants_tx(k->conn)) {
			hold_short(k, false);
			return;
		}
	}
	if (budget == 0) {
		iw_link_kick(k);
		return;
	}
	hold_short(k, false);
	if (iw_conn_fin_due(k->conn, now))
		shut_down(k, now);
}

static void pump(struct iw_link *k, uint64_t now)
{
	if (!k->connecting && !k->blocked && !k->tx_dead && !k->rest_until &&
	    (k->holding || iw_conn_wants_tx(k->conn)))
		send_out(k, now);
}

/* ---------------------------------------------------------------- in */

static void receive_failed(struct iw_link *k, const struct iw_fault *why, uint64_t now)
{
	lost(k, k->tx_dead ? &k->send_why : why, now);
}

/*
 * One read, which may wait for octets; *now is the time behind it. 1: there may be more; 0: the
 * socket is empty, or nothing more is to be read; IW_E_AGAIN, IW_E_CANCELED.
 */
static int receive_once(struct iw_link *k, bool wait, uint64_t *now)
{
	const struct iw_vec scratch = { k->loop->scratch, IW_LOOP_SCRATCH };
	struct iw_fault why;
	struct iw_vec vec[2];
	struct iw_msg m = { .vec = vec };
	int nvec = iw_conn_rx_vec(k->conn, scratch, vec);
	size_t asked;
	int64_t n;

	if (nvec < 0)
		rest(k, *now);
	if (nvec <= 0)
		return 0;
	m.nvec = (size_t)nvec;
	asked = vec[0].len + (nvec > 1 ? vec[1].len : 0);
	if (wait) {
		n = k->llp->ops->recv_wait(k->llp, &m, &why);
		*now = iw_os_now();
	} else {
		n = k->llp->ops->recv(k->llp, &m, 1, &why);
	}
	/* No octets end the read as well: the scratch and a spill buffer go back. */
	iw_conn_received(k->conn, n > 0 ? (size_t)n : 0, *now);
	if (n == IW_E_AGAIN || n == IW_E_CANCELED)
		return (int)n;
	if (n < 0 || (n == 0 && k->tx_dead))
		receive_failed(k, &why, *now);
	else if (n == 0)
		iw_conn_eof(k->conn, *now);
	/*
	 * A read that got less than it asked for has emptied the socket; another call would only
	 * say so.
	 */
	return n > 0 && (size_t)n == asked;
}

static void receive(struct iw_link *k, uint64_t now)
{
	int budget = RX_BUDGET;

	while (budget-- > 0 && receive_once(k, false, &now) > 0)
		continue;
}

/*
 * The socket failed, or both directions are shut, while nothing is to be read, so no read will
 * tell.
 */
static void hung_up(struct iw_link *k, uint64_t now)
{
	socklen_t len = sizeof(int);
	struct iw_fault why;
	int error = 0;

	if (getsockopt(k->llp->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0) {
		iw_os_fail(&why, error, "connection with %s", k->llp->peer);
		if (error == ECONNRESET || error == EPIPE) {
			why.err = IW_E_CLOSED;
			why.clause = iw_err_clause(IW_E_CLOSED);
		}
		lost(k, &why, now);
		return;
	}
	/* epoll reports it again and again, whatever is watched for. */
	iw_loop_unwatch(k->loop, k->llp->fd);
	k->watched = false;
	k->deaf = true;
}

/* ---------------------------------------------------------------- connecting */

/* Shares the time that is left among the addresses that are left. */
static void time_attempt(struct iw_link *k, uint64_t now)
{
	uint64_t end = iw_conn_deadline(k->conn);

	k->attempt_at =
		end > now && end != IW_TIME_NEVER ? now + (end - now) / (k->llp->untried + 1) : end;
}

static void transport_stands(struct iw_link *k, uint64_t now)
{
	k->connecting = false;
	k->emss_at = now;
	take_notices(k);
}

/* err, why: how the attempt ended, or that another one has begun, on another descriptor perhaps. */
static void attempt_ended(struct iw_link *k, int err, const struct iw_fault *why, uint64_t now)
{
	if (err == 0) {
		transport_stands(k, now);
	} else if (err == IW_E_AGAIN) {
		/* Closing a descriptor took it out of the set; its number may be the new one's. */
		k->watched = false;
		time_attempt(k, now);
		iw_loop_set_timer(k->loop, &k->watch, deadline(k, now));
	} else {
		lost(k, why, now);
	}
}

static void connecting_ready(struct iw_link *k, uint64_t now)
{
	int fd = k->llp->fd;
	unsigned untried = k->llp->untried;
	struct iw_fault why = { 0 };
	int err = k->llp->ops->connected(k->llp, &why);

	if (err == IW_E_AGAIN && k->llp->fd == fd && k->llp->untried == untried)
		return; /* still the same attempt */
	attempt_ended(k, err, &why, now);
}

static void connecting_late(struct iw_link *k, uint64_t now)
{
	struct iw_fault why = { 0 };
	int err;

	if (now >= iw_conn_deadline(k->conn)) {
		(void)k->llp->ops->no_answer(k->llp, iw_conn_whole_setup_ns(k->conn), &why);
		lost(k, &why, now);
		return;
	}
	err = k->llp->ops->try_next(k->llp, &why);
	attempt_ended(k, err, &why, now);
}

/* ---------------------------------------------------------------- what the loop calls */

void iw_link_ready(struct iw_link *k, uint32_t events, uint64_t now)
{
	if (over(k))
		return;
	if (k->connecting) {
		connecting_ready(k, now);
		pump(k, now);
		settle(k, events, now);
		return;
	}
	if (events & EPOLLOUT)
		k->blocked = false;
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
		if (k->rest_until)
			;
		else if (iw_conn_wants_rx(k->conn))
			receive(k, now);
		else if (events & (EPOLLERR | EPOLLHUP))
			hung_up(k, now);
	}
	pump(k, now);
	settle(k, events, now);
}

void iw_link_leave(struct iw_link *k)
{
	if (!k->direct)
		return;
	k->direct = false;
	if (over(k))
		return;
	watch_for(k, EPOLLIN, iw_os_now());
	iw_loop_note(&k->loop->news, &k->news);
}

bool iw_link_can_wait(const struct iw_link *k)
{
	return k->armed == EPOLLIN && !k->blocked && !k->rest_until && !over(k) &&
	       k->llp->ops->recv_wait && iw_conn_wants_rx(k->conn);
}

int iw_link_wait(struct iw_link *k, uint64_t now)
{
	int ret;

	/* An epoll set would have to be told of each arrival as well. */
	if (k->watched)
		iw_loop_unwatch(k->loop, k->llp->fd);
	k->watched = false;
	k->direct = true;
	ret = receive_once(k, true, &now);
	if (ret == IW_E_AGAIN || ret == IW_E_CANCELED)
		return ret;
	pump(k, now);
	settle(k, 0, now);
	return 0;
}

void iw_link_serve(struct iw_link *k, uint64_t now)
{
	if (k->trunk) {
		iw_trunk_serve(k, now);
		look_at_clock(k, now);
		iw_loop_note(&k->loop->news, &k->news);
		return;
	}
	if (!over(k))
		pump(k, now);
	settle(k, 0, now);
}

static void timer_on_trunk(struct iw_link *k, uint64_t now)
{
	struct iw_fault why;

	if (!over(k) && now >= iw_conn_deadline(k->conn)) {
		if (k->connecting &&
		    iw_trunk_no_answer(k->trunk, iw_conn_whole_setup_ns(k->conn), &why))
			lost(k, &why, now);
		else
			iw_conn_timeout(k->conn, now);
	}
	iw_loop_set_timer(k->loop, &k->watch, deadline(k, now));
	iw_link_serve(k, now);
}

void iw_link_timer(struct iw_link *k, uint64_t now)
{
	if (k->trunk) {
		timer_on_trunk(k, now);
		return;
	}
	if (!over(k)) {
		if (now >= k->rest_until)
			k->rest_until = 0;
		if (k->connecting && now >= IW_MIN(k->attempt_at, iw_conn_deadline(k->conn)))
			connecting_late(k, now);
		else if (!k->connecting && now >= iw_conn_deadline(k->conn))
			look_at_unacked(k, now);
		if (!k->connecting && now >= iw_conn_deadline(k->conn))
			iw_conn_timeout(k->conn, now);
		pump(k, now);
	}
	iw_loop_set_timer(k->loop, &k->watch, deadline(k, now));
	settle(k, 0, now);
}

/* ---------------------------------------------------------------- links */

int iw_link_new(struct iw_link **out, struct iw_loop *l, struct iw_llp *llp, struct iw_conn *conn,
		void *owner, bool connecting, struct iw_fault *why)
{
	struct iw_link *k = iw_mem_alloc(l->mem, sizeof(*k));
	uint64_t now = iw_os_now();
	int err;

	if (!k) {
		llp->ops->close(llp, true);
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a connection");
	}
	k->watch.kind = WATCH_LINK;
	k->loop = l;
	k->llp = llp;
	k->conn = conn;
	k->owner = owner;
	k->attempt_at = IW_TIME_NEVER;
	iw_list_init(&k->kicked);
	iw_list_init(&k->news);
	iw_loop_cool_down(l);
	l->links++;
	l->sockets++;
	if (connecting) {
		k->connecting = true;
		time_attempt(k, now);
	} else {
		transport_stands(k, now);
	}
	err = iw_loop_add_timer(l, &k->watch, deadline(k, now), why);
	if (!err)
		err = iw_loop_watch(l, llp->fd, connecting ? EPOLLOUT : EPOLLIN, &k->watch, true,
				    why);
	if (err) {
		iw_link_free(k, true);
		return err;
	}
	k->watched = true;
	k->armed = connecting ? EPOLLOUT : EPOLLIN;
	if (!connecting)
		iw_link_kick(k); /* an initiator has its Request to send */
	*out = k;
	return 0;
}

int iw_link_on(struct iw_link **out, struct iw_trunk *t, struct iw_conn *conn, void *owner,
	       struct iw_fault *why)
{
	struct iw_loop *l = t->dock->loop;
	struct iw_link *k = iw_mem_alloc(l->mem, sizeof(*k));
	int err;

	if (!k)
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a connection");
	k->watch.kind = WATCH_LINK;
	k->loop = l;
	k->conn = conn;
	k->owner = owner;
	k->attempt_at = IW_TIME_NEVER;
	iw_list_init(&k->kicked);
	iw_list_init(&k->news);
	iw_list_init(&k->waiting);
	iw_loop_cool_down(l);
	err = iw_loop_add_timer(l, &k->watch, deadline(k, iw_os_now()), why);
	if (err) {
		iw_mem_free(l->mem, k, sizeof(*k));
		return err;
	}
	l->links++;
	iw_trunk_add(t, k);
	/* What the peer has said meanwhile. */
	iw_conn_arrived(conn, NULL, iw_os_now());
	iw_link_kick(k);
	*out = k;
	return 0;
}

struct iw_trunk *iw_link_trunk(const struct iw_link *k)
{
	return k->trunk;
}

void iw_link_free(struct iw_link *k, bool abort)
{
	if (!k)
		return;
	/* Closing the descriptor does not do that if the socket has another descriptor. */
	if (k->watched)
		iw_loop_unwatch(k->loop, k->llp->fd);
	if (k->trunk)
		iw_trunk_remove(k);
	else
		k->llp->ops->close(k->llp, abort);
	iw_heap_del(&k->loop->timers, &k->watch.timer);
	iw_list_del(&k->kicked);
	iw_list_del(&k->news);
	if (k->loop->hot == &k->watch)
		k->loop->hot = NULL;
	k->loop->links--;
	k->loop->sockets -= !k->trunk;
	iw_mem_free(k->loop->mem, k, sizeof(*k));
}

void iw_link_kick(struct iw_link *k)
{
	if (!iw_list_empty(&k->kicked))
		return;
	iw_list_add_tail(&k->loop->kicked, &k->kicked);
	iw_loop_kick_bell(k->loop);
}

void *iw_link_owner(const struct iw_link *k)
{
	return k->owner;
}

void iw_link_set_owner(struct iw_link *k, void *owner)
{
	k->owner = owner;
}

const struct iw_llp *iw_link_llp(const struct iw_link *k)
{
	if (k->trunk)
		iw_trunk_count(k->trunk);
	return k->llp;
}

bool iw_link_connecting(const struct iw_link *k)
{
	return k->connecting;
}

void iw_link_facts(const struct iw_link *k, struct iw_llp_facts *out)
{
	*out = (struct iw_llp_facts){ 0 };
	if (k->trunk)
		iw_trunk_facts(k->trunk, out);
	else if (!k->connecting && k->llp->ops->facts)
		k->llp->ops->facts(k->llp, out);
}

int iw_link_set_cc(struct iw_link *k, const char *name, struct iw_fault *why)
{
	if (k->trunk)
		return iw_trunk_set_cc(k->trunk, name, why);
	if (!k->llp->ops->set_cc)
		return iw_fail(why, IW_E_NOTSUP,
			       "congestion control %s: transport %s has none that can be chosen",
			       name, k->llp->ops->name);
	return k->llp->ops->set_cc(k->llp, name, why);
}

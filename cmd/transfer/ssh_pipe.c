// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ssh start-up: while transfers run, each end watches the pipe to the other one, because the far
 * end must not outlive the local one. If the data port is blocked, the pipe carries the connection.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "os/os.h"
#include "transfer/internal.h"
#include "transfer/ssh/far.h"
#include "transfer/ssh/link.h"
#include "util/text.h"

#define SEND_TIMEOUT IW_SEC(5)

int iw_hub_watch_pipe(struct hub *h, struct iw_fault *why)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (!h->cfg->link)
		return 0;
	if (h->cfg->listen)
		h->first_by = iw_time_add(iw_os_now(), IW_SSH_FIRST);
	ev.data.fd = h->cfg->link->fd;
	if (epoll_ctl(h->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
		return iw_os_fail(why, errno, "watch the pipe of ssh");
	return 0;
}

/* The queue pair has the largest depths of a session, whose role and mode are not known yet. */
static int adopt(struct hub *h, struct iw_fault *why)
{
	struct iw_qp_attr attr = { .size = sizeof(attr),
				   .send_cq = h->cq,
				   .recv_cq = h->cq,
				   .sq_depth = SQ_SOURCE,
				   .rq_depth = RECVS_DATA + RECVS_FIRST };
	struct iw_adopt how = { .size = sizeof(how), .responder = true };
	int err = iw_qp_new(&h->pipe_qp, h->pd, &attr, why);

	if (err)
		return err;
	how.fd = h->pipe;
	return iw_adopt(h->pipe_qp, &how, &h->cfg->conn.protocol, why);
}

/* Returns true if the pipe now carries MPA. */
static bool fall_back(struct hub *h)
{
	const struct iw_ssh_msg agreed = { .type = IW_SSH_AGREED };
	struct iw_ssh_link *l = h->cfg->link;
	struct iw_fault why;
	int err = iw_ssh_link_send(l, &agreed, iw_time_add(iw_os_now(), SEND_TIMEOUT), &why);

	h->first_by = IW_TIME_NEVER;
	if (!err) {
		(void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, l->fd, NULL);
		h->pipe = iw_ssh_link_release(l);
		iw_listener_free(h->listener);
		h->listener = NULL;
		err = adopt(h, &why);
	}
	if (err)
		snprintf(h->stop_text, sizeof(h->stop_text), "%s", why.text);
	return err == 0;
}

bool iw_hub_take_pipe(struct hub *h)
{
	struct iw_ssh_link *l = h->cfg->link;
	struct iw_fault why = { .text = "" };
	struct iw_ssh_msg m;
	int err = iw_ssh_link_recv(l, &m, 0, &why);

	if (err == IW_E_AGAIN)
		return false;
	if (!err && m.type == IW_SSH_FALLBACK && h->cfg->listen && !h->pipe_qp)
		return !fall_back(h);
	(void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, l->fd, NULL);
	if (!err && m.type == IW_SSH_ERROR)
		snprintf(h->stop_text, sizeof(h->stop_text), "%s", m.error);
	else
		snprintf(h->stop_text, sizeof(h->stop_text), "%s",
			 err ? why.text : "an unexpected message arrived on the pipe of ssh");
	return true;
}

bool iw_hub_first_is_overdue(struct hub *h)
{
	struct iw_ssh_msg m = { .type = IW_SSH_ERROR };

	if (h->now < h->first_by)
		return false;
	h->first_by = IW_TIME_NEVER;
	snprintf(h->stop_text, sizeof(h->stop_text), "no connection arrived within %u s",
		 (unsigned)(IW_SSH_FIRST / IW_SEC(1)));
	snprintf(m.error, sizeof(m.error), "%s", h->stop_text);
	(void)!iw_ssh_link_send(h->cfg->link, &m, iw_time_add(iw_os_now(), SEND_TIMEOUT), NULL);
	return true;
}

void iw_hub_connected(struct hub *h)
{
	h->first_by = IW_TIME_NEVER;
	/* The queue pair has a duplicate of it. */
	if (h->pipe >= 0)
		close(h->pipe);
	h->pipe = -1;
}

struct session *iw_hub_session(const struct hub *h, const struct iw_qp *qp)
{
	if (!qp)
		return NULL;
	return qp == h->pipe_qp ? h->pipe_session : iw_qp_user(qp);
}

void iw_hub_pipe_failed(struct hub *h, const struct iw_fault *why)
{
	iw_log_info("the connection on the pipe of ssh failed: %s", why->text);
	h->pipe_used = true;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The manager's side of the control socket: requests in, answers out, nobody waited for. */
#include "stag-reg/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/log.h"
#include "os/os.h"
#include "stag-reg/internal.h"
#include "util/text.h"

#define RETRY         IW_SEC(1) /* when there was no descriptor for a client */
#define TURN_MESSAGES 64        /* of one client in one turn: data must go on moving */

int iw_rm_default_path(char path[static IW_RM_PATH_MAX], uint16_t port, struct iw_fault *why)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	int n = snprintf(path, IW_RM_PATH_MAX, "%s/iwarp/recv-%u.sock",
			 dir && dir[0] == '/' ? dir : "/run", (unsigned)port);

	if (n < 0 || n >= (int)IW_RM_PATH_MAX)
		return iw_fail(
			why, IW_E_LIMIT,
			"$XDG_RUNTIME_DIR is too long for the path of the control socket: give one with --control");
	return 0;
}

/* --- clients that come and go --- */

static void watch(struct iw_rm *rm, int op, int fd, uint32_t events, void *who)
{
	struct epoll_event ev = { .events = events, .data.ptr = who };

	if (epoll_ctl(rm->epoll, op, fd, &ev) < 0)
		iw_log_warn("control socket: epoll: error %d", errno);
}

/* The listening socket is looked at while there is room for more, and descriptors. */
static void rest_or_go_on(struct iw_rm *rm)
{
	bool rest = rm->nclients >= IW_RM_CLIENTS_MAX || rm->rest_until != IW_TIME_NEVER;

	if (rest == rm->resting)
		return;
	rm->resting = rest;
	watch(rm, EPOLL_CTL_MOD, rm->sock, rest ? 0 : EPOLLIN, NULL);
}

static void be_patient(struct iw_rm *rm, struct client *c, uint64_t ns)
{
	if (iw_heap_set(&rm->patience, &c->timer, iw_time_add(rm->now, ns)) != 0)
		iw_log_warn("control socket: no memory for a timer");
}

static void end_client(struct iw_rm *rm, struct client *c)
{
	iw_heap_del(&rm->patience, &c->timer);
	iw_list_del(&c->all);
	close(c->fd); /* epoll forgets it */
	free(c);
	rm->nclients--;
	rest_or_go_on(rm);
}

/* The socket's mode lets nobody else in; an owner's mistake with chmod does not either. */
static bool may_ask(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
	       (who.uid == geteuid() || who.uid == 0);
}

static void accept_all(struct iw_rm *rm)
{
	while (!rm->resting) {
		struct client *c;
		int fd = accept4(rm->sock, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			rm->rest_until = iw_time_add(rm->now, RETRY);
		if (fd < 0) {
			rest_or_go_on(rm);
			return;
		}
		c = may_ask(fd) ? calloc(1, sizeof(*c)) : NULL;
		if (!c) {
			close(fd);
			continue;
		}
		c->fd = fd;
		c->timer.at = IW_TIME_NEVER;
		iw_list_add_tail(&rm->clients, &c->all);
		rm->nclients++;
		watch(rm, EPOLL_CTL_ADD, fd, EPOLLIN, c);
		be_patient(rm, c, IW_RM_IDLE);
		rest_or_go_on(rm);
	}
}

/* --- answers --- */

static void set_out(struct client *c, const struct iw_rm_reply *r)
{
	c->out_len = iw_rm_reply_encode(c->out, r);
}

static void set_end(struct client *c, uint64_t count)
{
	set_out(c, &(struct iw_rm_reply){ .kind = IW_RM_END, .count = count });
}

static void set_error(struct client *c, const struct iw_fault *why)
{
	struct iw_rm_reply r = { .kind = IW_RM_ERROR, .err = why->err };

	snprintf(r.text, sizeof(r.text), "%.*s", (int)sizeof(r.text) - 1, why->text);
	set_out(c, &r);
}

static struct buffer *buffer_at(struct iw_rm *rm, struct iw_list *l)
{
	return l == &rm->buffers ? NULL : iw_container_of(l, struct buffer, all);
}

static struct peer *peer_at(const struct domain *d, struct iw_list *l)
{
	return l == &d->peers ? NULL : iw_container_of(l, struct peer, in_domain);
}

static void tell_next_buffer(struct iw_rm *rm, struct client *c, struct iw_rm_reply *r)
{
	struct cursor *at = &c->at;
	struct buffer *b = at->buffer;

	r->kind = IW_RM_BUFFER;
	iw_rm_tell_buffer(rm, b, at->one, &r->buffer);
	at->told++;
	at->buffer = at->one ? NULL : buffer_at(rm, b->all.next);
	at->domain = c->wants_peers ? b->domain : NULL;
	at->peer = at->domain ? peer_at(at->domain, at->domain->peers.next) : NULL;
}

static void tell_next_peer(struct iw_rm *rm, struct client *c, struct iw_rm_reply *r)
{
	struct cursor *at = &c->at;

	r->kind = IW_RM_PEER;
	iw_rm_tell_peer(rm, at->peer, &r->peer);
	at->peer = peer_at(at->domain, at->peer->in_domain.next);
}

static void list_on(struct iw_rm *rm, struct client *c)
{
	struct iw_rm_reply r = { .kind = IW_RM_END };

	if (c->at.peer) {
		tell_next_peer(rm, c, &r);
	} else if (c->at.buffer) {
		tell_next_buffer(rm, c, &r);
	} else {
		r.count = c->at.told;
		c->state = CLIENT_IDLE;
	}
	set_out(c, &r);
}

void iw_rm_control_forget_buffer(struct iw_rm *rm, const struct buffer *b)
{
	for (struct iw_list *l = rm->clients.next; l != &rm->clients; l = l->next) {
		struct cursor *at = &iw_container_of(l, struct client, all)->at;

		if (at->buffer == b)
			at->buffer = at->one ? NULL : buffer_at(rm, b->all.next);
	}
}

void iw_rm_control_forget_peer(struct iw_rm *rm, const struct peer *p)
{
	for (struct iw_list *l = rm->clients.next; l != &rm->clients; l = l->next) {
		struct cursor *at = &iw_container_of(l, struct client, all)->at;

		if (at->peer == p)
			at->peer = peer_at(at->domain, p->in_domain.next);
	}
}

void iw_rm_control_forget_domain(struct iw_rm *rm, const struct domain *d)
{
	for (struct iw_list *l = rm->clients.next; l != &rm->clients; l = l->next) {
		struct cursor *at = &iw_container_of(l, struct client, all)->at;

		if (at->domain == d) {
			at->domain = NULL;
			at->peer = NULL;
		}
	}
}

/* --- requests --- */

static void on_add(struct iw_rm *rm, struct client *c, const struct iw_rm_request *q, int file)
{
	struct iw_rm_reply r = { .kind = IW_RM_BUFFER };
	struct iw_fault why = { 0 };

	if (iw_rm_add(rm, q, file, &r.buffer, &why) != 0) {
		set_error(c, &why);
		return;
	}
	set_out(c, &r);
	c->at = (struct cursor){ .told = 1 };
	c->state = CLIENT_LISTING; /* END follows */
}

static void on_list(struct iw_rm *rm, struct client *c, const struct iw_rm_request *q)
{
	iw_rm_reap(rm);
	c->wants_peers = q->peers;
	c->at = (struct cursor){ .one = q->stag != 0 };
	c->at.buffer = q->stag ? iw_rm_find(rm, q->stag) : buffer_at(rm, rm->buffers.next);
	c->state = CLIENT_LISTING;
}

static uint64_t revoke_all(struct iw_rm *rm)
{
	uint64_t n = 0;

	for (; !iw_list_empty(&rm->buffers); n++)
		iw_rm_drop(rm, buffer_at(rm, rm->buffers.next), "revoked");
	return n;
}

static void on_revoke(struct iw_rm *rm, struct client *c, const struct iw_rm_request *q)
{
	struct buffer *b = q->stag ? iw_rm_find(rm, q->stag) : NULL;

	if (b)
		iw_rm_drop(rm, b, "revoked");
	set_end(c, q->stag ? b != NULL : revoke_all(rm));
}

static void on_request(struct iw_rm *rm, struct client *c, const uint8_t *msg, size_t len, int file)
{
	struct iw_rm_request q;
	struct iw_fault why = { 0 };

	if (iw_rm_request_decode(&q, msg, len, &why) != 0) {
		set_error(c, &why);
		c->state = CLIENT_ENDING;
	} else if (q.op == IW_RM_ADD) {
		on_add(rm, c, &q, file);
		return;
	} else if (q.op == IW_RM_LIST) {
		on_list(rm, c, &q);
	} else {
		on_revoke(rm, c, &q);
	}
	if (file >= 0)
		close(file);
}

/* The first descriptor that came along; there should be one at most. */
static int take_file(struct msghdr *m)
{
	int file = -1;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
			if (file < 0)
				file = fd;
			else
				close(fd);
		}
	}
	return file;
}

/* 1: one was answered; 0: none is there; -1: the client is gone. */
static int read_request(struct iw_rm *rm, struct client *c)
{
	uint8_t msg[IW_RM_MSG_MAX + 1];
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} aux;
	struct iovec iov = { msg, sizeof(msg) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &aux,
			    .msg_controllen = sizeof(aux.room) };
	ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int file = n >= 0 ? take_file(&m) : -1;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		if (file >= 0)
			close(file);
		end_client(rm, c);
		return -1;
	}
	/* One octet more than a message may have makes it malformed. */
	on_request(rm, c, msg, (size_t)n, file);
	return 1;
}

/* True: gone, or it must wait for its reader. */
static bool write_out(struct iw_rm *rm, struct client *c)
{
	if (send(c->fd, c->out, c->out_len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
		c->out_len = 0;
		return false;
	}
	if (errno == EAGAIN || errno == EINTR) {
		watch(rm, EPOLL_CTL_MOD, c->fd, EPOLLOUT, c);
		return true;
	}
	end_client(rm, c);
	return true;
}

/* What can be done without waiting, up to a turn's worth. */
static void serve(struct iw_rm *rm, struct client *c)
{
	be_patient(rm, c, IW_RM_PATIENCE);
	for (unsigned i = 0; i < TURN_MESSAGES; i++) {
		int got;

		if (c->out_len == 0 && c->state == CLIENT_LISTING)
			list_on(rm, c);
		if (c->out_len > 0) {
			if (write_out(rm, c))
				return;
			continue;
		}
		if (c->state == CLIENT_ENDING) {
			end_client(rm, c);
			return;
		}
		got = read_request(rm, c);
		if (got < 0)
			return;
		if (got == 0)
			break;
	}
	if (c->out_len == 0 && c->state == CLIENT_IDLE) {
		watch(rm, EPOLL_CTL_MOD, c->fd, EPOLLIN, c);
		be_patient(rm, c, IW_RM_IDLE);
	} else {
		watch(rm, EPOLL_CTL_MOD, c->fd, EPOLLOUT, c);
	}
}

void iw_rm_serve(struct iw_rm *rm, uint64_t now)
{
	struct epoll_event ev[16];
	int n = epoll_wait(rm->epoll, ev, 16, 0);

	rm->now = now;
	for (int i = 0; i < n; i++) {
		if (ev[i].data.ptr)
			serve(rm, ev[i].data.ptr);
		else
			accept_all(rm);
	}
}

void iw_rm_control_timers(struct iw_rm *rm)
{
	struct iw_timer *t;

	if (rm->now >= rm->rest_until) {
		rm->rest_until = IW_TIME_NEVER;
		rest_or_go_on(rm);
	}
	while ((t = iw_heap_first(&rm->patience)) != NULL && t->at <= rm->now)
		end_client(rm, iw_container_of(t, struct client, timer));
}

/* --- the socket --- */

static int fill_address(struct sockaddr_un *sa, const char *path, struct iw_fault *why)
{
	size_t len = strlen(path);

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	if (len == 0 || len >= sizeof(sa->sun_path))
		return iw_fail(why, IW_E_LIMIT,
			       "control socket: its path has %U octets: expected 1 to %U",
			       (uint64_t)len, (uint64_t)sizeof(sa->sun_path) - 1);
	memcpy(sa->sun_path, path, len);
	return 0;
}

static int make_parent(const char *path, struct iw_fault *why)
{
	char dir[IW_RM_PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return 0;
	*slash = '\0';
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return iw_os_fail(why, errno, "create the directory %s", dir);
	return 0;
}

static bool is_socket(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* A socket that a server left behind when it was killed: nobody answers on it. */
static bool is_stale(const struct sockaddr_un *sa)
{
	bool refused;
	int fd;

	if (!is_socket(sa->sun_path))
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	refused = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0 &&
		  errno == ECONNREFUSED;
	close(fd);
	return refused;
}

static int bind_failed(struct iw_fault *why, int errnum, const char *path)
{
	if (errnum == EADDRINUSE && !is_socket(path))
		return iw_fail(
			why, IW_E_BUSY,
			"control socket %s: a file of this name exists and is not a socket; give another path with --control",
			path);
	if (errnum == EADDRINUSE)
		return iw_fail(
			why, IW_E_BUSY,
			"control socket %s: in use; another listener on this port may have it; give another path with --control",
			path);
	if (errnum != ENOENT)
		return iw_os_fail(why, errnum, "control socket %s", path);
	(void)iw_fail(
		why, IW_E_NOENT,
		"control socket %s: no such directory; create it, or give another path or none with --control",
		path);
	if (why)
		why->os_errno = errnum;
	return IW_E_NOENT;
}

static int bind_socket(int fd, const struct sockaddr_un *sa, struct iw_fault *why)
{
	int errnum;

	/*
	 * The socket in the file system gets the mode of the descriptor: it is never open to
	 * others.
	 */
	if (fchmod(fd, 0600) < 0)
		return iw_os_fail(why, errno, "set the mode of the control socket to 0600");
	if (bind(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0)
		return 0;
	errnum = errno;
	if (errnum == EADDRINUSE && is_stale(sa)) {
		if (unlink(sa->sun_path) == 0 &&
		    bind(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0)
			return 0;
		errnum = errno;
	}
	return bind_failed(why, errnum, sa->sun_path);
}

int iw_rm_listen(struct iw_rm *rm, const char *path, bool make_dir, struct iw_fault *why)
{
	struct sockaddr_un sa;
	struct stat st;
	int fd, err = fill_address(&sa, path, why);

	if (!err && make_dir)
		err = make_parent(path, why);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return iw_os_fail(why, errno, "control socket");
	err = bind_socket(fd, &sa, why);
	if (!err && (listen(fd, 16) < 0 || stat(path, &st) < 0))
		err = iw_os_fail(why, errno, "control socket %s", path);
	if (err) {
		close(fd);
		return err;
	}
	rm->sock = fd;
	rm->inode = st.st_ino;
	snprintf(rm->path, sizeof(rm->path), "%s", path);
	watch(rm, EPOLL_CTL_ADD, fd, EPOLLIN, NULL);
	return 0;
}

void iw_rm_control_close(struct iw_rm *rm)
{
	struct iw_list *l;
	struct stat st;

	while ((l = iw_list_first(&rm->clients)) != NULL)
		end_client(rm, iw_container_of(l, struct client, all));
	if (rm->sock < 0)
		return;
	if (stat(rm->path, &st) == 0 && st.st_ino == rm->inode)
		(void)unlink(rm->path);
	close(rm->sock);
	rm->sock = -1;
}

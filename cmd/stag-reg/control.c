// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The manager's side of the control socket. Never blocks. */
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

#define RETRY         IW_SEC(1) /* after no descriptor was left for a client */
#define TURN_MESSAGES 64        /* of one client in one turn, so that data keeps moving */

int iw_manager_default_path(char path[static IW_MANAGER_PATH_MAX], uint16_t port,
			    struct iw_fault *why)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	int n = snprintf(path, IW_MANAGER_PATH_MAX, "%s/iwarp/recv-%u.sock",
			 dir && dir[0] == '/' ? dir : "/run", (unsigned)port);

	if (n < 0 || n >= (int)IW_MANAGER_PATH_MAX)
		return iw_fail(
			why, IW_E_LIMIT,
			"$XDG_RUNTIME_DIR is too long for the path of the control socket: give one with --control");
	return 0;
}

/* --- connecting and disconnecting clients --- */

static void watch(struct iw_manager *m, int op, int fd, uint32_t events, void *client)
{
	struct epoll_event ev = { .events = events, .data.ptr = client };

	if (epoll_ctl(m->epoll, op, fd, &ev) < 0)
		iw_log_warn("control socket: epoll: error %d", errno);
}

/* Polls the listening socket while another client is possible and descriptors are left. */
static void update_listening(struct iw_manager *m)
{
	bool rest = m->nclients >= IW_MANAGER_CLIENTS_MAX || m->rest_until != IW_TIME_NEVER;

	if (rest == m->resting)
		return;
	m->resting = rest;
	watch(m, EPOLL_CTL_MOD, m->sock, rest ? 0 : EPOLLIN, NULL);
}

static void start_timer(struct iw_manager *m, struct client *c, uint64_t ns)
{
	if (iw_heap_set(&m->patience, &c->timer, iw_time_add(m->now, ns)) != 0)
		iw_log_warn("control socket: no memory for a timer");
}

static void end_client(struct iw_manager *m, struct client *c)
{
	iw_heap_del(&m->patience, &c->timer);
	iw_list_del(&c->all);
	close(c->fd); /* also removes it from epoll */
	free(c);
	m->nclients--;
	update_listening(m);
}

/* True for the owner and root. The mode of the socket ensures this unless its owner changes it. */
static bool is_permitted(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void accept_all(struct iw_manager *m)
{
	while (!m->resting) {
		struct client *c;
		int fd = accept4(m->sock, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			m->rest_until = iw_time_add(m->now, RETRY);
		if (fd < 0) {
			update_listening(m);
			return;
		}
		c = is_permitted(fd) ? calloc(1, sizeof(*c)) : NULL;
		if (!c) {
			close(fd);
			continue;
		}
		c->fd = fd;
		c->timer.at = IW_TIME_NEVER;
		iw_list_add_tail(&m->clients, &c->all);
		m->nclients++;
		watch(m, EPOLL_CTL_ADD, fd, EPOLLIN, c);
		start_timer(m, c, IW_MANAGER_IDLE);
		update_listening(m);
	}
}

/* --- answers --- */

static void set_out(struct client *c, const struct iw_manager_reply *r)
{
	c->out_len = iw_manager_reply_encode(c->out, r);
}

static void set_end(struct client *c, uint64_t count)
{
	set_out(c, &(struct iw_manager_reply){ .kind = IW_MANAGER_END, .count = count });
}

static void set_error(struct client *c, const struct iw_fault *why)
{
	struct iw_manager_reply r = { .kind = IW_MANAGER_ERROR, .err = why->err };

	snprintf(r.text, sizeof(r.text), "%.*s", (int)sizeof(r.text) - 1, why->text);
	set_out(c, &r);
}

static struct buffer *buffer_at(struct iw_manager *m, struct iw_list *l)
{
	return l == &m->buffers ? NULL : iw_container_of(l, struct buffer, all);
}

static struct peer *peer_at(const struct domain *d, struct iw_list *l)
{
	return l == &d->peers ? NULL : iw_container_of(l, struct peer, in_domain);
}

static void report_next_buffer(struct iw_manager *m, struct client *c, struct iw_manager_reply *r)
{
	struct cursor *at = &c->at;
	struct buffer *b = at->buffer;

	r->kind = IW_MANAGER_BUFFER;
	iw_manager_describe_buffer(m, b, at->one, &r->buffer);
	at->reported++;
	at->buffer = at->one ? NULL : buffer_at(m, b->all.next);
	at->domain = c->wants_peers ? b->domain : NULL;
	at->peer = at->domain ? peer_at(at->domain, at->domain->peers.next) : NULL;
}

static void report_next_peer(struct iw_manager *m, struct client *c, struct iw_manager_reply *r)
{
	struct cursor *at = &c->at;

	r->kind = IW_MANAGER_PEER;
	iw_manager_describe_peer(m, at->peer, &r->peer);
	at->peer = peer_at(at->domain, at->peer->in_domain.next);
}

static void continue_list(struct iw_manager *m, struct client *c)
{
	struct iw_manager_reply r = { .kind = IW_MANAGER_END };

	if (c->at.peer) {
		report_next_peer(m, c, &r);
	} else if (c->at.buffer) {
		report_next_buffer(m, c, &r);
	} else {
		r.count = c->at.reported;
		c->state = CLIENT_IDLE;
	}
	set_out(c, &r);
}

void iw_manager_control_forget_buffer(struct iw_manager *m, const struct buffer *b)
{
	for (struct iw_list *l = m->clients.next; l != &m->clients; l = l->next) {
		struct cursor *at = &iw_container_of(l, struct client, all)->at;

		if (at->buffer == b)
			at->buffer = at->one ? NULL : buffer_at(m, b->all.next);
	}
}

void iw_manager_control_forget_peer(struct iw_manager *m, const struct peer *p)
{
	for (struct iw_list *l = m->clients.next; l != &m->clients; l = l->next) {
		struct cursor *at = &iw_container_of(l, struct client, all)->at;

		if (at->peer == p)
			at->peer = peer_at(at->domain, p->in_domain.next);
	}
}

void iw_manager_control_forget_domain(struct iw_manager *m, const struct domain *d)
{
	for (struct iw_list *l = m->clients.next; l != &m->clients; l = l->next) {
		struct cursor *at = &iw_container_of(l, struct client, all)->at;

		if (at->domain == d) {
			at->domain = NULL;
			at->peer = NULL;
		}
	}
}

/* --- requests --- */

static void on_add(struct iw_manager *m, struct client *c, const struct iw_manager_request *q,
		   int file)
{
	struct iw_manager_reply r = { .kind = IW_MANAGER_BUFFER };
	struct iw_fault why = { 0 };

	if (iw_manager_add(m, q, file, &r.buffer, &why) != 0) {
		set_error(c, &why);
		return;
	}
	set_out(c, &r);
	c->at = (struct cursor){ .reported = 1 };
	c->state = CLIENT_LISTING; /* END follows */
}

static void on_list(struct iw_manager *m, struct client *c, const struct iw_manager_request *q)
{
	iw_manager_reap(m);
	c->wants_peers = q->peers;
	c->at = (struct cursor){ .one = q->stag != 0 };
	c->at.buffer = q->stag ? iw_manager_find(m, q->stag) : buffer_at(m, m->buffers.next);
	c->state = CLIENT_LISTING;
}

static uint64_t revoke_all(struct iw_manager *m)
{
	uint64_t n = 0;

	for (; !iw_list_empty(&m->buffers); n++)
		iw_manager_drop(m, buffer_at(m, m->buffers.next), "revoked");
	return n;
}

static void on_revoke(struct iw_manager *m, struct client *c, const struct iw_manager_request *q)
{
	struct buffer *b = q->stag ? iw_manager_find(m, q->stag) : NULL;

	if (b)
		iw_manager_drop(m, b, "revoked");
	set_end(c, q->stag ? b != NULL : revoke_all(m));
}

static void on_request(struct iw_manager *m, struct client *c, const uint8_t *msg, size_t len,
		       int file)
{
	struct iw_manager_request q;
	struct iw_fault why = { 0 };

	if (iw_manager_request_decode(&q, msg, len, &why) != 0) {
		set_error(c, &why);
		c->state = CLIENT_ENDING;
	} else if (q.op == IW_MANAGER_ADD) {
		on_add(m, c, &q, file);
		return;
	} else if (q.op == IW_MANAGER_LIST) {
		on_list(m, c, &q);
	} else {
		on_revoke(m, c, &q);
	}
	if (file >= 0)
		close(file);
}

/* Returns the first descriptor of the message, -1 if none, and closes the others. */
static int take_file(struct msghdr *hdr)
{
	int file = -1;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(hdr); h; h = CMSG_NXTHDR(hdr, h)) {
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

/* Returns 1: answered a request; 0: no request is pending; -1: the client has left. */
static int read_request(struct iw_manager *m, struct client *c)
{
	uint8_t msg[IW_MANAGER_MSG_MAX + 1];
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} aux;
	struct iovec iov = { msg, sizeof(msg) };
	struct msghdr hdr = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &aux,
			      .msg_controllen = sizeof(aux.room) };
	ssize_t n = recvmsg(c->fd, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int file = n >= 0 ? take_file(&hdr) : -1;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		if (file >= 0)
			close(file);
		end_client(m, c);
		return -1;
	}
	/* A message above the maximum is one octet longer here, and so malformed. */
	on_request(m, c, msg, (size_t)n, file);
	return 1;
}

/* Returns true if the client has left, or the socket has no room. */
static bool write_out(struct iw_manager *m, struct client *c)
{
	if (send(c->fd, c->out, c->out_len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
		c->out_len = 0;
		return false;
	}
	if (errno == EAGAIN || errno == EINTR) {
		watch(m, EPOLL_CTL_MOD, c->fd, EPOLLOUT, c);
		return true;
	}
	end_client(m, c);
	return true;
}

/* Serves the client as far as possible without waiting, at most TURN_MESSAGES messages. */
static void serve(struct iw_manager *m, struct client *c)
{
	start_timer(m, c, IW_MANAGER_PATIENCE);
	for (unsigned i = 0; i < TURN_MESSAGES; i++) {
		int got;

		if (c->out_len == 0 && c->state == CLIENT_LISTING)
			continue_list(m, c);
		if (c->out_len > 0) {
			if (write_out(m, c))
				return;
			continue;
		}
		if (c->state == CLIENT_ENDING) {
			end_client(m, c);
			return;
		}
		got = read_request(m, c);
		if (got < 0)
			return;
		if (got == 0)
			break;
	}
	if (c->out_len == 0 && c->state == CLIENT_IDLE) {
		watch(m, EPOLL_CTL_MOD, c->fd, EPOLLIN, c);
		start_timer(m, c, IW_MANAGER_IDLE);
	} else {
		watch(m, EPOLL_CTL_MOD, c->fd, EPOLLOUT, c);
	}
}

void iw_manager_serve(struct iw_manager *m, uint64_t now)
{
	struct epoll_event ev[16];
	int n = epoll_wait(m->epoll, ev, 16, 0);

	m->now = now;
	for (int i = 0; i < n; i++) {
		if (ev[i].data.ptr)
			serve(m, ev[i].data.ptr);
		else
			accept_all(m);
	}
}

void iw_manager_control_timers(struct iw_manager *m)
{
	struct iw_timer *t;

	if (m->now >= m->rest_until) {
		m->rest_until = IW_TIME_NEVER;
		update_listening(m);
	}
	while ((t = iw_heap_first(&m->patience)) != NULL && t->at <= m->now)
		end_client(m, iw_container_of(t, struct client, timer));
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
	char dir[IW_MANAGER_PATH_MAX];
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

/* True if no process listens on the socket: its server was killed. */
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
	 * The socket in the file system gets the mode of the descriptor, so it is never accessible
	 * to others.
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

int iw_manager_listen(struct iw_manager *m, const char *path, bool make_dir, struct iw_fault *why)
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
	m->sock = fd;
	m->inode = st.st_ino;
	snprintf(m->path, sizeof(m->path), "%s", path);
	watch(m, EPOLL_CTL_ADD, fd, EPOLLIN, NULL);
	return 0;
}

void iw_manager_control_close(struct iw_manager *m)
{
	struct iw_list *l;
	struct stat st;

	while ((l = iw_list_first(&m->clients)) != NULL)
		end_client(m, iw_container_of(l, struct client, all));
	if (m->sock < 0)
		return;
	if (stat(m->path, &st) == 0 && st.st_ino == m->inode)
		(void)unlink(m->path);
	close(m->sock);
	m->sock = -1;
}

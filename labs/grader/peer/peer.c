/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connection and the conversation of the peer, and the step that has it with mpa-probe. */
#include "labs/grader/peer/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labs/grader/run.h"
#include "mpa-probe/rping.h"
#include "os/addr.h"
#include "util/num.h"

enum {
	WAIT_MS = 5000,   /* for the next octets of the other end */
	ULPDU_MAX = 1400, /* octets: an FPDU fits a TCP segment on Ethernet */
	PAUSE_US = 20000, /* before the first FPDU: siw can miss one that comes sooner */
	ADVERTISEMENT = 16,
};

/* --- the socket ----------------------------------------------------------------------------------- */

/* Waits until the socket is ready for events. */
static bool ready(struct peer *p, short events)
{
	struct pollfd fd = { .fd = p->socket, .events = events };
	uint64_t deadline = lab_now() + (uint64_t)WAIT_MS * 1000000;
	int n;

	do {
		uint64_t now = lab_now();

		n = now < deadline ? poll(&fd, 1, (int)((deadline - now) / 1000000 + 1)) : 0;
	} while (n < 0 && errno == EINTR);
	return n > 0 || lab_fail(p->run, "the other end has %s nothing for %d s",
				 events & POLLIN ? "sent" : "taken", WAIT_MS / 1000);
}

bool peer_write(struct peer *p, const void *octets, size_t len)
{
	const uint8_t *at = octets;

	while (len) {
		ssize_t n = send(p->socket, at, len, MSG_NOSIGNAL);

		if (n > 0) {
			at += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (!ready(p, POLLOUT))
				return false;
		} else if (errno != EINTR) {
			return lab_fail(p->run, "the other end has closed the connection: %s",
					strerror(errno));
		}
	}
	return true;
}

bool peer_read(struct peer *p, uint8_t *dst, size_t cap, size_t *len)
{
	for (;;) {
		ssize_t n = recv(p->socket, dst, cap, 0);

		if (n >= 0) {
			*len = (size_t)n;
			p->closed = n == 0;
			return true;
		}
		if (errno == EAGAIN ? !ready(p, POLLIN) : errno != EINTR)
			return lab_fail(p->run, "the connection is lost: %s", strerror(errno));
	}
}

/* --- one connection --------------------------------------------------------------------------------- */

/* Writes the FPDUs of all segments that can be sent. */
static bool flush(struct peer *p)
{
	uint8_t segment[ULPDU_MAX];
	size_t len;
	bool ok;

	do {
		ok = p->layers.segment(p, segment, &len) &&
		     (!len || p->layers.frame(p, segment, len));
	} while (ok && len);
	ok = ok && peer_write(p, p->out.at, p->out.len);
	p->out.len = 0;
	return ok;
}

/* Passes a ULPDU to its layer. */
static bool dispatch(struct peer *p, const struct peer_octets *ulpdu)
{
	struct iw_terminate t;
	struct iw_ddp head;
	size_t at = (size_t)iw_wire_ddp_decode(&head, ulpdu->at, ulpdu->len);

	if (!at)
		return lab_fail(p->run, "the other end has sent a ULPDU of %zu octets", ulpdu->len);
	switch (head.opcode) {
	case IW_OP_WRITE:
		return p->layers.place(p, ulpdu->at, ulpdu->len);
	case IW_OP_RRESP:
		return p->layers.response(p, ulpdu->at, ulpdu->len);
	case IW_OP_RREQ:
		return p->layers.request(p, ulpdu->at + at, ulpdu->len - at);
	case IW_OP_TERM:
		if (iw_terminate_decode(&t, ulpdu->at + at, ulpdu->len - at) > 0)
			return lab_fail(
				p->run,
				"the other end has sent a Terminate: layer %u, type %u, code %u",
				t.layer, t.etype, t.code);
		return lab_fail(p->run, "the other end has sent a Terminate");
	default:
		return p->layers.untagged(p, ulpdu->at, ulpdu->len);
	}
}

/* Reads once from the socket, and handles all ULPDUs that are complete then. */
static bool receive(struct peer *p)
{
	uint8_t octets[65536];
	struct peer_octets ulpdu = { 0 };
	bool ok, is = true;
	size_t len;

	ok = peer_read(p, octets, sizeof(octets), &len) && p->layers.arrived(p, octets, len);
	while (ok && is)
		ok = p->layers.next_ulpdu(p, &is, &ulpdu) && (!is || dispatch(p, &ulpdu));
	free(ulpdu.at);
	return ok && flush(p);
}

/* Waits for a Send. *is false: the remote end has ended its stream instead. */
static bool next_message(struct peer *p, bool *is, struct peer_octets *message)
{
	for (;;) {
		if (!p->layers.deliver(p, is, message))
			return false;
		if (*is)
			return p->layers.post(p);
		if (p->closed)
			return true;
		if (!receive(p))
			return false;
	}
}

static bool expect_message(struct peer *p, struct peer_octets *message)
{
	bool is;

	return next_message(p, &is, message) &&
	       (is || lab_fail(p->run, "the other end has closed the connection within a round"));
}

/* The RTR of an initiator: a zero-length message (RFC 6581 9.2). */
static bool send_rtr(struct peer *p)
{
	static const uint8_t write[] = { 0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0 };

	switch (p->rtr) {
	case 0:
		return true;
	case PEER_RTR_WRITE:
		return p->layers.frame(p, write, sizeof(write)) && flush(p);
	default:
		return lab_fail(p->run,
				"RTR form %u was chosen, but the peer offered only the RDMA Write",
				p->rtr);
	}
}

static bool start(struct peer *p)
{
	if (p->layers.begin && !p->layers.begin(p))
		return false;
	if (!p->layers.expose(p, &p->source) || !p->layers.expose(p, &p->sink))
		return false;
	for (int i = 0; i < PEER_RECEIVES; i++)
		if (!p->layers.post(p))
			return false;
	if (!p->layers.start_up(p))
		return false;
	usleep(PAUSE_US);
	return send_rtr(p);
}

/* --- rping's conversation: see mpa-probe/rping.h ------------------------------------------------------ */

static bool send_advertisement(struct peer *p, const struct peer_buffer *b, uint32_t len)
{
	uint8_t text[ADVERTISEMENT] = { 0 };

	if (b) {
		iw_put_be64(text, b->to);
		iw_put_be32(text + 8, b->stag);
		iw_put_be32(text + 12, len);
	}
	return p->layers.send(p, text, sizeof(text)) && flush(p);
}

struct advertisement {
	uint64_t to;
	uint32_t stag, len;
};

static bool parse_advertisement(struct peer *p, const struct peer_octets *m,
				struct advertisement *a)
{
	if (m->len != ADVERTISEMENT)
		return lab_fail(p->run,
				"a Send of the other end was delivered with %zu octets, not %d",
				m->len, ADVERTISEMENT);
	a->to = iw_get_be64(m->at);
	a->stag = iw_get_be32(m->at + 8);
	a->len = iw_get_be32(m->at + 12);
	return a->len <= PEER_PING_MAX ||
	       lab_fail(p->run, "an advertisement was delivered with a length of %u octets",
			a->len);
}

static bool read_ping(struct peer *p, const struct advertisement *a)
{
	bool done = false;

	if (!p->layers.read(p, &p->sink, a->stag, a->to, a->len) || !flush(p))
		return false;
	for (;;) {
		if (!p->layers.read_done(p, &done))
			return false;
		if (done)
			return p->layers.contents(p, &p->sink, a->len);
		if (!receive(p))
			return false;
		if (p->closed && !done)
			return lab_fail(p->run,
					"the other end has closed the connection during a Read");
	}
}

/* A round of the server, which begins with the message m. */
static bool serve_round(struct peer *p, uint64_t round, struct peer_octets *m)
{
	static uint8_t text[PEER_PING_MAX];
	struct advertisement source, sink;

	if (!parse_advertisement(p, m, &source) || !read_ping(p, &source))
		return false;
	iw_rping_text(text, source.len, round);
	if (!lab_expect_octets(p->run, "the ping that was read", text, source.len, p->sink.data,
			       source.len))
		return false;
	if (!send_advertisement(p, NULL, 0) || !expect_message(p, m) ||
	    !parse_advertisement(p, m, &sink))
		return false;
	return p->layers.write(p, sink.stag, sink.to, p->sink.data, IW_MIN(source.len, sink.len)) &&
	       send_advertisement(p, NULL, 0);
}

static bool serve(struct peer *p, uint64_t *rounds)
{
	struct peer_octets m = { 0 };
	bool is = true, ok = true;

	for (*rounds = 0; ok; ++*rounds) {
		ok = next_message(p, &is, &m);
		if (ok && !is)
			break;
		ok = ok && serve_round(p, *rounds, &m);
	}
	free(m.at);
	return ok;
}

static bool ping(struct peer *p, uint64_t round, uint32_t size, struct peer_octets *m)
{
	iw_rping_text(p->source.data, size, round);
	memset(p->sink.data, 0, size);
	return p->layers.fill(p, &p->source, size) && p->layers.fill(p, &p->sink, size) &&
	       send_advertisement(p, &p->source, size) && expect_message(p, m) &&
	       send_advertisement(p, &p->sink, size) && expect_message(p, m) &&
	       p->layers.contents(p, &p->sink, size) &&
	       lab_expect_octets(p->run, "the ping that came back", p->source.data, size,
				 p->sink.data, size);
}

static bool talk(struct peer *p, uint64_t rounds, uint32_t size)
{
	struct peer_octets m = { 0 };
	bool ok = true;

	for (uint64_t i = 0; ok && i < rounds; i++)
		ok = ping(p, i, size, &m);
	free(m.at);
	return ok;
}

/* --- connections ---------------------------------------------------------------------------------- */

static void set_options(int fd)
{
	int one = 1;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* A conversation over a connected socket, which it closes. */
static bool converse(struct lab_run *run, int fd, bool initiator, uint64_t *rounds, uint32_t size)
{
	static struct peer p;
	bool ok;

	memset(&p, 0, sizeof(p));
	p.run = run;
	p.layers = peer_layers_of(lab_cfg(run)->lab->number);
	p.initiator = initiator;
	p.socket = fd;
	p.mulpdu = ULPDU_MAX;
	p.source.number = 0;
	p.sink.number = 1;
	set_options(fd);
	ok = start(&p) && (initiator ? talk(&p, *rounds, size) : serve(&p, rounds));
	close(fd);
	free(p.out.at);
	free(p.stream.at);
	free(p.queue.at);
	free(p.message.at);
	free(p.messages.at);
	return ok;
}

/* A listening socket; *port 0 becomes the port that the system chose. */
static int listen_on(struct lab_run *run, const char *host, uint16_t *port)
{
	struct iw_fault why = { 0 };
	struct iw_addr a;
	int one = 1, fd;
	size_t n;

	if (iw_addr_resolve(&a, 1, &n, host, *port, &why)) {
		lab_fail(run, "%s", why.text);
		return -1;
	}
	fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, &a.sa, a.len) || listen(fd, 8) || getsockname(fd, &a.sa, &a.len)) {
		lab_fail(run, "%s, port %u: cannot listen: %s%s", host, *port, strerror(errno),
			 errno == EADDRINUSE ? "; for another port: make peer PORT=NUMBER" : "");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*port = iw_addr_port(&a);
	return fd;
}

static int connect_to(struct lab_run *run, const char *host, uint16_t port)
{
	struct iw_addr a[8];
	struct iw_fault why = { 0 };
	size_t n = 0;
	int fd = -1;

	if (iw_addr_resolve(a, 8, &n, host, port, &why)) {
		lab_fail(run, "%s", why.text);
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		fd = socket(a[i].sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, &a[i].sa, a[i].len) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	lab_fail(run, "%s, port %u: cannot connect: %s", host, port, strerror(errno));
	return -1;
}

/* --- the step ---------------------------------------------------------------------------------------- */

/* mpa-probe, beside this program in a build folder, or installed. False: it is not there. */
static bool find_probe(char *path, size_t cap)
{
	static const char *const folders[] = { "/usr/bin", "/usr/local/bin" };
	ssize_t n = readlink("/proc/self/exe", path, cap - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		snprintf(slash, cap - (size_t)(slash - path), "/mpa-probe");
		if (!access(path, X_OK))
			return true;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, cap, "%s/mpa-probe", folders[i]);
		if (!access(path, X_OK))
			return true;
	}
	return false;
}

struct probe {
	pid_t pid;
	FILE *output;
};

static bool probe_start(struct lab_run *run, struct probe *probe, const char *arguments)
{
	char path[4096], command[5000];
	int ends[2];

	if (!find_probe(path, sizeof(path)))
		return lab_fail(run, "mpa-probe is not installed; install the package iwarp-tools");
	snprintf(command, sizeof(command), "exec \"$0\" %s 2>&1", arguments);
	if (pipe2(ends, O_CLOEXEC))
		return lab_fail(run, "pipe: %s", strerror(errno));
	fflush(NULL);
	probe->pid = fork();
	if (probe->pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", command, path, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	probe->output = fdopen(ends[0], "r");
	return probe->pid > 0 || lab_fail(run, "fork: %s", strerror(errno));
}

/* Waits for its end (it has time limits of its own), and expects status 0. */
static bool probe_end(struct lab_run *run, struct probe *probe, bool ok)
{
	char line[1024], last[1024] = "";
	int status = 0;

	if (!ok)
		kill(probe->pid, SIGTERM);
	while (fgets(line, sizeof(line), probe->output))
		snprintf(last, sizeof(last), "%.*s", (int)strcspn(line, "\n"), line);
	fclose(probe->output);
	while (waitpid(probe->pid, &status, 0) < 0 && errno == EINTR)
		;
	return ok && lab_expect_true(run, WIFEXITED(status) && WEXITSTATUS(status) == 0,
				     "mpa-probe ended with exit status %d: %.400s",
				     WEXITSTATUS(status), last);
}

static int accept_within(struct lab_run *run, int listener)
{
	struct pollfd fd = { .fd = listener, .events = POLLIN };

	if (poll(&fd, 1, WAIT_MS) == 1)
		return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	lab_fail(run, "mpa-probe has not connected within %d s", WAIT_MS / 1000);
	return -1;
}

/* The module as the server; mpa-probe as the client. */
static bool with_client(struct lab_run *run, uint64_t rounds, uint32_t size)
{
	char arguments[200];
	uint16_t port = 0;
	uint64_t seen = 0;
	struct probe probe;
	int listener, fd;
	bool ok;

	lab_case(run, "as the server of `mpa-probe --app rping`, %llu rounds of %u octets",
		 (unsigned long long)rounds, size);
	listener = listen_on(run, "127.0.0.1", &port);
	if (listener < 0)
		return false;
	snprintf(arguments, sizeof(arguments),
		 "--app rping --json -p %u --count %llu --size %u --timeout 5 127.0.0.1", port,
		 (unsigned long long)rounds, size);
	if (!probe_start(run, &probe, arguments)) {
		close(listener);
		return false;
	}
	fd = accept_within(run, listener);
	close(listener);
	ok = fd >= 0 && converse(run, fd, false, &seen, size) &&
	     lab_expect_number(run, "the number of rounds", rounds, seen);
	return probe_end(run, &probe, ok) && ok;
}

/* The port that mpa-probe reports in its first line. */
static uint16_t probe_port(struct lab_run *run, struct probe *probe)
{
	char line[1024] = "";
	struct json_object *o, *port;
	uint16_t result = 0;

	if (!fgets(line, sizeof(line), probe->output))
		lab_fail(run, "mpa-probe has printed nothing");
	o = json_tokener_parse(line);
	if (o && json_object_object_get_ex(o, "port", &port))
		result = (uint16_t)json_object_get_int(port);
	else
		lab_fail(run, "mpa-probe does not listen: %.400s", line);
	json_object_put(o);
	return result;
}

/* The module as the client; mpa-probe as the server. */
static bool with_server(struct lab_run *run, uint64_t rounds, uint32_t size)
{
	struct probe probe;
	uint16_t port;
	int fd;
	bool ok;

	lab_case(run, "as the client of `mpa-probe --listen --app rping`, %llu rounds of %u octets",
		 (unsigned long long)rounds, size);
	if (!probe_start(run, &probe, "--listen --app rping --json -p 0 --once --timeout 5"))
		return false;
	port = probe_port(run, &probe);
	fd = port ? connect_to(run, "127.0.0.1", port) : -1;
	ok = fd >= 0 && converse(run, fd, true, &rounds, size);
	return probe_end(run, &probe, ok) && ok;
}

bool lab_peer_step(struct lab_run *run)
{
	uint32_t size = 3000 + (uint32_t)lab_below(run, 20000);

	return with_client(run, 3, 64) && lab_restart(run) && with_client(run, 2, size) &&
	       lab_restart(run) && with_server(run, 3, 64) && lab_restart(run) &&
	       with_server(run, 2, size);
}

/* --- `iwarp-lab peer` --------------------------------------------------------------------------------- */

bool lab_peer_run(struct lab_run *run, const struct peer_cfg *cfg)
{
	uint16_t port = cfg->port;
	uint64_t rounds = cfg->rounds;
	int fd, listener;
	bool ok;

	if (cfg->to) {
		fd = connect_to(run, cfg->to, port);
		ok = fd >= 0 && converse(run, fd, true, &rounds, cfg->size);
	} else {
		listener = listen_on(run, cfg->bind, &port);
		if (listener < 0)
			return false;
		printf("listening on %s, port %u, for one connection of rping's client\n",
		       cfg->bind, port);
		fflush(stdout);
		do {
			fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		} while (fd < 0 && errno == EINTR);
		close(listener);
		ok = fd >= 0 && converse(run, fd, false, &rounds, cfg->size);
	}
	if (ok && rounds)
		printf("%llu rounds of rping, all data correct\n", (unsigned long long)rounds);
	else if (ok)
		printf("the connection was closed without a round of rping, and without an error\n");
	return ok;
}

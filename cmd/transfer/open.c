// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Start and end of a run: the library's context, the listener or the connections, and the
 * confinement of the process.
 */
#include "transfer/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/confine.h"
#include "cli/param.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "os/addr.h"
#include "os/os.h"
#include "os/priv.h"
#include "stag-reg/control.h"
#include "transfer/files/journal.h"
#include "transfer/files/out.h"
#include "transfer/internal.h"
#include "util/text.h"

/* The time that the worker's tasks have at the end. A stopping listener gives them less. */
#define DRAIN      IW_SEC(30)
#define DRAIN_STOP IW_SEC(5)

static void *map_alloc(void *ctx, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)ctx;
	return p == MAP_FAILED ? NULL : p;
}

static void map_free(void *ctx, void *p, size_t size)
{
	(void)ctx;
	if (p)
		munmap(p, size);
}

static const struct iw_mem map_mem = { map_alloc, map_free, NULL };

static int open_context(struct hub *h, struct iw_fault *why)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr),
				    .setup_ns = h->cli->setup_timeout_ns,
				    .stall_ns = h->cli->timeout_ns,
				    .trace = h->cli->trace.f ? iw_cli_trace_line : NULL,
				    .trace_ctx = &h->cli->trace };
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = iw_signals_fd() };
	int err = iw_ctx_new(&h->ctx, &attr, why);

	if (err)
		return err;
	err = iw_pd_new(&h->pd, h->ctx);
	if (!err)
		err = iw_cq_new(&h->cq, h->ctx);
	if (err)
		return iw_fail(why, err, "open the library: %s", iw_err_text(err));
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, iw_signals_fd(), &ev) < 0)
		return iw_os_fail(why, errno, "watch for signals");
	if (iw_worker_init(&h->worker) < 0)
		return iw_os_fail(why, errno, "make an eventfd");
	ev.data.fd = iw_worker_fd(&h->worker);
	if (epoll_ctl(h->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
		return iw_os_fail(why, errno, "watch for the worker");
	return iw_ctx_wake_fd(h->ctx, h->epoll, why);
}

/*
 * Connections use at most half of the process's descriptors, and connections in set-up an eighth.
 * Files need the rest.
 */
static void limit_connections(struct hub *h)
{
	struct rlimit r;

	h->max_conns = h->cfg->limits.conns;
	if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur / 2 >= h->max_conns)
		return;
	h->max_conns = IW_MAX(r.rlim_cur / 2, (rlim_t)1);
	iw_log_info("at most %llu connections: this process may open %llu descriptors (ulimit -n)",
		    (unsigned long long)h->max_conns, (unsigned long long)r.rlim_cur);
}

static uint32_t most_in_setup(uint32_t backlog)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return backlog;
	return (uint32_t)IW_MIN((rlim_t)backlog, IW_MAX(r.rlim_cur / 8, (rlim_t)1));
}

/*
 * A file that waits for parts uses three descriptors. All of them together use at most a quarter of
 * the process's limit.
 */
static uint64_t most_resting(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) == 0 ? IW_MAX(r.rlim_max / 12, (rlim_t)1) : 0;
}

/*
 * Files that are being moved use at most three sixteenths of the descriptors, and directories and
 * packs about as many.
 */
static uint64_t most_open(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) == 0 ? IW_MAX(r.rlim_max / 16, (rlim_t)4) : UINT64_MAX;
}

/*
 * Registered buffers are optional. If the user named no control socket and it cannot be created,
 * transfers work without it.
 */
static int open_manager(struct hub *h, struct iw_fault *why)
{
	const char *path = h->cfg->control;
	struct iw_manager_cfg cfg = { .ctx = h->ctx,
				      .transport = h->cli->transport,
				      .addr = iw_listener_addr(h->listener),
				      .port = iw_listener_port(h->listener),
				      .memory = h->cfg->memory,
				      .peers = IW_MAX(h->max_conns / 2, UINT64_C(1)) };
	struct epoll_event ev = { .events = EPOLLIN };
	char by_default[IW_MANAGER_PATH_MAX];
	int err;

	if (path && strcmp(path, "none") == 0)
		return 0;
	err = iw_manager_new(&h->manager, &cfg, why);
	if (err)
		return err;
	ev.data.fd = iw_manager_fd(h->manager);
	if (epoll_ctl(h->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
		return iw_os_fail(why, errno, "watch the control socket");
	if (path)
		return iw_manager_listen(h->manager, path, false, why);
	err = iw_manager_default_path(by_default, cfg.port, why);
	if (!err)
		err = iw_manager_listen(h->manager, by_default, true, why);
	if (err)
		iw_log_info("no control socket for stag-reg: %s", why->text);
	else
		iw_log_info("control socket %s", by_default);
	return 0;
}

/* True if only this machine can reach the listener's address, "ADDRESS:PORT". */
static bool is_local(const struct hub *h)
{
	char text[64];
	struct iw_addr a;
	char *port;

	snprintf(text, sizeof(text), "%s", iw_listener_addr(h->listener));
	port = strrchr(text, ':');
	if (port)
		*port = '\0';
	return iw_addr_parse(&a, text, 0) == 0 && iw_addr_is_loopback(&a);
}

/* --- confinement, before a peer's octets are read --- */

static uint64_t caps_of_owners(uint32_t opts)
{
	return (opts & IW_XFER_OPT_OWNER ? IW_OS_CAP(CAP_CHOWN) : 0) |
	       (opts & IW_XFER_OPT_SETID ? IW_OS_CAP(CAP_FSETID) : 0);
}

unsigned iw_transfer_confine(const struct iw_transfer_cfg *cfg, uint64_t *caps)
{
	bool sink = cfg->role == IW_XFER_SINK;
	unsigned how = sink ? IW_CONFINE_WRITES | IW_CONFINE_READS : IW_CONFINE_READS;

	if (sink)
		*caps |= caps_of_owners(cfg->opts);

	/* --delete starts with a dry run, and then opens everything again. */
	if (cfg->listen)
		how |= IW_CONFINE_LISTENS;
	else if (cfg->redials > 0 || cfg->would_remove)
		how |= IW_CONFINE_REOPENS | (cfg->conn.at.cc ? IW_CONFINE_CC : 0);
	return how;
}

static void begin_confine(struct hub *h, struct iw_confine *c)
{
	uint64_t caps = 0;

	iw_confine_init(c, h->cli, iw_transfer_confine(h->cfg, &caps));
	c->caps |= caps;
}

/* Permits removing the control socket from its directory at the end. */
static void allow_control(struct iw_confine *c, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	if (dir)
		iw_confine_allow_path(c, dir, IW_LANDLOCK_UNLINK);
	free(dir);
}

static int confine_listener(struct hub *h, struct iw_fault *why)
{
	bool sink = h->cfg->role == IW_XFER_SINK;
	struct iw_confine c;

	begin_confine(h, &c);
	if (h->root >= 0)
		iw_confine_allow(&c, h->root, sink ? IW_LANDLOCK_WRITE : IW_LANDLOCK_READ);
	if (h->manager && iw_manager_path(h->manager)[0])
		allow_control(&c, iw_manager_path(h->manager));
	iw_confine_allow_path(&c, IW_JOURNAL_BOOT_ID, IW_LANDLOCK_READ);
	return iw_confine(&c, why);
}

static int confine_initiator(struct hub *h, struct iw_fault *why)
{
	const struct iw_transfer_cfg *cfg = h->cfg;
	struct iw_confine c;
	const struct group *g = iw_container_of(iw_list_first(&h->groups), struct group, link);

	begin_confine(h, &c);
	if (cfg->role == IW_XFER_SINK) {
		if (g->place.base >= 0)
			iw_confine_allow(&c, g->place.base, IW_LANDLOCK_WRITE);
	} else {
		for (size_t i = 0; i < cfg->npaths; i++)
			iw_confine_allow_path(&c, cfg->paths[i], IW_LANDLOCK_READ);
	}
	iw_confine_allow_path(&c, IW_JOURNAL_BOOT_ID, IW_LANDLOCK_READ);
	return iw_confine(&c, why);
}

/* Sets *why: the directory to serve, or to store files in, cannot be opened. */
static int no_directory(const struct hub *h, int errnum, struct iw_fault *why)
{
	bool source = h->cfg->role == IW_XFER_SOURCE;
	const char *path = h->cfg->path, *what;

	if (errnum != ENOENT && errnum != ENOTDIR)
		return iw_os_fail(why, errnum, "open the directory %s", path);
	what = errnum == ENOENT ? "no such directory" : "not a directory";
	if (source)
		return iw_fail(why, IW_E_NOENT,
			       "%s: %s; name the directory whose files are to be served", path,
			       what);
	return iw_fail(
		why, IW_E_NOENT,
		"%s: %s; name an existing directory for the files, or HOST:PATH and a target to fetch",
		path, what);
}

/* Checks the directory of a listening sink. */
static int check_root(const struct hub *h, struct iw_fault *why)
{
	struct stat st;
	const char *dir;
	char phrase[80];

	if (fstat(h->root, &st) < 0)
		return iw_os_fail(why, errno, "get the attributes of %s", h->cfg->path);
	if (st.st_nlink == 0)
		return iw_fail(why, IW_E_NOENT,
			       "%s: the directory has been removed; name one that exists",
			       h->cfg->path);
	dir = iw_place_of_kernel(&st);
	if (dir)
		return iw_fail(
			why, IW_E_NOENT,
			"%s: no files are stored in %s, which the kernel provides; name another directory",
			h->cfg->path, dir);
	if (faccessat(h->root, ".", W_OK | X_OK, AT_EACCESS) != 0)
		iw_log_warn(
			"%s: user %u cannot create files there: %s; only directories below it that permit this can be targets",
			h->cfg->path, (unsigned)geteuid(),
			iw_os_strerror(phrase, sizeof(phrase), errno));
	return 0;
}

/* Listens at the first free port of the range that the user permits. */
static int listen_in_range(struct hub *h, struct iw_cli_param *conn, struct iw_fault *why)
{
	bool udp = strcmp(h->cli->transport, "udp") == 0;
	uint32_t first = h->cfg->port_first, last = h->cfg->port_last;

	for (uint32_t port = first; port <= last; port++) {
		int err;

		conn->at.any_udp_port = false;
		conn->at.udp_port = udp ? (uint16_t)port : 0;
		conn->at.port = udp ? 0 : (uint16_t)port;
		err = iw_listen(&h->listener, h->ctx, &conn->at, &conn->protocol, why);
		if (err && why->os_errno == EACCES && port > 0 && port < 1024)
			return iw_fail(
				why, err,
				"port %u: permission denied; ports below 1024 need CAP_NET_BIND_SERVICE: choose others with --ssh-port-range",
				port);
		if (!err || why->os_errno != EADDRINUSE)
			return err;
	}
	return iw_fail(why, IW_E_BUSY, "ports %u to %u are all in use (--ssh-port-range)", first,
		       last);
}

/* Reports to the user or to the other end that this listener is ready. */
static int announce(struct hub *h, struct iw_fault *why)
{
	const struct iw_transfer_cfg *cfg = h->cfg;
	uint16_t port = iw_listener_port(h->listener), udp_port = iw_listener_udp_port(h->listener);

	if (cfg->listening)
		return cfg->listening(cfg->ctx, port, udp_port, why);
	iw_report_listening(&h->report, iw_listener_addr(h->listener), port, udp_port,
			    h->cli->port == 0 || cfg->conn.at.any_udp_port,
			    !cfg->conn.at.host && !cfg->conn.at.listen_fd);
	return 0;
}

static int open_listener(struct hub *h, struct iw_fault *why)
{
	struct iw_cli_param conn = h->cfg->conn;
	int err;

	iw_cli_allow_descriptors();
	limit_connections(h);
	if (!h->cfg->to_stdout) {
		h->root = open(h->cfg->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (h->root < 0)
			return no_directory(h, errno, why);
		err = h->cfg->role == IW_XFER_SINK ? check_root(h, why) : 0;
		if (err)
			return err;
	}
	/* Charges the temporaries of earlier processes. This is needed only for a limit. */
	if (h->cfg->role == IW_XFER_SINK && !h->cfg->to_stdout &&
	    (h->account.max_octets || h->account.max_files))
		iw_account_scan(&h->account, h->cfg->path);
	conn.at.backlog = most_in_setup(conn.at.backlog);
	err = h->cfg->port_first ? listen_in_range(h, &conn, why)
				 : iw_listen(&h->listener, h->ctx, &conn.at, &conn.protocol, why);
	if (!err && h->cfg->memory)
		iw_listener_limit_memory(h->listener, h->cfg->memory / 4);
	if (!err && h->cfg->role == IW_XFER_SINK)
		h->digest_required =
			h->cfg->require_digest == IW_DIGEST_REQUIRED ||
			(h->cfg->require_digest == IW_DIGEST_BY_ADDRESS && !is_local(h));
	if (!err && h->cfg->role == IW_XFER_SINK)
		err = open_manager(h, why);
	if (!err)
		err = confine_listener(h, why);
	if (!err)
		err = announce(h, why);
	return err;
}

static int open_initiator(struct hub *h, struct iw_fault *why)
{
	const struct iw_transfer_cfg *cfg = h->cfg;
	uint8_t id[IW_XFER_ID_LEN];
	struct iw_file_fault fault;
	struct session *s;
	char path[100];
	int err;

	iw_cli_allow_descriptors();
	if (cfg->role == IW_XFER_SINK && iw_asked_init(&h->asked, cfg->paths, cfg->npaths) != 0)
		return iw_fail(why, IW_E_NOMEM, "no memory for the paths");
	if (cfg->to_stdout)
		iw_place_stdout(&h->place, false);
	else if (cfg->role == IW_XFER_SINK &&
		 iw_place_local(&h->place, cfg->path, cfg->opts, &fault) != 0) {
		iw_printable(path, sizeof(path), cfg->path, strlen(cfg->path), true);
		return iw_fail(why, fault.code == IW_XFER_CODE_PERM ? IW_E_PERM : IW_E_NOENT,
			       "%s: %s", path, fault.text);
	}
	err = iw_os_random(id, sizeof(id));
	if (err)
		return iw_fail(why, err, "no random number for the transfer");
	for (unsigned i = 0; i < cfg->jobs; i++) {
		err = iw_session_new(&s, h, iw_group_get(h, id, true), true, why);
		if (err)
			return err;
		s->conn = i + 1;
		if (i == 0 && cfg->role == IW_XFER_SINK) {
			/* The place of the new group is still empty. */
			s->group->place = h->place;
			iw_list_init(&s->group->place.parts);
			iw_list_init(&s->group->place.drops);
			iw_place_reset(&h->place);
			s->group->opened = true;
			s->group->opts = cfg->opts;
			s->group->conns = cfg->jobs;
			iw_sink_place(s);
		}
		err = iw_session_connect(s, i == 0, why);
		if (err)
			return err;
		iw_session_make_ready(s);
	}
	return confine_initiator(h, why);
}

/* Waits for the worker's tasks. False: a task still waits for storage. */
static bool drain(struct hub *h)
{
	uint64_t until = iw_time_add(iw_os_now(), h->stopping ? DRAIN_STOP : DRAIN);

	if (h->stopping)
		atomic_store_explicit(&h->no_sweeps, true, memory_order_relaxed);
	while (h->tasks > 0) {
		uint64_t now = iw_os_now();
		struct iw_task *t;

		if (!iw_list_empty(&h->reporting)) {
			iw_sink_report_removed(h, IW_TIME_NEVER);
			continue;
		}
		t = iw_worker_await(&h->worker, until > now ? until - now : 0);
		if (t)
			t->back(t);
		else if (iw_os_now() >= until)
			return false;
	}
	return true;
}

bool iw_hub_close(struct hub *h)
{
	iw_manager_free(h->manager);
	h->manager = NULL;
	while (!iw_list_empty(&h->sessions))
		iw_group_remove(iw_container_of(iw_list_first(&h->sessions), struct session, all));
	iw_listener_free(h->listener);
	iw_qp_free(h->pipe_qp);
	if (h->pipe >= 0)
		close(h->pipe);
	if (!drain(h)) {
		iw_log_warn(
			"storage has not answered for %u s: unfinished files are left as they are",
			(unsigned)((h->stopping ? DRAIN_STOP : DRAIN) / IW_SEC(1)));
		return false;
	}
	iw_worker_fini(&h->worker);
	if (h->ctx)
		iw_ctx_free(h->ctx);
	iw_pool_fini(&h->slots);
	iw_heap_fini(&h->timers);
	iw_place_close(&h->place);
	iw_asked_fini(&h->asked);
	iw_account_fini(&h->account);
	if (h->epoll >= 0)
		close(h->epoll);
	if (h->root >= 0)
		close(h->root);
	iw_report_fini(&h->report);
	return true;
}

struct hub *iw_hub_new(const struct iw_transfer_cfg *cfg)
{
	struct hub *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->cfg = cfg;
	h->cli = cfg->cli;
	h->pipe = cfg->pipe ? cfg->pipe : -1;
	h->root = h->epoll = h->watched_in = h->watched_out = h->worker.fd = -1;
	h->now = iw_os_now();
	h->stop_by = h->end_by = h->relieve_at = h->answer_at = h->trim_at = h->first_by =
		IW_TIME_NEVER;
	iw_budget_init(&h->budget, cfg->memory);
	iw_place_reset(&h->place);
	iw_lane_init(&h->sweeps);
	iw_list_init(&h->held);
	iw_list_init(&h->wanting);
	iw_list_init(&h->sessions);
	iw_list_init(&h->ready);
	iw_list_init(&h->starved);
	iw_list_init(&h->groups);
	iw_list_init(&h->reporting);
	iw_heap_init(&h->timers, &iw_os_heap);
	iw_pool_init(&h->slots, &map_mem, IW_XFER_CHUNK + sizeof(uint64_t), 0, SLOTS * 2);
	iw_report_init(&h->report, cfg->cli, cfg->to_stdout);
	h->report.silent = cfg->would_remove != NULL;
	h->report.stats = cfg->stats;
	h->shows_progress = !cfg->listen && iw_report_shows_progress(&h->report);
	return h;
}

int iw_hub_open(struct hub *h, struct iw_fault *why)
{
	const struct iw_transfer_cfg *cfg = h->cfg;
	int err;

	iw_target_prepare();
	h->account.limit = "--quota";
	h->account.max_octets = cfg->limits.quota;
	h->account.max_files = cfg->limits.files;
	h->account.max_resting = most_resting();
	h->most_open = most_open();
	/* Exceeding the limit on file sizes must be an error of write, not kill the process. */
	signal(SIGXFSZ, SIG_IGN);
	if (cfg->to_stdout)
		iw_out_open();
	err = open_context(h, why);
	if (err)
		return err;
	err = iw_hub_watch_pipe(h, why);
	if (err)
		return err;
	return cfg->listen ? open_listener(h, why) : open_initiator(h, why);
}

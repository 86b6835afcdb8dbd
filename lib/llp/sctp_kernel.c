// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The port of kernel SCTP: one-to-one sockets (RFC 6458), a listener and one for each association.
 * One epoll descriptor covers all of them. Messages are unordered and unfragmented. The kernel
 * reports acknowledgements only when all messages are acknowledged (the sender dry event, 6.1.9).
 */
#include "llp/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "llp/internal.h"
#include "llp/sctp_kernel.h"
#include "os/os.h"
#include "os/probe.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

/* --- open ------------------------------------------------------------------------------------- */

static int kernel_available(struct iw_fault *why)
{
	struct iw_fault no;
	int err = iw_os_probe_sctp(&no);

	return err ? iw_fail(why, err, "transport sctp: %s", no.text) : 0;
}

static int kernel_look(struct iw_fault *why)
{
	struct iw_fault found;
	int err = iw_os_look_sctp(&found);

	if (err)
		(void)iw_fail(why, err < 0 ? err : 0, "transport sctp: %s", found.text);
	return err;
}

static int open_listener(struct kport *k, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	struct iw_addr addr[ADDR_MAX], local;
	char text[IW_ADDR_TEXT];
	uint64_t nofile;
	const int on = 1;
	size_t n = 0;
	int err, errnum;

	err = iw_addr_resolve(addr, ADDR_MAX, &n, cfg->bind_addr ? cfg->bind_addr : cfg->host,
			      cfg->port, why);
	if (!err)
		err = iw_port_kernel_new_socket(&k->listener, k, addr[0].sa.sa_family, why);
	if (!err)
		err = iw_sock_check_interface(&addr[0], cfg->interface, why);
	if (err)
		return err;
	(void)setsockopt(k->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(k->listener, &addr[0].sa, addr[0].len) < 0 ||
	    listen(k->listener, (int)IW_MIN(cfg->backlog, 65535u)) < 0) {
		errnum = errno;
		err = iw_os_fail(why, errnum, "listen on %s (-t sctp)",
				 iw_addr_format(text, &addr[0]));
		iw_sock_add_hint(why, iw_sock_listen_hint(errnum, cfg->port));
		return err;
	}
	if (iw_sock_local(k->listener, &local) != 0)
		return iw_os_fail(why, errno, "sctp: read the listener's address");
	k->port.local_port = iw_addr_port(&local);
	snprintf(k->port.local, sizeof(k->port.local), "%s", iw_addr_format(text, &local));
	if (iw_port_kernel_watch(k, k->listener, NULL, EPOLLIN, true) < 0)
		return iw_os_fail(why, errno, "sctp: watch the listener");
	/* Three eighths of the descriptors: the rest is for sessions and the program. */
	iw_os_nofile(&nofile, NULL);
	k->port.unused_max = (uint32_t)IW_MIN(IW_MAX(nofile / 8 * 3, 1), UINT32_MAX);
	return 0;
}

/* Resolves the addresses to connect to, and the source. */
static int plan(struct kport *k, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	struct iw_addr bind[ADDR_MAX];
	size_t n = 0;
	int err = iw_addr_resolve(k->target, ADDR_MAX, &k->ntargets, cfg->host, cfg->port, why);

	if (err || !cfg->bind_addr)
		return err;
	err = iw_addr_resolve(bind, ADDR_MAX, &n, cfg->bind_addr, 0, why);
	if (!err)
		k->bind = bind[0];
	return err;
}

static void kernel_close(struct iw_port *p);

static int kernel_open(struct iw_port **out, const struct iw_port_cfg *cfg, struct iw_fault *why)
{
	struct kport *k;
	int err = kernel_available(why);

	if (err)
		return err;
	k = calloc(1, sizeof(*k));
	if (!k)
		return iw_fail(why, IW_E_NOMEM, "sctp: no memory");
	k->port.ops = &iw_port_sctp_ops;
	k->port.all_acked_only = true;
	k->cfg = *cfg;
	k->listener = -1;
	iw_list_init(&k->assocs);
	iw_list_init(&k->ready);
	iw_list_init(&k->events);
	if (cfg->llp.interface)
		snprintf(k->interface, sizeof(k->interface), "%s", cfg->llp.interface);
	k->buf = malloc(BUF_LEN);
	k->port.fd = epoll_create1(EPOLL_CLOEXEC);
	if (!k->buf || k->port.fd < 0)
		err = iw_os_fail(why, k->buf ? errno : ENOMEM, "sctp: create a port");
	if (!err)
		err = cfg->llp.listen ? open_listener(k, &cfg->llp, why) : plan(k, &cfg->llp, why);
	k->cfg.llp.host = k->cfg.llp.bind_addr = k->cfg.llp.interface = k->cfg.llp.cc = NULL;
	if (!err && cfg->llp.cc)
		err = iw_fail(
			why, IW_E_NOTSUP,
			"sctp: the kernel's SCTP has only one congestion control: leave the choice out");
	if (err) {
		kernel_close(&k->port);
		return err;
	}
	*out = &k->port;
	return 0;
}

static void kernel_close(struct iw_port *p)
{
	struct kport *k = port_of(p);

	while (iw_list_first(&k->assocs))
		iw_port_kernel_release(
			&iw_container_of(iw_list_first(&k->assocs), struct kassoc, all)->assoc);
	if (k->listener >= 0)
		close(k->listener);
	if (p->fd >= 0)
		close(p->fd);
	free(k->buf);
	free(k);
}

/* The kernel sends by itself. */
static int kernel_output(struct iw_port *p, uint64_t now)
{
	(void)p;
	(void)now;
	return 0;
}

static uint64_t kernel_deadline(struct iw_port *p)
{
	uint64_t at = port_of(p)->accept_at;

	return at ? at : IW_TIME_NEVER;
}

static void kernel_timeout(struct iw_port *p, uint64_t now)
{
	struct kport *k = port_of(p);

	if (k->accept_at && now >= k->accept_at &&
	    iw_port_kernel_watch(k, k->listener, NULL, EPOLLIN, false) == 0)
		k->accept_at = 0;
}

/*
 * No `held`: the kernel subtracts only unread messages from the window. Reading continues while
 * segments wait for their session, because the Accept that releases them may still be unread. These
 * segments use at most one more window (IW_SCTPMAP_PENDING_MAX).
 */
const struct iw_port_ops iw_port_sctp_ops = {
	.name = "sctp",
	.available = kernel_available,
	.look = kernel_look,
	.open = kernel_open,
	.paths = iw_port_kernel_paths,
	.connect = iw_port_kernel_connect,
	.input = iw_port_kernel_input,
	.next_msg = iw_port_kernel_next_msg,
	.next_event = iw_port_kernel_next_event,
	.send = iw_port_kernel_send,
	.output = kernel_output,
	.deadline = kernel_deadline,
	.timeout = kernel_timeout,
	.shutdown = iw_port_kernel_shutdown,
	.abort = iw_port_kernel_abort,
	.release = iw_port_kernel_release,
	.close = kernel_close,
};

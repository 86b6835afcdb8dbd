// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The far side of the conversation. */
#include "transfer/ssh/far.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/addr.h"
#include "os/os.h"
#include "transfer/ssh/bridge.h"
#include "util/num.h"
#include "util/text.h"

#define SEND_TIMEOUT IW_SEC(30) /* for the local end to receive a message */

/* SSH_CONNECTION: "CLIENT-ADDRESS PORT SERVER-ADDRESS PORT" (ssh(1), ENVIRONMENT). */
static int find_address(struct iw_ssh_far *f, struct iw_fault *why)
{
	const char *text = getenv("SSH_CONNECTION");
	struct iw_addr a;

	if (!text) {
		snprintf(f->addr, sizeof(f->addr), "127.0.0.1");
		return 0;
	}
	if (sscanf(text, "%*s %*s %63s", f->addr) != 1 || iw_addr_parse(&a, f->addr, 0) != 0)
		return iw_fail(why, IW_E_INVAL,
			       "SSH_CONNECTION=\"%s\": the third word is not an address", text);
	return 0;
}

static int check(const struct iw_ssh_request *r, bool source, struct iw_fault *why)
{
	if (r->protocol != IW_SSH_PROTOCOL)
		return iw_fail(
			why, IW_E_NOTSUP,
			"version %s of the local end starts this one with protocol %u, and version %s here has protocol %u: install the same version at both ends",
			r->version, r->protocol, iw_version(), (uint32_t)IW_SSH_PROTOCOL);
	if (r->source != source)
		return iw_fail(why, IW_E_INVAL, "%s was started, and %s was requested",
			       source ? "ddp-send" : "ddp-recv", source ? "ddp-recv" : "ddp-send");
	return 0;
}

static int converse(struct iw_ssh_far *f, bool source, struct iw_fault *why)
{
	struct iw_ssh_msg m;
	char line[IW_SSH_LINE_MAX];
	int err;

	snprintf(line, sizeof(line), "iwarp-ssh %d %s\n", IW_SSH_PROTOCOL, iw_version());
	err = iw_ssh_link_write(&f->link, line, strlen(line),
				iw_time_add(iw_os_now(), SEND_TIMEOUT), why);
	if (err)
		return err;
	err = iw_ssh_link_recv(&f->link, &m, iw_time_add(iw_os_now(), IW_SSH_FIRST), why);
	if (err)
		return err;
	if (m.type != IW_SSH_REQUEST)
		return iw_fail(why, IW_E_FORMAT, "message type %u; expected REQUEST",
			       (uint32_t)m.type);
	f->request = m.request;
	err = check(&f->request, source, why);
	if (!err)
		err = iw_ssh_root_find(&f->root, m.request.paths, source, why);
	if (!err)
		err = find_address(f, why);
	if (!err && iw_os_random(f->secret, sizeof(f->secret)) != 0)
		err = iw_fail(why, IW_E_OS, "no random numbers for a key");
	return err;
}

int iw_ssh_far_open(struct iw_ssh_far *f, bool source, struct iw_fault *why)
{
	int fd, err;

	memset(f, 0, sizeof(*f));
	iw_ssh_link_init(&f->link, -1);
	if (isatty(STDIN_FILENO))
		return iw_fail(
			why, IW_E_INVAL,
			"--ssh-server: only ssh start-up uses this option; give a user name in HOST, as in user@host:dir");
	err = iw_ssh_bridge(&fd, STDIN_FILENO, STDOUT_FILENO, why);
	if (err)
		return err;
	iw_ssh_link_init(&f->link, fd);
	err = converse(f, source, why);
	if (err)
		iw_ssh_far_error(f, why);
	return err;
}

int iw_ssh_far_ready(struct iw_ssh_far *f, uint16_t port, uint16_t udp_port, struct iw_fault *why)
{
	struct iw_ssh_msg m = { .type = IW_SSH_READY };
	int err;

	snprintf(m.ready.version, sizeof(m.ready.version), "%s", iw_version());
	memcpy(m.ready.addr, f->addr, sizeof(m.ready.addr));
	m.ready.port = port;
	m.ready.udp_port = udp_port;
	memcpy(m.ready.secret, f->secret, sizeof(m.ready.secret));
	m.ready.paths = (struct iw_ssh_paths){ .list = f->root.paths, .n = f->root.n };
	err = iw_ssh_link_send(&f->link, &m, iw_time_add(iw_os_now(), SEND_TIMEOUT), why);
	explicit_bzero(&m, sizeof(m));
	return err;
}

void iw_ssh_far_forget(struct iw_ssh_far *f)
{
	explicit_bzero(f->secret, sizeof(f->secret));
}

void iw_ssh_far_error(struct iw_ssh_far *f, const struct iw_fault *why)
{
	struct iw_ssh_msg m = { .type = IW_SSH_ERROR };

	if (f->link.fd < 0)
		return;
	snprintf(m.error, sizeof(m.error), "%s", why->text[0] ? why->text : iw_err_text(why->err));
	(void)!iw_ssh_link_send(&f->link, &m, iw_time_add(iw_os_now(), IW_SEC(2)), NULL);
}

void iw_ssh_far_close(struct iw_ssh_far *f)
{
	iw_ssh_far_forget(f);
	iw_ssh_link_fini(&f->link);
	iw_ssh_root_fini(&f->root);
}

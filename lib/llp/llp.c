// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The list of transports. */
#include "llp/llp.h"

#include <string.h>

#include "llp/internal.h"
#include "llp/port.h"
#include "util/num.h"
#include "util/text.h"

static const char *const names[] = { "tcp", "sctp", "udp", "raw", "xdp", NULL };

/* Message transports are ports; here they have only their names. */
static const struct iw_llp_ops messages[] = {
	{ .name = "sctp", .traits = IW_LLP_MESSAGE },
	{ .name = "udp", .traits = IW_LLP_MESSAGE },
	{ .name = "raw", .traits = IW_LLP_MESSAGE },
	{ .name = "xdp", .traits = IW_LLP_MESSAGE },
};

const struct iw_llp_ops *iw_llp_find(const char *name)
{
	if (strcmp(name, iw_llp_tcp_ops.name) == 0)
		return &iw_llp_tcp_ops;
	for (size_t i = 0; i < IW_ARRAY_LEN(messages); i++)
		if (strcmp(messages[i].name, name) == 0)
			return &messages[i];
	return NULL;
}

static const struct iw_port_ops *const ports[] = { &iw_port_sctp_ops, &iw_port_udp_ops,
						   &iw_port_raw_ops, &iw_port_xdp_ops, NULL };

const struct iw_port_ops *iw_port_find(const char *name)
{
	for (size_t i = 0; ports[i]; i++)
		if (strcmp(ports[i]->name, name) == 0)
			return ports[i];
	return NULL;
}

/* raw and xdp: --doctor reports the remedy in a column of its own, other tools at the end of the text. */
static int name_remedy(int err, const char *name, struct iw_fault *why)
{
	struct iw_fault what;

	if (err != IW_E_PERM || !why || strcmp(name, "sctp") == 0)
		return err;
	what = *why;
	return iw_fail(why, err,
		       "%s; be root, use setcap (ddp-recv(1)), or use -t udp at both ends",
		       what.text);
}

int iw_llp_available(const char *name, struct iw_fault *why)
{
	const struct iw_port_ops *port = iw_port_find(name);

	if (port)
		return name_remedy(port->available(why), name, why);
	if (iw_llp_find(name))
		return 0;
	return iw_fail(why, IW_E_INVAL, "transport \"%s\": expected tcp, sctp, udp, raw or xdp",
		       name);
}

int iw_llp_look(const char *name, struct iw_fault *why)
{
	const struct iw_port_ops *port = iw_port_find(name);

	if (!port)
		return iw_llp_available(name, why);
	return port->look ? port->look(why) : port->available(why);
}

const char *const *iw_llp_names(void)
{
	return names;
}

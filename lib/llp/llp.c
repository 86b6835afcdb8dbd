// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The list of transports. */
#include "llp/llp.h"

#include <string.h>

#include "llp/internal.h"
#include "llp/port.h"
#include "llp/stream.h"
#include "util/text.h"

static const char *const names[] = { "tcp", "sctp", "udp", "raw", "xdp", NULL };

const struct iw_stream_ops *iw_stream_find(const char *name)
{
	return strcmp(name, iw_stream_tcp_ops.name) == 0 ? &iw_stream_tcp_ops : NULL;
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

/* raw and xdp: adds the remedy to the text. --doctor uses iw_llp_look and shows it in a column. */
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
	if (iw_stream_find(name))
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

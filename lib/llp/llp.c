// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The list of transports. */
#include "llp/llp.h"

#include <string.h>

#include "llp/internal.h"
#include "llp/port.h"
#include "util/num.h"
#include "util/text.h"

static const struct iw_llp_ops *const transports[] = {
	&iw_llp_tcp_ops, &iw_llp_sctp_ops, &iw_llp_udp_ops, &iw_llp_raw_ops, &iw_llp_xdp_ops,
};

static const char *const names[] = { "tcp", "sctp", "udp", "raw", "xdp", NULL };

const struct iw_llp_ops *iw_llp_find(const char *name)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(transports); i++)
		if (strcmp(transports[i]->name, name) == 0)
			return transports[i];
	return NULL;
}

/* Message transports. */
static const struct iw_port_ops *const ports[] = { &iw_port_sctp_ops, &iw_port_udp_ops,
						   &iw_port_raw_ops, &iw_port_xdp_ops, NULL };

const struct iw_port_ops *iw_port_find(const char *name)
{
	for (size_t i = 0; ports[i]; i++)
		if (strcmp(ports[i]->name, name) == 0)
			return ports[i];
	return NULL;
}

int iw_llp_available(const char *name, struct iw_fault *why)
{
	const struct iw_llp_ops *ops = iw_llp_find(name);
	const struct iw_port_ops *port;

	if (!ops)
		return iw_fail(why, IW_E_INVAL,
			       "transport \"%s\": there are tcp, sctp, udp, raw and xdp", name);
	if (ops == &iw_llp_tcp_ops)
		return 0;
	port = iw_port_find(name);
	return port ? port->available(why) : iw_llp_absent(name, why);
}

const char *const *iw_llp_names(void)
{
	return names;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Attaches another program beside ours, through libxdp's dispatcher: `beside INTERFACE FILE`
 * attaches the first program of an object file; `beside -l INTERFACE` prints the names of all
 * programs that the dispatcher calls.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

static int failed(const char *what, long err)
{
	fprintf(stderr, "beside: %s: %s\n", what, strerror((int)-err));
	return 1;
}

static int list(int ifindex)
{
	struct xdp_multiprog *m = xdp_multiprog__get_from_ifindex(ifindex);
	struct xdp_program *p = NULL;

	if (libxdp_get_error(m))
		return failed("no dispatcher", libxdp_get_error(m));
	while ((p = xdp_multiprog__next_prog(p, m)))
		printf("%s\n", xdp_program__name(p));
	xdp_multiprog__close(m);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned ifindex = argc == 3 ? if_nametoindex(argv[strcmp(argv[1], "-l") ? 1 : 2]) : 0;
	struct xdp_program *p;
	long err;

	if (ifindex == 0) {
		fprintf(stderr, "usage: beside INTERFACE FILE | beside -l INTERFACE\n");
		return 2;
	}
	if (strcmp(argv[1], "-l") == 0)
		return list((int)ifindex);
	p = xdp_program__open_file(argv[2], NULL, NULL);
	if (libxdp_get_error(p))
		return failed(argv[2], libxdp_get_error(p));
	/* The program passes every packet to the next one. */
	err = xdp_program__set_chain_call_enabled(p, XDP_PASS, true);
	if (!err)
		err = xdp_program__attach(p, (int)ifindex, XDP_MODE_NATIVE, 0);
	xdp_program__close(p);
	return err ? failed(argv[1], err) : 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs the steering program and lib/wire's decoders on a frame: both must agree, and the frame must
 * be unchanged. The fuzzer sees the branches of the decoders only; the program has the same ones.
 */
#include "property.h"
#include "steer_ref.h"

static struct steer_rig rig;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct iw_fault why = { 0 };

	(void)argc;
	(void)argv;
	if (steer_rig_open(&rig, &why) == 0)
		return 0;
	printf("needs xdp: %s\n", why.text);
	fflush(stdout);
	exit(3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	must(steer_agree(&rig, data, len));
	return 0;
}

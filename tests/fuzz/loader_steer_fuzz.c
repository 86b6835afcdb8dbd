// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A frame, given to the steering program and to lib/wire's decoders: both say the same of it, and it
 * comes out unharmed. The fuzzer sees the branches of the latter only, which are the program's too.
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

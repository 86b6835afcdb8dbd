/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two SCTP engines and a bad link: the scenarios of the simulator below DDP. */
#ifndef TESTS_SIM_SCTP_H
#define TESTS_SIM_SCTP_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the name of scenario i; NULL: it does not exist. */
const char *sim_sctp_name(unsigned i);
/* Runs one seed of it: true, or false and the reason. */
bool sim_sctp(uint64_t seed, unsigned i, char failure[300]);

#endif

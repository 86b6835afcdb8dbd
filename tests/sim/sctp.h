/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two SCTP engines and a bad link: the part of the simulator below DDP. */
#ifndef TESTS_SIM_SCTP_H
#define TESTS_SIM_SCTP_H

#include <stdbool.h>
#include <stdint.h>

/* Scenario i by name; NULL: there is none. */
const char *sim_sctp_name(unsigned i);
/* One seed of it: true, or false and what is wrong. */
bool sim_sctp(uint64_t seed, unsigned i, char failure[300]);

#endif

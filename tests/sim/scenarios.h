/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Scenarios of the simulator with many hosts or sessions. Each array ends with a NULL name. */
#ifndef TESTS_SIM_SCENARIOS_H
#define TESTS_SIM_SCENARIOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_scenario {
	const char *name;
	/* Runs one seed: true, or false and the reason. */
	bool (*run)(uint64_t seed, char failure[300]);
};

extern const struct sim_scenario sim_peers[], sim_spoof[], sim_sessions[], sim_unused[],
	sim_links[];

/* Returns scenario i of all arrays; NULL: there are fewer. */
static inline const struct sim_scenario *sim_scenario(unsigned i)
{
	const struct sim_scenario *const all[] = { sim_peers, sim_spoof, sim_sessions, sim_unused,
						   sim_links };

	for (unsigned k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		for (const struct sim_scenario *s = all[k]; s->name; s++)
			if (i-- == 0)
				return s;
	return NULL;
}

#endif

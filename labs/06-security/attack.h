/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * First half of the lab: six attacks on the careless server.
 *
 * Each function has an open stream and must bring back the 16 octets of the secret that the server
 * keeps for another client. It returns true if it has them in `secret`. Each has a budget of
 * requests and of new connections; see the table in README.md. All memory that it allocates must be
 * free when it returns.
 */
#ifndef ATTACK_H
#define ATTACK_H

#include "wire.h"

/*
 * Step domain. The secret lies in a buffer of another client. `victim` describes that buffer: STags
 * cross the network in clear text, so every host on the path may have read it.
 */
bool attack_domain(struct wire *w, const struct lease *victim, uint8_t secret[SECRET_LEN]);

/*
 * Step guess. As before, but the attacker knows nothing about the buffer of the victim. `own` is
 * the attacker's buffer. Other clients have buffers too.
 */
bool attack_guess(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN]);

/*
 * Step overrun. The secret lies in memory that is not registered at all, in some block before that
 * of the attacker's buffer `own`. A new connection is impossible: the first refused access is the
 * last one, and so is an access that crashes the server.
 */
bool attack_overrun(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN]);

/*
 * Step rights. A client once uploaded the secret, and released its buffer. The attacker may upload
 * too: all buffers that the server gives it have the right REMOTE_WRITE alone. No new connection is
 * possible.
 */
bool attack_rights(struct wire *w, uint8_t secret[SECRET_LEN]);

/*
 * Step reuse. The victim comes when the attacker waits for the first time: it registers a buffer
 * and puts the secret there. `own` is the attacker's buffer. No new connection is possible.
 */
bool attack_reuse(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN]);

/*
 * Step late. Each time the attacker waits, the server takes a block for itself, which is not
 * registered, and puts the secret there. `own` is the attacker's buffer. The number of
 * accesses before is unknown.
 */
bool attack_late(struct wire *w, const struct lease *own, uint8_t secret[SECRET_LEN]);

#endif

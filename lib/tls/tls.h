/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TLS 1.3 over a stream and DTLS 1.2 over datagrams, by OpenSSL, with memory in place of sockets.
 *
 * Job: takes octets of the network and returns octets of the application, and the reverse. Does no
 * I/O, except that iw_tls_creds_new reads files. OpenSSL allocates, reads the clock (certificates,
 * timers of DTLS) and draws random numbers itself, so this is not a pure room.
 * Neighbours: lib/llp/tls.c puts a session between the engine and a TCP connection; lib/pkt/dtls.c
 * puts one between the SCTP engine and UDP; lib/verbs has the public functions.
 * Threads: none, no locks; credentials and all their sessions belong to one thread at a time.
 *
 * In a build without OpenSSL (none.c) iw_tls_creds_new returns IW_E_NOTSUP and nothing else is
 * reached.
 */
#ifndef IW_TLS_TLS_H
#define IW_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "util/vec.h"

/* --- credentials: creds.c --------------------------------------------------------------------- */

/* As iw_tls_new, iw_tls_own_pin and iw_tls_add_pin. attr is a complete struct of this version. */
IW_MUST_CHECK int iw_tls_creds_new(struct iw_tls **out, const struct iw_tls_attr *attr,
				   struct iw_fault *why);
IW_MUST_CHECK int iw_tls_creds_pin(const struct iw_tls *t, uint8_t pin[IW_TLS_PIN_LEN]);
IW_MUST_CHECK int iw_tls_creds_add_pin(struct iw_tls *t, const uint8_t pin[IW_TLS_PIN_LEN]);
/* IW_E_INVAL: a listener cannot use these credentials, because it could not identify itself. */
IW_MUST_CHECK int iw_tls_creds_listen(const struct iw_tls *t, struct iw_fault *why);
/* Credentials are counted: the last iw_tls_creds_put frees them. put: t may be NULL. */
struct iw_tls *iw_tls_creds_get(struct iw_tls *t);
void iw_tls_creds_put(struct iw_tls *t);
/*
 * Returns memory (owned by t) that all streams of these credentials use for ciphertext within one
 * call: in for received octets, out for pending output.
 */
#define IW_TLS_SCRATCH (128 * 1024 + 17 * 1024) /* octets of each */
uint8_t *iw_tls_creds_scratch_in(struct iw_tls *t);
uint8_t *iw_tls_creds_scratch_out(struct iw_tls *t);

/* --- a stream: stream.c ----------------------------------------------------------------------- */

#define IW_TLS_RECORD_MAX  16384 /* octets of plaintext in a record (RFC 8446 5.1) */
#define IW_TLS_RECORD_MORE 256   /* octets, at most, by which a record exceeds its plaintext */

struct iw_tls_stream;
/*
 * The text of an IW_E_TLS, here and for datagrams, is a sentence without a subject, such as "the
 * peer's certificate is refused: certificate has expired"; the caller puts "TLS with ADDRESS: "
 * before it.
 *
 * Begins a session. name: the host, for the certificate of the peer and for SNI; NULL at a
 * responder. ALPN is "iwarp". *out is owned by the caller. IW_E_NOMEM; IW_E_LIMIT: all
 * one-use keys are used; IW_E_INVAL: an initiator with ca_file has no name, name cannot be that of a
 * host, or a responder has neither a certificate nor a key.
 */
IW_MUST_CHECK int iw_tls_stream_new(struct iw_tls_stream **out, struct iw_tls *t, bool initiator,
				    const char *name, struct iw_fault *why);
void iw_tls_stream_free(struct iw_tls_stream *s); /* NULL does nothing */
/*
 * Provides received octets (borrowed until iw_tls_stream_taken). Every previous input must have
 * been taken.
 */
void iw_tls_stream_input(struct iw_tls_stream *s, const uint8_t *data, size_t len);
/* Returns how many of these octets are used, and ends the borrowing. */
size_t iw_tls_stream_taken(struct iw_tls_stream *s);
/*
 * Sets where ciphertext goes until the next call: at most cap octets at dst (borrowed; NULL, 0:
 * nowhere). Returns the number of octets that were put to the previous destination.
 */
size_t iw_tls_stream_output(struct iw_tls_stream *s, uint8_t *dst, size_t cap);
/*
 * Continues the handshake. 0: finished; IW_E_AGAIN: needs input, after the output was sent;
 * IW_E_TLS: it failed (*why: which end refused, why, and what to do); the output then has an
 * alert. RFC 8446 4.
 */
IW_MUST_CHECK int iw_tls_stream_handshake(struct iw_tls_stream *s, struct iw_fault *why);
/*
 * Decrypts into vec, whose first skip octets are left out. Returns the number of octets, 0 at the
 * peer's close_notify (RFC 8446 6.1).
 * IW_E_AGAIN: needs input; IW_E_TLS: a record is not authentic, or the peer sent an alert.
 * May produce output (an answer to a key update).
 */
int64_t iw_tls_stream_read(struct iw_tls_stream *s, const struct iw_vec *vec, size_t nvec,
			   size_t skip, struct iw_fault *why);
/* True if a read has a result without more input: octets, the peer's close_notify, or it is held. */
bool iw_tls_stream_pending(const struct iw_tls_stream *s);
/* True if the last read did not finish because its output had no room: repeat it with room. */
bool iw_tls_stream_held(const struct iw_tls_stream *s);
/*
 * Encrypts octets of vec after the first skip ones, as many as the output has room for. Returns
 * their number. IW_E_AGAIN: not one record fits; IW_E_TLS: the session has failed. Updates the key
 * before its limit (RFC 8446 5.5).
 */
int64_t iw_tls_stream_write(struct iw_tls_stream *s, const struct iw_vec *vec, size_t nvec,
			    size_t skip, struct iw_fault *why);
/* Puts a close_notify to the output. */
void iw_tls_stream_close(struct iw_tls_stream *s);
/*
 * For tests: requests a key update of both directions (RFC 8446 4.6.3); sets after how many records
 * this end updates its own.
 */
int iw_tls_stream_update_key(struct iw_tls_stream *s);
void iw_tls_stream_limit_key(struct iw_tls_stream *s, uint64_t records);
/* Fills *out (without size). False: the handshake is not finished. */
bool iw_tls_stream_info(const struct iw_tls_stream *s, struct iw_tls_info *out);

/* --- datagrams: dtls.c ------------------------------------------------------------------------ */

#define IW_DTLS_PLAIN_MAX   16384 /* octets of plaintext in a record (RFC 6347 4.1.1) */
#define IW_DTLS_APPLICATION 23    /* content type of records with packets (RFC 5246 6.2.1) */
/*
 * Octets, at most, by which a record exceeds its plaintext: header, explicit nonce and tag. All
 * cipher suites here add the same number to each record.
 */
#define IW_DTLS_MORE        (13 + 8 + 16)
#define IW_DTLS_KEY         24   /* octets, at most, that identify the address of a peer */
#define IW_DTLS_HELLO       1200 /* octets, at most, of a datagram of the handshake */
#define IW_DTLS_RANDOM      32   /* octets */

struct iw_dtls; /* the session with one peer */
/*
 * Begins the session of an initiator, without output: call iw_dtls_handshake. *out is owned by the
 * caller. Errors as iw_tls_stream_new.
 */
IW_MUST_CHECK int iw_dtls_connect(struct iw_dtls **out, struct iw_tls *t, const char *name,
				  struct iw_fault *why);

struct iw_dtls_listener; /* what answers to peers without a session */
/* *out is owned by the caller. IW_E_NOMEM; IW_E_OS: no random numbers; as iw_tls_creds_listen. */
IW_MUST_CHECK int iw_dtls_listener_new(struct iw_dtls_listener **out, struct iw_tls *t,
				       struct iw_fault *why);
void iw_dtls_listener_free(struct iw_dtls_listener *l); /* NULL does nothing */
/*
 * Returns the random number of a ClientHello (IW_DTLS_RANDOM octets in data) if the datagram begins
 * with a plain one, else NULL. A retransmission has the same number (RFC 6347 4.2.1).
 */
const uint8_t *iw_dtls_hello(const uint8_t *data, size_t len);
/*
 * Processes a ClientHello of a peer without a session; now: ns. Without a valid cookie it is
 * answered with a HelloVerifyRequest, *reply_len octets in reply, and leaves no state (RFC 6347
 * 4.2.1); with one, *out is the session, which the caller owns, after the first step of the
 * handshake. key: the address of the peer, key_len octets, at most IW_DTLS_KEY. Returns 0;
 * IW_E_AGAIN: no session yet; IW_E_FORMAT: not a ClientHello, drop it; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_dtls_accept(struct iw_dtls **out, struct iw_dtls_listener *l,
				 const uint8_t *key, size_t key_len, const uint8_t *data,
				 size_t len, uint8_t reply[static IW_DTLS_HELLO], size_t *reply_len,
				 uint64_t now);
void iw_dtls_free(struct iw_dtls *s); /* NULL does nothing */
/*
 * Processes a datagram: a handshake continues, or a record is decrypted to dst (cap octets, at
 * least IW_DTLS_PLAIN_MAX). Returns the octets of plaintext; 0: nothing to return (a record that is
 * not authentic, a repeated one, a part of the handshake); IW_E_CLOSED: the peer sent close_notify;
 * IW_E_TLS: the handshake or the session failed (*why; output may have an alert). While
 * iw_dtls_pending is true, call again with len 0 for the next record of the datagram.
 */
int64_t iw_dtls_input(struct iw_dtls *s, const uint8_t *data, size_t len, uint8_t *dst, size_t cap,
		      struct iw_fault *why);
bool iw_dtls_pending(const struct iw_dtls *s);
/*
 * Continues the handshake, at an initiator also the first time. 0: established; IW_E_AGAIN: needs
 * input; IW_E_TLS: it failed (*why; the output may have an alert).
 */
IW_MUST_CHECK int iw_dtls_handshake(struct iw_dtls *s, struct iw_fault *why);
/*
 * Encrypts one packet as one record to dst (cap octets, at least len + IW_DTLS_MORE). Returns its
 * octets. IW_E_AGAIN: not established; IW_E_TLS: the session has ended, or the key has reached its
 * limit (RFC 9147 4.5.3).
 */
int64_t iw_dtls_seal(struct iw_dtls *s, uint8_t *dst, size_t cap, const uint8_t *src, size_t len);
/* Takes the next datagram of the handshake to send. Returns its octets; 0: none. */
size_t iw_dtls_next(struct iw_dtls *s, uint8_t dst[static IW_DTLS_HELLO]);
/* Puts a close_notify to the datagrams of iw_dtls_next. */
void iw_dtls_close(struct iw_dtls *s);
/* Returns when the handshake must retransmit, ns; IW_TIME_NEVER: no timer is running. */
uint64_t iw_dtls_deadline(const struct iw_dtls *s, uint64_t now);
/*
 * Retransmits if that time has passed. 0; IW_E_TLS: the peer does not answer, as one with another
 * pre-shared key (*why).
 */
IW_MUST_CHECK int iw_dtls_timeout(struct iw_dtls *s, struct iw_fault *why);
/* As iw_tls_stream_info. */
bool iw_dtls_info(const struct iw_dtls *s, struct iw_tls_info *out);
/* Sets how many records the session may still send, for tests. */
void iw_dtls_set_limit(struct iw_dtls *s, uint64_t records);

#endif

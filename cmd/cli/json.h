/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one JSON writer of the tools: JSON lines, one object a line.
 *
 * iw_json_begin(w, "result");                 {"schema":1,"event":"result", iw_json_u64(w,
 * "octets", n);                 "octets":42, iw_json_open_array(w, "streams");
 * "streams":[ iw_json_open_object(w, NULL);                           { iw_json_str(w, "name", s);
 * "name":"a" iw_json_close(w); iw_json_close(w);                     }]} err = iw_json_end(w);
 *
 * Every line begins with "schema" (1) and "event". Keys are literals of ours, each once in its
 * object; inside an array the key is NULL. Numbers are finite: a NaN or an infinity is a mistake of
 * ours (assert), and leaves its key out where asserts are off. An integer never exceeds IW_JSON_MAX,
 * so that readers that keep numbers as doubles read it exactly: iw_json_u64() and iw_json_i64()
 * write IW_JSON_MAX for a count or a duration above it. Numbers that use all their 64 bits are texts:
 * addresses and offsets with iw_json_hex(), times of day with iw_json_decimal().
 *
 * Strings are always valid UTF-8. One that is not (file names may be anything) is written with \xHH
 * for each offending octet, for reading, and beside it stands a second key, "<key>_b64", with the
 * exact octets in base64: where that key is, it is the truth. As an element of an array such a
 * string becomes {"text":"...","text_b64":"..."}.
 *
 * A line goes out in one write() (more only when the other end takes it in pieces) when it is
 * complete, so nothing is left to flush and a reader never waits for half a result. The first
 * failure sticks: later calls do nothing and iw_json_end() returns it. One thread at a time.
 */
#ifndef IW_CLI_JSON_H
#define IW_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#define IW_JSON_SCHEMA 1
#define IW_JSON_DEPTH  8
#define IW_JSON_MAX    9007199254740991 /* 2^53 - 1 (RFC 8259 6) */

struct json_object;

struct iw_json {
	int fd;                                   /* borrowed */
	int err;                                  /* the failure that sticks, or 0 */
	int os_errno;                             /* its errno, or 0 */
	unsigned int depth;                       /* open objects and arrays; 0: between lines */
	struct json_object *stack[IW_JSON_DEPTH]; /* [0] is owned, the others are parts of it */
};

/* @fd is borrowed until iw_json_fini(). */
void iw_json_init(struct iw_json *w, int fd);
/* Drops a line that was begun and not ended. @fd stays open. */
void iw_json_fini(struct iw_json *w);

void iw_json_begin(struct iw_json *w, const char *event);
/*
 * Writes the line. 0; IW_E_NOMEM; IW_E_CLOSED: the reader has closed the pipe; IW_E_OS: the write
 * failed (disk full). After a failure end with IW_EXIT_FAILED: what the caller asked for was not
 * told.
 */
IW_MUST_CHECK int iw_json_end(struct iw_json *w);

void iw_json_u64(struct iw_json *w, const char *key, uint64_t v);
void iw_json_i64(struct iw_json *w, const char *key, int64_t v);
void iw_json_f64(struct iw_json *w, const char *key, double v); /* shortest text that reads back */
void iw_json_hex(struct iw_json *w, const char *key, uint64_t v);     /* "0x" and 16 digits */
void iw_json_decimal(struct iw_json *w, const char *key, uint64_t v); /* digits in a string */
void iw_json_bool(struct iw_json *w, const char *key, bool v);
void iw_json_str(struct iw_json *w, const char *key, const char *s); /* borrowed; NULL: no key */
void iw_json_text(struct iw_json *w, const char *key, const void *s, size_t len);

/* Until the matching iw_json_close() values go into the new object or array. */
void iw_json_open_object(struct iw_json *w, const char *key);
void iw_json_open_array(struct iw_json *w, const char *key);
void iw_json_close(struct iw_json *w);

#endif

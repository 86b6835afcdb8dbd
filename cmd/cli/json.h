/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The JSON writer of the tools: JSON lines, one object per line.
 *
 *	iw_json_begin(w, "result");           {"schema":1,"event":"result",
 *	iw_json_u64(w, "octets", n);          "octets":42,
 *	iw_json_open_array(w, "streams");     "streams":[
 *	iw_json_open_object(w, NULL);         {
 *	iw_json_str(w, "name", s);            "name":"a"
 *	iw_json_close(w);                     }
 *	iw_json_close(w);                     ]
 *	err = iw_json_end(w);                 }
 *
 * Every line begins with "schema" (1) and "event". Keys are literals, each used once in its object;
 * inside an array the key is NULL. Numbers are finite: a NaN or an infinity is a programming error
 * (assert), and without asserts its key is left out.
 *
 * An integer is at most IW_JSON_MAX, so that programs that keep numbers as doubles read it exactly:
 * iw_json_u64 and iw_json_i64 write IW_JSON_MAX for a larger count or duration. Numbers that may
 * use all their 64 bits are strings: addresses and offsets with iw_json_hex, times of day with
 * iw_json_decimal.
 *
 * Strings are always valid UTF-8. In a string that is not, such as a file name, each offending
 * octet becomes \xHH, and an additional key "<key>_b64" has the exact octets in Base64. As an
 * element of an array such a string becomes {"text":"...","text_b64":"..."}.
 *
 * A complete line is written at once, in one write unless the other end takes only a part, so a
 * reader never gets half a result. After a failure all calls do nothing, and iw_json_end returns
 * the first failure.
 *
 * Threads: one at a time.
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
	int err;                                  /* the first failure, or 0 */
	int os_errno;                             /* its errno, or 0 */
	unsigned int depth;                       /* open objects and arrays; 0: between lines */
	struct json_object *stack[IW_JSON_DEPTH]; /* [0] is owned; the others are its parts */
};

/* fd is borrowed until iw_json_fini. */
void iw_json_init(struct iw_json *w, int fd);
/* Drops an incomplete line. Does not close fd. */
void iw_json_fini(struct iw_json *w);

void iw_json_begin(struct iw_json *w, const char *event);
/*
 * Writes the line. IW_E_NOMEM; IW_E_CLOSED: the reader has closed the pipe; IW_E_OS: the write
 * failed, for example because the disk is full. After an error the tool must end with
 * IW_EXIT_FAILED, because its result was lost.
 */
IW_MUST_CHECK int iw_json_end(struct iw_json *w);

void iw_json_u64(struct iw_json *w, const char *key, uint64_t v);
void iw_json_i64(struct iw_json *w, const char *key, int64_t v);
void iw_json_f64(struct iw_json *w, const char *key, double v); /* shortest text that reads back */
void iw_json_hex(struct iw_json *w, const char *key, uint64_t v);     /* "0x" and 16 digits */
void iw_json_decimal(struct iw_json *w, const char *key, uint64_t v); /* digits in a string */
void iw_json_bool(struct iw_json *w, const char *key, bool v);
void iw_json_str(struct iw_json *w, const char *key, const char *s); /* copied; NULL: no key */
/* The same for a string of len octets, copied. */
void iw_json_text(struct iw_json *w, const char *key, const void *s, size_t len);

/* Values go into the new object or array until the matching iw_json_close. */
void iw_json_open_object(struct iw_json *w, const char *key);
void iw_json_open_array(struct iw_json *w, const char *key);
void iw_json_close(struct iw_json *w);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Errors: one list defines the enum, the names, the texts and the Terminate codes.
 *
 * A function of the library returns 0 (or a count) on success and a negative enum iw_err on
 * failure. A function with a struct iw_fault parameter also fills it on failure (it may be NULL):
 * what failed, the value seen, the value expected, the clause of the RFC, and the Terminate triplet
 * if the failure has one.
 */
#ifndef IWARP_ERR_H
#define IWARP_ERR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define IW_API        __attribute__((visibility("default")))
#define IW_MUST_CHECK __attribute__((warn_unused_result))
#else
#define IW_API
#define IW_MUST_CHECK
#endif

/* clang-format off */
/*      name            layer etype code  clause               text */
#define IW_ERR_LIST(X)                                                                                          \
	/* General: IW_NOTERM, they have no Terminate. */                                                       \
	X(NOMEM,          IW_NOTERM,         "",                  "out of memory")                              \
	X(INVAL,          IW_NOTERM,         "",                  "invalid argument")                           \
	X(STATE,          IW_NOTERM,         "",                  "not possible in this state")                 \
	X(AGAIN,          IW_NOTERM,         "",                  "would have to wait")                         \
	X(FULL,           IW_NOTERM,         "",                  "queue is full")                              \
	X(LIMIT,          IW_NOTERM,         "",                  "above a limit")                              \
	X(NOTSUP,         IW_NOTERM,         "",                  "not available here")                         \
	X(PERM,           IW_NOTERM,         "",                  "not permitted")                              \
	X(OS,             IW_NOTERM,         "",                  "the operating system refused")               \
	X(NOENT,          IW_NOTERM,         "",                  "no such object")                             \
	X(BUSY,           IW_NOTERM,         "",                  "still in use")                               \
	X(TRUNC,          IW_NOTERM,         "",                  "input ends too early")                       \
	X(FORMAT,         IW_NOTERM,         "",                  "malformed")                                  \
	X(TIMEOUT,        IW_NOTERM,         "",                  "time ran out")                               \
	X(CLOSED,         IW_NOTERM,         "RFC 5044 7.2",      "the peer closed the connection")             \
	X(CANCELED,       IW_NOTERM,         "RFC 5041 6.2.2",    "canceled: the connection has ended")         \
	X(REJECTED,       IW_NOTERM,         "RFC 5044 7.1.2",    "the peer rejected the connection")           \
	X(PEER_TERMINATE, IW_NOTERM,         "RFC 5040 5.4",      "the peer sent a Terminate")                  \
	/* MPA, RFC 5044 section 8 and RFC 6581 section 8. */                                                   \
	X(MPA_LOST,       IW_TERM(2, 0, 0x01), "RFC 5044 8",      "TCP connection lost")                        \
	X(MPA_CRC,        IW_TERM(2, 0, 0x02), "RFC 5044 8",      "MPA CRC error")                              \
	X(MPA_MARKER,     IW_TERM(2, 0, 0x03), "RFC 5044 8",      "MPA marker and ULPDU_Length disagree")       \
	X(MPA_FRAME,      IW_TERM(2, 0, 0x04), "RFC 5044 7.1.2",  "invalid MPA Request or Reply")               \
	X(MPA_LOCAL,      IW_TERM(2, 0, 0x05), "RFC 6581 9.3",    "local catastrophic error in MPA set-up")     \
	X(MPA_IRD,        IW_TERM(2, 0, 0x06), "RFC 6581 9.1",    "insufficient IRD resources")                 \
	X(MPA_RTR,        IW_TERM(2, 0, 0x07), "RFC 6581 9.2",    "no matching RTR option")                     \
	/* DDP over SCTP: session control reports the end of a stream session, not a Terminate. */               \
	X(DSS_ILLEGAL,    IW_NOTERM,         "RFC 5043 6.1",      "no legal sequence of a DDP stream session")  \
	X(DSS_NODDP,      IW_NOTERM,         "RFC 5043 11.1",     "the peer's SCTP association is not for DDP") \
	/* DDP, RFC 5041 section 7.2. */                                                                        \
	X(DDP_LOCAL,      IW_TERM(1, 0, 0x00), "RFC 5041 7.2",    "DDP local catastrophic error")               \
	X(DDP_STAG,       IW_TERM(1, 1, 0x00), "RFC 5041 7.1",    "invalid STag")                               \
	X(DDP_BOUNDS,     IW_TERM(1, 1, 0x01), "RFC 5041 7.1",    "base or bounds violation")                   \
	X(DDP_ASSOC,      IW_TERM(1, 1, 0x02), "RFC 5041 7.1",    "STag not associated with this DDP stream")   \
	X(DDP_WRAP,       IW_TERM(1, 1, 0x03), "RFC 5041 7.1",    "TO wrap")                                    \
	X(DDP_VERSION_T,  IW_TERM(1, 1, 0x04), "RFC 5041 4.1",    "invalid DDP version, tagged")                \
	X(DDP_QN,         IW_TERM(1, 2, 0x01), "RFC 5041 7.1",    "invalid QN")                                 \
	X(DDP_NOBUF,      IW_TERM(1, 2, 0x02), "RFC 5041 7.1",    "invalid MSN: no buffer available")           \
	X(DDP_MSN,        IW_TERM(1, 2, 0x03), "RFC 5041 7.1",    "invalid MSN: range is not valid")            \
	X(DDP_MO,         IW_TERM(1, 2, 0x04), "RFC 5041 7.1",    "invalid MO")                                 \
	X(DDP_TOOLONG,    IW_TERM(1, 2, 0x05), "RFC 5041 7.1",    "DDP message too long for the buffer")        \
	X(DDP_VERSION_U,  IW_TERM(1, 2, 0x06), "RFC 5041 4.1",    "invalid DDP version, untagged")              \
	/* RDMAP, RFC 5040 figure 9. RP: remote protection; RO: remote operation. */                            \
	X(RDMAP_LOCAL,    IW_TERM(0, 0, 0x00), "RFC 5040 4.8",    "RDMAP local catastrophic error")             \
	X(RP_STAG,        IW_TERM(0, 1, 0x00), "RFC 5040 7.2",    "invalid STag")                               \
	X(RP_BOUNDS,      IW_TERM(0, 1, 0x01), "RFC 5040 7.2",    "base or bounds violation")                   \
	X(RP_RIGHTS,      IW_TERM(0, 1, 0x02), "RFC 5040 4.8",    "access rights violation")                    \
	X(RP_ASSOC,       IW_TERM(0, 1, 0x03), "RFC 5040 7.2",    "STag not associated with this RDMAP stream") \
	X(RP_WRAP,        IW_TERM(0, 1, 0x04), "RFC 5040 7.2",    "TO wrap")                                    \
	X(RP_INVAL,       IW_TERM(0, 1, 0x09), "RFC 5040 5.3",    "STag cannot be Invalidated")                 \
	X(RP_UNSPEC,      IW_TERM(0, 1, 0xff), "RFC 5040 4.8",    "remote protection error, unspecified")       \
	X(RO_VERSION,     IW_TERM(0, 2, 0x05), "RFC 5040 7.2",    "invalid RDMAP version")                      \
	X(RO_OPCODE,      IW_TERM(0, 2, 0x06), "RFC 5040 7.2",    "unexpected OpCode")                          \
	X(RO_STREAM,      IW_TERM(0, 2, 0x07), "RFC 5040 4.8",    "catastrophic error, localized to the stream")\
	X(RO_GLOBAL,      IW_TERM(0, 2, 0x08), "RFC 5040 4.8",    "catastrophic error, global")                 \
	X(RO_INVAL,       IW_TERM(0, 2, 0x09), "RFC 5040 4.8",    "STag cannot be Invalidated")                 \
	X(RO_UNSPEC,      IW_TERM(0, 2, 0xff), "RFC 5040 4.8",    "remote operation error, unspecified")        \
	/* Encryption below MPA (TLS) and below SCTP (DTLS, RFC 8261). */                                       \
	X(TLS,            IW_NOTERM,         "RFC 8446 6.2",      "TLS refused the connection")
/* clang-format on */

enum iw_err_index_ {
	IW_ERR_INDEX_NONE_ = 0,
#define IW_X_(name, term, clause, text) IW_ERR_INDEX_##name##_,
	IW_ERR_LIST(IW_X_)
#undef IW_X_
		IW_ERR_COUNT_
};

/* IW_E_NOMEM, IW_E_INVAL, ...: always negative. */
enum iw_err {
	IW_OK = 0,
#define IW_X_(name, term, clause, text) IW_E_##name = -IW_ERR_INDEX_##name##_,
	IW_ERR_LIST(IW_X_)
#undef IW_X_
};

/* A Terminate triplet in one number; IW_NOTERM: the error has no Terminate (RFC 5040 4.8). */
#define IW_TERM(layer, etype, code) (0x10000u | (layer) << 12 | (etype) << 8 | (code))
#define IW_NOTERM                   0u
#define IW_TERM_LAYER(t)            ((uint8_t)((t) >> 12 & 0xf))
#define IW_TERM_ETYPE(t)            ((uint8_t)((t) >> 8 & 0xf))
#define IW_TERM_CODE(t)             ((uint8_t)((t)&0xff))

/* The details of one failure. All zero: no failure. Plain data, without pointers to free. */
struct iw_fault {
	int err;            /* enum iw_err */
	int os_errno;       /* errno of the system call that failed, or 0 */
	uint32_t term;      /* IW_TERM(...) of the Terminate sent or received, or IW_NOTERM */
	bool from_peer;     /* the Terminate came from the peer */
	uint64_t offset;    /* TCP: octets of the stream before the failing FPDU, or 0 */
	const char *clause; /* "RFC 5041 7.1" or "" (static); not NULL if err is set */
	/* "ddp: STag 0x0000beef: TO 0x2000 length 64 ends above the range 0x1000..0x2000" */
	char text[256];
};

/*
 * Returns the name of the constant without its prefix, "DDP_BOUNDS"; "UNKNOWN" if err is not one of
 * enum iw_err. Static, never NULL.
 */
IW_API const char *iw_err_name(int err);
/* Returns a phrase, "base or bounds violation". Static, never NULL. */
IW_API const char *iw_err_text(int err);
/* Returns the RFC and section, "RFC 5041 7.1", or "". Static, never NULL. */
IW_API const char *iw_err_clause(int err);
/* Returns the Terminate triplet that reports this error to the peer, or IW_NOTERM. */
IW_API uint32_t iw_err_term(int err);
/* Returns the error of a received Terminate triplet; IW_E_PEER_TERMINATE: no constant matches. */
IW_API int iw_err_from_term(uint32_t term);

#ifdef __cplusplus
}
#endif
#endif

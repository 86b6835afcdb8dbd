// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* errno values, as the library's errors and as text. */
#include "os/os.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int iw_os_err(int errnum)
{
	switch (errnum) {
	case EPERM:
	case EACCES:
		return IW_E_PERM;
	case ENOMEM:
	case ENOBUFS:
		return IW_E_NOMEM;
	case EAFNOSUPPORT:
	case EPFNOSUPPORT:
	case EPROTONOSUPPORT:
	case ESOCKTNOSUPPORT:
	case ENOPROTOOPT:
	case EOPNOTSUPP:
	case ENOSYS:
		return IW_E_NOTSUP;
	case EAGAIN:
	case EINPROGRESS:
		return IW_E_AGAIN;
	case ETIMEDOUT:
		return IW_E_TIMEOUT;
	case ENOENT:
	case ENODEV:
		return IW_E_NOENT;
	case EMFILE:
	case ENFILE:
		return IW_E_LIMIT;
	default:
		return IW_E_OS;
	}
}

const char *iw_os_strerror(char *buf, size_t cap, int errnum)
{
	const char *text = strerrordesc_np(errnum);

	if (!text)
		snprintf(buf, cap, "error %d", errnum);
	else
		snprintf(buf, cap, "%s", text);
	/*
	 * "Connection refused" becomes lower case within a sentence; "RPC struct is bad" keeps its
	 * acronym.
	 */
	if (cap > 1 && !isupper((unsigned char)buf[1]))
		buf[0] = (char)tolower((unsigned char)buf[0]);
	return buf;
}

int iw_os_fail(struct iw_fault *why, int errnum, const char *fmt, ...)
{
	int err = iw_os_err(errnum);
	char phrase[80];
	va_list ap;
	int n;

	if (!why)
		return err;
	*why = (struct iw_fault){
		.err = err, .os_errno = errnum, .term = IW_NOTERM, .clause = iw_err_clause(err)
	};
	va_start(ap, fmt);
	n = vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(why->text))
		snprintf(why->text + n, sizeof(why->text) - (size_t)n, ": %s",
			 iw_os_strerror(phrase, sizeof(phrase), errnum));
	return err;
}

/* Rust's standard library waits by SYS_futex, which takes a time of 32 bits on a 32-bit machine, and hands it a
 * `struct timespec`, which has 64 bits in musl. This takes the place of musl's syscall(), and converts. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>

static long kernel(long number, const long *with)
{
	register long r7 __asm__("r7") = number;
	register long r0 __asm__("r0") = with[0];
	register long r1 __asm__("r1") = with[1];
	register long r2 __asm__("r2") = with[2];
	register long r3 __asm__("r3") = with[3];
	register long r4 __asm__("r4") = with[4];
	register long r5 __asm__("r5") = with[5];
	__asm__ volatile("svc 0"
			 : "+r"(r0)
			 : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
			 : "memory");
	return r0;
}

long syscall(long number, ...)
{
	long with[6], time[2];
	va_list list;
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		with[i] = va_arg(list, long);
	va_end(list);
	long command = with[1] & FUTEX_CMD_MASK;
	if (number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && with[3]) {
		/* A time since the machine was started, or a span: 68 years are enough. */
		const struct timespec *wide = (const struct timespec *)with[3];
		time[0] = wide->tv_sec > LONG_MAX ? LONG_MAX : wide->tv_sec;
		time[1] = wide->tv_nsec;
		with[3] = (long)time;
	}
	long answer = kernel(number, with);
	if (answer < 0 && answer > -4096) {
		errno = -answer;
		return -1;
	}
	return answer;
}

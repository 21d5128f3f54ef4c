// What SQLite's "unix" VFS needs of a system and WASI has not. Included before its source.
#include <fcntl.h>
#include <stdarg.h>

#ifndef F_GETLK
#  define F_GETLK 12
#  define F_SETLK 13
#  define F_SETLKW 14
#endif
#ifndef F_RDLCK
#  define F_RDLCK 0
#  define F_WRLCK 1
#  define F_UNLCK 2
#endif

// The VFS keeps the connections of one process apart by a table of its own. fcntl() is there to keep other processes
// out, and a session's files belong to one.
static int
mayfly_fcntl(int fd, int cmd, ...)
{
    va_list args;
    va_start(args, cmd);
    int r = 0;
    if (cmd == F_GETLK) {
        va_arg(args, struct flock *)->l_type = F_UNLCK;
    }
    else if (cmd != F_SETLK && cmd != F_SETLKW) {
        r = fcntl(fd, cmd, va_arg(args, int));
    }
    va_end(args);
    return r;
}
#define fcntl mayfly_fcntl

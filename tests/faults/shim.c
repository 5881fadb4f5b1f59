// Makes calls of the operating system fail: what a process does to files below a folder, at call N.
//
// Preloaded into a process (LD_PRELOAD), it counts calls that open, make, write, read, map, sync, shorten, rename or
// remove files below a folder. The call whose number is FAULT_AT fails, is cut short, or kills the process. FAULT_HOW:
//   error  that call fails: no space where something is written, an error of the disk where it is read
//   full   that call and all that write after it fail: the disk is full
//   short  a write or read takes half of its bytes, which the system may do at any time
//   kill   the process is killed before the call
//   half   the process is killed after half of the bytes of a write
// Without FAULT_UNDER nothing is counted. fault_arm() sets all three for a process that is running.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum how { NONE, ERROR, FULL, SHORT, KILL, HALF };
enum what { WRITES, READS };

static char under[PATH_MAX];
static long at;
static enum how how;
static long count;

long fault_count(void) { return __atomic_load_n(&count, __ATOMIC_SEQ_CST); }

void fault_arm(const char *folder, long number, const char *kind) {
    const char *const kinds[] = {"none", "error", "full", "short", "kill", "half"};
    how = NONE;
    for (int i = 0; i < 6; i++) {
        if (strcmp(kind, kinds[i]) == 0) how = (enum how)i;
    }
    at = number;
    strncpy(under, folder, sizeof under - 1);
    __atomic_store_n(&count, 0, __ATOMIC_SEQ_CST);
}

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("FAULT_UNDER"), *number = getenv("FAULT_AT"), *kind = getenv("FAULT_HOW");
    if (folder && number && kind) fault_arm(folder, atol(number), kind);
}

// Without the functions below, which would count themselves.
static int is_under(const char *path) {
    size_t length = strlen(under);
    return length > 0 && strncmp(path, under, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int fd_is_under(int fd) {
    char link[64] = "/proc/self/fd/", path[PATH_MAX];
    if (under[0] == 0 || fd < 0) return 0;
    char digits[16];
    int n = 0, end = (int)strlen(link);
    do digits[n++] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    while (n > 0) link[end++] = digits[--n];
    link[end] = 0;
    long got = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (got <= 0) return 0;
    path[got] = 0;
    return is_under(path);
}

static int path_is_under(int folder, const char *path) {
    char whole[PATH_MAX];
    if (under[0] == 0 || path == NULL) return 0;
    if (path[0] == '/') return is_under(path);
    if (folder != AT_FDCWD) return fd_is_under(folder);
    long got = syscall(SYS_getcwd, whole, sizeof whole);
    if (got <= 0) return 0;
    size_t length = strlen(whole);
    if (length + strlen(path) + 2 > sizeof whole) return 0;
    whole[length] = '/';
    strcpy(whole + length + 1, path);
    return is_under(whole);
}

static void die(void) {
    syscall(SYS_kill, (long)getpid(), (long)SIGKILL);
    for (;;) pause();
}

// Whether this call fails; HALF and SHORT are told to those that can do it.
static enum how fate(enum what what) {
    long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (how == FULL) return number >= at && what == WRITES ? ERROR : NONE;
    if (number != at) return NONE;
    if (how == KILL) die();
    return how;
}

static int fails(enum what what) {
    enum how now = fate(what);
    if (now == HALF) die();
    if (now != ERROR) return 0;
    errno = what == WRITES ? ENOSPC : EIO;
    return 1;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

#define CHANGES(flags) (((flags) & O_CREAT) ? WRITES : READS)
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name) \
        va_list rest; \
        va_start(rest, flags); \
        int mode = va_arg(rest, int); \
        va_end(rest); \
        if (path_is_under(AT_FDCWD, path) && fails(CHANGES(flags))) return -1; \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        REAL(name) \
        va_list rest; \
        va_start(rest, flags); \
        int mode = va_arg(rest, int); \
        va_end(rest); \
        if (path_is_under(folder, path) && fails(CHANGES(flags))) return -1; \
        return real(folder, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

// Bytes that this call may move, or -1 if it fails.
static long bytes_of(int fd, size_t bytes, enum what what, int *dies) {
    if (!fd_is_under(fd)) return (long)bytes;
    switch (fate(what)) {
    case ERROR: errno = what == WRITES ? ENOSPC : EIO; return -1;
    case HALF: *dies = 1; return (long)(bytes / 2);
    case SHORT: return (long)(bytes > 1 ? bytes / 2 : bytes);
    default: return (long)bytes;
    }
}

#define MOVE(name, what, type, last, pass) \
    ssize_t name(int fd, type buffer, size_t bytes last) { \
        REAL(name) \
        int dies = 0; \
        long some = bytes_of(fd, bytes, what, &dies); \
        if (some < 0) return -1; \
        ssize_t moved = real(fd, buffer, (size_t)some pass); \
        if (dies) die(); \
        return moved; \
    }
#define COMMA ,
MOVE(write, WRITES, const void *, , )
MOVE(read, READS, void *, , )
MOVE(pwrite, WRITES, const void *, COMMA off_t from, COMMA from)
MOVE(pwrite64, WRITES, const void *, COMMA off64_t from, COMMA from)
MOVE(pread, READS, void *, COMMA off_t from, COMMA from)
MOVE(pread64, READS, void *, COMMA off64_t from, COMMA from)

ssize_t writev(int fd, const struct iovec *parts, int number) {
    REAL(writev)
    if (!fd_is_under(fd)) return real(fd, parts, number);
    enum how now = fate(WRITES);
    if (now == ERROR) {
        errno = ENOSPC;
        return -1;
    }
    // Of several parts the first, or half of one.
    if (now == SHORT || now == HALF) {
        struct iovec part = parts[0];
        if (number == 1 && part.iov_len > 1) part.iov_len /= 2;
        ssize_t moved = real(fd, &part, 1);
        if (now == HALF) die();
        return moved;
    }
    return real(fd, parts, number);
}

ssize_t copy_file_range(int from, off64_t *at_from, int to, off64_t *at_to, size_t bytes, unsigned flags) {
    REAL(copy_file_range)
    int dies = 0;
    long some = bytes_of(to, bytes, WRITES, &dies);
    if (some < 0) return -1;
    ssize_t moved = real(from, at_from, to, at_to, (size_t)some, flags);
    if (dies) die();
    return moved;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t from) {
    REAL(mmap)
    if (fd >= 0 && fd_is_under(fd) && fails(READS)) return MAP_FAILED;
    return real(address, bytes, protection, flags, fd, from);
}
void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t from) {
    return mmap(address, bytes, protection, flags, fd, from);
}

#define ON_FD(name) \
    int name(int fd) { \
        REAL(name) \
        return fd_is_under(fd) && fails(WRITES) ? -1 : real(fd); \
    }
ON_FD(fsync)
ON_FD(fdatasync)
#define SHORTEN(name, type) \
    int name(int fd, type bytes) { \
        REAL(name) \
        return fd_is_under(fd) && fails(WRITES) ? -1 : real(fd, bytes); \
    }
SHORTEN(ftruncate, off_t)
SHORTEN(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
    REAL(rename)
    return path_is_under(AT_FDCWD, to) && fails(WRITES) ? -1 : real(from, to);
}
int renameat(int folder, const char *from, int other, const char *to) {
    REAL(renameat)
    return path_is_under(other, to) && fails(WRITES) ? -1 : real(folder, from, other, to);
}
int renameat2(int folder, const char *from, int other, const char *to, unsigned flags) {
    REAL(renameat2)
    return path_is_under(other, to) && fails(WRITES) ? -1 : real(folder, from, other, to, flags);
}
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir)
    return path_is_under(AT_FDCWD, path) && fails(WRITES) ? -1 : real(path, mode);
}
int unlink(const char *path) {
    REAL(unlink)
    return path_is_under(AT_FDCWD, path) && fails(READS) ? -1 : real(path);
}
int unlinkat(int folder, const char *path, int flags) {
    REAL(unlinkat)
    return path_is_under(folder, path) && fails(READS) ? -1 : real(folder, path, flags);
}
int rmdir(const char *path) {
    REAL(rmdir)
    return path_is_under(AT_FDCWD, path) && fails(READS) ? -1 : real(path);
}

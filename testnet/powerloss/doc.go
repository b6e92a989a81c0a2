// Package powerloss shows what a disk holds after the power has failed. It reads what a process has asked of the system
// (strace, so that nothing in the process knows of it), and makes the directory as it may look after a failure at any
// instant: what was synced is there, and of the rest any part, writes torn at sectors included.
//
// What it takes for synced is what POSIX promises and no more: the content of a file once fsync of it has returned, a name
// once fsync of its directory has returned. It knows nothing of shared memory that is mapped: the file beside SQLite's
// write-ahead log, which SQLite makes anew, is left out.
package powerloss

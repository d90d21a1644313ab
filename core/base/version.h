/* The program's version, one for all of its processes. */
#ifndef WARPLOOP_BASE_VERSION_H
#define WARPLOOP_BASE_VERSION_H

#define WARPLOOP_VERSION "0.1"

#endif

/* core: what the files of the sandbox share. Everything here belongs to the service thread. */
#ifndef ONEBOT_SANDBOX_CORE_H
#define ONEBOT_SANDBOX_CORE_H

#include "onebot/dial.h"
#include "onebot/listen.h"
#include "onebot/sandbox/fault.h"
#include "onebot/sandbox/judge.h"
#include "onebot/sandbox/sandbox.h"

enum {
  OB_BOTS_MAX = 32, /* OneBot connections at a time; with the pages fewer than the listener takes */
  OB_VIEWERS_MAX = 16, /* open pages at a time */
  OB_LATE_MAX = 4096,  /* answers that wait for their time */
  /* of what one frame or request is read into: long texts stay in the frame itself */
  OB_SANDBOX_ARENA_MAX = 256 * 1024 * 1024,
  OB_SANDBOX_FRAME_MAX =
      256 * 1024 * 1024, /* of a frame that is written: history of large messages */
};

/* One OneBot connection. */
struct ob_bot {
  struct ob_sandbox *sandbox;
  struct ob_peer *peer; /* of an accepted one */
  struct ob_dial *dial; /* of a dialled one; neither: this place is free */
  unsigned number;      /* counts connections, for the page */
  bool up;              /* a dialled one is connected */
  bool events, acts;
};

/* One open page. */
struct ob_viewer {
  struct ob_sandbox *sandbox;
  struct ob_peer *peer;
};

/* An answer that waits. */
struct ob_late {
  struct ob_timer timer;
  struct ob_late *next;
  struct ob_bot *bot;
  struct span text; /* owned */
};

struct ob_switches {
  bool string_form;   /* messages of events as text with CQ codes */
  bool report_self;   /* own messages come back as message_sent */
  bool offline;       /* heartbeats say so and sends are refused */
  bool refuse_tokens; /* every token is wrong */
  bool no_heartbeat;
  unsigned heartbeat_ms; /* 0: as the played implementation does */
  enum ob_sign sign;
};

struct ob_sandbox {
  struct ob_service *service;
  struct ob_listener *listener;
  const char *played;
  struct ob_world world;
  struct ob_faults faults;
  struct ob_switches switches;
  struct ob_bot bots[OB_BOTS_MAX];
  struct ob_viewer viewers[OB_VIEWERS_MAX];
  struct ob_late *late;
  size_t late_count;
  struct ob_timer heartbeat, log_in;
  uint64_t away_until_ms; /* nobody may connect until then */
  unsigned connections;   /* so far */
  uint64_t frames;        /* so far, both ways */
  int64_t started;        /* Unix time */
  char page_token[OB_SANDBOX_TOKEN_MAX + 1], access_token[OB_SANDBOX_TOKEN_MAX + 1];
  char page_url[OB_SANDBOX_TOKEN_MAX + 64], link_url[64];
};

/* Ends the connections of all bots, as a restart does: nobody may connect for ms. */
void ob_sandbox_restart(struct ob_sandbox *b, unsigned ms);
/* The account goes offline for ms (0: until it is told otherwise), which a heartbeat tells. */
void ob_sandbox_log_out(struct ob_sandbox *b, unsigned ms);
/* Sends a heartbeat now. */
void ob_sandbox_heartbeat(struct ob_sandbox *b);
/* Sets the heartbeat anew, after a switch or the played implementation changed. */
void ob_sandbox_beat(struct ob_sandbox *b);

#endif

/* frame: WebSocket frames (RFC 6455) as bytes, without I/O: a reader that turns a stream into whole
 * messages, and a writer. Own code because it must be cheap: see frame.c for the figures. */
#ifndef ONEBOT_FRAME_H
#define ONEBOT_FRAME_H

#include "schema/bytes.h"

enum ob_opcode {
  OB_OP_CONTINUATION = 0,
  OB_OP_TEXT = 1,
  OB_OP_BINARY = 2,
  OB_OP_CLOSE = 8,
  OB_OP_PING = 9,
  OB_OP_PONG = 10,
};

enum ob_close_code {
  OB_CLOSE_NORMAL = 1000,
  OB_CLOSE_GOING_AWAY = 1001,
  OB_CLOSE_PROTOCOL = 1002,
  OB_CLOSE_UNSUPPORTED = 1003,
  OB_CLOSE_NO_CODE = 1005,  /* never on the wire: a close without a code came */
  OB_CLOSE_ABNORMAL = 1006, /* never on the wire: the connection just ended */
  OB_CLOSE_POLICY = 1008,
  OB_CLOSE_TOO_BIG = 1009,
};

enum {
  OB_FRAME_HEAD_MAX = 14,    /* 2, 8 of length, 4 of mask */
  OB_FRAME_CONTROL_MAX = 125 /* payload of ping, pong, close */
};

enum ob_frame_kind {
  OB_FRAME_MORE,   /* the input is used up, nothing is complete */
  OB_FRAME_TEXT,   /* a whole message: payload; its UTF-8 is not checked */
  OB_FRAME_BINARY, /* likewise */
  OB_FRAME_PING,
  OB_FRAME_PONG,
  OB_FRAME_CLOSE, /* code (OB_CLOSE_NO_CODE where none) and payload (the reason) */
  OB_FRAME_FAULT, /* code to close with and what is wrong; everything after it is discarded */
};

/* The receiving side of one connection. Members are read-only. */
struct ob_frames {
  struct span payload; /* of the last kind; lent until the next call */
  unsigned code;
  const char *what; /* after OB_FRAME_FAULT: constant text */
  /* the reader's own */
  bool masked; /* the peer must mask */
  size_t message_max;
  struct buf message; /* fragments, or the beginning of a frame that has not all come */
  unsigned char head[OB_FRAME_HEAD_MAX], control[OB_FRAME_CONTROL_MAX];
  size_t head_len, control_len;
  uint64_t left, passed; /* of the open frame's payload */
  unsigned opcode;       /* of the open frame */
  unsigned fragmented;   /* opcode of the open fragmented message, 0 for none */
  bool in_payload, final, faulty;
};

/* from_client: every frame must be masked; else none may be. */
void ob_frames_init(struct ob_frames *f, bool from_client, size_t message_max);
void ob_frames_done(struct ob_frames *f);
/* Takes bytes off the front of *input until something is complete. Call again until
 * OB_FRAME_MORE. A masked message is unmasked where it lies: the input of a reader with from_client
 * is to be writable. Linear; a message never needs more memory than message_max. */
enum ob_frame_kind ob_frames_next(struct ob_frames *f, struct span *input);

/* Size of the header of a frame with so many bytes of payload. */
size_t ob_frame_head_size(size_t payload, bool masked);
/* Writes the header of a frame; mask NULL: not masked. Its size is returned. */
size_t ob_frame_head(char *out, enum ob_opcode opcode, bool final, size_t payload,
                     const unsigned char mask[4]);
/* Writes one whole final frame: its header and the parts one after the other, masked where mask is
 * not NULL. out has room for ob_frame_head_size() and the parts; the size is returned. */
size_t ob_frame_write(char *out, enum ob_opcode opcode, const struct span *parts, size_t count,
                      const unsigned char mask[4]);
/* The payload of a close frame in out[125]; code 0: empty. The reason is cut at a character. */
size_t ob_frame_close_payload(char *out, unsigned code, struct span reason);
/* The code that answers a peer's close frame: its own; 0 where it gave none, OB_CLOSE_PROTOCOL where
 * no peer may give that one (RFC 6455 7.4). */
unsigned ob_frame_close_answer(unsigned code);

#endif

/* command: the sub-commands of the program `replygate`. Each is a function in a command_*.c file
 * and a row of the table in main.c. */
#ifndef PLUGIN_COMMAND_COMMAND_H
#define PLUGIN_COMMAND_COMMAND_H

#include "schema/bytes.h"

enum {
  RG_EXIT_FAULT = 1,   /* something needed could not be had; check: 1 is a verdict */
  RG_EXIT_USAGE = 64,  /* sysexits.h: the command was called wrongly */
  RG_EXIT_OUTPUT = 74, /* sysexits.h: what it printed could not be written */
};

/* argv[0] is the name of the sub-command. Returns the exit code. */
typedef int rg_command_fn(int argc, char **argv);

rg_command_fn rg_command_check, rg_command_plan, rg_command_schema,
    rg_command_instruction;      /* command_judge.c */
rg_command_fn rg_command_config; /* command_config.c */
rg_command_fn rg_command_doctor; /* command_doctor.c */
rg_command_fn rg_command_faces;  /* command_faces.c */
rg_command_fn rg_command_run;    /* command_run.c */

/* Whether a sub-command is asked how it is called: --help or -h alone. */
bool rg_command_asks_help(int argc, char **argv);

/* Prints how a sub-command is called: on stdout where that was asked, on stderr after a wrong call.
 * Returns the exit code. */
int rg_command_usage(const char *text, bool asked);

/* Reads a whole file, or standard input where path is NULL or "-", into out. False: it was said on
 * stderr why not. */
bool rg_command_read_file(const char *command, const char *path, struct buf *out);

#endif

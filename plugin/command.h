/* command: the sub-commands of the program `replygate`. Each is a function in a command_*.c file
 * and a row of the table in main.c. */
#ifndef PLUGIN_COMMAND_H
#define PLUGIN_COMMAND_H

enum { RG_EXIT_USAGE = 64 }; /* sysexits.h: the command was called wrongly */

/* argv[0] is the name of the sub-command. Returns the exit code. */
typedef int rg_command_fn(int argc, char **argv);

rg_command_fn rg_command_eval; /* main.c */

#endif

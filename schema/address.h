/* address: which numeric IP addresses are public, as ONE table of the ranges that are not. */
#ifndef SCHEMA_ADDRESS_H
#define SCHEMA_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* ip in network order. Loopback, private, link-local, shared, test, multicast and reserved ranges
 * are not public. */
bool schema_address_is_public4(const uint8_t ip[4]);
/* An address that carries an IPv4 one (mapped, translated, NAT64, 6to4, ISATAP) is judged by that as well. */
bool schema_address_is_public6(const uint8_t ip[16]);

#endif

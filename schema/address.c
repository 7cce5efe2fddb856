#include "schema/address.h"

#include <stddef.h>
#include <string.h>

struct range {
  uint8_t ip[16];
  uint8_t bits;
};

/* IANA's special-purpose registries: what no server on the open internet has */
static const struct range not_public4[] = {
  { { 0 }, 8 },             /* this network */
  { { 10 }, 8 },            /* private */
  { { 100, 64 }, 10 },      /* shared by a carrier's NAT */
  { { 127 }, 8 },           /* loopback */
  { { 169, 254 }, 16 },     /* link-local, cloud metadata */
  { { 172, 16 }, 12 },      /* private */
  { { 192, 0, 0 }, 24 },    /* protocol assignments */
  { { 192, 0, 2 }, 24 },    /* documentation */
  { { 192, 88, 99 }, 24 },  /* 6to4 relays */
  { { 192, 168 }, 16 },     /* private */
  { { 198, 18 }, 15 },      /* benchmarks */
  { { 198, 51, 100 }, 24 }, /* documentation */
  { { 203, 0, 113 }, 24 },  /* documentation */
  { { 224 }, 4 },           /* multicast */
  { { 240 }, 4 },           /* reserved, broadcast */
};

static const struct range not_public6[] = {
  { { 0 }, 96 },                                  /* unspecified, loopback, IPv4-compatible */
  { { 0x01, 0x00 }, 64 },                         /* discard */
  { { 0x20, 0x01, 0x00, 0x00 }, 32 },             /* Teredo */
  { { 0x20, 0x01, 0x00, 0x02 }, 48 },             /* benchmarks */
  { { 0x20, 0x01, 0x00, 0x10 }, 28 },             /* ORCHID */
  { { 0x20, 0x01, 0x0d, 0xb8 }, 32 },             /* documentation */
  { { 0x3f, 0xff }, 20 },                         /* documentation */
  { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48 }, /* local NAT64 */
  { { 0xfc }, 7 },                                /* private */
  { { 0xfe, 0x80 }, 10 },                         /* link-local */
  { { 0xfe, 0xc0 }, 10 },                         /* site-local */
  { { 0xff }, 8 },                                /* multicast */
};

/* IPv6 ranges that carry an IPv4 address, and at which byte */
static const struct {
  struct range range;
  uint8_t at;
} carriers[] = {
  { { { [10] = 0xff, [11] = 0xff }, 96 }, 12 }, /* mapped */
  { { { [8] = 0xff, [9] = 0xff }, 96 }, 12 },   /* translated (SIIT) */
  { { { 0x00, 0x64, 0xff, 0x9b }, 96 }, 12 },   /* NAT64 */
  { { { 0x20, 0x02 }, 16 }, 2 },                /* 6to4 */
};

static bool is_in(const uint8_t *ip, const struct range *r)
{
  size_t whole = r->bits / 8;
  uint8_t mask = (uint8_t)(0xff00 >> r->bits % 8);
  return memcmp(ip, r->ip, whole) == 0 && (mask == 0 || ((ip[whole] ^ r->ip[whole]) & mask) == 0);
}

bool schema_address_is_public4(const uint8_t ip[4])
{
  for (size_t i = 0; i < sizeof not_public4 / sizeof *not_public4; i++)
    if (is_in(ip, &not_public4[i])) return false;
  return true;
}

/* ISATAP: the IPv4 address stands behind 5efe, whatever the prefix. */
static bool is_isatap(const uint8_t ip[16])
{
  return (ip[8] & 0xfd) == 0 && ip[9] == 0 && ip[10] == 0x5e && ip[11] == 0xfe;
}

bool schema_address_is_public6(const uint8_t ip[16])
{
  for (size_t i = 0; i < sizeof carriers / sizeof *carriers; i++)
    if (is_in(ip, &carriers[i].range)) return schema_address_is_public4(ip + carriers[i].at);
  for (size_t i = 0; i < sizeof not_public6 / sizeof *not_public6; i++)
    if (is_in(ip, &not_public6[i])) return false;
  return !is_isatap(ip) || schema_address_is_public4(ip + 12);
}

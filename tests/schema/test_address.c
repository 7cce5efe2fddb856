#include <arpa/inet.h>
#include <criterion/criterion.h>

#include "schema/address.h"

static const struct {
  const char *text;
  bool public;
} rows[] = {
  { "0.0.0.0", false },
  { "0.255.1.1", false },
  { "1.1.1.1", true },
  { "9.255.255.255", true },
  { "10.0.0.1", false },
  { "11.0.0.0", true },
  { "100.63.255.255", true },
  { "100.64.0.1", false },
  { "100.127.255.255", false },
  { "100.128.0.0", true },
  { "126.255.255.255", true },
  { "127.0.0.1", false },
  { "127.255.255.255", false },
  { "128.0.0.0", true },
  { "169.254.169.254", false },
  { "172.15.255.255", true },
  { "172.16.0.0", false },
  { "172.31.255.255", false },
  { "172.32.0.0", true },
  { "192.0.0.8", false },
  { "192.0.2.1", false },
  { "192.167.255.255", true },
  { "192.168.1.1", false },
  { "192.169.0.0", true },
  { "198.17.255.255", true },
  { "198.18.0.1", false },
  { "198.19.255.255", false },
  { "198.20.0.0", true },
  { "223.255.255.255", true },
  { "224.0.0.1", false },
  { "240.0.0.1", false },
  { "255.255.255.255", false },
  { "::", false },
  { "::1", false },
  { "::127.0.0.1", false },
  { "::ffff:127.0.0.1", false },
  { "::ffff:1.1.1.1", true },
  { "::ffff:0:127.0.0.1", false },
  { "::ffff:0:1.1.1.1", true },
  { "64:ff9b::a00:1", false },
  { "64:ff9b::101:101", true },
  { "64:ff9b:1::1", false },
  { "100::1", false },
  { "2001::1", false },
  { "2001:db8::1", false },
  { "2002:7f00:1::", false },
  { "2002:101:101::", true },
  { "2001:470:1:1:0:5efe:7f00:1", false },
  { "2001:470:1:1:200:5efe:a00:1", false },
  { "2001:470:1:1:0:5efe:101:101", true },
  { "2606:4700::1111", true },
  { "2a00:1450:4001::", true },
  { "3fff::1", false },
  { "fc00::1", false },
  { "fdff::1", false },
  { "fe80::1", false },
  { "febf::1", false },
  { "fec0::1", false },
  { "ff02::1", false },
};

Test(address, knows_what_is_public)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint8_t ip[16];
    bool v6 = strchr(rows[i].text, ':') != NULL;
    cr_assert_eq(inet_pton(v6 ? AF_INET6 : AF_INET, rows[i].text, ip), 1, "%s", rows[i].text);
    bool public = v6 ? schema_address_is_public6(ip) : schema_address_is_public4(ip);
    cr_expect_eq(public, rows[i].public, "%s", rows[i].text);
  }
}

import { expect, test } from 'vitest'
import { canonicalAddress, isPublicAddress } from '../../../base/outbound/public-address.ts'

/** Addresses in the forms that a DNS lookup can return. */
const PRIVATE: Record<string, readonly string[]> = {
  'this network and unspecified': ['0.0.0.0', '0.1.2.3', '::', '0:0:0:0:0:0:0:0'],
  loopback: ['127.0.0.1', '127.1.2.3', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'link-local, with the metadata of clouds': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  'unique local, with the metadata of clouds': ['fd00:ec2::254', 'fc00::1', 'fdff:ffff::1'],
  'site-local': ['fec0::1', 'feff::1'],
  'shared by carriers, with the metadata of a cloud': ['100.64.0.1', '100.127.255.255', '100.100.100.200'],
  'a cloud’s channel to its machines': ['168.63.129.16'],
  multicast: ['224.0.0.1', '239.255.255.250', 'ff02::1', 'ff0e::1'],
  'broadcast and reserved': ['255.255.255.255', '240.0.0.1', '192.0.0.192', '192.88.99.1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarks: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:169.254.169.254', '::ffff:8.8.8.8'],
  'IPv4-compatible': ['::127.0.0.1', '::7f00:1', '::8.8.8.8'],
  'IPv4-translated': ['::ffff:0:127.0.0.1', '::ffff:0:7f00:1'],
  'NAT64 of what is not public': ['64:ff9b::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b::10.0.0.1'],
  'NAT64 of a local prefix': ['64:ff9b:1::8.8.8.8'],
  '6to4 and Teredo': ['2002:7f00:1::1', '2002:808:808::1', '2001:0:7f00:1::1'],
  'identifiers and segments': ['2001:10::1', '2001:20::1', '5f00::1', '100::1'],
  'outside of what is given out': ['4000::1', '8000::1', 'e000::1', '1::1'],
  'no address': ['', 'localhost', '127.1', '0x7f.1', '017700000001', '2130706433', '1.2.3.4.5', '1.2.3.256', '[::1]'],
}

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.1',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.1',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
  '64:ff9b::8.8.8.8',
]

for (const [what, addresses] of Object.entries(PRIVATE)) {
  test.each(addresses)(`the address %s is not public (${what})`, (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
}

test.each(PUBLIC)('the address %s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test('different notations of an address are normalized to the same text', () => {
  expect(['::ffff:1.2.3.4', '::ffff:102:304', '1.2.3.4'].map(canonicalAddress)).toEqual([
    '1.2.3.4',
    '1.2.3.4',
    '1.2.3.4',
  ])
  expect(canonicalAddress('2606:4700:0:0::1')).toBe(canonicalAddress('2606:4700::1'))
  expect(canonicalAddress('example.org')).toBeNull()
})

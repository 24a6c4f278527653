import { describe, expect, test } from 'vitest'
import { classOf, mayConnect, mayName } from '../../../src/upstream/network/address-guard.ts'

const PUBLIC = [
  '1.1.1.1',
  '93.184.216.34',
  '172.15.255.255',
  '172.32.0.1',
  '100.63.0.1',
  '100.128.0.1',
  '198.17.255.255',
  '198.20.0.1',
  '2606:4700::1111',
  '2a00:1450::5',
  '2001:200::1',
]
const PRIVATE = [
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.1.1',
  '100.64.0.1',
  '100.127.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '::1',
  'fe80::1',
  'fe80::1%eth0',
  'fc00::1',
  'fdff::1',
  'fec0::1',
  '100::1',
  '2001:1ff::1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.1.2.3',
  '::127.0.0.1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::10.0.0.1',
  '64:ff9b::a00:1',
  '2002:a00:1::',
  '2002:7f00:1::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '64:ff9b:1::a00:1',
  '64:ff9b:1:fffe::a00:1',
  '64:ff9b:1:a00:0:100::',
  '64:ff9b:1::808:808',
]
const NEVER = [
  '0.0.0.0',
  '169.254.169.253',
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '192.0.0.192',
  '240.0.0.1',
  '::ffff:169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '2002:a9fe:a9fe::1',
  '64:ff9b:1::a9fe:a9fe',
  '64:ff9b:1:fffe::169.254.169.254',
  '64:ff9b:1:a9fe:a9:fe00::',
  '64:ff9b:1:bba9:fe:a9fe::',
  '64:ff9b:1:bb64:64:64c8::',
  '64:ff9b:1::a9:fea9:fe00:0',
  '64:ff9b:1::64:6464:c800:0',
  'fd00:ec2::23',
  'fd00:ec2::254',
  'fd20:ce::254',
  '100.100.100.200',
  '168.63.129.16',
  '224.0.0.1',
  '255.255.255.255',
  'ff02::1',
  '::',
  '::ffff:0.0.0.0',
  'not an address',
  '',
]

describe('addresses', () => {
  test.each(PUBLIC)('%s may be connected to', (address) => {
    expect(classOf(address)).toBe('public')
    expect(mayConnect(address, false)).toBe(true)
  })

  test.each(PRIVATE)('%s may be connected to only with allow_private', (address) => {
    expect(classOf(address)).toBe('private')
    expect([mayConnect(address, false), mayConnect(address, true)]).toEqual([false, true])
  })

  test.each(NEVER)('%s may never be connected to', (address) => {
    expect(classOf(address)).toBe('never')
    expect(mayConnect(address, true)).toBe(false)
  })

  test('checks names of this machine, and every spelling of an address', () => {
    for (const host of ['localhost', 'a.localhost', 'LOCALHOST.', '[::1]', '127.0.0.1', '[::ffff:7f00:1]']) {
      expect([mayName(host, false), mayName(host, true)], host).toEqual([false, true])
    }
    // A URL converts them to four numbers.
    for (const written of ['0x7f.1', '2130706433', '0177.0.0.1', '127.1']) {
      expect(mayName(new URL(`http://${written}/`).hostname, false), written).toBe(false)
    }
    expect(mayName('ams.example.com', false)).toBe(true)
    expect(mayName('localhost.example.com', false)).toBe(true)
  })
})

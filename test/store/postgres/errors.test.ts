import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import { connectionError, postgresError } from '../../../src/store/postgres/errors.ts'

function failed(message: string, code?: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code })
}

describe('a connection to Postgres that was not made', () => {
  it.each([
    failed('self-signed certificate in certificate chain', 'SELF_SIGNED_CERT_IN_CHAIN'),
    failed('unable to verify the first certificate', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    failed("Hostname/IP does not match certificate's altnames", 'ERR_TLS_CERT_ALTNAME_INVALID'),
  ])('because of its certificate sends nobody to look for host and port: $message', (error) => {
    expect(connectionError(error).message).toBe(
      `the certificate of the Postgres server is not trusted (${error.message}); name the CA that vouches for it by sslrootcert, and the host as the certificate does`,
    )
  })

  it('because its certificate has ended asks for another', () => {
    expect(connectionError(failed('certificate has expired', 'CERT_HAS_EXPIRED')).message).toBe(
      'the certificate of the Postgres server is out of date (certificate has expired); renew it there, unless the clock of this machine is wrong',
    )
  })

  it.each([
    failed('write EPROTO tlsv1 alert protocol version', 'EPROTO'),
    failed('key values mismatch', 'ERR_OSSL_X509_KEY_VALUES_MISMATCH'),
    failed('no start line', 'ERR_OSSL_PEM_NO_START_LINE'),
    failed('unsupported protocol', 'ERR_SSL_UNSUPPORTED_PROTOCOL'),
  ])('because TLS does not come about sends nobody to look for host and port: $message', (error) => {
    expect(connectionError(error).message).toBe(
      `no TLS comes about with the Postgres server (${error.message}); see whether it speaks TLS 1.2 or later, and whether sslcert and sslkey name a certificate and its key`,
    )
  })

  it('because the server speaks no TLS says that', () => {
    const error = failed('The server does not support SSL connections')
    expect(connectionError(error).message).toBe(
      `the Postgres server speaks no TLS (${error.message}); switch it on there, or leave it out of the URL`,
    )
  })

  it('for any other reason says where to look', () => {
    const error = failed('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED')
    expect(connectionError(error).message).toMatch(
      /^Postgres cannot be reached \(connect ECONNREFUSED .*whether DATABASE_URL names its host and port$/,
    )
  })
})

describe('what passes when somebody sees to the server', () => {
  it.each([
    ['53100', /^Postgres has no room on its disk \(no\); make room there$/],
    ['53300', /^Postgres has no connection left \(no\); raise its max_connections, or end what holds them$/],
    [
      '25006',
      /^Postgres is read-only now \(no\); see whether DATABASE_URL leads to a standby, and who has set default_transaction_read_only$/,
    ],
    ['57014', /^Postgres took too long for a statement \(no\); see what it is busy with$/],
    ['55P03', /^another transaction held a lock for too long \(no\); see whose that is \(pg_stat_activity tells\)$/],
  ])('says what to do: %s', (code, told) => {
    const error = Object.assign(new pg.DatabaseError('no', 0, 'error'), { severity: 'ERROR', code })
    expect((postgresError(error) as Error).message).toMatch(told)
  })
})

describe('what the server refuses to our user', () => {
  it.each([
    [
      '42501',
      'permission denied for schema mirror',
      /^Postgres does not allow this to the user of DATABASE_URL \(permission denied .*must own/,
    ],
    ['42501', 'must be owner of table push_map', /^Postgres does not allow this .*must own the tables/],
    ['3F000', 'no schema has been selected to create in', /^the schema cannot be used \(no schema .*grant usage/],
  ])('says who can mend it, and may be tried again: %s, %s', (code, message, told) => {
    const error = Object.assign(new pg.DatabaseError(message, 0, 'error'), { severity: 'ERROR', code })
    expect(postgresError(error)).toBeInstanceOf(TransientError)
    expect((postgresError(error) as Error).message).toMatch(told)
  })
})

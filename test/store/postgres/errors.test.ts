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
  ])('because of its certificate does not suggest to check host and port: $message', (error) => {
    expect(connectionError(error).message).toBe(
      `the certificate of the Postgres server is not trusted (${error.message}); set sslrootcert to the CA that signed it, and use the host name of the certificate`,
    )
  })

  it('because its certificate has ended asks for another', () => {
    expect(connectionError(failed('certificate has expired', 'CERT_HAS_EXPIRED')).message).toBe(
      'the certificate of the Postgres server has expired or is not valid yet (certificate has expired); renew it there, unless the clock of this machine is wrong',
    )
  })

  it.each([
    failed('write EPROTO tlsv1 alert protocol version', 'EPROTO'),
    failed('key values mismatch', 'ERR_OSSL_X509_KEY_VALUES_MISMATCH'),
    failed('no start line', 'ERR_OSSL_PEM_NO_START_LINE'),
    failed('unsupported protocol', 'ERR_SSL_UNSUPPORTED_PROTOCOL'),
  ])('because the TLS handshake fails does not suggest to check host and port: $message', (error) => {
    expect(connectionError(error).message).toBe(
      `the TLS handshake with the Postgres server failed (${error.message}); check that the server offers TLS 1.2 or later, and that sslcert and sslkey name a certificate and its key`,
    )
  })

  it('because the server does not offer TLS says so', () => {
    const error = failed('The server does not support SSL connections')
    expect(connectionError(error).message).toBe(
      `the Postgres server does not offer TLS (${error.message}); enable TLS there, or remove sslmode from the URL`,
    )
  })

  it('because it broke off after it was made does not say that the server cannot be reached', () => {
    expect(connectionError(failed('Connection terminated unexpectedly')).message).toBe(
      'the connection to Postgres broke off (Connection terminated unexpectedly); check the log of the server, or of the proxy in front of it',
    )
  })

  it('for any other reason says where to look', () => {
    const error = failed('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED')
    expect(connectionError(error).message).toMatch(
      /^Postgres cannot be reached \(connect ECONNREFUSED .*that DATABASE_URL names its host and port$/,
    )
  })
})

describe('temporary server problems', () => {
  it.each([
    ['57P01', /^Postgres ended the session \(no\); the server is stopping, or an administrator ends its sessions \(pg_terminate_backend\)/],
    ['57P03', /^Postgres is stopping or starting \(no\)$/],
    ['53100', /^the disk of the Postgres server is full \(no\); free space there$/],
    ['53300', /^Postgres has no connection left \(no\); raise max_connections, or close connections of other programs$/],
    [
      '25006',
      /^Postgres is read-only now \(no\); check whether DATABASE_URL leads to a standby, and who has set default_transaction_read_only$/,
    ],
    ['57014', /^a statement exceeded its time limit in Postgres \(no\); check what the server is busy with$/],
    ['55P03', /^another transaction held a lock for too long \(no\); find its session in pg_stat_activity$/],
  ])('says what to do: %s', (code, expected) => {
    const error = Object.assign(new pg.DatabaseError('no', 0, 'error'), { severity: 'ERROR', code })
    expect((postgresError(error) as Error).message).toMatch(expected)
  })
})

describe('missing permissions', () => {
  it.each([
    ['42501', 'permission denied for schema mirror', /^the user of DATABASE_URL lacks a right in Postgres \(permission denied .*must own/],
    ['42501', 'must be owner of table push_map', /^the user of DATABASE_URL lacks a right in Postgres .*must own the tables/],
    ['3F000', 'no schema has been selected to create in', /^the schema cannot be used \(no schema .*grant .* usage/],
  ])('says who can fix it, and may be tried again: %s, %s', (code, message, expected) => {
    const error = Object.assign(new pg.DatabaseError(message, 0, 'error'), { severity: 'ERROR', code })
    expect(postgresError(error)).toBeInstanceOf(TransientError)
    expect((postgresError(error) as Error).message).toMatch(expected)
  })
})

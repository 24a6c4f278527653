import { getCACertificates } from 'node:tls'
import type { Environment } from './sources/names.ts'

/** @returns a warning for each base URL that does not end with a version segment: the service's has one, and the spec's paths follow it. */
export function versionWarnings(accounts: readonly { readonly name: string; readonly baseUrl: string }[]): string[] {
  return accounts
    .filter(({ baseUrl }) => !/\/v\d+$/.test(baseUrl))
    .map(
      ({ name, baseUrl }) =>
        `the base URL of account ${name}, ${baseUrl}, does not end with a version segment such as /api/v1. Nothing is added to it, so the ` +
        'service would not find what is asked for; compare it with the address in the portal',
    )
}

/** Node reads the file of NODE_EXTRA_CA_CERTS once, before the program starts, and does not report a file without certificates. */
export function extraCaWarnings(env: Environment): string[] {
  if ((env['NODE_EXTRA_CA_CERTS'] ?? '').trim() === '' || getCACertificates('extra').length > 0) return []
  return [
    'NODE_EXTRA_CA_CERTS names a file from which no certificate was read, so your own CA is not trusted; ' +
      'name a readable file with PEM certificates (-----BEGIN CERTIFICATE-----) and restart',
  ]
}

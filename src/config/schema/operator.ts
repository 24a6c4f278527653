import { z } from 'zod'
import { field } from '../sources/reading.ts'
import { isNonEmpty, items, secret, section, value, words } from './builders.ts'
import { alwaysRun } from './cross-checks.ts'
import { keyName } from './destination.ts'
import { checkTransport } from './destination-checks.ts'
import { destinationUrl, hostName } from './destination-values.ts'
import { anySecret, duration, flag, matching, number, oneOf, webhookSecret } from './values.ts'

const missingSecret = 'is missing; set it, as a reference'

/** A mail address without a display name. */
const address = value(matching(/^[^\s@<>(),;:"\\]{1,64}@[A-Za-z0-9.-]{1,253}$/, 'must be an address such as ops@agency.example'))

const common = {
  name: value(keyName, 'is missing; give the operator a name'),
  repeat: value(duration('5m', '30d')).prefault('4h'),
  resolved: value(flag).prefault(true),
}

const webhook = section({
  kind: z.literal('webhook'),
  ...common,
  url: value(destinationUrl, 'is missing; set it to where alarms are sent'),
  secret: secret(webhookSecret, missingSecret),
  allow_private: value(flag).prefault(false),
}).check(checkTransport)

/** User name and password come together, and are never sent without TLS except to this machine. */
const checkLogin = z.superRefine((values: unknown, context) => {
  const [username, password, host] = ['username', 'password', 'host'].map((key) => field(values, key))
  if (username !== undefined && password === undefined) context.addIssue({ code: 'custom', path: ['password'], message: missingSecret })
  if (password !== undefined && username === undefined)
    context.addIssue({ code: 'custom', path: ['username'], message: 'is missing; set it, or leave the password out' })
  if (field(values, 'tls') !== 'off' || typeof host !== 'string') return
  if (!/^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host))
    context.addIssue({
      code: 'custom',
      path: ['tls'],
      message: 'must be starttls or implicit; off is only for a mail server on this machine',
    })
}, alwaysRun)

const email = section({
  kind: z.literal('email'),
  ...common,
  host: value(hostName, 'is missing; set it to the mail server'),
  port: value(number(1, 65_535)).optional(),
  tls: value(oneOf(['starttls', 'implicit', 'off'])).prefault('starttls'),
  username: value(matching(/^[^\p{Cc}]{1,320}$/u, 'must be one line of text')).optional(),
  password: secret(anySecret, missingSecret).optional(),
  from: address,
  to: items(address, 20, words).refine(isNonEmpty, 'must hold at least one address'),
}).check(checkLogin)

/** One operator in the settings file. */
export const operatorSchema = z.discriminatedUnion('kind', [webhook, email], {
  error: (issue) => (issue.code === 'invalid_union' ? 'must be one of webhook, email' : 'must hold keys and values'),
})
